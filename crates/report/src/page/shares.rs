//! The table of promised and observed values of each group.

use std::collections::BTreeMap;

use assay_verdict::{GroupJudgement, PromiseJudgement};
use serde::Serialize;

use crate::number::{self, NONE, Unit};
use crate::subjects::{self, MAX_SINGLE_GROUPS};
use crate::trial::Trial;
use crate::{means, wording};

/// The shares of one promise.
#[derive(Serialize)]
pub(super) struct Shares {
    /// Headings with units, in the order of a row's cells.
    headings: Vec<String>,
    rows: Vec<Row>,
    /// One row per weight if there are many groups.
    classes: Vec<ClassRow>,
    /// Whether the rows of single groups are collapsed.
    folded: bool,
    /// Why there are no rows.
    not_available: Option<String>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    cells: Vec<String>,
    verdict: &'static str,
    mark: &'static str,
}

/// All groups of one weight.
#[derive(Serialize)]
struct ClassRow {
    weight: String,
    groups: usize,
    promised: String,
    share: String,
    worst: String,
    worst_group: String,
    tally: String,
}

impl Shares {
    pub(super) fn new(trial: &Trial<'_>, promise: &PromiseJudgement) -> Self {
        let groups = subjects::ordered(promise);
        let columns = Columns::new(trial, promise, &groups);
        let folded = groups.len() > MAX_SINGLE_GROUPS;
        Self {
            headings: columns.headings(promise),
            rows: groups.iter().map(|group| columns.row(group)).collect(),
            classes: if folded { classes(promise, &groups, &columns) } else { vec![] },
            folded,
            not_available: groups.is_empty().then(|| wording::sentence(&promise.reason)),
        }
    }
}

/// Number formats for the shares (or rates) of one promise.
struct Columns {
    is_share: bool,
    decimals: usize,
    rate: Unit,
    ios: Option<(Unit, BTreeMap<String, f64>)>,
    cpu: Option<BTreeMap<String, f64>>,
    has_knob: bool,
}

impl Columns {
    fn new(trial: &Trial<'_>, promise: &PromiseJudgement, groups: &[&GroupJudgement]) -> Self {
        let highest = |of: fn(&GroupJudgement) -> f64| {
            groups.iter().map(|group| of(group)).fold(0.0, f64::max)
        };
        let rate = Unit::for_rate(&promise.measure, highest(|group| group.rate));
        let smallest = groups.iter().map(|g| g.expected_share).fold(f64::INFINITY, f64::min);
        let ios = (promise.measure == "io.bytes")
            .then(|| means::mean_rates(trial, "io", &["read_ios", "write_ios"]))
            .filter(|rates| !rates.is_empty())
            .map(|rates| {
                let highest = groups.iter().filter_map(|g| rates.get(&g.name)).copied();
                (Unit::for_rate("io.ios", highest.fold(0.0, f64::max)), rates)
            });
        let cpu = means::mean_rates(trial, "cpu", &["usage_ns"]);
        Self {
            is_share: wording::is_about_shares(promise),
            decimals: number::percent_decimals(smallest),
            rate,
            ios,
            cpu: (!cpu.is_empty() && promise.measure != "cpu.time").then_some(cpu),
            // The knob of a limit is already the column of promised values.
            has_knob: wording::is_about_shares(promise)
                && groups.iter().any(|group| group.knob.is_some()),
        }
    }

    fn headings(&self, promise: &PromiseJudgement) -> Vec<String> {
        let unit = if self.is_share { "%" } else { self.rate.label };
        let headed = |word: &str| match unit {
            "" => word.to_owned(),
            unit => format!("{word}, {unit}"),
        };
        let mut headings = Vec::new();
        if self.has_knob {
            headings.push(promise.to.clone().unwrap_or_else(|| "knob".to_owned()));
        }
        headings.push(headed("Promised"));
        headings.push(headed(match wording::is_metric(&promise.measure) {
            true => "Value",
            false if self.is_share => "Share",
            false => "Rate",
        }));
        headings.push(headed("Bounds"));
        headings.push("Error, %".to_owned());
        if self.is_share {
            headings.push(format!("Rate, {}", self.rate.label));
        }
        if let Some((unit, _)) = &self.ios {
            headings.push(format!("Requests, {}", unit.label));
        }
        if self.cpu.is_some() {
            headings.push("CPU, %".to_owned());
        }
        headings
    }

    /// A share as percentage or a rate in the unit of the column.
    fn value(&self, value: f64) -> String {
        if self.is_share { number::percent(value, self.decimals) } else { self.rate.number(value) }
    }

    fn row(&self, group: &GroupJudgement) -> Row {
        let mut cells = Vec::new();
        if self.has_knob {
            cells.push(number::or_none(group.knob, number::plain));
        }
        cells.push(self.value(group.expected_share));
        cells.push(self.value(group.share));
        cells.push(match group.high.is_finite() {
            true => format!("{} to {}", self.value(group.low), self.value(group.high)),
            false => NONE.to_owned(),
        });
        cells.push(number::signed_percent(subjects::error(group)));
        if self.is_share {
            cells.push(self.rate.number(group.rate));
        }
        if let Some((unit, rates)) = &self.ios {
            let rate = rates.get(&group.name);
            cells.push(number::or_none(rate, |rate| unit.number(*rate)));
        }
        if let Some(rates) = &self.cpu {
            let rate = rates.get(&group.name);
            cells.push(number::or_none(rate, |ns| number::percent(ns / 1e9, 1)));
        }
        Row {
            name: group.name.clone(),
            cells,
            verdict: wording::verdict(group.verdict),
            mark: wording::mark(group.verdict),
        }
    }
}

/// Groups are already sorted by weight.
fn classes(
    promise: &PromiseJudgement,
    groups: &[&GroupJudgement],
    columns: &Columns,
) -> Vec<ClassRow> {
    groups
        .chunk_by(|a, b| a.knob == b.knob)
        .map(|class| {
            let sum = |of: fn(&GroupJudgement) -> f64| class.iter().map(|group| of(group)).sum();
            let worst = subjects::worst(promise, class);
            ClassRow {
                weight: number::or_none(class[0].knob, number::plain),
                groups: class.len(),
                promised: columns.value(sum(|group| group.expected_share)),
                share: columns.value(sum(|group| group.share)),
                worst: worst.map_or_else(String::new, |group| {
                    number::signed_percent(subjects::error(group))
                }),
                worst_group: worst.map_or_else(String::new, |group| group.name.clone()),
                tally: wording::tally(class),
            }
        })
        .collect()
}
