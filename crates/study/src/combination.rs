//! Trials: every combination of the factors' values.

use crate::scalar::is_same;
use crate::syntax::{Bindings, Factor, LeftOut, Scalar, Study};

/// Studies with more trials than this are taken for a mistake: at one minute each they would take a
/// week.
pub(crate) const MOST_TRIALS: usize = 10_000;

/// Every combination of the factors' values that is not left out, the last factor of the file
/// varying fastest. A study without factors has one trial.
#[must_use]
pub fn combinations(study: &Study) -> Vec<Bindings> {
    let mut all = over(study.factors.iter());
    all.retain(|trial| !study.design.leave_out.iter().any(|left| is_left_out(trial, left)));
    all
}

fn is_left_out(trial: &Bindings, left: &LeftOut) -> bool {
    left.iter().all(|(factor, levels)| {
        let level = trial.get(factor);
        level.is_some_and(|level| levels.iter().any(|named| is_same(level, named)))
    })
}

/// All combinations of these factors.
pub(crate) fn over<'f>(factors: impl Iterator<Item = &'f Factor>) -> Vec<Bindings> {
    factors.fold(vec![Bindings::new()], |trials, factor| {
        let extended = trials.iter().flat_map(|trial| {
            factor.values.iter().map(|value| {
                let mut trial = trial.clone();
                trial.insert(factor.name.clone(), value.clone());
                trial
            })
        });
        extended.collect()
    })
}

/// The number of trials, or `None` if it overflows.
pub(crate) fn count(factors: &[Factor]) -> Option<usize> {
    factors.iter().try_fold(1usize, |count, factor| count.checked_mul(factor.values.len()))
}

/// Parses a value of the command line: `true` and `false`, whole numbers, numbers with a fraction,
/// and anything else as text.
#[must_use]
pub fn parse_scalar(text: &str) -> Scalar {
    let text = text.trim();
    match text {
        "true" => return Scalar::Boolean(true),
        "false" => return Scalar::Boolean(false),
        _ => {}
    }
    if let Ok(number) = text.parse() {
        return Scalar::Integer(number);
    }
    match text.parse::<f64>() {
        // Rust parses `inf` and `nan` as numbers; on a command line they are text.
        Ok(number) if number.is_finite() => Scalar::Float(number),
        _ => Scalar::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(name: &str, values: &[i64]) -> Factor {
        Factor {
            name: name.to_owned(),
            values: values.iter().copied().map(Scalar::Integer).collect(),
        }
    }

    #[test]
    fn the_last_factor_varies_fastest() {
        let factors = [factor("groups", &[4, 8]), factor("depth", &[1, 32])];
        let trials: Vec<String> = over(factors.iter())
            .iter()
            .map(|trial| format!("{}/{}", trial["groups"], trial["depth"]))
            .collect();
        assert_eq!(trials, ["4/1", "4/32", "8/1", "8/32"]);
    }

    #[test]
    fn a_combination_is_left_out_when_it_has_a_listed_level_of_every_named_factor() {
        let trial: Bindings = [("memory", 1), ("balancing", 1)]
            .map(|(name, level)| (name.to_owned(), Scalar::Integer(level)))
            .into();
        let left = |factor: &str, levels: &[i64]| {
            (factor.to_owned(), levels.iter().copied().map(Scalar::Integer).collect())
        };
        assert!(is_left_out(&trial, &vec![left("balancing", &[1])]));
        assert!(is_left_out(&trial, &vec![left("memory", &[0, 1]), left("balancing", &[1])]));
        assert!(!is_left_out(&trial, &vec![left("memory", &[0]), left("balancing", &[1])]));
        // A factor that does not exist leaves nothing out.
        assert!(!is_left_out(&trial, &vec![left("other", &[1])]));
    }

    #[test]
    fn a_study_without_factors_has_one_trial() {
        assert_eq!(over([].iter()), [Bindings::new()]);
        assert_eq!(count(&[]), Some(1));
    }

    #[test]
    fn an_overflowing_count_is_none() {
        let many: Vec<Factor> =
            (0..64).map(|index| factor(&format!("f{index}"), &[1, 2, 3])).collect();
        assert_eq!(count(&many), None);
    }

    #[test]
    fn command_line_values_get_their_types() {
        assert_eq!(parse_scalar("8"), Scalar::Integer(8));
        assert_eq!(parse_scalar(" 0.5"), Scalar::Float(0.5));
        assert_eq!(parse_scalar("true"), Scalar::Boolean(true));
        assert_eq!(parse_scalar("4k"), Scalar::Text("4k".to_owned()));
        assert_eq!(parse_scalar("nan"), Scalar::Text("nan".to_owned()));
    }
}
