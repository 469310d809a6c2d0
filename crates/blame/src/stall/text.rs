//! The answer about memory as text.

use std::fmt::{Result, Write};

use assay_host::facts::Available;

use super::{MemoryAnswer, Pages, Reclaimer, Stall, StallPart};
use crate::answer::Verdict;
use crate::text::time;

/// Parts below this are not shown, in percent.
const SMALL: f64 = 0.5;

/// What has grown by less than this many bytes is not shown.
const GROWN: u64 = 1 << 20;

/// Groups are shown up to this number.
const MOST: usize = 4;

/// The answer for a terminal, or why there is none.
#[must_use]
pub fn memory_text(memory: &Available<MemoryAnswer>) -> String {
    match memory {
        Available::NotAvailable(reason) => format!("memory: not available: {reason}\n"),
        Available::Value(answer) => {
            let mut text = String::new();
            let _ = write_all(&mut text, answer);
            text
        }
    }
}

fn write_all(out: &mut String, answer: &MemoryAnswer) -> Result {
    let MemoryAnswer { stalled_ns, seconds, .. } = answer;
    if *stalled_ns == 0 {
        writeln!(out, "memory: no thread was stalled in {seconds:.1} s")?;
    } else {
        writeln!(out, "memory: threads were stalled for {} in {seconds:.1} s", time(*stalled_ns))?;
    }
    let large = answer.parts.iter().filter(|part| part.percent >= SMALL);
    large.into_iter().try_for_each(|part| write_part(out, part))?;
    if answer.evicted_bytes > 0 {
        let mib = mebibytes(answer.evicted_bytes);
        writeln!(
            out,
            "  {mib:.1} MiB of its page cache were reclaimed, by {}",
            shares(&answer.evicted)
        )?;
        if !answer.filled.is_empty() {
            writeln!(out, "  new page cache meanwhile: {}", shares(&answer.filled))?;
        }
    }
    let grown: Vec<String> =
        answer.grown.iter().filter(|one| one.bytes >= GROWN).take(MOST).map(growth).collect();
    if answer.stalled_ns > 0 && !grown.is_empty() {
        writeln!(out, "  memory taken meanwhile: {}", grown.join(", "))?;
    }
    if answer.dropped > 0 {
        writeln!(out, "  {} stalls were not counted", answer.dropped)?;
    }
    match (answer.verdict, &answer.reason, &answer.pressure_ns) {
        (Verdict::Void, Some(reason), _) => writeln!(out, "  void: {reason}"),
        (_, _, Available::NotAvailable(_)) if answer.stalled_ns == 0 => Ok(()),
        (_, _, Available::NotAvailable(reason)) => writeln!(out, "  not checked: {reason}"),
        (_, _, Available::Value(pressure)) => writeln!(
            out,
            "  at least one of them for {}, as the kernel counted (memory.pressure)",
            time(*pressure)
        ),
    }
}

fn write_part(out: &mut String, part: &StallPart) -> Result {
    let group = part.group.as_deref().unwrap_or("a group that is not known");
    let what = match part.stall {
        Stall::Max => format!("reclaim at the limit of {group}"),
        Stall::High => format!("reclaim above memory.high of {group}"),
        Stall::Machine => "reclaim, since the machine is short of memory".to_owned(),
        Stall::Other => "reclaim that no limit of these groups asked for".to_owned(),
        Stall::Compaction => "compaction, to make room for large pages".to_owned(),
        Stall::Throttle => format!("delayed by memory.high of {group}"),
        Stall::ReadBack => "pages read again after they were reclaimed".to_owned(),
    };
    write!(out, "  {:>6.1} %  {:>10}  {what}", part.percent, time(part.ns))?;
    let lengths = &part.lengths;
    if lengths.count > 0 {
        let (half, most) = (time(lengths.p50_below_ns), time(lengths.p99_below_ns));
        write!(out, ": {} times, half below {half}, 99 % below {most}", lengths.count)?;
    }
    writeln!(out)
}

fn growth(one: &Pages) -> String {
    format!("{} {:.1} MiB", name(one), mebibytes(one.bytes))
}

fn name(one: &Pages) -> &str {
    match (one.by, &one.group) {
        (_, Some(group)) => group,
        (Reclaimer::Own, None) => "itself",
        (Reclaimer::Kswapd, None) => "kswapd",
        (Reclaimer::Kernel, None) => "kernel threads",
        (Reclaimer::Group | Reclaimer::Ungrouped, None) => "processes in no group",
    }
}

fn shares(pages: &[Pages]) -> String {
    let shown = pages.iter().take(MOST).map(|one| format!("{} {:.0} %", name(one), one.percent));
    shown.collect::<Vec<_>>().join(", ")
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
