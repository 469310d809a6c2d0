//! Promises across trials, and references: whether the factors and levels that they name exist.

use assay_diagnostic::{Diagnostic, Severity, closest};

use super::{Check, measures};
use crate::code;
use crate::combination::combinations;
use crate::level::level_of;
use crate::reader::quoted;
use crate::syntax::{Bindings, Factor, Promise, Relation};

/// A promise across trials.
pub(super) fn promise(check: &mut Check<'_>, promise: &Promise, path: &str) {
    match &promise.is {
        Relation::Ratio { of, to, at_least, at_most } => {
            levels(check, of, &format!("{path}.of"));
            levels(check, to, &format!("{path}.to"));
            sides(check, of, to, path);
            bounds(check, *at_least, *at_most, path);
        }
        Relation::EqualOver { factor, .. } => over(check, factor, path),
        _ => return,
    }
    if let Some(name) = &promise.group {
        measures::group(check, name, &format!("{path}.group"));
    }
}

/// The levels whose trials a promise or a reference is about.
pub(super) fn under(check: &mut Check<'_>, named: &Bindings, path: &str) {
    levels(check, named, path);
}

/// What `leave_out` names, and whether it leaves anything.
pub(super) fn left_out(check: &mut Check<'_>) {
    let study = check.study;
    for (index, left) in study.design.leave_out.iter().enumerate() {
        for (factor, named) in left {
            let path = format!("design.leave_out[{index}].{factor}");
            for level in named {
                let one = Bindings::from([(factor.clone(), level.clone())]);
                levels(check, &one, &format!("design.leave_out[{index}]"));
            }
            if named.is_empty() {
                let message = format!("`{factor}` has no level here: nothing is left out");
                let finding = Diagnostic::error(code::EMPTY_LIST, message)
                    .hint("write a level, or remove the table");
                check.add_at(&path, "expected a level of this factor", finding);
            }
        }
    }
    if combinations(study).is_empty() && study.factors.iter().all(|one| !one.values.is_empty()) {
        let finding = Diagnostic::error(
            code::NOTHING_IS_LEFT,
            "`leave_out` leaves no combination of the factors",
        )
        .hint("name more factors in a table of it: only what has all of its levels is left out");
        check.add_at("design.leave_out", "expected at least one trial to be left", finding);
    }
}

/// What `[[references]]` refer to.
pub(super) fn references(check: &mut Check<'_>) {
    for (index, reference) in check.study.references.iter().enumerate() {
        let path = format!("references[{index}]");
        if let Some(measure) = &reference.measure {
            measures::measure(check, measure, &format!("{path}.measure"));
        }
        if let Some(name) = &reference.group {
            measures::group(check, name, &format!("{path}.group"));
        }
        levels(check, &reference.under, &format!("{path}.under"));
        levels(check, &reference.to, &format!("{path}.to"));
    }
}

/// Warns of a promise that a single repeat cannot decide, whatever it finds.
pub(super) fn one_repeat(check: &mut Check<'_>, promise: &Promise, path: &str) {
    if check.study.design.repeats > 1 {
        return;
    }
    let finding = Diagnostic::warning(
        code::ONE_REPEAT,
        format!("one repeat cannot decide a promise about `{}`", promise.measure),
    )
    .hint("write `repeats = 3` or more under [design]: the interval comes from their scatter");
    check.add_at(path, "expected two repeats or more in this study", finding);
}

fn levels(check: &mut Check<'_>, named: &Bindings, path: &str) {
    for (name, level) in named {
        let path = format!("{path}.{name}");
        let Some(factor) = factor(check, name, &path) else { continue };
        if level_of(factor, level).is_some() {
            continue;
        }
        let known: Vec<String> = factor.values.iter().map(ToString::to_string).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = match closest(&level.to_string(), known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the levels of `{name}` are {}", quoted(&known)),
        };
        let message = format!("the factor `{name}` has no level `{level}`");
        let finding = about_levels(check, code::UNDEFINED_LEVEL, message).hint(hint);
        check.add_at(&path, "expected a level of this factor", finding);
    }
}

/// In a study file a level that does not exist is a slip. Where the command line took levels away
/// (`--set`), the trials that are left are still worth running, and the judge says what is missing.
fn about_levels(check: &Check<'_>, code: &'static str, message: String) -> Diagnostic {
    let severity = if check.has_text() { Severity::Error } else { Severity::Warning };
    Diagnostic { severity, ..Diagnostic::error(code, message) }
}

/// The factor of that name; a name of none is reported.
fn factor<'s>(check: &mut Check<'s>, name: &str, path: &str) -> Option<&'s Factor> {
    let factors = &check.study.factors;
    if let Some(found) = factors.iter().find(|factor| factor.name == name) {
        return Some(found);
    }
    let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
    let hint = match closest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if names.is_empty() => "the study has no factors".to_owned(),
        None => format!("the factors are {}", quoted(&names)),
    };
    let message = format!("`{name}` names no factor of this study");
    let finding = Diagnostic::error(code::UNDEFINED_FACTOR, message).hint(hint);
    check.add_at(path, "expected the name of a factor", finding);
    None
}

fn over(check: &mut Check<'_>, name: &str, path: &str) {
    let path = format!("{path}.over");
    let Some(factor) = factor(check, name, &path) else { return };
    if factor.values.len() > 1 {
        return;
    }
    let message = format!("the factor `{name}` has one level, which is equal to itself");
    let finding = about_levels(check, code::FEW_LEVELS, message)
        .hint(format!("give `{name}` two levels or more, or compare over another factor"));
    check.add_at(&path, "expected a factor with two levels or more", finding);
}

/// Both sides of a ratio name the same factors, and not the same levels. A side without any was
/// reported where it was read.
fn sides(check: &mut Check<'_>, of: &Bindings, to: &Bindings, path: &str) {
    if of.is_empty() || to.is_empty() {
        return;
    }
    let (message, hint) = if !of.keys().eq(to.keys()) {
        let missing = |from: &Bindings, other: &Bindings| {
            from.keys().find(|name| !other.contains_key(*name)).cloned()
        };
        let name = missing(of, to).or_else(|| missing(to, of)).unwrap_or_default();
        (
            format!("`of` and `to` name different factors: `{name}` stands in one of them only"),
            format!("name a level of `{name}` in both; a factor in neither is held"),
        )
    } else if of == to {
        (
            "`of` and `to` name the same levels, whose ratio is 1".to_owned(),
            "name another level on one side".to_owned(),
        )
    } else {
        return;
    };
    let finding = Diagnostic::error(code::SIDES_OF_A_RATIO, message).hint(hint);
    check.add_at(&format!("{path}.to"), "expected other levels of the same factors", finding);
}

fn bounds(check: &mut Check<'_>, at_least: Option<f64>, at_most: Option<f64>, path: &str) {
    let (Some(low), Some(high)) = (at_least, at_most) else { return };
    if low <= high {
        return;
    }
    let message = format!("the ratio cannot be at least {low} and at most {high}");
    let finding =
        Diagnostic::error(code::OUT_OF_RANGE, message).hint("exchange the two, or leave one out");
    check.add_at(&format!("{path}.at_most"), "expected no less than `at_least`", finding);
}
