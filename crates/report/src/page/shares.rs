//! Promised and observed values of each group, or of all groups of a weight.

use std::collections::BTreeMap;

use assay_judge::verdict::{GroupJudgement, PromiseJudgement};
use assay_sys::escape::page::{PAGE, Parts, Rows};

use crate::number::{self, NONE, Unit};
use crate::subjects::{self, MAX_SINGLE_GROUPS};
use crate::trial::Trial;
use crate::{means, wording};

/// The groups of a promise on a page: all of them, below one row for each weight if there are many.
pub(super) fn all(trial: &Trial<'_>, promise: &PromiseJudgement, page: &mut Parts) {
    let (groups, scale) = (subjects::ordered(promise), Scale::new(promise));
    let rates = |source: &str, columns: &[&str], if_any: bool| {
        Some(means::mean_rates(trial, source, columns)).filter(|rates| if_any && !rates.is_empty())
    };
    let ios = rates("io", &["read_ios", "write_ios"], promise.measure == "io.bytes");
    let cpu = rates("cpu", &["usage_ns"], promise.measure != "cpu.time");
    let more = More { ios, cpu };
    match groups.len() {
        0 => page.missing(&wording::sentence(&promise.reason)),
        1..=MAX_SINGLE_GROUPS => page.table(scale.table(promise, &groups, &more)),
        all => {
            page.table(
                scale.classes(
                    promise,
                    &groups.chunk_by(|a, b| a.knob == b.knob).collect::<Vec<_>>(),
                ),
            );
            page.fold(format!("All {all} groups"), false, |page| {
                page.table(scale.table(promise, &groups, &more));
            });
        }
    }
}

/// The groups of a promise on a terminal: all, or the worst ones and one line for each weight.
pub(super) fn brief(promise: &PromiseJudgement, page: &mut Parts) {
    let (groups, scale) = (subjects::ordered(promise), Scale::new(promise));
    let none = More::default();
    match groups.len() {
        0 => {}
        1..=MAX_SINGLE_GROUPS => page.table(scale.table(promise, &groups, &none)),
        all => {
            let mut worst = groups.clone();
            worst.sort_by(|a, b| {
                subjects::violation(promise, b).total_cmp(&subjects::violation(promise, a))
            });
            worst.truncate(MAX_SINGLE_GROUPS);
            let caption =
                format!("the {MAX_SINGLE_GROUPS} groups with the largest errors, of {all}:");
            page.table(scale.table(promise, &worst, &none).caption(caption));
            let classes: Vec<_> = groups.chunk_by(|a, b| a.knob == b.knob).collect();
            page.table(scale.classes(promise, &classes).caption("all groups by weight:"));
        }
    }
}

/// Rates that are shown beside those of the promise, by group.
#[derive(Default)]
struct More {
    ios: Option<BTreeMap<String, f64>>,
    cpu: Option<BTreeMap<String, f64>>,
}

/// Number formats of one promise: a share as percentage, or a rate in the unit of the column.
struct Scale {
    is_share: bool,
    decimals: usize,
    rate: Unit,
    /// Unit of promised and observed values.
    unit: &'static str,
    /// The observed quantity in one word; a workload metric need not be a rate.
    word: &'static str,
}

impl Scale {
    fn new(promise: &PromiseJudgement) -> Self {
        let groups = &promise.groups;
        let smallest = groups.iter().map(|g| g.expected_share).fold(f64::INFINITY, f64::min);
        let highest = groups.iter().map(|group| group.rate).fold(0.0, f64::max);
        let is_share = wording::is_about_shares(promise);
        let rate = Unit::for_rate(&promise.measure, highest);
        Self {
            is_share,
            decimals: number::percent_decimals(smallest),
            rate,
            unit: if is_share { "%" } else { rate.label },
            word: match (is_share, wording::is_metric(&promise.measure)) {
                (true, _) => "share",
                (false, true) => "value",
                (false, false) => "rate",
            },
        }
    }

    fn number(&self, value: f64) -> String {
        if self.is_share { number::percent(value, self.decimals) } else { self.rate.number(value) }
    }

    fn table<'g>(
        &self,
        promise: &PromiseJudgement,
        groups: &'g [&'g GroupJudgement],
        more: &More,
    ) -> Rows<'g, &'g GroupJudgement> {
        let mut table = Rows::new(groups).left("group", 0, |g| g.name.clone());
        // The knob of a limit is already the column of promised values.
        if self.is_share && groups.iter().any(|group| group.knob.is_some()) {
            let knob = promise.to.as_deref().unwrap_or("knob");
            table = table.right(knob, 1, |g| number::or_none(g.knob, number::plain));
        }
        table = table
            .right(("promised", self.unit), 0, |g| self.number(g.expected_share))
            .right((self.word, self.unit), 0, |g| self.number(g.share))
            .right("bounds", 3, |g| match g.high.is_finite() {
                true => format!("{} .. {}", self.number(g.low), self.number(g.high)),
                false => NONE.to_owned(),
            })
            .right(("error", "%"), 2, |g| number::signed_percent(subjects::error(g)));
        if self.is_share {
            // The unit of a metric is in its name.
            let heading = if self.rate.label.is_empty() { "rate" } else { "" };
            table = table.right((heading, self.rate.label), 4, |g| self.rate.number(g.rate));
        }
        if let Some(rates) = &more.ios {
            let largest = groups.iter().filter_map(|g| rates.get(&g.name)).copied();
            let unit = Unit::for_rate("io.ios", largest.fold(0.0, f64::max));
            let rate = |g: &&GroupJudgement| {
                number::or_none(rates.get(&g.name), |rate| unit.number(*rate))
            };
            table = table.right(("requests", unit.label), PAGE, rate);
        }
        if let Some(rates) = &more.cpu {
            let part = |g: &&GroupJudgement| {
                number::or_none(rates.get(&g.name), |ns| number::percent(ns / 1e9, 1))
            };
            table = table.right(("CPU", "%"), PAGE, part);
        }
        table.left("verdict", 0, |g| wording::tag(g.verdict))
    }

    /// A row for each weight.
    fn classes<'c>(
        &self,
        promise: &PromiseJudgement,
        classes: &'c [&'c [&'c GroupJudgement]],
    ) -> Rows<'c, &'c [&'c GroupJudgement]> {
        let sum = |class: &[&GroupJudgement], of: fn(&GroupJudgement) -> f64| {
            self.number(class.iter().map(|group| of(group)).sum())
        };
        let worst = |class: &[&GroupJudgement], text: fn(&GroupJudgement) -> String| {
            subjects::worst(promise, class).map_or_else(String::new, text)
        };
        Rows::new(classes)
            .right("weight", 0, |class| number::or_none(class[0].knob, number::plain))
            .right("groups", 1, |class| class.len().to_string())
            .right(("promised", self.unit), 0, |class| sum(class, |group| group.expected_share))
            .right((self.word, self.unit), 0, |class| sum(class, |group| group.share))
            .right(("worst error", "%"), 0, |class| {
                worst(class, |group| number::signed_percent(subjects::error(group)))
            })
            .left("of group", PAGE, |class| worst(class, |group| group.name.clone()))
            .left("verdicts", 2, |class| wording::tally(class))
    }
}
