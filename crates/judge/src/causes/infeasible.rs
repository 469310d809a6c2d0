//! C-INFEASIBLE: a group has too few threads for what its weight asks for, so that the weights
//! alone promise what no scheduler can give (Chandra, Adler, Goyal and Shenoy 2000).

use super::{Strength, Suspicion};
use crate::judgement::Cause;
use crate::promise::Numbers;
use crate::wording::{percent, some_of};

const CODE: &str = "C-INFEASIBLE";

/// Lists the groups whose weight asks for more than their threads can use. The promise allows for
/// it, so that it explains a difference from the weights, and only weakly one from the promise.
pub(super) fn suspect(numbers: &Numbers) -> Suspicion {
    let each = numbers.names.iter().zip(&numbers.expected).zip(&numbers.seen);
    let few: Vec<String> = each
        .filter_map(|((name, expected), seen)| {
            let weighed = expected.by_weight.filter(|weighed| *weighed > expected.share)?;
            Some(format!(
                "`{name}`: {} by weight, {} for its threads, {} seen",
                percent(weighed),
                percent(expected.share),
                percent(seen.value)
            ))
        })
        .collect();
    if few.is_empty() {
        return Suspicion::RuledOut(format!(
            "{CODE}: every group has threads enough for its weight"
        ));
    }
    Suspicion::Fits(
        Cause {
            code: CODE.to_owned(),
            summary: "suspected: a group has too few threads for what its weight asks for"
                .to_owned(),
            evidence: vec![some_of(&few, "; ")],
            strength: None,
        },
        Strength::Weak,
    )
}
