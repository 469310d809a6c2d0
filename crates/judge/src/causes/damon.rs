//! C-DAMON-RECLAIM: a scheme of DAMON takes pages away that nobody touched for a while, whatever group
//! they belong to, whatever protects them, and however much memory is free
//! (Documentation/admin-guide/mm/damon/design.rst, "Operation Action"). Nothing in /proc/vmstat
//! counts them as reclaimed.

use assay_facts::{Available, DamonScheme};
use assay_run_folder::{PromiseRecord, RelationRecord};

use super::{Strength, Suspicion};
use crate::promise::Subject;
use crate::repeat::Repeat;
use assay_verdict::Cause;
use assay_verdict::wording::number;

const CODE: &str = "C-DAMON-RECLAIM";

/// Looks at the schemes of the host, where pages that are taken away would break this promise.
pub(super) fn suspect(subject: &Subject<'_>, promise: &PromiseRecord) -> Option<Suspicion> {
    if !is_broken_by_eviction(promise) {
        return None;
    }
    let schemes = match &subject.host.damon {
        Available::NotAvailable(why) => return Some(Suspicion::NotSeen(format!("{CODE}: {why}"))),
        Available::Value(schemes) => schemes,
    };
    let taking: Vec<&DamonScheme> = schemes.iter().filter(|scheme| scheme.evicts()).collect();
    if taking.is_empty() {
        let why = "no scheme of DAMON that is on pages out";
        return Some(Suspicion::RuledOut(format!("{CODE}: {why}")));
    }
    let taken: Vec<Taken> = taking
        .iter()
        .flat_map(|scheme| subject.repeats.iter().map(|repeat| Taken::of(scheme, repeat)))
        .collect();
    Some(of(&taken, refaults(subject)))
}

/// Whether less in memory is what breaks the promise.
fn is_broken_by_eviction(promise: &PromiseRecord) -> bool {
    let measure = promise.measure.as_str();
    let ends = |with: &[&str]| with.iter().any(|end| measure.ends_with(end));
    let falls = measure == "memory.current" || ends(&["_memory_part", "_resident_before_bytes"]);
    let rises = measure == "memory.refaults" || ends(&["_disk_part", "_disk_bytes"]);
    match promise.is {
        RelationRecord::Equal | RelationRecord::Proportional(_) => falls || rises,
        RelationRecord::AtLeast(_) | RelationRecord::AtLeastKnob(_) => falls,
        RelationRecord::AtMost(_) | RelationRecord::AtMostKnob(_) => rises,
        RelationRecord::Placed => false,
    }
}

/// What one scheme did in one repeat.
struct Taken {
    name: String,
    repeat: usize,
    /// Bytes that it took, or why nobody knows.
    bytes: Result<f64, String>,
    /// CPU seconds of its thread.
    cpu_s: Option<f64>,
}

impl Taken {
    fn of(scheme: &DamonScheme, repeat: &Repeat<'_>) -> Self {
        let cpu_s = grown(repeat, "damon", &scheme.name, "cpu_ns").ok().map(|ns| ns / 1e9);
        let bytes = grown(repeat, "damon", &scheme.name, "applied_bytes").map_err(|why| {
            let known = repeat.record.not_available.get("damon.applied_bytes");
            known.cloned().unwrap_or(why)
        });
        Self { name: scheme.name.clone(), repeat: repeat.number, bytes, cpu_s }
    }

    fn says(&self) -> String {
        let what = match &self.bytes {
            Ok(bytes) => format!("took {} MiB", number(bytes / 1_048_576.0)),
            Err(why) => format!("was on; how much it took is not available: {why}"),
        };
        let cpu = self.cpu_s.map_or_else(String::new, |seconds| {
            format!("; its thread used {:.0} ms of CPU time", seconds * 1e3)
        });
        format!("repeat {}: `{}` {what}{cpu}", self.repeat, self.name)
    }
}

fn of(taken: &[Taken], refaults: Option<String>) -> Suspicion {
    let known: Vec<f64> = taken.iter().filter_map(|one| one.bytes.as_ref().ok().copied()).collect();
    let took = known.iter().any(|bytes| *bytes > 0.0);
    if known.len() == taken.len() && !took {
        let why = "schemes that page out were on and took nothing in the window";
        return Suspicion::RuledOut(format!("{CODE}: {why}"));
    }
    let mut evidence: Vec<String> = taken.iter().map(Taken::says).collect();
    evidence.extend(refaults);
    let strength = if took { Strength::Strong } else { Strength::Fair };
    let cause = Cause {
        code: CODE.to_owned(),
        summary: "suspected: DAMON takes pages that nobody touched for a while, however much \
                  memory is free"
            .to_owned(),
        evidence,
        strength: None,
    };
    Suspicion::Fits(cause, strength)
}

/// Pages of files that came back after they had been taken, in the repeat with most of them.
fn refaults(subject: &Subject<'_>) -> Option<String> {
    let of = |repeat: &Repeat<'_>| {
        let pages = grown(repeat, "vmstat", "host", "workingset_refault_file").ok()?;
        let scanned = grown(repeat, "vmstat", "host", "pgscan_file").unwrap_or(f64::NAN);
        Some((pages, scanned, repeat.number))
    };
    let all = subject.repeats.iter().filter_map(of);
    let (pages, scanned, repeat) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let reclaim = match scanned {
        0.0 => "and ordinary reclaim looked at none",
        _ if scanned.is_nan() => "and what ordinary reclaim looked at is not counted",
        _ => "though ordinary reclaim was at work too",
    };
    (pages > 0.0).then(|| {
        format!(
            "repeat {repeat}: {} pages of files were read again after they had been taken \
             (`workingset_refault_file`), {reclaim}",
            number(pages)
        )
    })
}

/// How much a counter grew over the window, or why that is not known.
fn grown(repeat: &Repeat<'_>, source: &str, subject: &str, column: &str) -> Result<f64, String> {
    repeat.growth(source, subject, &[column]).map(|(grown, _)| grown)
}
