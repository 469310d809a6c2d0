//! Memory: more is killed, or slowed.

use std::time::Duration;

use assay_sys::kernel::Error;
use assay_sys::units::Bytes;

use super::Proof;
use crate::probe::beside::{Beside, COPY, TWIN};

const MIB: u64 = 1 << 20;
/// A copy has no more than this.
const MOST: u64 = 16 * MIB;
/// With less, the probe itself does not start.
const LEAST: u64 = 4 * MIB;
/// A probe asks for so much more than its limit.
const BEYOND: u64 = 8 * MIB;

/// The copy touches more than it may: it is killed, or what it had is swapped out.
pub(super) fn max(beside: &Beside<'_>, amount: f64) -> Result<Proof, Error> {
    let Some(size) = size(amount) else { return Ok(too_small(amount)) };
    let ask = size + BEYOND;
    let files = if beside.is_v2() {
        ["memory.max", "memory.swap.max", "memory.peak"]
    } else {
        ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max_usage_in_bytes"]
    };
    if touch(beside, TWIN, ask)?.is_none_or(|twin| twin.bytes < ask) {
        return Ok(Proof::not_provable(
            "the twin without the limit did not come to have all, either",
        ));
    }
    beside.write(COPY, files[0], &size.to_string())?;
    // On v1 this counts memory and swap. With less it would be met before the limit that is tried.
    let swap = if beside.is_v2() { 0 } else { size + BEYOND / 2 };
    beside.write_if_there(COPY, files[1], &swap.to_string())?;
    let touched = touch(beside, COPY, ask)?;
    let number = |file| beside.read(COPY, file).ok().and_then(|text| text.parse().ok());
    let peak = number(files[2]);
    let met = match beside.is_v2() {
        true => beside.keyed(COPY, "memory.events", "max"),
        false => number("memory.failcnt").unwrap_or(0),
    };
    Ok(judge_max(size, ask, touched.is_none(), peak, met))
}

fn judge_max(size: u64, ask: u64, is_killed: bool, peak: Option<u64>, met: u64) -> Proof {
    let [size_text, ask_text] = [size, ask].map(|bytes| Bytes::new(bytes).to_string());
    let twin = format!("twin without a limit: {ask_text}");
    let is_beyond = !is_killed && peak.is_some_and(|peak| peak > size + MIB);
    // Anybody may kill a probe, the kernel does so first if all memory runs out, and one without CPU time asks for nothing.
    if met == 0 && !is_beyond {
        return Proof::not_provable("the copy ended before it met its limit").with(twin);
    }
    if is_killed {
        return Proof::enforced(format!("copy with {size_text}: killed before it had {ask_text}"))
            .with(twin);
    }
    match peak {
        // What is charged in batches may pass the limit by a few pages of each CPU (MEMCG_CHARGE_BATCH).
        Some(peak) if peak <= size + MIB => {
            let peak = Bytes::new(peak);
            Proof::enforced(format!(
                "copy with {size_text}: asked for {ask_text}, never held more than {peak}"
            ))
            .with(twin)
        }
        Some(peak) => {
            let peak = Bytes::new(peak);
            Proof::not_enforced(format!("a copy with {size_text} held {peak}")).with(twin)
        }
        None => Proof::not_provable(
            "the probe was not killed, and this kernel does not say how much it held",
        ),
    }
}

/// Copy and twin ask for more memory than they may have. What the twin lacks is swapped out; the copy is killed.
pub(super) fn swap(beside: &Beside<'_>, amount: f64) -> Result<Proof, Error> {
    let (ask, swap) = (MOST + BEYOND, (amount as u64).min(BEYOND / 2));
    for group in [COPY, TWIN] {
        beside.write(group, "memory.max", &MOST.to_string())?;
    }
    let twin = touch(beside, TWIN, ask)?;
    beside.write(COPY, "memory.swap.max", &swap.to_string())?;
    let copy = touch(beside, COPY, ask)?;
    let met = beside.keyed(COPY, "memory.events", "max");
    Ok(judge_swap(swap, ask, copy, twin, met))
}

fn judge_swap(
    swap: u64,
    ask: u64,
    copy: Option<Touched>,
    twin: Option<Touched>,
    met: u64,
) -> Proof {
    let [swap, size, all] = [swap, MOST, ask].map(|bytes| Bytes::new(bytes).to_string());
    let has_all = |touched: Option<Touched>| touched.is_some_and(|one| one.bytes >= ask);
    if !has_all(twin) {
        return Proof::not_provable(format!(
            "a twin without the limit was not swapped out to {all}"
        ));
    }
    let seen = format!("copy with {size} and {swap} of swap: killed before it had {all}");
    let twin = format!("twin with {size} and any swap: {all}");
    match copy {
        None if met > 0 => Proof::enforced(seen).with(twin),
        Some(_) if has_all(copy) => {
            Proof::not_enforced(format!("a copy with {size} and {swap} of swap had {all}"))
                .with(twin)
        }
        _ => {
            Proof::not_provable("the copy was neither killed for its limit nor had all").with(twin)
        }
    }
}

/// The copy asks for more than it may have at ease: it is slowed.
pub(super) fn high(beside: &Beside<'_>, amount: f64) -> Result<Proof, Error> {
    let Some(size) = size(amount) else { return Ok(too_small(amount)) };
    let ask = size + BEYOND;
    let Some(free) = touch(beside, TWIN, ask)? else {
        return Ok(Proof::not_provable("the twin without the limit was killed"));
    };
    beside.write(COPY, "memory.high", &size.to_string())?;
    let slowed = touch(beside, COPY, ask)?;
    let events = beside.keyed(COPY, "memory.events", "high");
    Ok(judge_high(size, free, slowed, events))
}

fn judge_high(size: u64, free: Touched, slowed: Option<Touched>, events: u64) -> Proof {
    let Some(slowed) = slowed else {
        return Proof::not_provable("the copy was killed instead of slowed");
    };
    let size = Bytes::new(size);
    let speed = |touched: &Touched| touched.bytes as f64 / touched.ns.max(1) as f64;
    let times = speed(&free) / speed(&slowed).max(f64::MIN_POSITIVE);
    let what = format!("copy with {size}: {times:.0} times slower than its twin, {events} events");
    match events {
        0 if slowed.bytes < free.bytes => {
            Proof::not_provable("the copy had no time to ask for all").with(what)
        }
        0 => Proof::not_enforced(format!("a copy with {size} was never slowed")).with(what),
        _ if times >= 2.0 => Proof::enforced(what),
        _ => Proof::not_provable("the kernel counted the excess, and the copy was hardly slower")
            .with(what),
    }
}

#[derive(Debug, Clone, Copy)]
struct Touched {
    bytes: u64,
    ns: u64,
}

/// Touches so much memory for at most a second, in an emulated guest three; `None` if the probe was killed.
fn touch(beside: &Beside<'_>, group: usize, bytes: u64) -> Result<Option<Touched>, Error> {
    let mut probe = beside.start(group, "memory")?;
    let answer = probe.ask(&format!("touch {bytes} {}", beside.patience))?;
    let Some(answer) = answer else {
        let _ = probe.ended_within(Duration::from_secs(1));
        return Ok(None);
    };
    let mut numbers = answer.split_whitespace().skip(1).filter_map(|word| word.parse().ok());
    let mut next = || numbers.next().unwrap_or(0);
    Ok(Some(Touched { bytes: next(), ns: next() }))
}

fn size(amount: f64) -> Option<u64> {
    let size = (amount as u64).min(MOST);
    (size >= LEAST).then_some(size)
}

fn too_small(amount: f64) -> Proof {
    Proof::not_provable(format!("no probe starts in {}", Bytes::new(amount as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn killed_or_held_at_the_limit_is_enforced_and_beyond_it_is_not() {
        let judge = |is_killed, peak| judge_max(16 * MIB, 24 * MIB, is_killed, peak, 1).verdict;
        assert_eq!(judge(true, Some(16 * MIB)), Verdict::Enforced);
        assert_eq!(judge(false, Some(16 * MIB)), Verdict::Enforced);
        assert_eq!(judge(false, Some(24 * MIB)), Verdict::NotEnforced);
        assert_eq!(judge(false, None), Verdict::NotProvable);
        let unmet = |is_killed, peak| judge_max(16 * MIB, 24 * MIB, is_killed, peak, 0).verdict;
        assert_eq!(unmet(true, Some(9 * MIB)), Verdict::NotProvable, "killed by others");
        assert_eq!(unmet(false, Some(9 * MIB)), Verdict::NotProvable, "without CPU time");
        assert_eq!(unmet(false, Some(24 * MIB)), Verdict::NotEnforced);
    }

    #[test]
    fn swap_is_limited_if_the_twin_has_all_and_the_copy_is_killed() {
        let all = Some(Touched { bytes: 24 * MIB, ns: 1 });
        let some = Some(Touched { bytes: 17 * MIB, ns: 1 });
        let judge = |copy, twin, met| judge_swap(0, 24 * MIB, copy, twin, met).verdict;
        assert_eq!(judge(None, all, 1), Verdict::Enforced);
        assert_eq!(judge(all, all, 1), Verdict::NotEnforced);
        assert_eq!(judge(some, all, 1), Verdict::NotProvable);
        assert_eq!(judge(None, all, 0), Verdict::NotProvable);
        assert_eq!(judge(None, None, 1), Verdict::NotProvable);
        assert_eq!(judge(None, some, 1), Verdict::NotProvable);
    }

    #[test]
    fn only_events_and_slowness_together_show_memory_high() {
        let free = Touched { bytes: 24 * MIB, ns: 10_000_000 };
        let slow = Touched { bytes: 17 * MIB, ns: 1_000_000_000 };
        let judge = |touched, events| judge_high(16 * MIB, free, touched, events).verdict;
        assert_eq!(judge(Some(slow), 9), Verdict::Enforced);
        assert_eq!(judge(Some(free), 0), Verdict::NotEnforced);
        assert_eq!(judge(Some(slow), 0), Verdict::NotProvable, "without CPU time");
        assert_eq!(judge(Some(free), 9), Verdict::NotProvable);
        assert_eq!(judge(None, 9), Verdict::NotProvable);
    }
}
