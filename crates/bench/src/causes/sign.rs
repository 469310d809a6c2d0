//! Whether a cause that was put into a run took hold there, by counters that the rules of its proof do not use: what
//! a check of the run says, or what a group got.

use assay_verdict::TrialJudgement;

/// What shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sign {
    /// The check of this name fails. It reads counters of the kernel or numbers of the workloads, and no events.
    Fails(&'static str),
    /// This group got so many times its promised share, or more.
    Gains(&'static str, f64),
    /// It got so many times its promised share, or less.
    Loses(&'static str, f64),
}

/// What a run shows of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shown {
    /// `None` where the run has no figures.
    pub(super) took_hold: Option<bool>,
    /// The figures.
    pub(super) words: String,
}

impl Sign {
    /// What a judged run shows.
    pub(super) fn of(self, trial: &TrialJudgement) -> Shown {
        match self {
            Self::Fails(name) => check(trial, name),
            Self::Gains(group, least) => share(trial, group, |times| times >= least),
            Self::Loses(group, most) => share(trial, group, |times| times <= most),
        }
    }
}

fn check(trial: &TrialJudgement, name: &str) -> Shown {
    match trial.validity.iter().find(|check| check.check == name) {
        Some(check) => Shown { took_hold: Some(!check.ok), words: check.evidence.clone() },
        None => Shown { took_hold: None, words: format!("the run has no check `{name}`") },
    }
}

fn share(trial: &TrialJudgement, group: &str, holds: impl Fn(f64) -> bool) -> Shown {
    let groups = trial.promises.iter().flat_map(|promise| &promise.groups);
    let times = groups.filter(|one| one.name == group).map(|one| one.share / one.expected_share);
    match times.into_iter().next() {
        Some(times) => Shown {
            took_hold: Some(holds(times)),
            words: format!("`{group}` got {times:.2} times its promise"),
        },
        None => Shown { took_hold: None, words: format!("the run has no share of `{group}`") },
    }
}
