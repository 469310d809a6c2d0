//! The order of a run's repeats, and its end: restored whatever happened.

use std::path::Path;

use assay_study::plan::{Plan, Trial};

use super::*;
use crate::runner::stop_rule::NeverStop;
use crate::runner::tests::fake_host::{FakeHost, Recorder, group, script, setting, trial};

const SWAPPINESS: &str = "/sys/swappiness";

fn slots(trials: &[usize]) -> Vec<RepeatId> {
    let mut next = [0; 2];
    let slot = |trial: &usize| {
        next[*trial] += 1;
        RepeatId { trial: *trial, repeat: next[*trial] - 1 }
    };
    trials.iter().map(slot).collect()
}

fn short(name: &str) -> Trial {
    trial(vec![group(name, vec![script(name, "true")])])
}

/// Runs the schedule, or the plan in its order, and restores the host.
fn finish(
    host: &FakeHost,
    request: &Request,
    rule: &mut dyn StopRule,
    schedule: Option<&mut dyn Schedule>,
) -> (Finished, Vec<String>) {
    let mut observer = Recorder::default();
    let received = observer.clone();
    let mut context = host.context(request, &mut observer, rule);
    let failure = match schedule {
        Some(schedule) => context.run_slots(schedule).err(),
        None => context.run_slots(&mut AsPlanned::new(&request.plan)).err(),
    };
    let finished = context.restore(failure).unwrap();
    (finished, received.lines())
}

fn ended(received: &[String]) -> Vec<&str> {
    received.iter().filter_map(|line| line.strip_prefix("ended ")).collect()
}

#[test]
fn repeats_run_in_the_order_of_the_plan_and_the_host_is_restored_once() {
    let host = FakeHost::with_processes();
    host.put(SWAPPINESS, "60\n");
    let mut with_setting = short("b");
    with_setting.settings.push(setting("vm.swappiness", SWAPPINESS, "10"));
    let mut request = host.request(vec![short("a"), with_setting]);
    request.plan.slots = slots(&[1, 0, 1]);
    let (finished, received) = finish(&host, &request, &mut NeverStop, None);
    assert_eq!(
        ended(&received),
        ["1.0 after 1 changes", "0.0 after 1 changes", "1.1 after 2 changes"]
    );
    assert_eq!(received.last().unwrap(), "restoring");
    let manifest = &finished.manifest;
    let counts: Vec<_> = manifest.trials.iter().map(|trial| trial.repeats.len()).collect();
    assert_eq!(counts, [1, 2]);
    assert_eq!((manifest.restored, manifest.ended_early.as_deref()), (Some(true), None));
    assert!(finished.failure.is_none() && finished.not_restored.is_empty());
    assert_eq!(host.text(SWAPPINESS), "60");
    let written = request.folder.read_manifest().unwrap();
    assert_eq!(written.restored, Some(true), "the folder holds the last word");
    drop(host.ledger()); // none is left, so that the next run may begin
}

#[test]
fn a_disk_that_is_full_ends_its_trial_and_no_other() {
    let host = FakeHost::with_processes();
    let full = script("a.full", "echo No space left on device >&2; exit 1");
    let mut request = host.request(vec![trial(vec![group("a", vec![full])]), short("b")]);
    request.plan.slots = slots(&[0, 1, 0, 1]);
    let (finished, _) = finish(&host, &request, &mut NeverStop, None);
    let counts: Vec<_> = finished.manifest.trials.iter().map(|trial| trial.repeats.len()).collect();
    assert_eq!(counts, [1, 2]);
    assert_eq!(finished.code(None), Code::Workload);
}

#[test]
fn a_refused_setting_ends_the_run_with_its_reason_and_keeps_earlier_repeats() {
    let host = FakeHost::with_processes();
    let mut bad = short("b");
    bad.settings.push(setting("x", "/sys/missing", "1"));
    let mut request = host.request(vec![short("a"), bad]);
    request.plan.slots = slots(&[0, 1, 0]);
    let (finished, received) = finish(&host, &request, &mut NeverStop, None);
    assert_eq!(ended(&received).len(), 1, "nothing runs after it");
    let why = finished.manifest.ended_early.clone().unwrap();
    assert!(why.contains("/sys/missing"), "{why}");
    assert_eq!(finished.failure.unwrap().to_string(), why);
    assert_eq!(finished.manifest.trials[0].repeats.len(), 1);
    assert_eq!(finished.manifest.restored, Some(true));
}

#[test]
fn a_change_that_cannot_be_restored_is_reported_and_its_ledger_stays() {
    let host = FakeHost::with_processes();
    host.put(SWAPPINESS, "60\n");
    // The workload takes away what the run has to restore.
    let path = host.root().resolve(SWAPPINESS);
    let breaks = format!("rm {0} && mkdir {0}", path.display());
    let mut planned = trial(vec![group("a", vec![script("a", &breaks)])]);
    planned.settings.push(setting("vm.swappiness", SWAPPINESS, "10"));
    let mut request = host.request(vec![planned]);
    request.plan.slots = slots(&[0, 0]);
    let (finished, received) = finish(&host, &request, &mut NeverStop, None);
    assert!(ended(&received).is_empty(), "no further repeat is measured on such a host");
    let [error] = &finished.not_restored[..] else { panic!("{:?}", finished.not_restored) };
    assert!(error.to_string().contains(SWAPPINESS), "{error}");
    assert_eq!(finished.manifest.restored, Some(false));
    assert_eq!(finished.manifest.trials[0].repeats.len(), 1, "its record is kept");
    let left = assay_host::ledger::unfinished(&request.state_dir).unwrap();
    assert_eq!(left.len(), 1, "`assay restore` can try again");
}

/// Says after the first repeat that the trial is known.
#[derive(Default)]
struct Known(Vec<usize>);

impl StopRule for Known {
    fn is_over(&mut self, run: &Path, trial: usize) -> bool {
        assert!(run.join("manifest.json").exists(), "what was recorded so far can be read");
        self.0.push(trial);
        true
    }
}

#[test]
fn further_repeats_of_a_trial_that_is_known_are_left_out() {
    let host = FakeHost::with_processes();
    let decided = Trial { stop: StopRecord::Decided, ..short("a") };
    let mut request = host.request(vec![decided, short("b")]);
    request.plan.slots = slots(&[0, 1, 0, 1, 0]);
    let mut rule = Known::default();
    let (finished, _) = finish(&host, &request, &mut rule, None);
    let counts: Vec<_> = finished.manifest.trials.iter().map(|t| t.repeats.len()).collect();
    assert_eq!(counts, [1, 2], "only the trial that may ends early");
    assert_eq!(rule.0, [0, 0], "asked before each further repeat, never before the first");
    assert_eq!(finished.manifest.ended_early, None, "that is no failure");
}

/// A search: its second trial is not in the plan.
struct Search {
    trials: Vec<Trial>,
    next: usize,
}

impl Schedule for Search {
    fn next(&mut self, manifest: &Manifest) -> Option<NextRepeat<'_>> {
        let slot = RepeatId { trial: self.next, repeat: 0 };
        let trial = self.trials.get(self.next)?;
        let recorded: usize = manifest.trials.iter().map(|trial| trial.repeats.len()).sum();
        assert_eq!(recorded, self.next, "it sees all earlier results");
        self.next += 1;
        Some(NextRepeat { slot, trial })
    }
}

#[test]
fn a_schedule_may_add_trials_that_the_plan_lacks() {
    let host = FakeHost::with_processes();
    let mut request = host.request(vec![short("a")]);
    request.plan = Plan { slots: vec![], ..request.plan };
    let mut search = Search { trials: vec![short("a"), short("b")], next: 0 };
    let (finished, _) = finish(&host, &request, &mut NeverStop, Some(&mut search));
    let trials = &finished.manifest.trials;
    assert_eq!(trials.len(), 2);
    assert_eq!((trials[1].groups[0].name.as_str(), trials[1].repeats.len()), ("b", 1));
    assert_eq!(trials[1].planned_repeats, None, "nobody planned it");
    assert_eq!(trials[1].repeats[0].samples, "trial-01-repeat-00");
}
