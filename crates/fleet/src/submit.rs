//! Submits a fleet to Slurm, one job per task.

use std::path::Path;

use assay_kernel::signal;
use jiff::Timestamp;

use crate::digest::digest;
use crate::document::{Fleet, Submission};
use crate::error::Error;
use crate::folder::{FleetFolder, log_name};
use crate::program::Program;
use crate::script::{Code, script};
use crate::slurm::Slurm;

/// Submits each of these tasks as a job on its node, and records the jobs; returns their ids.
///
/// They are not one array: once Slurm finds that an element of an array cannot start, it tests no other one in
/// that round (`reject_array_job` in slurmctld's `_schedule` and `_attempt_backfill`), since all are expected to
/// need the same. Here each needs another node, and one that is busy would keep all others from starting.
///
/// All jobs are submitted held and then released, so that they are in `fleet.json` before any can start, and
/// none starts if one cannot be submitted.
pub fn submit(
    folder: &FleetFolder,
    fleet: &mut Fleet,
    tasks: &[usize],
    slurm: &Slurm,
) -> Result<Vec<u64>, Error> {
    folder.check_name()?;
    if fleet.exceeds_a_year() {
        return Err(
            Error::new("the time limit is longer than a year").hint("set a shorter --time-limit")
        );
    }
    let round = fleet.rounds() + 1;
    let name = format!("job-{round}.sh");
    let code = Code {
        folder: folder.path().display().to_string(),
        digest: digest(folder, fleet)?,
        program: Program::copy(Path::new(&fleet.program), folder, round)?,
    };
    folder.write_text(Path::new(&name), &script(fleet, &code))?;
    let mut jobs = Vec::new();
    let submitted = fleet.submissions.len();
    let released = hold(folder, fleet, (tasks, &name), slurm, &mut jobs).and_then(|()| {
        let submission = |(job, task): (&u64, &usize)| Submission {
            job: *job,
            tasks: vec![*task],
            at: now(),
            script: name.clone(),
        };
        fleet.submissions.extend(jobs.iter().zip(tasks).map(submission));
        folder.write_fleet(fleet)?;
        slurm.release(&jobs)
    });
    let Err(error) = released else { return Ok(jobs) };
    let left = slurm.cancel(&jobs).err();
    fleet.submissions.truncate(submitted);
    let _ = folder.write_fleet(fleet);
    Err(match left {
        None => error,
        Some(left) => error.hint(format!(
            "the jobs {jobs:?} are in the queue and could not be cancelled ({left}); cancel them with scancel"
        )),
    })
}

/// Submits the tasks as held jobs; adds the id of each.
fn hold(
    folder: &FleetFolder,
    fleet: &Fleet,
    (tasks, script): (&[usize], &str),
    slurm: &Slurm,
    jobs: &mut Vec<u64>,
) -> Result<(), Error> {
    for task in tasks {
        if let Some(signal) = signal::interrupted_by() {
            return Err(Error::new(format!("{signal} during the submission: nothing was started")));
        }
        let log = folder.file(log_name("%j", *task));
        let node = &fleet.tasks[*task].node;
        jobs.push(slurm.submit_held(&folder.file(script), node, *task, &log)?);
    }
    Ok(())
}

/// The current wall-clock time, RFC 3339, UTC.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
