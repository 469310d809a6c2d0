//! Checks that promises can be kept or broken by the study: their measures, which are counters of the sampler or metrics
//! of workloads, what they refer to, and the factors and levels that they and references name.

use assay_host::knob::Unit;
use assay_record::terms::{PROGRESS, PlacementMeasure, RelationKind, Side};
use assay_sys::closest;
use assay_sys::diagnostic::{Diagnostic, Severity};

use super::measures::{is_metric, known_group, known_measure};
use super::{Check, Complaint};
use crate::bound::parse_bound;
use crate::code;
use crate::combination::combinations;
use crate::level::find_level;
use crate::reader::{did_you_mean, quoted};
use crate::syntax::{Bindings, Bound, Factor, Group, Promise, Relation, Scalar, Study};
use crate::template::Templated;

pub(super) fn promises(check: &mut Check<'_>) {
    let study = check.study;
    if study.promises.is_empty() {
        let finding = Diagnostic::warning(code::NO_PROMISES, "the study has no promises")
            .hint("add a [[promises]] table: without one there is no verdict");
        check.add_at_the_title("expected a [[promises]] table in this study", finding);
    }
    let mut measured = vec![];
    measured_groups(&study.groups, &mut measured);
    for (index, promise) in study.promises.iter().enumerate() {
        let path = format!("promises[{index}]");
        known_measure(check, &promise.measure, &format!("{path}.measure"));
        let is_metric = is_metric(check, &promise.measure);
        if promise.is.is_cross_trial() || is_metric {
            one_repeat(check, promise, &path);
        }
        levels(check, &promise.under, &format!("{path}.under"));
        spans(check, promise, is_metric, &path);
        if promise.is.is_cross_trial() {
            across_trials(check, promise, &path);
            continue;
        }
        // A metric belongs to its own workload, in any group.
        if measured.is_empty() && !is_metric {
            if !study.groups.is_empty() {
                nothing_measured(check, &path);
            }
            continue;
        }
        relation(check, promise, &measured, &path);
    }
}

/// Spans are cut from samples: metrics have none, and each span needs at least two samples.
fn spans(check: &mut Check<'_>, promise: &Promise, is_metric: bool, path: &str) {
    let Some(every) = &promise.every else { return };
    let path = format!("{path}.every");
    if is_metric {
        let finding = Diagnostic::error(
            code::MISPLACED_KEY,
            format!(
                "`every` has no meaning for `{}`: a workload reports one number per repeat, which \
                 has no spans",
                promise.measure
            ),
        )
        .hint("remove `every` and `in`, or use `io.bytes` or `cpu.time` as the measure");
        check.add_at(&path, "expected another key, or none", finding);
        return;
    }
    let least = 2 * check.study.sampling.interval;
    if every.span < least {
        let ms = least.as_millis();
        let finding = Diagnostic::error(
            code::OUT_OF_RANGE,
            "the spans are shorter than two intervals of [sampling]",
        )
        .hint(format!("write `every = \"{ms} ms\"` or more, or a shorter `interval`"));
        check.add_at(&path, &format!("expected `{ms} ms` or more"), finding);
    }
}

/// Collects measured groups at any depth.
fn measured_groups<'g>(groups: &'g [Group], measured: &mut Vec<&'g Group>) {
    for group in groups {
        if group.measured {
            measured.push(group);
        }
        measured_groups(&group.groups, measured);
    }
}

fn nothing_measured(check: &mut Check<'_>, path: &str) {
    let finding = Diagnostic::error(code::NOTHING_MEASURED, "no group is measured")
        .hint("remove `measured = false` from the groups that the promise is about");
    check.add_at(path, "expected at least one measured group", finding);
}

fn relation(check: &mut Check<'_>, promise: &Promise, measured: &[&Group], path: &str) {
    let of_places = PlacementMeasure::parse(&promise.measure).is_some();
    // Promises across trials are checked before.
    let Relation::InTrial { kind, to } = &promise.is else { return };
    if of_places || *kind == RelationKind::Placed {
        placed(check, *kind, of_places, measured, path);
        return;
    }
    if (promise.measure == PROGRESS) != (*kind == RelationKind::Within) {
        let finding = Diagnostic::error(
            code::PROGRESS_WITHIN,
            "`within` applies to `progress` only, and `progress` has no other relation",
        )
        .hint("write `measure = \"progress\"` with `is = \"within\"` and `value = \"100 ms\"`");
        check.add_at(&format!("{path}.is"), "expected `progress` `within` a time", finding);
        return;
    }
    match to {
        None => {}
        Some(Bound::Value(value)) => bound(check, &promise.measure, value, path),
        Some(Bound::Knob(_)) if kind.divides() && is_metric(check, &promise.measure) => {
            not_shared(check, &promise.measure, path);
        }
        Some(Bound::Knob(to)) if assay_host::knob::host_setting(to).is_some() => {
            follows_a_setting(check, (&promise.measure, *kind), to, path);
        }
        Some(Bound::Knob(to)) if kind.divides() => {
            follows_a_knob(check, "shares should be proportional to", to, measured, path);
        }
        Some(Bound::Knob(to)) if counts_the_same(check, &promise.measure, to, path) => {
            follows_a_knob(check, "the bound should be", to, measured, path);
        }
        Some(Bound::Knob(_)) => {}
    }
}

/// `placed` applies to threads and pages only, these support no other relation, and something must
/// have a placement.
fn placed(
    check: &mut Check<'_>,
    kind: RelationKind,
    of_places: bool,
    measured: &[&Group],
    path: &str,
) {
    if !of_places || kind != RelationKind::Placed {
        let finding = Diagnostic::error(
            code::PLACED_WHAT,
            "`placed` applies to `threads`, `pages` and `file_pages` only, and these have no other relation",
        )
        .hint("write `measure = \"threads\"` or `measure = \"pages\"` with `is = \"placed\"`");
        check.add_at(&format!("{path}.measure"), "expected a measure of the relation", finding);
        return;
    }
    let workloads = &check.study.workloads;
    let placed = |name: &str| workloads.get(name).is_some_and(|workload| workload.place.is_some());
    let has_place = |group: &&Group| {
        let names = check.runs_of(group);
        group.place.is_some() || names.iter().any(|(_, name, _)| placed(name))
    };
    let outer = |group: &Group| group.place.is_some() && !group.groups.is_empty();
    if !measured.iter().any(has_place) && !check.study.groups.iter().any(outer) {
        let finding = Diagnostic::error(
            code::PLACED_WHAT,
            "no measured group and none of its workloads has a `place`",
        )
        .hint("add `place = { cpus = \"0-1\" }` to the group or to the workload");
        check.add_at(&format!("{path}.is"), "expected a `place` in this study", finding);
    }
}

/// A metric of a workload is not part of a whole that a knob divides.
fn not_shared(check: &mut Check<'_>, measure: &str, path: &str) {
    let finding = Diagnostic::error(
        code::METRIC_RELATION,
        format!("`{measure}` is a metric of one workload, and no knob divides it into shares"),
    )
    .hint(
        "write `io.ios`, `io.bytes` or `cpu.time` for shares; a metric can be `at_least`, \
         `at_most`, `equal` or a `ratio`",
    );
    check.add_at(&format!("{path}.is"), "expected another relation", finding);
}

/// Whether a knob bounds a measure: both count CPUs, or both count bytes in use. An unknown knob
/// was reported when it was read.
fn counts_the_same(check: &mut Check<'_>, measure: &str, to: &str, path: &str) -> bool {
    let Some(knob) = assay_host::knob::find(to) else { return false };
    let fits = match knob.unit {
        Unit::CpuBandwidth => measure == "cpu.time",
        Unit::Bytes => measure == "memory.current" && knob.controller == "memory",
        _ => false,
    };
    if !fits {
        let finding = Diagnostic::error(
            code::KNOB_OF_ANOTHER_KIND,
            format!("`{measure}` cannot be compared with `{to}`, which counts something else"),
        )
        .hint(
            "write `cpu.max` for `cpu.time`, a limit or protection such as `memory.low` for \
             `memory.current`, or a `value`",
        );
        check.add_at(&format!("{path}.to"), "expected a knob in the unit of the measure", finding);
    }
    fits
}

/// The amount of dirty memory that follows from a setting of the host is an upper bound; no other
/// setting of the host is a bound.
fn follows_a_setting(
    check: &mut Check<'_>,
    (measure, kind): (&str, RelationKind),
    to: &str,
    path: &str,
) {
    const BOUNDS: [&str; 4] = [
        "vm.dirty_ratio",
        "vm.dirty_bytes",
        "vm.dirty_background_ratio",
        "vm.dirty_background_bytes",
    ];
    if kind.side() == Side::Above && measure == "memory.dirty" && BOUNDS.contains(&to) {
        return;
    }
    let finding = Diagnostic::error(
        code::KNOB_OF_ANOTHER_KIND,
        format!("`{measure}` cannot be compared with `{to}`, a setting of the host"),
    )
    .hint("only `memory.dirty` can be `at_most` `vm.dirty_ratio` or `vm.dirty_bytes`; otherwise name a knob");
    check.add_at(&format!("{path}.to"), "expected a bound of the measure", finding);
}

fn follows_a_knob(check: &mut Check<'_>, purpose: &str, to: &str, measured: &[&Group], path: &str) {
    let Some(knob) = assay_host::knob::find(to) else { return };
    let path = format!("{path}.to");
    if !knob.range.is_number() {
        let finding = Diagnostic::error(
            code::KNOB_WITHOUT_NUMBER,
            format!("`{to}` holds no number, so nothing can be compared with it"),
        )
        .hint("write a weight such as `io.weight` or `cpu.weight`");
        check.add_at(&path, "expected a knob that holds a number", finding);
        return;
    }
    let set: Vec<&str> = measured
        .iter()
        .flat_map(|group| group.knobs.iter().map(|(name, _)| name.as_str()))
        .collect();
    // Those of a group that exists are read.
    if set.contains(&to) || measured.iter().all(|group| group.existing.is_some()) {
        return;
    }
    let hint = match closest(to, set.iter().copied()).or(set.first().copied()) {
        Some(meant) => format!("the groups set `{meant}`: write that, or set `{to}` on them"),
        None => format!("add `knobs = {{ \"{to}\" = [...] }}` to the groups"),
    };
    let finding = Diagnostic::error(
        code::UNSET_KNOB,
        format!("{purpose} `{to}`, which no measured group sets"),
    )
    .hint(hint);
    check.add_at(&path, "expected a knob that the groups set", finding);
}

fn bound(check: &mut Check<'_>, measure: &str, value: &Templated<Scalar>, path: &str) {
    check.each_value(value, &format!("{path}.value"), "`value` of the promise", |scalar| {
        parse_bound(measure, scalar).is_none().then(|| Complaint {
            code: code::NOT_A_QUANTITY,
            message: format!("invalid value `{scalar}` for `value` of the promise"),
            expected: expected_bound(measure).to_owned(),
            remedy: match measure {
                PROGRESS => "write `value = \"100 ms\"`, or leave it out".to_owned(),
                _ => "write the bound per second, without `/s`".to_owned(),
            },
        })
    });
}

fn expected_bound(measure: &str) -> &'static str {
    match measure {
        PROGRESS => "a time such as `100 ms`",
        _ => {
            "a positive number per second; for `io.bytes` and `memory.current` also an amount of \
             data such as `10 MiB`"
        }
    }
}

/// Checks a cross-trial promise.
fn across_trials(check: &mut Check<'_>, promise: &Promise, path: &str) {
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
        known_group(check, name, &format!("{path}.group"));
    }
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
            known_measure(check, measure, &format!("{path}.measure"));
        }
        if let Some(name) = &reference.group {
            known_group(check, name, &format!("{path}.group"));
        }
        levels(check, &reference.under, &format!("{path}.under"));
        levels(check, &reference.to, &format!("{path}.to"));
    }
}

/// Warns of a promise that a single repeat cannot decide.
fn one_repeat(check: &mut Check<'_>, promise: &Promise, path: &str) {
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
    let is_knob = assay_host::knob::all().iter().any(|knob| knob.name == name);
    let hint = did_you_mean(name, names.iter().copied(), || match names.is_empty() {
        _ if is_knob => format!("`{name}` is a knob: change it in `knobs` of the study file"),
        true => "the study has no factors".to_owned(),
        false => format!("the factors are {}", quoted(&names)),
    });
    Diagnostic::error(code::UNDEFINED_FACTOR, format!("unknown factor `{name}`")).hint(hint)
}
