//! Makes trials of settings from the study, the host's facts and the time budget.

use std::time::Duration;

use assay_facts::HostFacts;
use assay_intervention::Budget;
use assay_plan::{Plan, Setting, Trial};
use assay_study::{Bindings, Scalar, Stop, Study, WarmUp, setting_lines};

use crate::prepare::only_trial;

/// The purpose of a repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Choosing among settings.
    Search,
    /// Confirming chosen settings.
    Confirmation,
}

/// Makes trials of settings.
pub(super) struct TrialFactory<'a> {
    pub(super) study: Study,
    pub(super) factors: Bindings,
    pub(super) facts: &'a HostFacts,
    pub(super) budget: Budget,
    /// Plans a study for the host with these facts.
    pub(super) plan: &'a dyn Fn(&Study) -> Plan,
}

impl TrialFactory<'_> {
    /// The study's one trial under a setting.
    pub(super) fn trial(&self, setting: &Setting, stage: Stage) -> Result<Trial, String> {
        let mut study = setting.apply(&self.study, &self.factors)?;
        let (length, name) = match stage {
            Stage::Search => (self.budget.search_s, "search"),
            Stage::Confirmation => (self.budget.confirmation_s, "confirmation"),
        };
        let cut = match study.design.warm_up {
            WarmUp::Fixed(length) => length,
            WarmUp::Auto => Duration::ZERO,
        };
        study.design.at_most = cut + Duration::from_secs_f64(length);
        study.design.stop = Stop::AtMost;
        study.promises.retain(|promise| !promise.is.is_cross_trial());
        let mut trial = only_trial((self.plan)(&study)).map_err(|why| first_line(&why))?;
        let text = |text: &str| Scalar::Text(text.to_owned());
        trial.factors.insert(assay_plan::CHANGED.to_owned(), text(&setting.name));
        trial.factors.insert("stage".to_owned(), text(name));
        Ok(trial)
    }

    /// The lines of a study file that make a setting.
    pub(super) fn lines(&self, setting: &Setting) -> Vec<String> {
        setting
            .apply(&self.study, &self.factors)
            .map(|changed| setting_lines(&self.study, &changed))
            .unwrap_or_default()
    }
}

/// The first line of a refusal, without its remedy: a search tries something else.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
