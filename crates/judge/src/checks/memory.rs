//! `memory`: memory was short around the group, and the group needed what it was promised.

use assay_record::run_folder::sorted::Sorted;
use assay_record::run_folder::{GroupRecord, Reference, RelationRecord, knob_value};
use assay_record::terms::{Measure, Side};

use super::{Evidence, Finding, Rule, Scope};
use crate::repeat::Repeat;
use crate::verdict::wording::{rate, some_of};

/// Tolerance between counters read at different times, relative to an inner group's part that is
/// subtracted.
const BETWEEN_READINGS: f64 = 0.05;

/// Minimum refaults relative to the promise: any group loses a page here and there.
const WANTED_BACK: f64 = 0.01;

const PAGE: f64 = 4096.0;

/// A protection decides which group loses memory under pressure. If no limit was reached there was
/// none, and a group that never held as much as promised may just not have needed it.
pub(super) const MEMORY: Rule = Rule::each("memory", Scope::MemoryProtections, find)
    .proves("C-MEMORY-FREE", "memory was not short around the group, or the group did not need it");

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>) -> Finding {
    let table = &match repeat.table("memory") {
        Ok(table) => table,
        Err(why) => return Finding::missing(&why),
    };
    let Some(short) = shortage(evidence, repeat, table) else {
        let mut text =
            "memory was not short: no limit around the groups was reached, and no group \
                        refaulted pages except those that its own limits took"
                .to_owned();
        let filled = filled(evidence, repeat, table);
        if !filled.is_empty() {
            text = format!("{text}; {}", some_of(&filled, ", "));
        }
        return Finding::new(false, text);
    };
    let unwanted: Vec<String> = evidence
        .groups
        .iter()
        .filter_map(|group| unwanted(evidence, repeat, table, group))
        .collect();
    Finding::unless(&unwanted, || short)
}

fn grown(table: &Sorted<'_>, repeat: &Repeat<'_>, group: &str, columns: &[&str]) -> Option<f64> {
    Some(repeat.grown(table, group, columns).ok()?.0)
}

/// Evidence of memory pressure: the limit of a group around a measured one was reached, or some
/// group refaulted pages that no limit of its own took.
fn shortage(evidence: &Evidence<'_>, repeat: &Repeat<'_>, table: &Sorted<'_>) -> Option<String> {
    let groups = &evidence.trial.groups;
    let around = groups.iter().filter(|group| holds_measured(evidence, group));
    let met = around.filter_map(|group| {
        let met = own_limit_met(evidence, repeat, table, &group.name)?;
        Some(format!("the limit of `{}` was reached {met:.0} times", group.name))
    });
    let running = groups.iter().filter(|group| group.is_loaded());
    let lost = running.filter_map(|group| {
        let lost = grown(table, repeat, &group.name, Measure::MemoryRefaults.columns())?;
        (lost > 0.0 && !is_limited(evidence, repeat, table, group))
            .then(|| format!("`{}` refaulted {lost:.0} pages", group.name))
    });
    let seen: Vec<String> = met.chain(lost).collect();
    (!seen.is_empty()).then(|| some_of(&seen, ", "))
}

fn holds_measured(evidence: &Evidence<'_>, group: &GroupRecord) -> bool {
    evidence.groups.iter().any(|name| is_within(name, &group.name))
}

fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a group's refaults are due to its own limits: its limit was reached, or that of a group
/// around it that contains no measured group.
fn is_limited(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    group: &GroupRecord,
) -> bool {
    let is_own = |one: &GroupRecord| {
        let outer = is_within(&group.name, &one.name) && !holds_measured(evidence, one);
        one.name == group.name || outer
    };
    let mut groups = evidence.trial.groups.iter();
    groups.any(|one| is_own(one) && own_limit_met(evidence, repeat, table, &one.name).is_some())
}

/// How often a group's own limits were reached, if they were: `memory.max`, or `memory.high`, above
/// which its pages are reclaimed as well (Documentation/admin-guide/cgroup-v2.rst).
fn own_limit_met(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    group: &str,
) -> Option<f64> {
    // Events of one limit inside must not hide those of the other.
    let met = ["max_events", "high_events"]
        .into_iter()
        .filter_map(|limit| own_events(evidence, repeat, table, (group, limit)));
    met.reduce(|max, high| max + high)
}

/// The events of one limit of a group without those of the groups inside: `memory.events` of v2
/// includes them, `memory.failcnt` of v1 does not.
fn own_events(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    (group, limit): (&str, &str),
) -> Option<f64> {
    let met = |name: &str| grown(table, repeat, name, &[limit]);
    let names = evidence.trial.groups.iter().map(|one| one.name.as_str());
    let children =
        names.filter(|name| name.rsplit_once('/').is_some_and(|(parent, _)| parent == group));
    let inside =
        if evidence.is_on_v1("memory") { 0.0 } else { children.filter_map(met).sum::<f64>() };
    let own = met(group)? - inside;
    (own > BETWEEN_READINGS * inside).then_some(own)
}

/// How full the groups around measured ones became: if the time was too short to fill them, a
/// longer repeat shows more.
fn filled(evidence: &Evidence<'_>, repeat: &Repeat<'_>, table: &Sorted<'_>) -> Vec<String> {
    let limited = evidence.trial.groups.iter().filter_map(|group| {
        let limit = knob_value::number(repeat.record, &group.name, "memory.max").ok()?;
        let held = most_held(table, &group.name)?;
        let (held, limit) =
            (rate(Measure::MemoryCurrent, held), rate(Measure::MemoryCurrent, limit));
        Some(format!("`{}` held at most {held} of its {limit}", group.name))
    });
    limited.collect()
}

fn most_held(table: &Sorted<'_>, group: &str) -> Option<f64> {
    let held = table.sum(group, &["current_bytes"]).ok()?;
    held.iter().map(|(_, value)| *value).reduce(f64::max)
}

/// Why a group was not denied its promise (the largest one, if several): it never held that much
/// and refaulted next to nothing.
fn unwanted(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    group: &str,
) -> Option<String> {
    let protects = |(measure, relation): &&(Measure, &RelationRecord)| {
        *measure == Measure::MemoryCurrent && relation.kind().side() == Side::Below
    };
    let promises = evidence.promises.iter().filter(protects);
    let bounds = promises.filter_map(|(_, relation)| match relation.to() {
        Reference::Knob(knob) => knob_value::number(repeat.record, group, knob).ok(),
        Reference::Value(bound) => Some(bound),
        Reference::Nothing => None,
    });
    let bound = bounds.reduce(f64::max)?;
    let most = most_held(table, group)?;
    let lost = grown(table, repeat, group, Measure::MemoryRefaults.columns()).unwrap_or(0.0);
    (most < bound && lost * PAGE <= WANTED_BACK * bound).then(|| {
        format!(
            "`{group}` never held more than {} of the {} that it was promised, and refaulted {}: \
             its workload needs too little",
            rate(Measure::MemoryCurrent, most),
            rate(Measure::MemoryCurrent, bound),
            match lost > 0.0 {
                true => format!("no more than {lost:.0} pages"),
                false => "nothing".to_owned(),
            }
        )
    })
}
