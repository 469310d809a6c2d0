//! C-RECLAIM and C-THP: memory that had to be made free, or put together, while the groups ran.
//! Either takes time of whoever asks for memory, whatever shares of CPU or disk it is promised.

use super::{Strength, Suspicion};
use crate::promise::Subject;
use assay_verdict::Cause;
use assay_verdict::Measure;
use assay_verdict::wording::some_of;

/// Pages a second that the groups' own threads scanned to get one (`pgscan_direct`): 1 MiB/s.
const SCANNED: f64 = 256.0;

/// Huge pages a second that could not be had, or put together, when they were asked for.
const FALLEN_BACK: f64 = 100.0;

/// Looks at what the whole host counted, the worst repeat. The host's counters say nothing of who
/// lost by it, so that of shares they are a weak sign; and a disk does not mind huge pages.
pub(super) fn suspect(subject: &Subject<'_>, measure: Option<Measure>) -> Vec<Suspicion> {
    let strength = match measure {
        Some(measure) if measure.is_io() || measure.is_cpu() => Strength::Weak,
        _ => Strength::Fair,
    };
    let reclaim = counted(subject, "C-RECLAIM", &["pgscan_direct"], SCANNED).map(|seen| {
        let summary = "suspected: memory was short, and threads of the groups reclaimed it by \
                       themselves";
        (summary, seen)
    });
    let huge = ["thp_fault_fallback", "thp_fault_fallback_charge", "compact_stall"];
    let thp = counted(subject, "C-THP", &huge, FALLEN_BACK).map(|seen| {
        let summary = "suspected: huge pages were asked for and could not be had, so that some \
                       groups have them and others do not";
        (summary, seen)
    });
    let mut found = vec![of("C-RECLAIM", reclaim, strength)];
    if !measure.is_some_and(Measure::is_io) {
        found.push(of("C-THP", thp, strength));
    }
    found
}

fn of(code: &str, found: Result<(&str, String), Suspicion>, strength: Strength) -> Suspicion {
    match found {
        Err(other) => other,
        Ok((summary, seen)) => Suspicion::Fits(
            Cause {
                code: code.to_owned(),
                summary: summary.to_owned(),
                evidence: vec![seen],
                strength: None,
            },
            strength,
        ),
    }
}

/// What these counters came to, where one of them grew by more than `most` a second; else why it
/// is not that.
fn counted(
    subject: &Subject<'_>,
    code: &str,
    columns: &[&str],
    most: f64,
) -> Result<String, Suspicion> {
    let mut seen: Vec<(f64, String)> = Vec::new();
    let mut missing = String::new();
    for repeat in subject.repeats {
        for column in columns {
            match repeat.growth("vmstat", "host", &[column]) {
                Ok((grown, seconds)) => {
                    let rate = grown / seconds;
                    seen.push((rate, format!("`{column}` grew by {rate:.1} a second")));
                }
                Err(why) => missing = why,
            }
        }
    }
    if seen.is_empty() {
        return Err(Suspicion::NotSeen(format!("{code}: {missing}")));
    }
    seen.sort_by(|a, b| b.0.total_cmp(&a.0));
    let texts: Vec<String> = seen.iter().map(|(_, text)| text.clone()).collect();
    let text = some_of(&texts, ", ");
    if seen[0].0 <= most {
        return Err(Suspicion::RuledOut(format!("{code}: {text}")));
    }
    Ok(text)
}
