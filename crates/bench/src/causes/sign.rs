//! Whether a cause that was put into a run took hold there, by counters that the rules of its proof do not use: what
//! a check of the run says, or what a group got.

use assay_verdict::TrialJudgement;

/// What shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sign {
    /// The check of this name fails. It reads counters of the kernel or numbers of the workloads, and no events.
    Fails(&'static str),
    /// Some group whose name begins so got so many times its promised share, or more.
    Gains(&'static str, f64),
    /// Such a group got so many times its promised share, or less.
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
            Self::Gains(name, least) => share(trial, name, 1.0, |times| times >= least),
            Self::Loses(name, most) => share(trial, name, -1.0, |times| times <= most),
        }
    }
}

fn check(trial: &TrialJudgement, name: &str) -> Shown {
    match trial.validity.iter().find(|check| check.check == name) {
        Some(check) => Shown { took_hold: Some(!check.ok), words: check.evidence.clone() },
        None => Shown { took_hold: None, words: format!("the run has no check `{name}`") },
    }
}

/// Of the groups whose names begin so, the one that got most of its promise, or least with a sign of -1.
fn share(trial: &TrialJudgement, name: &str, sign: f64, holds: impl Fn(f64) -> bool) -> Shown {
    let groups = trial.promises.iter().flat_map(|promise| &promise.groups);
    let times = groups
        .filter(|group| group.name.starts_with(name))
        .map(|group| (&group.name, group.share / group.expected_share));
    match times.max_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1))) {
        Some((group, times)) => Shown {
            took_hold: Some(holds(times)),
            words: format!("`{group}` got {times:.2} times its promise"),
        },
        None => Shown { took_hold: None, words: format!("the run has no share of `{name}`") },
    }
}

#[cfg(test)]
mod tests {
    use assay_verdict::{Check, GroupJudgement, PromiseJudgement, Verdict};

    use super::*;

    fn group(name: &str, share: f64) -> GroupJudgement {
        GroupJudgement {
            name: name.to_owned(),
            knob: None,
            expected_share: 0.25,
            share_by_weight: None,
            share,
            low: share,
            high: share,
            rate: 1.0,
            verdict: Verdict::Broken,
            was: None,
            worst_span: None,
        }
    }

    fn trial() -> TrialJudgement {
        let groups = vec![group("task1", 0.5), group("task2", 0.1)];
        let promise =
            PromiseJudgement::without_numbers("io.bytes", "proportional", Verdict::Broken);
        let promise = PromiseJudgement { groups, ..promise };
        let check = Check { check: "quota".to_owned(), ok: false, evidence: "bound".to_owned() };
        TrialJudgement {
            factors: std::collections::BTreeMap::default(),
            verdict: Verdict::Broken,
            repeats: 1,
            promises: vec![promise],
            validity: vec![check],
            facts: Vec::new(),
            rounds: Vec::new(),
            window_s: 6.0,
            warm_up_s: 0.0,
            observer_cpu: 0.0,
            workloads: Vec::new(),
        }
    }

    #[test]
    fn a_failed_check_or_a_share_shows_it() {
        let trial = trial();
        let took_hold = |sign: Sign| sign.of(&trial).took_hold;
        assert_eq!(took_hold(Sign::Fails("quota")), Some(true));
        assert_eq!(took_hold(Sign::Fails("others")), None);
        assert_eq!(took_hold(Sign::Gains("task1", 1.9)), Some(true));
        assert_eq!(took_hold(Sign::Gains("task1", 2.1)), Some(false));
        assert_eq!(took_hold(Sign::Loses("task2", 0.5)), Some(true));
        assert_eq!(took_hold(Sign::Loses("task", 0.3)), Some(false), "0.4 times");
        assert_eq!(took_hold(Sign::Loses("task3", 0.5)), None);
        assert_eq!(
            Sign::Gains("task1", 1.9).of(&trial).words,
            "`task1` got 2.00 times its promise"
        );
    }
}
