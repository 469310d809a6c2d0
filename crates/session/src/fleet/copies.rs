//! Fleets whose runs were copied from hosts that share no folder.

use std::path::{Path, PathBuf};

use assay_files::Trust;
use assay_fleet::{Copies, CopySources, Fleet, Slurm, take_copies};
use assay_verdict::wording::count;

use super::{MOST_NAMED, OpenFleet};
use crate::error::Error;
use crate::observer::Observer;

/// A fleet with the runs that were copied from its hosts.
#[derive(Debug)]
pub struct CopiesTaken {
    /// The fleet; its runs are not merged yet. No other call takes copies into it until it is dropped.
    pub open: OpenFleet,
    /// The signal that ended the copying early, if one did. The same call goes on.
    pub interrupted: Option<&'static str>,
}

/// Takes the runs below these folders into a fleet; where there is none at `path`, it is created. Folders that
/// cannot be taken are named.
///
/// # Errors
/// A folder of copies cannot be opened, before anything was made; the fleet's cannot be written, or another call is
/// taking copies into it.
pub fn collect_copies(
    path: &Path,
    from: &[PathBuf],
    trust: Trust,
    observer: &mut dyn Observer,
) -> Result<CopiesTaken, Error> {
    let sources = CopySources::open(from).map_err(Error::usage)?;
    let (folder, fleet, copies) = take_copies(path, &sources, trust).map_err(Error::host)?;
    report(&copies, observer);
    let slurm = Slurm::from_fleet(&fleet);
    let open = OpenFleet { folder, fleet, slurm };
    Ok(CopiesTaken { open, interrupted: copies.interrupted })
}

fn report(copies: &Copies, observer: &mut dyn Observer) {
    for refused in copies.refused.iter().take(MOST_NAMED) {
        observer.message(&format!("not taken: {}: {}", refused.folder, refused.why));
    }
    if let Some(more) = copies.refused.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        observer.message(&format!("not taken: {more} more"));
    }
    observer.message(&format!("taken: {}", count(copies.taken, "run")));
    if let Some(signal) = copies.interrupted {
        observer.message(&format!("{signal}: the rest was not copied; the same command goes on"));
    }
}

/// A fleet that is made of copies has nothing to submit or to cancel.
pub(super) fn refuse_copied(fleet: &Fleet) -> Result<(), Error> {
    match fleet.copied {
        false => Ok(()),
        true => Err(Error::usage(
            "this fleet is made of runs that were copied from their hosts, and has no jobs\n  hint: run the study \
             there again, and `assay fleet collect --collect-from` takes the copies",
        )),
    }
}
