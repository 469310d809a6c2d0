//! The schedule of a search: turns the next move of the search into a repeat.

use std::time::{Duration, Instant};

use assay_host::facts::HostFacts;
use assay_judge::verdict::{Judgement, Verdict};
use assay_record::run_folder::Manifest;
use assay_run::prepare::only_trial;
use assay_run::runner::{Failure, NextRepeat, Schedule};
use assay_study::plan::{Plan, RepeatId, Scope, Setting, Trial, candidates};
use assay_study::{Bindings, Scalar, Stop, Study, WarmUp, setting_lines};

use crate::experiment::Trials;
use crate::{Assessment, Budget, Move, NotTried, Search, SettingPool, TriedSetting};

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
        trial.factors.insert(assay_study::plan::CHANGED.to_owned(), text(&setting.name));
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

/// Judges the repeats recorded so far; `None` if the run cannot be read.
pub(super) type JudgeSoFar<'a> = &'a dyn Fn() -> Option<Judgement>;

/// A setting with its trials.
struct Entry {
    setting: Setting,
    search: Option<usize>,
    confirmation: Option<usize>,
    /// Why the host refused it during the run.
    refused: Option<String>,
}

/// Settings and their trials.
pub(super) struct Settings<'a> {
    factory: TrialFactory<'a>,
    judge_so_far: JudgeSoFar<'a>,
    entries: Vec<Entry>,
    pub(super) trials: Trials,
}

/// The schedule of a search.
pub(super) struct SearchSchedule<'a> {
    pub(super) settings: Settings<'a>,
    scope: Scope,
    most: usize,
    began: Instant,
    search: Option<Search>,
    not_tried: Vec<NotTried>,
}

impl<'a> SearchSchedule<'a> {
    /// A search among at most `most` settings of the scope, which begins with the unchanged trial.
    pub(super) fn begin(
        factory: TrialFactory<'a>,
        unchanged: Trial,
        (scope, most): (Scope, usize),
        judge_so_far: JudgeSoFar<'a>,
    ) -> Self {
        let trials = Trials::new(unchanged);
        let mut settings = Settings { factory, judge_so_far, entries: Vec::new(), trials };
        settings.add(Setting::unchanged());
        settings.entries[0].search = Some(0);
        let (began, search, not_tried) = (Instant::now(), None, Vec::new());
        Self { settings, scope, most, began, search, not_tried }
    }

    /// Every setting with its trials.
    pub(super) fn tried(&self) -> Vec<TriedSetting> {
        let entries = self.settings.entries.iter().enumerate();
        entries
            .filter(|(_, entry)| entry.refused.is_none())
            .map(|(index, entry)| TriedSetting {
                name: entry.setting.name.clone(),
                change: entry.setting.describe(),
                changes: entry.setting.changes.len(),
                lines: self.settings.factory.lines(&entry.setting),
                search: entry.search,
                confirmation: entry.confirmation,
                left_out_after: self.search.as_ref().and_then(|search| search.left_out(index)),
            })
            .collect()
    }

    /// Settings that could not be tried, with the reason.
    pub(super) fn not_tried(&self) -> Vec<NotTried> {
        let refused = self.settings.entries.iter().filter_map(|entry| {
            let why = entry.refused.clone()?;
            Some(NotTried { name: entry.setting.name.clone(), why, for_time: false })
        });
        self.not_tried.iter().cloned().chain(refused).collect()
    }

    /// Chooses the settings to try from the queue's attributes in the first repeat.
    fn choose(&mut self, manifest: &Manifest) -> Search {
        let repeat = manifest.trials.first().and_then(|trial| trial.repeats.first());
        let queue = repeat.and_then(|repeat| repeat.queues.first());
        let now = |attribute: &str| match attribute {
            "scheduler" => queue.map(|queue| queue.scheduler_at_start.clone()),
            other => queue?.at_start.get(other).map(|text| text.trim().to_owned()),
        };
        let factory = &self.settings.factory;
        let all = candidates(&factory.study, factory.facts, &now, &self.scope);
        let most = self.most.min(factory.budget.settings());
        let mut always = Vec::new();
        for setting in all {
            let name = setting.name.clone();
            match self.settings.factory.trial(&setting, Stage::Search) {
                Err(why) => self.not_tried.push(NotTried { name, why, for_time: false }),
                Ok(trial) if self.settings.is_unchanged(&trial) => {
                    let why = "it equals the unchanged study".to_owned();
                    self.not_tried.push(NotTried { name, why, for_time: false });
                }
                Ok(_) if self.settings.entries.len() > most => {
                    let why = "no time left for it (`--for`, `--settings`)".to_owned();
                    self.not_tried.push(NotTried { name, why, for_time: true });
                }
                Ok(_) => {
                    // The study's own settings are compared with the defaults.
                    if name == "defaults" {
                        always.push(self.settings.entries.len());
                    }
                    self.settings.add(setting);
                }
            }
        }
        let budget = self.settings.factory.budget;
        let elapsed = self.began.elapsed().as_secs_f64();
        Search::begin(self.settings.entries.len(), &always, budget, elapsed)
    }
}

impl Schedule for SearchSchedule<'_> {
    fn next(&mut self, manifest: &Manifest) -> Option<NextRepeat<'_>> {
        let first = manifest.trials.first()?;
        if first.repeats.is_empty() {
            self.settings.trials.current.replace("unchanged".to_owned());
            return Some(self.settings.trials.repeat(0, manifest));
        }
        let mut search = match self.search.take() {
            Some(search) => search,
            None => self.choose(manifest),
        };
        let mut next_trial = None;
        while next_trial.is_none() {
            let elapsed = self.began.elapsed().as_secs_f64();
            let Some(next) = search.next(elapsed, &mut self.settings) else { break };
            next_trial = self.settings.number(next, manifest);
            if let Some((_, name)) = &next_trial {
                let stage = if matches!(next, Move::Confirm(_)) { "confirm " } else { "try " };
                self.settings.trials.current.replace(format!("{stage}{name}"));
            }
        }
        self.search = Some(search);
        let (trial, _) = next_trial?;
        Some(self.settings.trials.repeat(trial, manifest))
    }

    fn continue_without(&mut self, slot: RepeatId, why: &Failure) -> bool {
        let mut entries = self.settings.entries.iter_mut();
        let is_it = |entry: &&mut Entry| entry.search == Some(slot.trial) && slot.trial > 0;
        let entry = entries.find(is_it);
        entry.map(|entry| entry.refused = Some(why.to_string())).is_some()
    }
}

impl Settings<'_> {
    fn add(&mut self, setting: Setting) -> usize {
        self.entries.push(Entry { setting, search: None, confirmation: None, refused: None });
        self.entries.len() - 1
    }

    /// Whether the trial equals the unchanged one.
    fn is_unchanged(&self, trial: &Trial) -> bool {
        let bare = |trial: &Trial| {
            let mut trial = trial.clone();
            trial.factors.clear();
            for disk in &mut trial.disks {
                disk.queue.sort();
            }
            trial
        };
        bare(self.trials.first()) == bare(trial)
    }

    /// The trial number of a move and the name of its setting; makes the trial if it is new. `None` if
    /// the host refused it.
    fn number(&mut self, next: Move, manifest: &Manifest) -> Option<(usize, String)> {
        let (Move::Try(index) | Move::Confirm(index)) = next;
        let entry = self.entries.get_mut(index).filter(|entry| entry.refused.is_none())?;
        let (stage, number) = match next {
            Move::Try(_) => (Stage::Search, &mut entry.search),
            Move::Confirm(_) => (Stage::Confirmation, &mut entry.confirmation),
        };
        if number.is_none() {
            match self.factory.trial(&entry.setting, stage) {
                Ok(trial) => *number = Some(self.trials.add(trial, manifest)),
                Err(why) => entry.refused = Some(why),
            }
        }
        Some(((*number)?, entry.setting.name.clone()))
    }
}

impl SettingPool for Settings<'_> {
    /// Judges the repeats so far. A run that cannot be read gives void assessments.
    fn assessments(&mut self) -> Vec<Assessment> {
        let unknown = Assessment { verdict: Verdict::Void, error: None, within: 0.0, rate: None };
        let judgement = (self.judge_so_far)();
        let assess = |entry: &Entry| {
            let trial = judgement.as_ref()?.trials.get(entry.search?)?;
            Some(Assessment::from_trial(trial))
        };
        self.entries.iter().map(|entry| assess(entry).unwrap_or_else(|| unknown.clone())).collect()
    }

    fn combine(&mut self, one: usize, other: usize) -> Option<usize> {
        let both = self.entries.get(one)?.setting.with(&self.entries.get(other)?.setting)?;
        self.factory.trial(&both, Stage::Search).ok()?;
        Some(self.add(both))
    }
}

#[cfg(test)]
mod tests {
    use assay_record::run_folder::Run;
    use assay_run::load::load;
    use assay_run::overrides::StudyChoice;
    use assay_study::combinations;
    use assay_test_support::hosts::host;

    use super::*;
    use crate::replay::fault;

    fn study() -> Study {
        let set = vec!["groups=4".to_owned()];
        load(&StudyChoice { set, ..StudyChoice::named("io-weight") }).unwrap().study
    }

    /// Runs the schedule of a search until it ends; `refuses` tells whether the host refuses a trial.
    /// Returns the trials in their order.
    fn search(
        schedule: &mut SearchSchedule<'_>,
        refuses: &dyn Fn(&Trial) -> bool,
    ) -> Vec<RepeatId> {
        let recorded = Run::load(&fault("low-latency-on")).unwrap().manifest;
        let mut manifest = Manifest { trials: Vec::new(), ..recorded.clone() };
        let mut slots = Vec::new();
        let empty = || assay_record::run_folder::TrialRecord {
            repeats: vec![],
            ..recorded.trials[0].clone()
        };
        manifest.trials.push(empty());
        while let Some(NextRepeat { slot, trial }) = schedule.next(&manifest) {
            let refused = refuses(trial);
            if slot.trial == manifest.trials.len() {
                manifest.trials.push(empty());
            }
            if refused {
                let cause = std::io::Error::other("refused");
                let why = assay_sys::kernel::Error::new("write", "/sys/x".as_ref(), &cause);
                if !schedule.continue_without(slot, &Failure::Host(why)) {
                    break;
                }
                continue;
            }
            manifest.trials[slot.trial].repeats.push(recorded.trials[0].repeats[0].clone());
            slots.push(slot);
        }
        slots
    }

    fn scope(keep: &[&str]) -> Scope {
        Scope { keep: keep.iter().map(|name| (*name).to_owned()).collect(), also: Vec::new() }
    }

    /// Calls `check` with a search among at most `most` settings in `length_s` seconds.
    fn with_search(
        (scope, most, length_s): (Scope, usize, f64),
        check: impl FnOnce(&mut SearchSchedule<'_>),
    ) {
        let (study, facts) = (study(), host(false));
        let plan = |study: &Study| -> Plan { assay_study::plan::plan(study, &facts, 0) };
        let factors = combinations(&study).remove(0);
        let budget = Budget::new(length_s, 10.0, 1.5);
        let factory = TrialFactory { study, factors, facts: &facts, budget, plan: &plan };
        let first = factory.trial(&Setting::unchanged(), Stage::Search).unwrap();
        check(&mut SearchSchedule::begin(factory, first, (scope, most), &|| None));
    }

    #[test]
    fn the_unchanged_study_comes_first_and_each_setting_is_a_new_trial() {
        with_search((scope(&[]), 4, 600.0), |schedule| {
            let slots = search(schedule, &|_| false);
            assert_eq!(slots[0], RepeatId { trial: 0, repeat: 0 });
            let tried = schedule.tried();
            assert_eq!((tried[0].name.as_str(), tried[0].search), ("unchanged", Some(0)));
            let new: Vec<usize> = tried.iter().filter_map(|tried| tried.search).collect();
            assert!(
                new.len() > 4
                    && new.iter().all(|trial| slots.iter().any(|slot| slot.trial == *trial))
            );
            assert!(!schedule.settings.trials.current.borrow().is_empty());
        });
    }

    #[test]
    fn settings_without_time_are_named_with_the_option_that_gives_more() {
        with_search((scope(&[]), 1, 600.0), |schedule| {
            search(schedule, &|_| false);
            let left = schedule.not_tried();
            let for_time = |one: &&NotTried| one.for_time;
            assert!(left.iter().filter(for_time).count() > 2, "{left:?}");
            assert!(left.iter().filter(for_time).all(|one| one.why.contains("`--for`")));
        });
    }

    #[test]
    fn what_is_kept_is_not_changed() {
        with_search((scope(&["nr_requests"]), 50, 3600.0), |schedule| {
            search(schedule, &|_| false);
            let tried = schedule.tried();
            assert!(tried.iter().all(|one| !one.change.contains("nr_requests")), "{tried:?}");
            assert!(tried.iter().any(|one| one.change.contains("slice_idle")), "{tried:?}");
        });
    }

    #[test]
    fn a_setting_that_the_host_refuses_is_left_out_with_the_reason() {
        with_search((scope(&[]), 4, 600.0), |schedule| {
            let refused = |trial: &Trial| {
                trial.factors[assay_study::plan::CHANGED] != Scalar::Text("unchanged".to_owned())
            };
            let slots = search(schedule, &refused);
            let [unchanged] = schedule.tried().try_into().unwrap();
            let own = [unchanged.search, unchanged.confirmation];
            assert!(slots.iter().all(|slot| own.contains(&Some(slot.trial))), "{slots:?}");
            let left = schedule.not_tried();
            assert!(
                left.iter().any(|one| !one.for_time && one.why.contains("refused")),
                "{left:?}"
            );
        });
    }

    #[test]
    fn a_host_that_refuses_the_unchanged_study_ends_the_search() {
        with_search((scope(&[]), 4, 600.0), |schedule| {
            assert_eq!(search(schedule, &|_| true), []);
            assert_eq!(schedule.tried().len(), 1);
        });
    }
}
