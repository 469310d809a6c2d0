//! C-DAMON-RECLAIM: a DAMON scheme evicts pages that were not touched for a while, whatever group
//! they belong to, whatever protects them, and however much memory is free
//! (Documentation/admin-guide/mm/damon/design.rst, "Operation Action"). /proc/vmstat does not count
//! them as reclaimed.

use assay_facts::{Available, DamonScheme};
use assay_run_folder::PromiseRecord;
use assay_terms::{RelationKind, Side};
use assay_verdict::Cause;
use assay_verdict::causes::{CauseEntry, FoundBy};
use assay_verdict::wording::number;

use super::{Strength, Suspicion};
use crate::repeat::Repeat;
use crate::subject::Subject;

pub(super) const ENTRY: CauseEntry = CauseEntry {
    code: "C-DAMON-RECLAIM",
    what: "A DAMON scheme evicted pages that had not been touched for a while, although memory was free.",
    found_by: FoundBy::Suspicion,
    fingerprint: "A scheme `pageout` is active while something that should have stayed in memory did not; where the kernel keeps the scheme's own counts, they grew in the window.",
    confirm: "The same with the scheme off (`off` into the `state` of the kdamond, `N` into `enabled` of damon_reclaim): the pages stay.",
    tests: &[],
    effects: &[],
    remedy: "Switch the scheme off while it is measured, or touch the pages more often than the scheme's pattern requires (`access_pattern/age`).",
    source: "Documentation/admin-guide/mm/damon/usage.rst and design.rst; mm/damon/paddr.c: pages are handed to reclaim whatever memory.low says",
};

const CODE: &str = ENTRY.code;

/// Examines the schemes of the host, where evicted pages would break this promise.
pub(super) fn suspect(subject: &Subject<'_>, promise: &PromiseRecord) -> Option<Suspicion> {
    if !is_broken_by_eviction(promise) {
        return None;
    }
    let schemes = match &subject.host.damon {
        Available::NotAvailable(why) => {
            return Some(Suspicion::NotExamined(format!("{CODE}: {why}")));
        }
        Available::Value(schemes) => schemes,
    };
    let active: Vec<&DamonScheme> = schemes.iter().filter(|scheme| scheme.evicts()).collect();
    if active.is_empty() {
        let why = "no active DAMON scheme pages out";
        return Some(Suspicion::RuledOut(format!("{CODE}: {why}")));
    }
    let effects: Vec<SchemeEffect> = active
        .iter()
        .flat_map(|scheme| subject.repeats.iter().map(|repeat| SchemeEffect::new(scheme, repeat)))
        .collect();
    Some(suspicion(&effects, refaults(subject)))
}

/// Whether evicted pages break the promise.
fn is_broken_by_eviction(promise: &PromiseRecord) -> bool {
    let measure = promise.measure.as_str();
    let ends = |with: &[&str]| with.iter().any(|end| measure.ends_with(end));
    let falls = measure == "memory.current" || ends(&["_memory_part", "_resident_before_bytes"]);
    let rises = measure == "memory.refaults" || ends(&["_disk_part", "_disk_bytes"]);
    match promise.is.kind() {
        RelationKind::Placed | RelationKind::Within => false,
        relation => match relation.side() {
            Side::Both => falls || rises,
            Side::Below => falls,
            Side::Above => rises,
        },
    }
}

/// Effect of one scheme in one repeat.
struct SchemeEffect {
    name: String,
    repeat: usize,
    /// Bytes that it evicted, or why that is unknown.
    bytes: Result<f64, String>,
    /// CPU seconds used by its thread.
    cpu_s: Option<f64>,
}

impl SchemeEffect {
    fn new(scheme: &DamonScheme, repeat: &Repeat<'_>) -> Self {
        let cpu_s = grown(repeat, "damon", &scheme.name, "cpu_ns").ok().map(|ns| ns / 1e9);
        let bytes = grown(repeat, "damon", &scheme.name, "applied_bytes").map_err(|why| {
            let known = repeat.record.not_available.get("damon.applied_bytes");
            known.cloned().unwrap_or(why)
        });
        Self { name: scheme.name.clone(), repeat: repeat.number, bytes, cpu_s }
    }

    fn describe(&self) -> String {
        let what = match &self.bytes {
            Ok(bytes) => format!("evicted {} MiB", number(bytes / 1_048_576.0)),
            Err(why) => format!("was active; how much it evicted is not available: {why}"),
        };
        let cpu = self.cpu_s.map_or_else(String::new, |seconds| {
            format!("; its thread used {:.0} ms of CPU time", seconds * 1e3)
        });
        format!("repeat {}: `{}` {what}{cpu}", self.repeat, self.name)
    }
}

fn suspicion(effects: &[SchemeEffect], refaults: Option<String>) -> Suspicion {
    let known: Vec<f64> =
        effects.iter().filter_map(|one| one.bytes.as_ref().ok().copied()).collect();
    let evicted = known.iter().any(|bytes| *bytes > 0.0);
    if known.len() == effects.len() && !evicted {
        let why = "schemes that page out were active and evicted nothing in the window";
        return Suspicion::RuledOut(format!("{CODE}: {why}"));
    }
    let mut evidence: Vec<String> = effects.iter().map(SchemeEffect::describe).collect();
    evidence.extend(refaults);
    let strength = if evicted { Strength::Strong } else { Strength::Fair };
    let cause = Cause {
        code: CODE.to_owned(),
        summary: "suspected: DAMON evicts pages that were not touched for a while, however much \
                  memory is free"
            .to_owned(),
        evidence,
        strength: None,
    };
    Suspicion::Fits(cause, strength)
}

/// Pages of files that were read again after eviction, in the repeat with most of them.
fn refaults(subject: &Subject<'_>) -> Option<String> {
    let of = |repeat: &Repeat<'_>| {
        let pages = grown(repeat, "vmstat", "host", "workingset_refault_file").ok()?;
        let scanned = grown(repeat, "vmstat", "host", "pgscan_file").unwrap_or(f64::NAN);
        Some((pages, scanned, repeat.number))
    };
    let all = subject.repeats.iter().filter_map(of);
    let (pages, scanned, repeat) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let reclaim = match scanned {
        0.0 => "and ordinary reclaim scanned none",
        _ if scanned.is_nan() => "and the pages scanned by ordinary reclaim are not counted",
        _ => "though ordinary reclaim was active too",
    };
    (pages > 0.0).then(|| {
        format!(
            "repeat {repeat}: {} file pages were read again after eviction \
             (`workingset_refault_file`), {reclaim}",
            number(pages)
        )
    })
}

/// Growth of a counter over the window, or why it is unknown.
fn grown(repeat: &Repeat<'_>, source: &str, subject: &str, column: &str) -> Result<f64, String> {
    repeat.growth(source, subject, &[column]).map(|(grown, _)| grown)
}
