//! Trials: every combination of the factors' values.

use assay_diagnostic::{Diagnostic, Severity, closest};

use crate::check;
use crate::code;
use crate::level::is_same;
use crate::read::mistake_in_levels;
use crate::reader::Places;
use crate::syntax::{Bindings, Factor, LeftOut, Scalar, Study};

/// More trials than this are a slip: at one minute each they would take a week.
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

/// The combinations of these factors alone.
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

/// How many trials there are, or `None` when they are too many to count.
pub(crate) fn count(factors: &[Factor]) -> Option<usize> {
    factors.iter().try_fold(1usize, |count, factor| count.checked_mul(factor.values.len()))
}

/// Replaces the values of a factor, as `--set groups=4,8` does, and checks the study again with
/// them. On errors the study stays as it was. The diagnostics have no places: the mistake is
/// not in the file.
pub fn set_factor(
    study: &mut Study,
    name: &str,
    values: Vec<Scalar>,
) -> Result<(), Vec<Diagnostic>> {
    set_factors(study, vec![(name.to_owned(), values)])
}

/// The same for several factors at once: some fit only together, as a ratio that becomes 0 and the
/// amount that takes its place.
pub fn set_factors(
    study: &mut Study,
    settings: Vec<(String, Vec<Scalar>)>,
) -> Result<(), Vec<Diagnostic>> {
    let mut changed = study.clone();
    let mut errors = vec![];
    for (name, values) in settings {
        let values = as_texts_where_the_file_has_texts(study, &name, values);
        let factor = changed.factors.iter_mut().find(|factor| factor.name == name);
        match (mistake_in_levels(&name, &values), factor) {
            (Some(mistake), _) => errors.push(mistake.unplaced()),
            (None, None) => errors.push(unknown_factor(&name, study)),
            (None, Some(factor)) => factor.values = values,
        }
    }
    if errors.is_empty() {
        errors = check::study(&changed, &Places::new());
        errors.retain(|finding| finding.severity == Severity::Error);
    }
    if errors.is_empty() {
        *study = changed;
        return Ok(());
    }
    Err(errors)
}

/// A command line has no quotes: `cpus=0,0-1` is a number and a text, but means two lists of
/// CPUs where the file has lists of CPUs.
fn as_texts_where_the_file_has_texts(
    study: &Study,
    name: &str,
    values: Vec<Scalar>,
) -> Vec<Scalar> {
    let known = study.factors.iter().find(|factor| factor.name == name);
    let is_text = |value: &Scalar| matches!(value, Scalar::Text(_));
    if !known.is_some_and(|factor| factor.values.iter().all(is_text)) {
        return values;
    }
    values.into_iter().map(|value| Scalar::Text(value.to_string())).collect()
}

fn unknown_factor(name: &str, study: &Study) -> Diagnostic {
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    let hint = match closest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if names.is_empty() => "the study has no factors".to_owned(),
        None => format!("the factors are {}", crate::reader::quoted(&names)),
    };
    Diagnostic::error(code::UNDEFINED_FACTOR, format!("`{name}` names no factor of this study"))
        .hint(hint)
}

/// Reads a value from the command line: `true` and `false`, whole numbers, numbers with a
/// fraction, and anything else as text.
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
        // Rust reads `inf` and `nan` as numbers; on a command line they are words.
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
    fn a_combination_is_left_out_when_it_has_one_of_the_levels_of_every_factor_named() {
        let trial: Bindings = [("memory", 1), ("balancing", 1)]
            .map(|(name, level)| (name.to_owned(), Scalar::Integer(level)))
            .into();
        let left = |factor: &str, levels: &[i64]| {
            (factor.to_owned(), levels.iter().copied().map(Scalar::Integer).collect())
        };
        assert!(is_left_out(&trial, &vec![left("balancing", &[1])]));
        assert!(is_left_out(&trial, &vec![left("memory", &[0, 1]), left("balancing", &[1])]));
        assert!(!is_left_out(&trial, &vec![left("memory", &[0]), left("balancing", &[1])]));
        // A factor that `--set` cannot have taken away, but that nobody has, leaves nothing out.
        assert!(!is_left_out(&trial, &vec![left("other", &[1])]));
    }

    #[test]
    fn no_factors_make_one_trial() {
        assert_eq!(over([].iter()), [Bindings::new()]);
        assert_eq!(count(&[]), Some(1));
    }

    #[test]
    fn a_count_beyond_the_machine_s_numbers_is_none() {
        let many: Vec<Factor> =
            (0..64).map(|index| factor(&format!("f{index}"), &[1, 2, 3])).collect();
        assert_eq!(count(&many), None);
    }

    #[test]
    fn scalars_of_the_command_line_get_their_types() {
        assert_eq!(parse_scalar("8"), Scalar::Integer(8));
        assert_eq!(parse_scalar(" 0.5"), Scalar::Float(0.5));
        assert_eq!(parse_scalar("true"), Scalar::Boolean(true));
        assert_eq!(parse_scalar("4k"), Scalar::Text("4k".to_owned()));
        assert_eq!(parse_scalar("nan"), Scalar::Text("nan".to_owned()));
    }
}
