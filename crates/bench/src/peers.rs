//! Ours beside the programs that others know. A peer is never part of this project: it is built
//! elsewhere, and a variable of the environment names it.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::figure::Figure;
use crate::{Extent, Part, filebench, graph500, multichase, parsec, say, stream, ycsb};

/// `assay-load` and its peer.
pub(crate) struct Programs {
    pub(crate) ours: PathBuf,
    pub(crate) peer: PathBuf,
}

/// Our `assay-load`, which lies beside `assay`.
pub(crate) fn load(assay: &Path) -> Result<PathBuf, Failure> {
    let ours = assay.with_file_name("assay-load");
    if ours.is_file() {
        return Ok(ours);
    }
    let remedy = "build it with `cargo build --release -p assay-load`";
    Err(Failure::Failed(format!("there is no {}: {remedy}", ours.display())))
}

impl Programs {
    /// The peer that `variable` names, of which `is_there` must be a file, and ours, which lies
    /// beside `assay`. `None` where the variable is not set.
    pub(crate) fn named(
        variable: &str,
        what: &str,
        assay: &Path,
        is_there: impl Fn(&Path) -> Vec<PathBuf>,
    ) -> Result<Option<Self>, Failure> {
        let Some(peer) = std::env::var_os(variable).filter(|path| !path.is_empty()) else {
            say(&format!("not compared: {variable} is not set ({what})"));
            return Ok(None);
        };
        let (peer, ours) = (PathBuf::from(peer), load(assay)?);
        if let Some(missing) = is_there(&peer).into_iter().find(|path| !path.is_file()) {
            let missing = missing.display();
            return Err(Failure::Failed(format!("there is no {missing}: {variable} names {what}")));
        }
        Ok(Some(Self { ours, peer }))
    }

    /// The same where the variable names the program itself.
    pub(crate) fn program(
        variable: &str,
        what: &str,
        assay: &Path,
    ) -> Result<Option<Self>, Failure> {
        Self::named(variable, what, assay, |peer| vec![peer.to_owned()])
    }
}

/// All comparisons whose peers are there.
pub(crate) fn measure(assay: &Path, extent: &Extent, place: &Path) -> Result<Vec<Figure>, Failure> {
    let wanted = |part| extent.only.is_none_or(|only| only == part);
    let mut figures = Vec::new();
    if wanted(Part::Graph500)
        && let Some(contest) = graph500::Contest::of(assay)?
    {
        say(&format!("graph500 beside its peer, SCALE {}", extent.scale));
        figures.extend(contest.measure(place, extent.scale, extent.rounds)?);
    }
    if wanted(Part::Filebench)
        && let Some(contest) = filebench::Contest::of(assay)?
    {
        say("fileserver beside its peer");
        figures.extend(contest.measure(place, extent.rounds)?);
    }
    if wanted(Part::Ycsb)
        && let Some(contest) = ycsb::Contest::of(assay, place, extent.records)?
    {
        say(&format!("ycsb beside its peer, {} records", extent.records));
        figures.extend(contest.measure(extent.rounds)?);
    }
    if wanted(Part::Parsec)
        && let Some(contest) = parsec::Contest::of(assay)?
    {
        say("blackscholes and streamcluster beside their peers");
        figures.extend(contest.measure(place, extent.rounds)?);
    }
    if wanted(Part::Multichase)
        && let Some(contest) = multichase::Contest::of(assay)?
    {
        say("chase beside multichase");
        figures.extend(contest.measure(extent.samples, extent.rounds)?);
    }
    if wanted(Part::Stream)
        && let Some(contest) = stream::Contest::of(assay)?
    {
        say("bandwidth beside STREAM");
        figures.push(contest.measure(extent.rounds)?);
    }
    Ok(figures)
}
