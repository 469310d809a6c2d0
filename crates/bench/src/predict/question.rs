//! Predicts the configurations of a campaign and measures how long that takes.

use std::time::Instant;

use assay_facts::HostFacts;
use assay_host::gather;
use assay_kernel::Root;
use assay_plan::plan;
use assay_predict::{Basis, Costs, Prediction, TrialPrediction, predict};
use assay_study::{Study, parse};
use assay_verdict::Verdict;

use super::Campaign;
use super::draw::{Family, Range, families};
use crate::failure::Failure;

/// Predictions on this host.
pub(super) struct Predictor {
    facts: HostFacts,
    costs: Costs,
    /// Seconds of each configuration.
    seconds: u64,
}

impl Predictor {
    pub(super) fn new(costs: Costs, seconds: u64) -> Result<Self, Failure> {
        Ok(Self { facts: gather(&Root::real())?, costs, seconds })
    }

    fn predict(&self, family: &Family) -> Result<(Prediction, f64), Failure> {
        let text = family.study(self.seconds);
        let parsed: Option<Study> = parse("family", &text, &|_| Err(String::new())).0;
        let study = parsed.ok_or_else(|| Failure::Failed("a drawn study is invalid".to_owned()))?;
        let plan = plan(&study, &self.facts, 1);
        let began = Instant::now();
        let basis = Basis::Measured(String::new());
        let prediction = predict(&study.name, &plan, &self.facts, &self.costs, basis, 1);
        Ok((prediction, began.elapsed().as_secs_f64()))
    }

    /// How many times faster predicting all of them is than running them.
    pub(super) fn faster(&self, drawn: &[Family]) -> Result<f64, Failure> {
        let (mut run, mut took) = (0.0, 0.0);
        for family in drawn {
            let (prediction, seconds) = self.predict(family)?;
            took += seconds;
            run += prediction.run_s;
        }
        Ok(run / took.max(1e-9))
    }

    /// The families of a campaign.
    pub(super) fn drawn(&self, campaign: Campaign) -> Result<Vec<Family>, Failure> {
        let mut remaining = campaign.configurations;
        let mut drawn = Vec::new();
        // If no configuration is inside the validated range, drawing must still end.
        let most = 10 * campaign.configurations;
        for family in families(campaign.range(), campaign.seed).take(most) {
            let mut counts = match campaign.inside {
                true => self.inside(&family)?,
                false => family.counts().to_vec(),
            };
            counts.truncate(remaining);
            remaining -= counts.len();
            if !counts.is_empty() {
                drawn.push(family.with_counts(counts));
            }
            if remaining == 0 {
                break;
            }
        }
        match drawn.is_empty() {
            // Without rows, a rate of 0 of 0 would count as reached.
            true => Err(Failure::Failed(format!(
                "none of {most} families is inside the validated range"
            ))),
            false => Ok(drawn),
        }
    }

    /// Numbers of groups for which the configuration is inside the validated range.
    fn inside(&self, family: &Family) -> Result<Vec<usize>, Failure> {
        let (prediction, _) = self.predict(family)?;
        let each = family.counts().iter().zip(&prediction.trials);
        Ok(each.filter(|(_, trial)| is_inside(trial)).map(|(count, _)| *count).collect())
    }
}

/// A trial that is predicted to be void has no valid shares.
fn is_inside(trial: &TrialPrediction) -> bool {
    let verdict = trial.promises.first().and_then(|promise| promise.verdict);
    trial.outside.is_empty() && verdict.is_some_and(|verdict| verdict != Verdict::Void)
}

impl Campaign {
    const fn range(self) -> Range {
        match self.inside {
            true => Range::WithLargePools,
            false => Range::Usual,
        }
    }

    /// A study with the disk that all of them use.
    pub(super) fn first(self) -> Result<String, Failure> {
        let first = families(self.range(), self.seed).next();
        let first = first.ok_or_else(|| Failure::Failed("nothing to predict".to_owned()))?;
        Ok(first.study(self.seconds))
    }
}
