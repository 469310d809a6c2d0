//! The sentence that explains the verdict of a promise across trials.

use crate::verdict::Verdict;
use crate::verdict::wording::{count, levels, margin, number};
use assay_record::run_folder::{AcrossRecord, ComparisonRecord};
use assay_stats::rule::FEWEST;

use super::Pair;

/// The reason of a verdict, with the numbers of the pair that decided it.
pub(super) fn reason(promise: &ComparisonRecord, pairs: &[Pair], verdict: Verdict) -> String {
    let Some(decisive) = decisive(pairs, verdict) else {
        return "fewer than two levels of the factor are in this run".to_owned();
    };
    let (spread, interval) = match (&decisive.spread, decisive.interval) {
        (Ok(spread), Some(interval)) => (spread, interval),
        (Err(why), _) => return format!("there is no number to compare: {why}"),
        (Ok(_), None) => return "there is no number to compare".to_owned(),
    };
    let (ratio, low, high) = interval;
    let what = format!(
        "`{}` under {} is {} times that under {}",
        promise.measure,
        levels(&decisive.judged.of),
        number(ratio),
        levels(&decisive.judged.to)
    );
    if spread.count < FEWEST {
        let have = count(spread.count, "repeat");
        return format!("{what} over {have}, and a verdict takes {FEWEST} or more");
    }
    let interval =
        format!("{} to {} over {}", number(low), number(high), count(spread.count, "repeat"));
    let open = match (verdict, &decisive.objection) {
        (_, Some(why)) => format!("; {why}"),
        (Verdict::Undecided, None) => ", which leaves it open".to_owned(),
        _ => String::new(),
    };
    let simultaneous = match pairs.len() {
        0 | 1 => String::new(),
        pairs if verdict == Verdict::Kept => format!("all of {}: ", count(pairs, "pair")),
        _ => String::new(),
    };
    format!("{simultaneous}{what} ({interval}); {} was promised{open}", promised(&promise.is))
}

/// `at least 1.1`, `a difference of at most 5 %`.
fn promised(is: &AcrossRecord) -> String {
    match is {
        AcrossRecord::Ratio { at_least: Some(low), at_most: Some(high), .. } => {
            format!("{} to {}", number(*low), number(*high))
        }
        AcrossRecord::Ratio { at_least: Some(low), .. } => format!("at least {}", number(*low)),
        AcrossRecord::Ratio { at_most: Some(high), .. } => format!("at most {}", number(*high)),
        AcrossRecord::Ratio { .. } => "any ratio".to_owned(),
        AcrossRecord::Equal { within, .. } => {
            format!("a difference of at most {}", margin(*within))
        }
    }
}

/// The pair that decides the verdict: among those with that verdict, the one whose ratio is
/// farthest from 1.
fn decisive(pairs: &[Pair], verdict: Verdict) -> Option<&Pair> {
    let distance = |pair: &&Pair| pair.spread.as_ref().map_or(0.0, |spread| spread.mean.abs());
    pairs
        .iter()
        .filter(|pair| pair.judged.verdict == verdict)
        .max_by(|a, b| distance(a).total_cmp(&distance(b)))
}
