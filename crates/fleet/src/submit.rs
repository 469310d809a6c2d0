//! Submits a fleet as a Slurm job array.

use std::path::Path;

use jiff::Timestamp;

use crate::digest::digest;
use crate::document::{Fleet, Submission};
use crate::error::Error;
use crate::folder::FleetFolder;
use crate::program::Program;
use crate::script::{Code, script};
use crate::slurm::Slurm;

/// Submits these tasks as one array and records it; returns the job id.
///
/// The array is submitted held, each task is assigned its node, and then the array is released: one
/// array, and on each node exactly its own task, as soon as Slurm finds that node free. The job is
/// in `fleet.json` before any of its tasks can start.
pub fn submit(
    folder: &FleetFolder,
    fleet: &mut Fleet,
    tasks: &[usize],
    slurm: &Slurm,
) -> Result<u64, Error> {
    folder.check_name()?;
    let submission = fleet.submissions.len() + 1;
    let name = format!("job-{submission}.sh");
    let code = Code {
        folder: folder.path().display().to_string(),
        digest: digest(folder, fleet)?,
        program: Program::copy(Path::new(&fleet.program), folder, submission)?,
    };
    let text = script(fleet, &code, tasks);
    folder.write_text(Path::new(&name), &text)?;
    let job = slurm.submit_held(&folder.file(&name))?;
    fleet.submissions.push(Submission { job, tasks: tasks.to_vec(), at: now(), script: name });
    let let_go = || {
        folder.write_fleet(fleet)?;
        for task in tasks {
            slurm.pin(job, *task, &fleet.tasks[*task].node)?;
        }
        slurm.release(job)
    };
    if let Err(error) = let_go() {
        // No task has started: the job is held.
        let left = slurm.cancel(job).err();
        fleet.submissions.pop();
        let _ = folder.write_fleet(fleet);
        return Err(match left {
            None => error,
            Some(left) => error.hint(format!("the job {job} is held in the queue ({left})")),
        });
    }
    Ok(job)
}

/// The current wall-clock time, RFC 3339, UTC.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
