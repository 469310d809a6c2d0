//! Properties of CFQ's algorithm (block/cfq-iosched.c, until 4.20). No sampled data distinguishes
//! them, so each is suspected only on such kernels, with the figure that its arithmetic gives where
//! there is one.

use assay_knob::KernelVersion;
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, Expect, FoundBy, PredictedEffect};
use assay_verdict::wording::percent;

use super::fit::Fit;
use super::{Strength, Suspicion};
use crate::estimates::Estimates;
use crate::queue::{self, Queue};
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const REENTRY: CauseEntry = CauseEntry {
    code: "C-CFQ-REENTRY",
    what: "Under CFQ a group whose queue ran empty is put behind all others when it comes back and loses what it was owed.",
    found_by: FoundBy::Suspicion,
    fingerprint: "The scheduler is `cfq` (before 5.0) and not all requests of a group wait in the queue.",
    confirm: "A longer `group_idle`, or more requests outstanding: shares return.",
    tests: &["iodepth"],
    effects: &[PredictedEffect {
        of: &["iodepth"],
        expect: Expect::RISES,
        why: "a shallower queue runs empty more often",
    }],
    remedy: "Raise `iosched/group_idle`, or use BFQ.",
    source: "block/cfq-iosched.c of 4.x: cfq_group_notify_queue_add",
};

pub(super) const SLICE_FLOOR: CauseEntry = CauseEntry {
    code: "C-CFQ-SLICE-FLOOR",
    what: "Under CFQ no slice is shorter than two idle times (16 ms; none on a disk that does not rotate, where `slice_idle` is 0), so that the lightest groups get more than their part of a round once that would be shorter.",
    found_by: FoundBy::Suspicion,
    fingerprint: "The scheduler is `cfq` (before 5.0), and 300 ms times the lightest share is less than twice `iosched/slice_idle`; the lightest classes merge first.",
    confirm: "`iosched/target_latency` of 3000 instead of 300, or `slice_idle` of 1: the break moves to as many times the groups.",
    tests: &[],
    effects: &[],
    remedy: "A longer `iosched/target_latency`, a shorter `slice_idle`, or BFQ.",
    source: "block/cfq-iosched.c of 4.x: cfq_group_slice, cfq_scaled_cfqq_slice",
};

pub(super) const DELAY: CauseEntry = CauseEntry {
    code: "C-CFQ-DELAY",
    what: "CFQ of 4.8 to 4.11 puts a group that comes back to the tree 200 000 000 units of virtual time behind, in the mode that counts requests.",
    found_by: FoundBy::Suspicion,
    fingerprint: "The scheduler is `cfq` and the kernel one of 4.8 to 4.11; light groups starve after their queue ran empty, however many groups there are.",
    confirm: "The same on 4.12: shares return.",
    tests: &[],
    effects: &[],
    remedy: "A kernel from 4.12 on.",
    source: "5be6b75610 (4.12)",
};

pub(super) const VFRACTION: CauseEntry = CauseEntry {
    code: "C-CFQ-VFRACTION",
    what: "CFQ keeps a group's part of the whole in 12 bits, and what is cut off is lost to the lightest.",
    found_by: FoundBy::Suspicion,
    fingerprint: "The scheduler is `cfq` and floor(4096 share) / 4096 is less than the lightest share by half of the margin or more: from 128 groups of 1:2:4:8 on, by 5.5 %.",
    confirm: "Exactly the residual that arithmetic gives, at any iodepth and length.",
    tests: &[],
    effects: &[],
    remedy: "Fewer groups at one level, or BFQ.",
    source: "block/cfq-iosched.c of 4.x: CFQ_SERVICE_SHIFT, vfraction",
};

/// One round of all groups in seconds (`target_latency`, 300 ms).
const ROUND_S: f64 = 0.3;

/// `slice_idle` of a disk that rotates, in milliseconds.
const SLICE_IDLE_MS: f64 = 8.0;

/// Resolution of a group's fraction of the whole (`vfraction`).
const PARTS: f64 = 4096.0;

/// All suspicions about CFQ.
pub(super) fn suspect(
    subject: &Subject<'_>,
    queue: &Queue,
    repeat: &Repeat<'_>,
    numbers: &Estimates,
    within: f64,
) -> Vec<Suspicion> {
    let reading = queue::reading(repeat, &queue.disk);
    let slice_idle = reading.and_then(|reading| reading.at_start.get("iosched/slice_idle"));
    let shortest_s = shortest_slice_s(slice_idle.map(String::as_str));
    let shares: Vec<f64> = numbers.expected.iter().map(|expected| expected.share).collect();
    let mut found = vec![fits(
        REENTRY.code,
        "suspected: under CFQ a group whose queue ran empty loses what it was owed",
        format!("the scheduler of {} is cfq", queue.device),
        Strength::Weak,
    )];
    let predict = |shares: Vec<f64>| Fit::new(numbers, &shares).and_then(Fit::strength);
    let slices = shares.iter().map(|share| share.max(shortest_s / ROUND_S)).collect();
    let cut = shares.iter().map(|share| (share * PARTS).floor() / PARTS).collect();
    found.push(scored(floor(&shares, shortest_s), predict(slices)));
    found.push(scored(truncated(&shares, within), predict(cut)));
    found.extend(delay(&subject.host.kernel));
    found
}

/// Replaces the strength by how well the arithmetic prediction fits.
fn scored(found: Suspicion, strength: Option<Strength>) -> Suspicion {
    match (found, strength) {
        (Suspicion::Fits(cause, _), Some(strength)) => Suspicion::Fits(cause, strength),
        (Suspicion::Fits(cause, _), None) => {
            Suspicion::Open(format!("{}: {}", cause.code, cause.evidence.join("; ")))
        }
        (other, _) => other,
    }
}

fn fits(code: &str, summary: &str, evidence: String, strength: Strength) -> Suspicion {
    let cause = Cause {
        code: code.to_owned(),
        summary: summary.to_owned(),
        evidence: vec![evidence],
        strength: None,
    };
    Suspicion::Fits(cause, strength)
}

/// The shortest slice of a group: twice `slice_idle`, which CFQ sets to 0 for a disk that does not rotate.
fn shortest_slice_s(slice_idle: Option<&str>) -> f64 {
    let idle_ms = slice_idle.and_then(|text| text.trim().parse().ok()).unwrap_or(SLICE_IDLE_MS);
    2e-3 * idle_ms
}

/// Compares the lightest group's part of a round with the shortest slice.
fn floor(shares: &[f64], shortest_s: f64) -> Suspicion {
    let code = SLICE_FLOOR.code;
    let least = shares.iter().copied().fold(1.0, f64::min);
    let slice = ROUND_S * least;
    let text = format!(
        "the lightest group's part of a round of {:.0} ms is {:.1} ms, and no slice is shorter than \
         {:.0} ms",
        1e3 * ROUND_S,
        1e3 * slice,
        1e3 * shortest_s
    );
    if slice >= shortest_s {
        return Suspicion::RuledOut(format!("{code}: {text}"));
    }
    let summary =
        "suspected: under CFQ the lightest groups get the shortest slice instead of their own";
    fits(code, summary, text, Strength::Fair)
}

/// Rounding of the lightest share to twelve bits.
fn truncated(shares: &[f64], within: f64) -> Suspicion {
    let code = VFRACTION.code;
    let error = |share: f64| (share * PARTS).floor() / PARTS / share - 1.0;
    let worst = shares.iter().map(|share| error(*share)).fold(0.0, f64::min);
    let text = format!("cutting shares to 12 bits moves the most affected by {}", percent(worst));
    if worst.abs() < 0.5 * within {
        return Suspicion::RuledOut(format!("{code}: {text}"));
    }
    fits(code, "suspected: under CFQ a share is cut to 12 bits", text, Strength::Weak)
}

/// The delay of re-added groups, removed by 5be6b75610 in 4.12.
fn delay(release: &str) -> Option<Suspicion> {
    let code = DELAY.code;
    let text = format!("the kernel is {release}");
    match KernelVersion::parse(release) {
        None => Some(Suspicion::NotExamined(format!("{code}: {text}, which is not a version"))),
        Some(version)
            if !(KernelVersion::new(4, 8)..KernelVersion::new(4, 12)).contains(&version) =>
        {
            Some(Suspicion::RuledOut(format!("{code}: {text}")))
        }
        Some(_) => {
            let summary = "suspected: CFQ of 4.8 to 4.11 puts a group that comes back far behind";
            Some(fits(code, summary, text, Strength::Weak))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(groups: usize) -> Vec<f64> {
        let weights: Vec<f64> = [1.0, 2.0, 4.0, 8.0].into_iter().cycle().take(groups).collect();
        let all: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / all).collect()
    }

    fn fits(found: &Suspicion) -> bool {
        matches!(found, Suspicion::Fits(..))
    }

    #[test]
    fn slices_matter_from_eight_groups_and_bits_from_128() {
        let by_default = |groups| floor(&shares(groups), shortest_slice_s(None));
        assert!(!fits(&by_default(4)) && fits(&by_default(8)));
        assert!(!fits(&truncated(&shares(64), 0.1)) && fits(&truncated(&shares(128), 0.1)));
    }

    #[test]
    fn no_slice_is_too_short_on_a_disk_that_does_not_rotate() {
        let is_short =
            |groups, slice_idle| fits(&floor(&shares(groups), shortest_slice_s(Some(slice_idle))));
        assert!(!is_short(256, "0") && is_short(256, "1\n"));
        assert!(!is_short(4, "8") && is_short(8, "8"));
    }

    #[test]
    fn the_delay_is_suspected_from_4_8_to_4_11() {
        for (release, expected) in
            [("4.7.10", false), ("4.8", true), ("4.11.2", true), ("4.15", false)]
        {
            assert_eq!(delay(release).is_some_and(|found| fits(&found)), expected, "{release}");
        }
    }
}
