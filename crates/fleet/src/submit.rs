//! From a fleet to a job array in Slurm's queue.

use std::path::Path;

use jiff::Timestamp;

use crate::digest::{digest, of_program};
use crate::document::{Fleet, Submission};
use crate::error::Error;
use crate::folder::FleetFolder;
use crate::script::{Code, script};
use crate::slurm::Slurm;

/// Submits these tasks as one array and writes that down; the number of the job.
///
/// The array is submitted held, each task is told its node, and then it is let go: one array, and
/// on each node exactly its own task, whenever Slurm finds that node free. The job stands in
/// `fleet.json` before anything of it can run.
pub fn submit(
    folder: &FleetFolder,
    fleet: &mut Fleet,
    tasks: &[usize],
    slurm: &Slurm,
) -> Result<u64, Error> {
    folder.can_be_named()?;
    let name = format!("job-{}.sh", fleet.submissions.len() + 1);
    let code = Code {
        folder: folder.path().display().to_string(),
        digest: digest(folder, fleet)?,
        program: of_program(Path::new(&fleet.program)),
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
        // Nothing of it has begun: it is held.
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

/// The time of the wall clock, RFC 3339, UTC.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
