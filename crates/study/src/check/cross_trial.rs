//! Checks that the factors and levels named by cross-trial promises and references exist.

use assay_diagnostic::{Diagnostic, Severity};

use super::{Check, measures};
use crate::code;
use crate::combination::combinations;
use crate::level::find_level;
use crate::reader::{did_you_mean, quoted};
use crate::syntax::{Bindings, Factor, Promise, Relation, Study};

/// Checks a cross-trial promise.
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

/// Checks the levels that restrict the trials of a promise or a reference.
pub(super) fn under(check: &mut Check<'_>, named: &Bindings, path: &str) {
    levels(check, named, path);
}

/// Checks the levels in `leave_out`, and that at least one trial is left.
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
                let message =
                    format!("`{factor}` has an empty list of levels: nothing is left out");
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
        .hint("name more factors per table: a combination is left out if it has a level of each of them");
        check.add_at("design.leave_out", "expected at least one remaining trial", finding);
    }
}

/// Checks what `[[references]]` refer to.
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

/// Warns of a promise that a single repeat cannot decide.
pub(super) fn one_repeat(check: &mut Check<'_>, promise: &Promise, path: &str) {
    if check.study.design.repeats > 1 {
        return;
    }
    let finding = Diagnostic::warning(
        code::ONE_REPEAT,
        format!("one repeat cannot decide the promise about `{}`", promise.measure),
    )
    .hint("write `repeats = 8` or more under [design]: fewer decide nothing");
    check.add_at(path, "expected eight repeats or more in this study", finding);
}

fn levels(check: &mut Check<'_>, named: &Bindings, path: &str) {
    for (name, level) in named {
        let path = format!("{path}.{name}");
        let Some(factor) = factor(check, name, &path) else { continue };
        if find_level(factor, level).is_some() {
            continue;
        }
        let known: Vec<String> = factor.values.iter().map(ToString::to_string).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = did_you_mean(&level.to_string(), known.iter().copied(), || {
            format!("the levels of `{name}` are {}", quoted(&known))
        });
        let message = format!("the factor `{name}` has no level `{level}`");
        let finding = level_finding(check, code::UNDEFINED_LEVEL, message).hint(hint);
        check.add_at(&path, "expected a level of this factor", finding);
    }
}

/// In a study file an unknown level is an error. If the command line removed levels (`--set`), the
/// remaining trials are still worth running, and the judge reports what is missing.
fn level_finding(check: &Check<'_>, code: &'static str, message: String) -> Diagnostic {
    let severity = if check.has_text() { Severity::Error } else { Severity::Warning };
    Diagnostic { severity, ..Diagnostic::error(code, message) }
}

/// The factor of that name; an unknown name is reported.
fn factor<'s>(check: &mut Check<'s>, name: &str, path: &str) -> Option<&'s Factor> {
    let factors = &check.study.factors;
    if let Some(factor) = factors.iter().find(|one| one.name == name) {
        return Some(factor);
    }
    check.add_at(path, "expected the name of a factor", unknown_factor(name, check.study));
    None
}

fn over(check: &mut Check<'_>, name: &str, path: &str) {
    let path = format!("{path}.over");
    let Some(factor) = factor(check, name, &path) else { return };
    if factor.values.len() > 1 {
        return;
    }
    let message = format!("the factor `{name}` has one level, which is equal to itself");
    let finding = level_finding(check, code::FEW_LEVELS, message)
        .hint(format!("give `{name}` two levels or more, or compare over another factor"));
    check.add_at(&path, "expected a factor with two levels or more", finding);
}

/// Checks that both sides of a ratio name the same factors and different levels. An empty side was
/// reported when it was read.
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
            format!("`of` and `to` name different factors: `{name}` is in one of them only"),
            format!("name a level of `{name}` in both; factors in neither are held constant"),
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
        Diagnostic::error(code::OUT_OF_RANGE, message).hint("swap the two, or remove one");
    check.add_at(&format!("{path}.at_most"), "expected no less than `at_least`", finding);
}

/// Reports a factor that the study does not have.
pub(crate) fn unknown_factor(name: &str, study: &Study) -> Diagnostic {
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    let is_knob = assay_knob::all().iter().any(|knob| knob.name == name);
    let hint = did_you_mean(name, names.iter().copied(), || match names.is_empty() {
        _ if is_knob => format!("`{name}` is a knob: change it in `knobs` of the study file"),
        true => "the study has no factors".to_owned(),
        false => format!("the factors are {}", quoted(&names)),
    });
    Diagnostic::error(code::UNDEFINED_FACTOR, format!("unknown factor `{name}`")).hint(hint)
}
