//! All steps before the first change of the host: facts, plan, and a new run folder.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use assay_host::facts::HostFacts;
use assay_host::scratch::with_spare;
use assay_host::{gather, locate_tools, unfinished};
use assay_record::run_folder::{Manifest, RunFolder};
use assay_study::Study;
use assay_study::plan::{
    Plan, Predictions, Refusal, Trial, plan_with, prediction_commands, required_programs,
};
use assay_sys::exit::{Code, Error};
use assay_sys::files::Trust;
use assay_sys::kernel::filesystem::free_space;
use assay_sys::kernel::signal;
use assay_sys::units::Bytes;
use jiff::Timestamp;

use crate::before_run::{images, needs_text, replaced};
use crate::context::Context;
use crate::existing;
use crate::guest_disk::replace_loop;
use crate::load::Loaded;
use crate::observer::Observer;
use crate::runner::Request;

/// Where a run is recorded.
#[derive(Debug, Clone)]
pub struct Destination {
    /// The new run folder; `None` for `runs/<time>-<study>`.
    pub out: Option<PathBuf>,
    /// Whether folders that other users can write to are accepted.
    pub trust: Trust,
}

/// How a study is run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The run folder.
    pub destination: Destination,
    /// How long to wait for a run in progress to end, instead of being refused.
    pub wait: Duration,
}

/// Plans a study for this host and creates its run folder. The result can be executed.
///
/// # Errors
/// The host cannot run the study, an earlier run is not restored, or the folder cannot be created. Nothing
/// was touched.
pub fn prepare(
    context: &Context,
    loaded: Loaded,
    options: &RunOptions,
    observer: &mut dyn Observer,
) -> Result<Request, Error> {
    await_others(context, options.wait, observer)?;
    let seed = loaded.seed();
    let facts = facts_for(context, &loaded.study)?;
    let loaded = replace_loop(context, loaded, &facts, observer);
    let plan = plan_for(context, &loaded.study, &facts, seed);
    refuse(&plan)?;
    if loaded.choice.as_ref().is_some_and(|choice| choice.published) {
        observer.message(&needs_text(&plan));
    }
    replaced(&plan).iter().for_each(|line| observer.message(line));
    let name = loaded.study.name.clone();
    new_request(context, loaded, plan, facts, (&options.destination, &name, seed))
}

/// Ends with what the host cannot do for a plan, if there is anything.
fn refuse(plan: &Plan) -> Result<(), Error> {
    if plan.refusals.is_empty() {
        return Ok(());
    }
    let reasons = plan.refusals.iter().map(ToString::to_string).collect();
    let refused = Error { reasons, ..Error::ended(Code::Host) };
    Err(refused.note("nothing was touched"))
}

/// The runner's request for a plan, with a new run folder: the destination's, or one with this name in
/// `runs/`.
pub fn new_request(
    context: &Context,
    loaded: Loaded,
    mut plan: Plan,
    facts: HostFacts,
    (destination, name, seed): (&Destination, &str, u64),
) -> Result<Request, Error> {
    refuse_if_unfinished(context)?;
    let now = Timestamp::now();
    let stamp = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let out = destination.out.clone();
    let path = out.unwrap_or_else(|| PathBuf::from("runs").join(format!("{stamp}-{name}")));
    if plan.refusals.is_empty() {
        refuse_without_room(&mut plan, &path);
        refuse(&plan)?;
    }
    let folder = RunFolder::create(&path, destination.trust).map_err(Error::host)?;
    let started_at = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    Ok(Request {
        plan,
        manifest: Manifest {
            study: loaded.study.name,
            title: loaded.study.title,
            question: loaded.study.question,
            study_text: loaded.text,
            study_choice: loaded.choice.map(|choice| choice.record()),
            seed,
            guest: context.guest.clone(),
            ..Manifest::begun(facts, started_at, context.command.clone())
        },
        run_id: format!("{stamp}-{}", std::process::id()),
        folder,
        trust: destination.trust,
        state_dir: context.state_dir.clone(),
    })
}

/// The facts of this host, with the programs that the study starts.
///
/// # Errors
/// A kernel file that every host has cannot be read.
pub fn facts_for(context: &Context, study: &Study) -> Result<HostFacts, Error> {
    if let Some(facts) = &context.facts {
        return Ok(facts.clone());
    }
    let mut facts = gather(&context.root).map_err(Error::host)?;
    let needed = required_programs(study);
    let needed = needed.iter().map(|program| (program.name.as_str(), program.package.as_str()));
    locate_tools(&mut facts, needed);
    Ok(facts)
}

/// The plan of a study. If a limit is a part of a memory footprint, generators are run to predict it; groups that exist are
/// looked up.
#[must_use]
pub fn plan_for(context: &Context, study: &Study, facts: &HostFacts, seed: u64) -> Plan {
    let mut predictions = Predictions::default();
    predictions.existing = existing::look_up(&context.root, study, facts);
    for command in prediction_commands(study, facts) {
        let footprint = context.runner.footprint(&command);
        predictions.add(command, footprint);
    }
    plan_with(study, facts, &predictions, seed)
}

/// The trial of a plan that must have one, or why the plan has none: its first refusal, or the number of its trials.
pub fn only_trial(mut plan: Plan) -> Result<Trial, String> {
    if let Some(refusal) = plan.refusals.first() {
        return Err(refusal.to_string());
    }
    match plan.trials.len() {
        1 => Ok(plan.trials.remove(0)),
        count => Err(format!("it results in {count} trials instead of one")),
    }
}

/// Adds a refusal if the file system of a run folder has no room for the images of the disks that a plan makes.
/// The folder need not exist yet. A run checks it again when it has its folder, with what else it needs there.
pub fn refuse_without_room(plan: &mut Plan, folder: &Path) {
    let images = images(plan);
    let needed = with_spare(images);
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let free = folder.ancestors().find_map(|one| free_space(one).ok());
    // Of a plan that is refused, sizes may not be known.
    if let Some(free) = free.filter(|free| *free < needed && plan.refusals.is_empty()) {
        let mebibytes = |bytes: u64| Bytes::new(bytes >> 20 << 20);
        plan.refusals.push(Refusal {
            what: format!(
                "the images of the disks take {} and 5 % to spare, and the file system of {} has {} free",
                mebibytes(images),
                folder.display(),
                mebibytes(free)
            ),
            remedy:
                "put the run folder on a larger file system with `--out`, name a blank disk with \
                     `--disk block:/dev/x`, or make the data smaller"
                    .to_owned(),
        });
    }
}

/// Waits until no other run is in progress, for at most `patience`; then it is refused like any other.
fn await_others(
    context: &Context,
    patience: Duration,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let end = Instant::now() + patience;
    let mut said = false;
    while Instant::now() < end && signal::interrupted_by().is_none() {
        let runs = unfinished(&context.state_dir).map_err(Error::host)?;
        let Some(first) = runs.iter().find(|run| run.live) else { break };
        if !said {
            observer.message(&format!("waiting until run {} is over", first.run_id));
            said = true;
        }
        sleep(LOOK);
    }
    match signal::interrupted_by() {
        Some(signal) if said => {
            Err(Error::ended(Code::Interrupted).note(format!("interrupted by {signal}")))
        }
        _ => Ok(()),
    }
}

/// How often a run looks whether another one is over.
const LOOK: Duration = Duration::from_millis(200);

/// Refuses to run while an earlier run is not restored: its leftovers would be mistaken for the host's
/// own state.
fn refuse_if_unfinished(context: &Context) -> Result<(), Error> {
    let runs = unfinished(&context.state_dir).map_err(Error::host)?;
    let Some(first) = runs.first() else { return Ok(()) };
    Err(Error::host(match first.live {
        true => format!(
            "run {} is in progress{}\n  hint: wait until it is over, or run with `--wait`",
            first.run_id,
            first.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
        ),
        false => format!(
            "run {} ended without restoring the host ({})\n  hint: run `assay restore` first",
            first.run_id,
            first.describe_open_changes()
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;
    use crate::overrides::StudyChoice;

    #[test]
    fn images_larger_than_the_file_system_of_the_run_folder_are_refused() {
        let context = Context::of_this_host(Vec::new());
        let refusals = |disk: &str| {
            let disk = Some(disk.parse().unwrap());
            let study = load(&StudyChoice { disk, ..StudyChoice::named("io-weight") });
            let study = study.unwrap().study;
            let mut plan = plan_for(&context, &study, &facts_for(&context, &study).unwrap(), 1);
            // Whatever else this host lacks.
            plan.refusals.clear();
            refuse_without_room(&mut plan, Path::new("not/there/yet"));
            plan.refusals
        };
        assert_eq!(refusals("loop:1MiB"), []);
        let refused = refusals("loop:64TiB");
        assert_eq!(refused.len(), 1);
        assert!(
            refused[0].what.contains("take 64 TiB") && refused[0].what.contains("not/there/yet")
        );
    }
}
