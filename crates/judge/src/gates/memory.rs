//! `memory`: memory was short around the group, and the group wanted what it was promised.

use assay_record::RelationRecord;

use super::{Evidence, Finding, Gate, Scope, of_each_repeat};
use crate::measure::Measure;
use crate::reading;
use crate::repeat::Repeat;
use crate::series::{Sorted, growth};
use crate::wording::{rate, some_of};

/// A protection says who goes short when somebody must. Without a limit that was met nobody had
/// to, and a group that never held as much as it was promised may just not have wanted it.
pub(super) fn gate(evidence: &Evidence<'_>) -> Gate {
    let check = of_each_repeat("memory", evidence, |repeat| match repeat.table("memory") {
        Err(why) => Finding::missing(&why),
        Ok(table) => find(evidence, repeat, &table),
    });
    let summary = "memory was not short around the group, or the group did not want it";
    Gate { check, scope: Scope::MemoryProtections, proves: Some(("C-MEMORY-FREE", summary)) }
}

fn find(evidence: &Evidence<'_>, repeat: &Repeat<'_>, table: &Sorted<'_>) -> Finding {
    let Some(short) = shortage(evidence, repeat, table) else {
        let mut text = "memory was not short: no limit around the groups was met, and nothing was \
                        taken from any group and wanted back"
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
    if unwanted.is_empty() {
        return Finding::new(true, short);
    }
    Finding::new(false, some_of(&unwanted, "; "))
}

fn grown(table: &Sorted<'_>, repeat: &Repeat<'_>, group: &str, columns: &[&str]) -> Option<f64> {
    let series = table.sum(group, columns).ok()?;
    growth(&series, repeat.start_ns, repeat.end_ns).map(|(grown, _)| grown)
}

/// What shows that memory was short: a limit of a group around a measured one that was met, or
/// pages that some group lost and read again.
fn shortage(evidence: &Evidence<'_>, repeat: &Repeat<'_>, table: &Sorted<'_>) -> Option<String> {
    let mut seen = Vec::new();
    for group in &evidence.trial.groups {
        let inside = format!("{}/", group.name);
        let around = evidence.groups.iter().any(|name| name.starts_with(&inside));
        if around
            && let Some(met) =
                grown(table, repeat, &group.name, &["max_events"]).filter(|met| *met > 0.0)
        {
            seen.push(format!("the limit of `{}` was met {met:.0} times", group.name));
        }
    }
    for group in evidence.trial.groups.iter().filter(|group| !group.workloads.is_empty()) {
        if let Some(lost) = grown(table, repeat, &group.name, Measure::MemoryRefaults.columns())
            .filter(|lost| *lost > 0.0)
        {
            seen.push(format!("`{}` read {lost:.0} pages again that it had lost", group.name));
        }
    }
    (!seen.is_empty()).then(|| some_of(&seen, ", "))
}

/// How full the groups around measured ones became: where the time was too short to fill them, a
/// longer repeat shows more.
fn filled(evidence: &Evidence<'_>, repeat: &Repeat<'_>, table: &Sorted<'_>) -> Vec<String> {
    let limited = evidence.trial.groups.iter().filter_map(|group| {
        let limit = reading::number(repeat.record, &group.name, "memory.max").ok()?;
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

/// Why a group cannot be said to have been denied what it was promised: it never held that much
/// and lost nothing that it wanted back.
fn unwanted(
    evidence: &Evidence<'_>,
    repeat: &Repeat<'_>,
    table: &Sorted<'_>,
    group: &str,
) -> Option<String> {
    let bound = evidence.promises.iter().find_map(|(measure, relation)| match relation {
        RelationRecord::AtLeastKnob(knob) if *measure == Measure::MemoryCurrent => {
            reading::number(repeat.record, group, knob).ok()
        }
        RelationRecord::AtLeast(bound) if *measure == Measure::MemoryCurrent => Some(*bound),
        _ => None,
    })?;
    let most = most_held(table, group)?;
    let lost = grown(table, repeat, group, Measure::MemoryRefaults.columns()).unwrap_or(0.0);
    (most < bound && lost <= 0.0).then(|| {
        format!(
            "`{group}` never held more than {} of the {} that it was promised, and lost nothing \
             that it wanted back: its workload wants too little",
            rate(Measure::MemoryCurrent, most),
            rate(Measure::MemoryCurrent, bound)
        )
    })
}
