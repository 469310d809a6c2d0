//! Several hosts running one study: rows shared by page and terminal.

mod figure;
mod page;

use assay_facts::Available;
use assay_verdict::{FleetHost, FleetJudgement, FleetPromise, HostState, Spread};
use serde::Serialize;

use crate::error::Error;
use crate::number::{self, NONE, Unit};
use crate::wording;

/// The page of a fleet: the verdict of each host, the spread between hosts, and their differences.
pub fn html(judgement: &FleetJudgement) -> Result<String, Error> {
    page::render(judgement)
}

/// One task: a host and the result of its run.
#[derive(Serialize)]
pub(crate) struct HostRow {
    pub(crate) node: String,
    /// The verdict, or the state if there is none.
    pub(crate) word: String,
    pub(crate) mark: &'static str,
    pub(crate) seed: u64,
    pub(crate) restored: &'static str,
    pub(crate) why: Option<String>,
    pub(crate) run: Option<String>,
    /// Whether the report of the run can be linked.
    pub(crate) has_report: bool,
}

impl HostRow {
    pub(crate) fn new(host: &FleetHost) -> Self {
        let state = match host.state {
            HostState::Waiting => "waiting",
            HostState::Running => "running",
            HostState::Ended => "no verdict",
            HostState::Lost => "lost",
        };
        Self {
            node: host.node.clone(),
            word: host.verdict.map_or(state, wording::verdict).to_owned(),
            mark: host.verdict.map_or(NONE, wording::mark),
            seed: host.seed,
            restored: match host.restored {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not known",
            },
            why: host.why.clone(),
            has_report: host.verdict.is_some(),
            run: host.run.clone(),
        }
    }
}

/// A number over hosts.
#[derive(Serialize)]
pub(crate) struct SpreadRow {
    pub(crate) what: String,
    pub(crate) mean: String,
    pub(crate) interval: String,
    pub(crate) ratio: String,
    pub(crate) lowest: String,
    pub(crate) highest: String,
    pub(crate) hosts: String,
    /// Why there is no number.
    pub(crate) not_available: Option<String>,
}

impl SpreadRow {
    fn new(what: String, spread: &Available<Spread>, format_value: &dyn Fn(f64) -> String) -> Self {
        let none = || NONE.to_owned();
        match spread {
            Available::Value(spread) => Self {
                what,
                mean: format_value(spread.value),
                interval: match (spread.low, spread.high) {
                    (Some(low), Some(high)) => {
                        format!("{} .. {}", format_value(low), format_value(high))
                    }
                    _ => none(),
                },
                ratio: spread.ratio.map_or_else(none, number::three),
                lowest: format!("{} {}", format_value(spread.lowest.value), spread.lowest.node),
                highest: format!("{} {}", format_value(spread.highest.value), spread.highest.node),
                hosts: spread.hosts.to_string(),
                not_available: None,
            },
            Available::NotAvailable(why) => Self {
                what,
                mean: none(),
                interval: none(),
                ratio: none(),
                lowest: none(),
                highest: none(),
                hosts: none(),
                not_available: Some(why.clone()),
            },
        }
    }
}

/// Maximum number of groups shown: those farthest from their expected values.
const GROUPS: usize = 16;

/// Spreads of a promise over hosts: its rate, its error, and its groups.
pub(crate) fn spreads(promise: &FleetPromise) -> Vec<SpreadRow> {
    let largest = promise.total_rate.value().map_or(0.0, |spread| spread.highest.value);
    let unit = Unit::for_rate(&promise.measure, largest);
    let percent = |fraction: f64| format!("{} %", number::percent(fraction, 1));
    let mut rows = vec![
        SpreadRow::new("total rate".to_owned(), &promise.total_rate, &|value| {
            unit.with_label(value)
        }),
        SpreadRow::new("worst error".to_owned(), &promise.worst_error, &percent),
    ];
    let mut groups: Vec<_> = promise.groups.iter().collect();
    if groups.len() > GROUPS {
        let distance = |spread: &Available<Spread>| {
            spread.value().map_or(f64::INFINITY, |spread| spread.value.ln().abs())
        };
        groups.sort_by(|a, b| distance(&b.to_expected).total_cmp(&distance(&a.to_expected)));
        groups.truncate(GROUPS);
    }
    rows.extend(groups.into_iter().map(|group| {
        SpreadRow::new(format!("{} / expected", group.name), &group.to_expected, &number::three)
    }));
    rows
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use assay_verdict::{
        Differs, Extreme, FleetGroup, FleetTrial, HostDifference, PromiseOnHost, Verdict,
    };

    use super::*;

    fn spread(low: f64, high: f64) -> Available<Spread> {
        Available::Value(Spread {
            hosts: 2,
            value: (low * high).sqrt(),
            low: Some(low / 2.0),
            high: Some(high * 2.0),
            ratio: Some(high / low),
            lowest: Extreme { node: "alpha".to_owned(), value: low },
            highest: Extreme { node: "beta".to_owned(), value: high },
        })
    }

    /// Two hosts that ended, one with another kernel, and one that was lost.
    pub(crate) fn three_hosts() -> FleetJudgement {
        let host = |node: &str, verdict: Option<Verdict>| FleetHost {
            task: 0,
            node: node.to_owned(),
            state: if verdict.is_none() { HostState::Lost } else { HostState::Ended },
            why: verdict.is_none().then(|| "its node failed (<NodeDown>)".to_owned()),
            verdict,
            code: None,
            seed: 7,
            run: Some("tasks/00/job-1/run".to_owned()),
            restored: verdict.map(|_| true),
            traits: BTreeMap::new(),
        };
        let on_host = |node: &str, verdict, error| PromiseOnHost {
            node: node.to_owned(),
            verdict,
            reason: "task4 got less".to_owned(),
            worst_error: Some(error),
            total_rate: Some(1e6),
        };
        let promise = FleetPromise {
            measure: "io.bytes".to_owned(),
            is: "proportional".to_owned(),
            to: Some("io.weight".to_owned()),
            within: 0.1,
            verdict: Verdict::Broken,
            hosts: vec![
                on_host("alpha", Verdict::Kept, 0.02),
                on_host("beta", Verdict::Broken, 0.3),
            ],
            total_rate: spread(1e6, 2e6),
            worst_error: spread(0.02, 0.3),
            groups: vec![FleetGroup { name: "task1".to_owned(), to_expected: spread(0.9, 1.1) }],
        };
        FleetJudgement {
            schema: 1,
            study: "io-weight".to_owned(),
            title: "Weights & <disks>".to_owned(),
            question: None,
            started_at: "2026-11-21T10:00:00Z".to_owned(),
            verdict: Verdict::Broken,
            reason: "broken on 1 of 3 hosts (beta), no verdict from 1 (gamma)".to_owned(),
            restored: None,
            hosts: vec![
                host("alpha", Some(Verdict::Kept)),
                host("beta", Some(Verdict::Broken)),
                host("gamma", None),
            ],
            differences: vec![HostDifference {
                what: "kernel".to_owned(),
                usual: "6.1.0".to_owned(),
                alike: 1,
                others: vec![Differs { node: "beta".to_owned(), is: "6.12.0".to_owned() }],
            }],
            trials: vec![FleetTrial {
                factors: [("groups".to_owned(), 4.into())].into(),
                verdict: Verdict::Broken,
                hosts: 2,
                promises: vec![promise],
            }],
            comparisons: Vec::new(),
            not_available: [("folder /copies/x".to_owned(), "it has no manifest.json".to_owned())]
                .into(),
        }
    }

    #[test]
    fn row_has_mean_interval_and_extreme_hosts() {
        let judgement = three_hosts();
        let rows = spreads(&judgement.trials[0].promises[0]);
        assert_eq!((rows[0].what.as_str(), rows[0].ratio.as_str()), ("total rate", "2.000"));
        assert!(rows[0].highest.ends_with("MB/s beta"), "{}", rows[0].highest);
        assert_eq!(rows[1].lowest, "2.0 % alpha");
        assert_eq!(rows[2].what, "task1 / expected");
    }

    #[test]
    fn lost_host_has_a_reason_instead_of_a_verdict() {
        let judgement = three_hosts();
        let row = HostRow::new(&judgement.hosts[2]);
        assert_eq!((row.word.as_str(), row.restored), ("lost", "not known"));
        assert!(row.why.unwrap().contains("node failed") && !row.has_report);
    }

    #[test]
    fn page_is_complete_and_escapes_user_texts() {
        let page = html(&three_hosts()).unwrap();
        assert!(page.contains("Weights &amp; &lt;disks&gt;") && !page.contains("<NodeDown>"));
        assert!(page.contains("6.12.0") && page.trim_end().ends_with("</html>"));
        let address = ["src=\"http", "href=\"http", "url(http"];
        assert!(address.iter().all(|link| !page.contains(link)), "the page loads something");
    }
}
