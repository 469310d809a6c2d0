//! Searching for the setting that keeps a promise at the highest throughput.

mod search_schedule;

use std::time::Duration;

use assay_host::facts::HostFacts;
use assay_record::run_folder::{Run, RunFolder};
use assay_run::context::Context;
use assay_run::load::Loaded;
use assay_run::observer::Observer;
use assay_run::prepare::{Destination, facts_for, plan_for};
use assay_run::runner::{Finished, Request};
use assay_study::plan::{Scope, Setting, check_keep};
use assay_study::{Bindings, Study, combinations};
use assay_sys::closest;
use assay_sys::escape::shell_word;
use assay_sys::exit::{Code, Error};

use crate::conclude::{judge_finished, write_report};
use crate::{Budget, Outcome, SearchRun, Tuning, experiment, tuning};
use search_schedule::{SearchSchedule, Stage, TrialFactory};

/// Assumed overhead of a repeat before one was measured, seconds: making groups, starting and stopping
/// processes, reading their output.
const OVERHEAD_S: f64 = 1.5;

/// How a study is tuned.
#[derive(Debug, Clone)]
pub struct TuneOptions {
    /// Total time.
    pub length: Duration,
    /// Settings and attributes that are not tried: `scheduler`, `weights`, `nr_requests`, `max_budget=64`.
    pub keep: Vec<String>,
    /// Properties of the workload that are changed as well: `iodepth`.
    pub also: Vec<String>,
    /// Maximum number of settings to try.
    pub settings: Option<usize>,
    /// The run folder.
    pub destination: Destination,
}

/// The result of a search.
#[derive(Debug)]
pub struct Tuned {
    /// What was found.
    pub tuning: Tuning,
    /// The run folder, with `tune.json` and the report.
    pub folder: RunFolder,
    /// The exit code.
    pub code: Code,
}

/// Searches for the setting that keeps the promise at the highest throughput, without applying it.
///
/// # Errors
/// The study has more than one trial or no promise about it, a name to keep is unknown, this host cannot run the
/// study, or not even the unchanged study was run.
pub fn tune(
    context: &Context,
    loaded: Loaded,
    options: &TuneOptions,
    observer: &mut dyn Observer,
) -> Result<Tuned, Error> {
    let factors = only_trial(&loaded.study)?;
    let seed = loaded.seed();
    let facts = facts_for(context, &loaded.study)?;
    refuse_unknown(&options.keep, &facts)?;
    let longest = loaded.study.design.at_most.as_secs_f64();
    let budget = Budget::new(options.length.as_secs_f64(), longest, OVERHEAD_S);
    let plan_study = |study: &Study| plan_for(context, study, &facts, 0);
    let study = loaded.study.clone();
    let factory = TrialFactory { study, factors, facts: &facts, budget, plan: &plan_study };
    let unchanged = factory.trial(&Setting::unchanged(), Stage::Search).map_err(|why| {
        Error::host(format!("the study cannot be run on this host: {why}"))
            .note("nothing was touched")
    })?;
    let name = format!("{}-tune", loaded.study.name);
    let loaded = Loaded { choice: None, ..loaded };
    let to = (&options.destination, name.as_str(), seed);
    let first = (Setting::unchanged().name, unchanged);
    let (request, first) = experiment::request(context, loaded, first, facts.clone(), to)?;
    let judge_so_far = || experiment::look(&request.folder);
    let scope = Scope { keep: options.keep.clone(), also: options.also.clone() };
    let most = options.settings.unwrap_or(usize::MAX);
    let mut schedule = SearchSchedule::begin(factory, first, (scope, most), &judge_so_far);
    let what = (schedule.settings.trials.current(), options.length);
    let finished = experiment::run(context, &request, &mut schedule, what, observer)?;
    conclude(&request, &finished, &schedule, observer)
}

/// Refuses names that keep nothing: by a slip the search would change what was to stay.
fn refuse_unknown(keep: &[String], facts: &HostFacts) -> Result<(), Error> {
    let refuse = |name: &String| {
        let known = check_keep(name, facts).err()?;
        let meant = closest(name, known.iter().map(String::as_str));
        let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
        let known: Vec<String> = known.into_iter().collect();
        Some(format!("--fix: unknown name `{name}`\n  hint: {meant}one of {}", known.join(", ")))
    };
    let reasons: Vec<String> = keep.iter().filter_map(refuse).collect();
    match reasons.is_empty() {
        true => Ok(()),
        false => Err(Error { reasons, ..Error::ended(Code::Usage) }.note("nothing was touched")),
    }
}

/// Evaluates the search and writes its result and report.
fn conclude(
    request: &Request,
    finished: &Finished,
    schedule: &SearchSchedule<'_>,
    observer: &mut dyn Observer,
) -> Result<Tuned, Error> {
    let judgement = judge_finished(request, finished, observer).map_err(Error::host)?;
    let run = Run::from_folder(&request.folder).map_err(Error::host)?;
    let run = Run { manifest: finished.manifest.clone(), ..run };
    let search_run = SearchRun {
        manifest: &run.manifest,
        samples: &run.samples,
        judgement: &judgement,
        tried: schedule.tried(),
        not_tried: schedule.not_tried(),
        ended_early: finished.interrupted.is_some() || finished.failure.is_some(),
    };
    let Some(tuning) = tuning(&search_run) else {
        let code = finished.code(None);
        return Err(match finished.interrupted {
            Some(_) => Error::ended(code),
            None => Error { code, ..Error::host("not even the unchanged study could be run") },
        });
    };
    request.folder.write_json("tune.json", &tuning).map_err(Error::host)?;
    write_report(&request.folder, &run, &judgement).map_err(Error::host)?;
    let code = exit_code(&tuning, finished.code(Some(Code::Kept)));
    Ok(Tuned { tuning, folder: request.folder.clone(), code })
}

/// The exit code of a search, from that of its run. A workload that fails under one setting does not
/// fail the search.
fn exit_code(tuning: &Tuning, run: Code) -> Code {
    match (run, tuning.outcome) {
        (Code::Kept | Code::Workload, Outcome::Found) => Code::Kept,
        (Code::Kept, Outcome::NoneKeeps) => Code::Broken,
        (Code::Kept, Outcome::Undecided) => Code::Undecided,
        (other, _) => other,
    }
}

/// The factors of the only trial; a search needs exactly one.
fn only_trial(study: &Study) -> Result<Bindings, Error> {
    if study.promises.iter().all(|promise| promise.is.is_cross_trial()) {
        return Err(Error::usage(
            "the study has no promise about a single trial, so there is nothing to tune for",
        ));
    }
    let mut all = combinations(study);
    if all.len() == 1 {
        return Ok(all.remove(0));
    }
    let several = study.factors.iter().filter(|factor| factor.values.len() > 1);
    let choose: Vec<String> = several
        .map(|factor| {
            format!("--set {}", shell_word(&format!("{}={}", factor.name, factor.values[0])))
        })
        .collect();
    Err(Error::usage(format!(
        "the study has {} trials, but `assay tune` needs exactly one\n  hint: choose one, e.g. `{}`",
        all.len(),
        choose.join(" ")
    )))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use assay_run::load::load;
    use assay_run::overrides::StudyChoice;
    use assay_sys::files::Trust;

    use super::*;
    use crate::NotTried;
    use crate::replay::{as_recorded_now, context, fault};
    use crate::transcript::Transcript;

    /// A study with one trial on a disk with BFQ.
    fn choice(values: &str) -> StudyChoice {
        StudyChoice { set: vec![format!("groups={values}")], ..StudyChoice::named("io-weight") }
    }

    fn options(out: &Path, settings: usize) -> TuneOptions {
        TuneOptions {
            length: Duration::from_secs(300),
            keep: Vec::new(),
            also: Vec::new(),
            settings: Some(settings),
            destination: Destination { out: Some(out.to_owned()), trust: Trust::Checked },
        }
    }

    #[test]
    fn a_search_needs_one_trial_with_a_promise_of_its_own() {
        let study = |choice: &StudyChoice| load(choice).unwrap().study;
        assert!(only_trial(&study(&choice("4"))).is_ok());
        let error = only_trial(&study(&choice("4,8"))).unwrap_err();
        assert_eq!(error.code, Code::Usage);
        assert!(error.to_string().contains("choose one, e.g. `--set groups=4`"), "{error}");
        let mut without = study(&choice("4"));
        without.promises.clear();
        let error = only_trial(&without).unwrap_err();
        assert!(error.to_string().contains("nothing to tune for"), "{error}");
    }

    /// Every setting replays the same void data, so none is found, and the search ends by itself.
    #[test]
    fn a_search_without_a_better_setting_ends_without_one() {
        let temp = tempfile::tempdir().unwrap();
        let recorded = as_recorded_now("low-latency-on", &temp);
        let (context, replayed) = context(&recorded, &temp);
        let out = temp.path().join("out");
        let loaded = load(&choice("4")).unwrap();
        let mut observer = Transcript::default();
        let tuned = tune(&context, loaded, &options(&out, 2), &mut observer).unwrap();
        assert_ne!(tuned.code, Code::Kept, "{:?}", tuned.tuning.outcome);
        assert!(tuned.tuning.chosen.is_none());
        assert_eq!((replayed.borrow()[0].trial, replayed.borrow()[0].repeat), (0, 0));
        let for_time = |left: &NotTried| left.for_time && left.why.contains("`--settings`");
        assert!(tuned.tuning.not_tried.iter().any(for_time), "{:?}", tuned.tuning.not_tried);
        assert!(out.join("tune.json").is_file() && out.join("report.html").is_file());
    }

    #[test]
    fn a_name_to_keep_that_no_setting_has_is_refused_with_those_that_there_are() {
        let temp = tempfile::tempdir().unwrap();
        let (context, replayed) = context(&fault("one-cpu"), &temp);
        let out = temp.path().join("out");
        let refused = |keep: &[&str]| {
            let keep = keep.iter().map(|name| (*name).to_owned()).collect();
            let options = TuneOptions { keep, ..options(&out, 2) };
            let loaded = load(&choice("4")).unwrap();
            tune(&context, loaded, &options, &mut Transcript::default()).unwrap_err()
        };
        let error = refused(&["weights", "schedular", "max_budget=65"]);
        assert_eq!((error.code, error.note.as_deref()), (Code::Usage, Some("nothing was touched")));
        let [name, value] = error.reasons.as_slice() else { panic!("{error:?}") };
        assert!(name.starts_with("--fix: unknown name `schedular`\n  hint: "), "{name}");
        assert!(name.contains("did you mean `scheduler`? one of cpus, defaults, "), "{name}");
        assert!(value.contains("`max_budget=65`") && value.contains("max_budget=64"), "{value}");
        assert!(!value.contains("scheduler"), "only values of the same attribute: {value}");
        assert!(replayed.borrow().is_empty() && !out.exists());
    }

    #[test]
    fn a_host_that_cannot_run_the_unchanged_study_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let (mut context, replayed) = context(&fault("one-cpu"), &temp);
        context.facts.as_mut().unwrap().schedulers.clear();
        let out = temp.path().join("out");
        let loaded = load(&choice("4")).unwrap();
        let error = tune(&context, loaded, &options(&out, 2), &mut Transcript::default());
        let error = error.unwrap_err();
        assert_eq!((error.code, error.note.as_deref()), (Code::Host, Some("nothing was touched")));
        assert!(replayed.borrow().is_empty() && !out.exists());
    }
}
