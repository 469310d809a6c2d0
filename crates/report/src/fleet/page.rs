//! The page of a fleet.

use assay_verdict::{FleetComparison, FleetJudgement, FleetTrial};
use serde::Serialize;

use super::{HostRow, SpreadRow, figure, spreads};
use crate::error::Error;
use crate::figure::Figure;
use crate::number;
use crate::page::{Code, Fact, filled};
use crate::wording;

/// Data of the page.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    study: &'a str,
    question: Option<&'a str>,
    started_at: &'a str,
    verdict: &'static str,
    mark: &'static str,
    reason: String,
    hosts: Vec<HostRow>,
    differences: Vec<DifferenceRow>,
    trials: Vec<TrialView>,
    comparisons: Vec<ComparisonView>,
    lacking: Vec<Fact>,
    code: Code,
}

#[derive(Serialize)]
struct DifferenceRow {
    what: String,
    usual: String,
    others: Vec<Fact>,
}

#[derive(Serialize)]
struct TrialView {
    anchor: String,
    factors: String,
    verdict: &'static str,
    mark: &'static str,
    hosts: String,
    promises: Vec<PromiseView>,
}

#[derive(Serialize)]
struct PromiseView {
    text: String,
    verdict: &'static str,
    mark: &'static str,
    figure: Figure,
    spreads: Vec<SpreadRow>,
    hosts: Vec<ResultRow>,
}

/// The result of one host.
#[derive(Serialize)]
struct ResultRow {
    node: String,
    verdict: &'static str,
    mark: &'static str,
    error: String,
    reason: String,
}

#[derive(Serialize)]
struct ComparisonView {
    text: String,
    verdict: &'static str,
    mark: &'static str,
    /// Why no host can judge it; empty if hosts do.
    hosts: Vec<ResultRow>,
}

pub(super) fn render(judgement: &FleetJudgement) -> Result<String, Error> {
    let trials = judgement.trials.iter().enumerate();
    let trials: Result<Vec<_>, Error> =
        trials.map(|(index, trial)| TrialView::new(index + 1, trial)).collect();
    let differences = judgement.differences.iter().map(|difference| DifferenceRow {
        what: difference.what.clone(),
        usual: format!("{} ({})", difference.usual, wording::count(difference.alike, "host")),
        others: difference.others.iter().map(|one| Fact::new(&one.node, one.is.clone())).collect(),
    });
    let page = Page {
        title: &judgement.title,
        study: &judgement.study,
        question: judgement.question.as_deref(),
        started_at: &judgement.started_at,
        verdict: wording::verdict(judgement.verdict),
        mark: wording::mark(judgement.verdict),
        reason: wording::sentence(&judgement.reason),
        hosts: judgement.hosts.iter().map(HostRow::new).collect(),
        differences: differences.collect(),
        trials: trials?,
        comparisons: judgement.comparisons.iter().map(comparison).collect(),
        lacking: judgement.not_available.iter().map(|(what, why)| Fact::new(what, why)).collect(),
        code: Code::for_figures(),
    };
    filled("fleet.html", page)
}

impl TrialView {
    fn new(number: usize, trial: &FleetTrial) -> Result<Self, Error> {
        let anchor = format!("trial-{number}");
        let promises = trial.promises.iter().enumerate().map(|(index, promise)| {
            let hosts = promise.hosts.iter().map(|host| ResultRow {
                node: host.node.clone(),
                verdict: wording::verdict(host.verdict),
                mark: wording::mark(host.verdict),
                error: host.worst_error.map_or_else(
                    || number::NONE.to_owned(),
                    |error| format!("{} %", number::percent(error, 1)),
                ),
                reason: wording::sentence(&host.reason),
            });
            Ok(PromiseView {
                text: wording::fleet_promise(promise),
                verdict: wording::verdict(promise.verdict),
                mark: wording::mark(promise.verdict),
                figure: figure::errors(format!("{anchor}-errors-{}", index + 1), promise)?,
                spreads: spreads(promise),
                hosts: hosts.collect(),
            })
        });
        Ok(Self {
            factors: wording::factors(&trial.factors),
            verdict: wording::verdict(trial.verdict),
            mark: wording::mark(trial.verdict),
            hosts: wording::count(trial.hosts, "host"),
            promises: promises.collect::<Result<_, Error>>()?,
            anchor,
        })
    }
}

fn comparison(judged: &FleetComparison) -> ComparisonView {
    let group = judged.group.as_ref().map(|group| format!(" of {group}")).unwrap_or_default();
    let held = match judged.held.is_empty() {
        true => String::new(),
        false => format!(", held: {}", wording::factors(&judged.held)),
    };
    let hosts = judged.hosts.iter().map(|host| ResultRow {
        node: host.node.clone(),
        verdict: wording::verdict(host.verdict),
        mark: wording::mark(host.verdict),
        error: String::new(),
        reason: wording::sentence(&host.reason),
    });
    ComparisonView {
        text: format!(
            "{}{group} is {} over {}{held}",
            judged.measure,
            judged.is,
            judged.over.join(", ")
        ),
        verdict: wording::verdict(judged.verdict),
        mark: wording::mark(judged.verdict),
        hosts: hosts.collect(),
    }
}
