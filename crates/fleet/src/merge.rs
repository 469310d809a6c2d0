//! Merges the judgements of many hosts, one after the other: only the numbers of each are kept.

use std::collections::{BTreeMap, HashMap};

use assay_judge::verdict::{
    ComparisonJudgement, FleetComparison, FleetGroup, FleetPromise, FleetTrial, HostVerdict,
    Judgement, PromiseJudgement, PromiseOnHost, TrialJudgement, Verdict,
};
use serde::Serialize;
use serde_json::Value;

use crate::spread::{ValuesByHost, of_amounts, of_ratios};

/// The merged results so far.
#[derive(Debug, Default)]
pub struct FleetMerge {
    trials: Vec<Trial>,
    comparisons: Vec<FleetComparison>,
    /// Index of each trial and comparison, so that the time does not grow with the square of their number.
    known_trials: HashMap<String, usize>,
    known_comparisons: HashMap<String, usize>,
}

/// One combination of factors.
#[derive(Debug)]
struct Trial {
    factors: BTreeMap<String, Value>,
    verdict: Verdict,
    hosts: usize,
    promises: Vec<Promise>,
}

#[derive(Debug)]
struct Promise {
    like: PromiseJudgement,
    hosts: Vec<PromiseOnHost>,
    /// Of each group its share relative to the expected one.
    groups: BTreeMap<String, ValuesByHost>,
}

/// What is equal for the same trial, or the same comparison, of every host.
fn key(identity: &impl Serialize) -> String {
    // Text, numbers and lists always have a JSON form.
    serde_json::to_string(identity).unwrap_or_default()
}

impl FleetMerge {
    /// Adds the result of one host.
    pub fn add(&mut self, node: &str, judgement: &Judgement) {
        judgement.trials.iter().for_each(|trial| self.add_trial(node, trial));
        judgement.comparisons.iter().for_each(|one| self.add_comparison(node, one));
    }

    fn add_trial(&mut self, node: &str, judged: &TrialJudgement) {
        let at = *self.known_trials.entry(key(&judged.factors)).or_insert_with(|| {
            self.trials.push(Trial {
                factors: judged.factors.clone(),
                verdict: judged.verdict,
                hosts: 0,
                promises: Vec::new(),
            });
            self.trials.len() - 1
        });
        let trial = &mut self.trials[at];
        trial.verdict = Verdict::worst([trial.verdict, judged.verdict]);
        trial.hosts += 1;
        // A study may contain the same promise twice with different margins; their order
        // distinguishes them.
        for (number, promise) in judged.promises.iter().enumerate() {
            if trial.promises.len() <= number {
                trial.promises.push(Promise::empty_like(promise));
            }
            trial.promises[number].add(node, promise);
        }
    }

    fn add_comparison(&mut self, node: &str, judged: &ComparisonJudgement) {
        let identity = (&judged.measure, &judged.group, &judged.is, &judged.over, &judged.held);
        let at = *self.known_comparisons.entry(key(&identity)).or_insert_with(|| {
            self.comparisons.push(FleetComparison {
                measure: judged.measure.clone(),
                group: judged.group.clone(),
                is: judged.is.clone(),
                over: judged.over.clone(),
                held: judged.held.clone(),
                verdict: judged.verdict,
                hosts: Vec::new(),
            });
            self.comparisons.len() - 1
        });
        let comparison = &mut self.comparisons[at];
        comparison.verdict = Verdict::worst([comparison.verdict, judged.verdict]);
        comparison.hosts.push(HostVerdict {
            node: node.to_owned(),
            verdict: judged.verdict,
            reason: judged.reason.clone(),
        });
    }

    /// The merged result.
    #[must_use]
    pub fn finish(self) -> (Vec<FleetTrial>, Vec<FleetComparison>) {
        let trial = |trial: Trial| FleetTrial {
            factors: trial.factors,
            verdict: trial.verdict,
            hosts: trial.hosts,
            promises: trial.promises.into_iter().map(Promise::finish).collect(),
        };
        (self.trials.into_iter().map(trial).collect(), self.comparisons)
    }
}

impl Promise {
    /// The identity of a promise, without the first host's numbers.
    fn empty_like(promise: &PromiseJudgement) -> Self {
        let (groups, causes, proofs) = (Vec::new(), Vec::new(), Vec::new());
        let like = PromiseJudgement { groups, causes, proofs, ..promise.clone() };
        Self { like, hosts: Vec::new(), groups: BTreeMap::new() }
    }

    fn add(&mut self, node: &str, judged: &PromiseJudgement) {
        self.hosts.push(PromiseOnHost {
            node: node.to_owned(),
            verdict: judged.verdict,
            reason: judged.reason.clone(),
            worst_error: judged.worst_error.map(|error| error.value),
            total_rate: judged.total_rate,
        });
        // Numbers of a void promise prove nothing and are excluded from means.
        if judged.verdict == Verdict::Void {
            return;
        }
        for group in judged.groups.iter().filter(|group| group.expected_share > 0.0) {
            let values = self.groups.entry(group.name.clone()).or_default();
            values.push((node.to_owned(), group.share / group.expected_share));
        }
    }

    fn finish(self) -> FleetPromise {
        let numbers = |number: fn(&PromiseOnHost) -> Option<f64>| -> ValuesByHost {
            let counted = self.hosts.iter().filter(|host| host.verdict != Verdict::Void);
            counted.filter_map(|host| Some((host.node.clone(), number(host)?))).collect()
        };
        let groups = self.groups.iter().map(|(name, values)| FleetGroup {
            name: name.clone(),
            to_expected: of_ratios(values),
        });
        FleetPromise {
            groups: groups.collect(),
            total_rate: of_ratios(&numbers(|host| host.total_rate)),
            worst_error: of_amounts(&numbers(|host| host.worst_error)),
            verdict: Verdict::worst(self.hosts.iter().map(|host| host.verdict)),
            hosts: self.hosts,
            measure: self.like.measure,
            is: self.like.is,
            to: self.like.to,
            within: self.like.within,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use assay_judge::verdict::{GroupJudgement, Interval};

    pub(crate) fn judgement(groups: i64, verdict: Verdict, rate: f64, share: f64) -> Judgement {
        let group = GroupJudgement {
            was: None,
            worst_span: None,
            name: "task1".to_owned(),
            knob: Some(100.0),
            expected_share: 0.25,
            share_by_weight: None,
            share,
            low: share,
            high: share,
            rate,
            verdict,
        };
        let promise = PromiseJudgement {
            was: None,
            spans: None,
            measure: "io.bytes".to_owned(),
            is: "proportional".to_owned(),
            to: Some("io.weight".to_owned()),
            within: 0.1,
            verdict,
            reason: "because".to_owned(),
            worst_error: Some(Interval { value: 0.02, low: 0.01, high: 0.03 }),
            errors: Vec::new(),
            jain: None,
            total_rate: Some(rate),
            needs_s: None,
            needs_repeats: None,
            groups: vec![group],
            causes: Vec::new(),
            proofs: Vec::new(),
        };
        let trial = TrialJudgement {
            facts: Vec::new(),
            rounds: Vec::new(),
            factors: [("groups".to_owned(), Value::from(groups))].into(),
            verdict,
            repeats: 1,
            promises: vec![promise],
            validity: Vec::new(),
            window_s: 3.0,
            warm_up_s: 0.0,
            observer_cpu: 0.0,
            workloads: Vec::new(),
        };
        Judgement {
            schema: 1,
            study: "x".to_owned(),
            verdict,
            trials: vec![trial],
            comparisons: Vec::new(),
            references: Vec::new(),
            restored: Some(true),
            guest: None,
            caveat: None,
        }
    }

    #[test]
    fn the_same_trial_of_several_hosts_is_merged_with_the_spread_between_them() {
        let mut merge = FleetMerge::default();
        merge.add("a", &judgement(4, Verdict::Kept, 100.0, 0.25));
        merge.add("b", &judgement(4, Verdict::Broken, 400.0, 0.5));
        merge.add("c", &judgement(8, Verdict::Kept, 7.0, 0.25));
        let (trials, _) = merge.finish();
        assert_eq!(trials.len(), 2, "a trial of a single host is a separate trial");
        assert_eq!((trials[0].hosts, trials[0].verdict), (2, Verdict::Broken));
        let promise = &trials[0].promises[0];
        let rate = promise.total_rate.value().unwrap();
        assert!((rate.value - 200.0).abs() < 1e-9 && rate.ratio == Some(4.0));
        assert_eq!(rate.highest.node, "b");
        let share = promise.groups[0].to_expected.value().unwrap();
        assert!((share.value - 2.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(trials[1].promises[0].total_rate.value().unwrap().hosts, 1);
    }

    #[test]
    fn void_promises_are_excluded_from_means() {
        let mut merge = FleetMerge::default();
        merge.add("a", &judgement(4, Verdict::Kept, 100.0, 0.25));
        merge.add("b", &judgement(4, Verdict::Void, 1.0, 0.9));
        let (trials, _) = merge.finish();
        let promise = &trials[0].promises[0];
        assert_eq!(promise.hosts.len(), 2);
        assert_eq!(promise.total_rate.value().unwrap().hosts, 1);
        assert_eq!(trials[0].verdict, Verdict::Void);
    }
}
