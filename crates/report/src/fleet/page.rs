//! The page of a fleet.

use assay_verdict::{FleetComparison, FleetJudgement, FleetTrial};
use serde::Serialize;

use super::{HostRow, SpreadRow, figure, spreads};
use crate::error::Error;
use crate::figure::Figure;
use crate::number;
use crate::page::{Code, Fact, environment};
use crate::wording;

/// Everything that stands on the page.
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
    says: String,
    verdict: &'static str,
    mark: &'static str,
    figure: Figure,
    spreads: Vec<SpreadRow>,
    hosts: Vec<SaidRow>,
}

/// What one host says.
#[derive(Serialize)]
struct SaidRow {
    node: String,
    verdict: &'static str,
    mark: &'static str,
    error: String,
    reason: String,
}

#[derive(Serialize)]
struct ComparisonView {
    says: String,
    verdict: &'static str,
    mark: &'static str,
    /// Why no host can judge it; empty where hosts do.
    reason: String,
    hosts: Vec<SaidRow>,
}

pub(super) fn render(judgement: &FleetJudgement) -> Result<String, Error> {
    let trials = judgement.trials.iter().enumerate();
    let trials: Result<Vec<_>, Error> =
        trials.map(|(index, trial)| TrialView::of(index + 1, trial)).collect();
    let differences = judgement.differences.iter().map(|found| DifferenceRow {
        what: found.what.clone(),
        usual: format!("{} ({})", found.usual, wording::count(found.alike, "host")),
        others: found.others.iter().map(|one| Fact::new(&one.node, one.is.clone())).collect(),
    });
    let page = Page {
        title: &judgement.title,
        study: &judgement.study,
        question: judgement.question.as_deref(),
        started_at: &judgement.started_at,
        verdict: wording::verdict(judgement.verdict),
        mark: wording::mark(judgement.verdict),
        reason: wording::sentence(&judgement.reason),
        hosts: judgement.hosts.iter().map(HostRow::of).collect(),
        differences: differences.collect(),
        trials: trials?,
        comparisons: judgement.comparisons.iter().map(comparison).collect(),
        lacking: judgement.not_available.iter().map(|(what, why)| Fact::new(what, why)).collect(),
        code: Code::of_figures(),
    };
    environment()
        .and_then(|environment| environment.get_template("fleet.html")?.render(page))
        .map_err(|cause| Error::new("render the page", cause))
}

impl TrialView {
    fn of(number: usize, trial: &FleetTrial) -> Result<Self, Error> {
        let anchor = format!("trial-{number}");
        let promises = trial.promises.iter().enumerate().map(|(index, promise)| {
            let hosts = promise.hosts.iter().map(|host| SaidRow {
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
                says: wording::fleet_promise(promise),
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

fn comparison(found: &FleetComparison) -> ComparisonView {
    let group = found.group.as_ref().map(|group| format!(" of {group}")).unwrap_or_default();
    let held = match found.held.is_empty() {
        true => String::new(),
        false => format!(", held: {}", wording::factors(&found.held)),
    };
    let hosts = found.hosts.iter().map(|host| SaidRow {
        node: host.node.clone(),
        verdict: wording::verdict(host.verdict),
        mark: wording::mark(host.verdict),
        error: String::new(),
        reason: wording::sentence(&host.reason),
    });
    ComparisonView {
        says: format!(
            "{}{group} is {} over {}{held}",
            found.measure,
            found.is,
            found.over.join(", ")
        ),
        reason: found.reason.as_deref().map(wording::sentence).unwrap_or_default(),
        verdict: wording::verdict(found.verdict),
        mark: wording::mark(found.verdict),
        hosts: hosts.collect(),
    }
}
