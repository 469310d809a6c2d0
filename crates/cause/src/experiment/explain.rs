//! Explaining a broken promise: the smallest failed trial again with one change at a time, interleaved
//! with the unchanged trial.

mod arms;
mod foreign;
mod rounds;
mod target;

use std::path::Path;
use std::time::Duration;

use assay_judge::verdict::wording::count;
use assay_judge::verdict::{Judgement, Verdict};
use assay_record::run_folder::RunFolder;
use assay_run::context::Context;
use assay_run::execute::execute_schedule;
use assay_run::load::Loaded;
use assay_run::observer::Observer;
use assay_run::prepare::{Destination, facts_for, new_request, plan_for};
use assay_run::runner::Request;
use assay_study::plan::{Trial, interleave};
use assay_sys::exit::{Code, Error};

use crate::conclude::judge_finished;
use crate::{Arm, Explanation, Finding, Fresh, Question, experiment};
use rounds::{Length, Rounds};
use target::Target;

/// How a run is explained.
#[derive(Debug, Clone)]
pub struct ExplainOptions {
    /// The trial, counted from 1; `None` for the smallest that failed.
    pub trial: Option<usize>,
    /// Maximum length of a repeat; `None` for 3 s, or that of the run if shorter.
    pub at_most: Option<Duration>,
    /// Number of rounds; `None` for 4 to 8, until a cause is found.
    pub rounds: Option<u32>,
    /// Only these causes or changes; empty for all.
    pub only: Vec<String>,
    /// Folder of the interventions.
    pub destination: Destination,
    /// Whether the study is started even if the run folder comes from another host or user.
    pub trust_run: bool,
}

/// An explained run.
#[derive(Debug)]
pub struct Explained {
    /// The explanation.
    pub explanation: Explanation,
    /// Folder of the interventions, with `explain.json`.
    pub folder: RunFolder,
    /// The exit code: undecided without a cause.
    pub code: Code,
}

/// Repeats the smallest failed trial with one change at a time, interleaved with the unchanged trial, and
/// finds out which change moved the error.
///
/// # Errors
/// No promise of the run failed, it cannot be repeated here, or the interventions did not finish.
pub fn explain(
    context: &Context,
    run: &Path,
    options: &ExplainOptions,
    observer: &mut dyn Observer,
) -> Result<Explained, Error> {
    let recorded = foreign::open(&context.root, run, options.trust_run, observer)?;
    let manifest = &recorded.manifest;
    if let Some(guest) =
        manifest.guest.as_ref().filter(|guest| context.guest.as_ref() != Some(*guest))
    {
        return Err(Error::usage(format!(
            "the run took place in a guest ({})\n  hint: run `assay diagnose` in such a guest \
             (`assay lab exec`)",
            guest.line()
        )));
    }
    let judgement = crate::judge(manifest, &recorded.samples);
    let target = Target::find(manifest, &judgement, options.trial)?;
    if let Some(why) = too_few(options.rounds, target.judged.verdict) {
        return Err(Error::usage(why));
    }
    let facts = facts_for(context, &target.study)?;
    let plan_study = |study: &_| plan_for(context, study, &facts, 0);
    let is_lab = context.guest.is_some();
    let chosen = arms::Chooser::new(&target, &facts, options, is_lab, &plan_study).choose()?;
    let length = Length::new(options.rounds);
    observer.message(&announcement(&target, &chosen.trials, length));
    let plan = interleave(chosen.trials, length.with_fresh());
    let name = format!("{}-explain", target.study.name);
    let to = (&options.destination, name.as_str(), manifest.seed);
    let loaded = Loaded::derived(target.study.clone(), &manifest.study_text);
    let request = new_request(context, loaded, plan, facts, to)?;
    carry_out(context, &request, &target, chosen.arms, length, observer)
}

/// Runs the rounds and evaluates them.
fn carry_out(
    context: &Context,
    request: &Request,
    target: &Target,
    arms: Vec<Arm>,
    length: Length,
    observer: &mut dyn Observer,
) -> Result<Explained, Error> {
    // Predictions are written down before anything runs.
    let predictions = crate::predict(&target.trial, &target.judged, &arms);
    request.folder.write_json("predictions.json", &predictions).map_err(Error::host)?;
    let evaluate = |judgement: &Judgement, arms: &[Arm], fresh: &[Fresh]| {
        let question = Question {
            promise: target.promise,
            was_broken: target.judged.verdict == Verdict::Broken,
            looks: length.looks(),
            fresh,
            suspects: target.suspects(),
            predictions: &predictions,
        };
        crate::explain(judgement, question, arms)
    };
    let look =
        |arms: &[Arm], fresh: &[Fresh]| evaluate(&experiment::look(&request.folder)?, arms, fresh);
    let mut rounds = Rounds::new(&request.plan, length, arms, &look);
    let finished = execute_schedule(context, request, Some(&mut rounds), observer)?;
    let (arms, fresh) = rounds.into_parts();
    let judgement = judge_finished(request, &finished, observer).map_err(Error::host)?;
    if finished.interrupted.is_some() || finished.failure.is_some() {
        return Err(Error::ended(finished.code(None)));
    }
    let explanation = evaluate(&judgement, &arms, &fresh)
        .ok_or_else(|| Error::host("the unchanged trial could not be judged"))?;
    request.folder.write_json("explain.json", &explanation).map_err(Error::host)?;
    let code = match finished.code(Some(Code::Kept)) {
        Code::Kept if !names_a_cause(&explanation) => Code::Undecided,
        other => other,
    };
    Ok(Explained { explanation, folder: request.folder.clone(), code })
}

/// The error if there are too few rounds: a check that fails again proves its cause at once, but a
/// share that is better for one round may be so by chance.
fn too_few(rounds: Option<u32>, verdict: Verdict) -> Option<&'static str> {
    (rounds == Some(1) && verdict == Verdict::Broken).then_some(
        "one round cannot tell the effect of a change from chance, so it confirms no cause of a \
         broken promise\n  hint: give `--rounds 2` or more, or leave `--rounds` out for 4 to 8, until \
         a cause is found",
    )
}

fn names_a_cause(explanation: &Explanation) -> bool {
    let known = |finding| matches!(finding, Finding::Proven | Finding::Confirmed);
    explanation.causes.iter().any(|cause| known(cause.finding))
}

/// A line that announces the trial, the number of changes and rounds, and the length of a repeat.
fn announcement(target: &Target, trials: &[(String, Trial)], length: Length) -> String {
    let Length { least, most } = length;
    let rounds = match least == most {
        true => format!("{most} rounds"),
        false => format!("{least} to {most} rounds"),
    };
    let changes = count(trials.len().saturating_sub(1), "change");
    format!(
        "trial {} with {changes} in {rounds}, at most {} s each",
        target.number + 1,
        trials.first().map_or(0, |(_, trial)| trial.at_most.as_secs())
    )
}

#[cfg(test)]
mod tests {
    use assay_record::run_folder::Guest;
    use assay_sys::files::Trust;

    use super::*;
    use crate::replay::{as_recorded_now, context, fault};
    use crate::transcript::Transcript;

    fn options(out: &Path, only: &[&str]) -> ExplainOptions {
        ExplainOptions {
            trial: None,
            at_most: None,
            rounds: None,
            only: only.iter().map(|name| (*name).to_owned()).collect(),
            destination: Destination { out: Some(out.to_owned()), trust: Trust::Checked },
            trust_run: true,
        }
    }

    #[test]
    fn one_round_is_refused_for_a_broken_promise() {
        assert!(too_few(Some(1), Verdict::Broken).is_some_and(|why| why.contains("`--rounds 2`")));
        assert_eq!(too_few(Some(1), Verdict::Void), None);
        assert_eq!(too_few(Some(2), Verdict::Broken), None);
        assert_eq!(too_few(None, Verdict::Broken), None);
    }

    /// The check of the CPUs fails in every round, which proves the cause at the first look.
    #[test]
    fn a_check_that_fails_again_proves_its_cause_after_the_fewest_rounds() {
        let temp = tempfile::tempdir().unwrap();
        let recorded = as_recorded_now("one-cpu", &temp);
        let (context, replayed) = context(&recorded, &temp);
        let out = temp.path().join("out");
        let mut observer = Transcript::default();
        let explained = explain(&context, &recorded, &options(&out, &[]), &mut observer).unwrap();
        assert_eq!(explained.code, Code::Kept, "{:?}", observer.lines());
        let cause = &explained.explanation.causes[0];
        assert_eq!((cause.code.as_str(), cause.finding), ("C-CPU", Finding::Proven));
        let replayed = replayed.borrow();
        assert_eq!(replayed.iter().filter(|slot| slot.trial == 0).count(), 4);
        let changes = replayed.iter().take_while(|slot| slot.repeat == 0).count();
        let (first, second) = replayed.split_at(changes);
        let backwards = second[..changes].iter().rev().map(|slot| slot.trial);
        assert!(first.iter().map(|slot| slot.trial).eq(backwards), "{replayed:?}");
        assert!(observer.lines()[0].contains("in 4 to 8 rounds"), "{:?}", observer.lines());
        assert!(out.join("explain.json").is_file() && out.join("predictions.json").is_file());
        assert_eq!(explained.folder.path(), out);
    }

    #[test]
    fn a_run_from_elsewhere_is_shown_and_starts_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let recorded = as_recorded_now("one-cpu", &temp);
        let (context, replayed) = context(&recorded, &temp);
        let out = temp.path().join("out");
        let options = ExplainOptions { trust_run: false, ..options(&out, &[]) };
        let error = explain(&context, &recorded, &options, &mut Transcript::default());
        let error = error.unwrap_err();
        assert_eq!(error.code, Code::Usage);
        assert!(error.context.iter().any(|line| line.contains("[disks.scratch]")), "{error:?}");
        assert!(
            error.to_string().contains("`--allow-foreign-run`") && replayed.borrow().is_empty()
        );
        assert!(!out.exists());
    }

    /// It was refused in the guest itself, too, although the error sent there.
    #[test]
    fn the_run_of_a_guest_is_explained_in_such_a_guest_only() {
        let temp = tempfile::tempdir().unwrap();
        let recorded = as_recorded_now("one-cpu", &temp);
        let folder = RunFolder::open(&recorded).unwrap();
        let mut manifest = assay_record::run_folder::Run::from_folder(&folder).unwrap().manifest;
        let guest = Guest {
            kernel: "6.12".to_owned(),
            layout: "v2".to_owned(),
            accelerator: "kvm".to_owned(),
            nodes: 1,
        };
        manifest.guest = Some(guest.clone());
        folder.write_manifest(&manifest).unwrap();
        let explained_in = |guest: Option<Guest>, out: &str| {
            let context = Context { guest, ..context(&recorded, &temp).0 };
            let options = options(&temp.path().join(out), &[]);
            explain(&context, &recorded, &options, &mut Transcript::default())
        };
        let error = explained_in(None, "host").unwrap_err().to_string();
        assert!(error.contains("took place in a guest"), "{error}");
        let other = Guest { layout: "v1".to_owned(), ..guest.clone() };
        assert!(explained_in(Some(other), "other").is_err());
        let explained = explained_in(Some(guest), "same").unwrap();
        assert_eq!(explained.explanation.causes[0].code, "C-CPU");
    }

    #[test]
    fn a_run_that_did_not_record_the_choice_of_its_study_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let recorded = fault("one-cpu");
        let (context, _) = context(&recorded, &temp);
        let options = options(&temp.path().join("out"), &[]);
        let mut observer = Transcript::default();
        let error = explain(&context, &recorded, &options, &mut observer).unwrap_err();
        assert!(error.to_string().contains("not made by `assay run` of this version"), "{error}");
    }
}
