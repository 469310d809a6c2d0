//! Comparison with well-known programs. A peer is never part of this project: it is built
//! elsewhere, and an environment variable names it.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::figure::Figure;
use crate::{Extent, Part, filebench, graph500, multichase, parsec, progress, stream, ycsb};

/// `assay-load` and its peer.
pub(crate) struct Programs {
    pub(crate) ours: PathBuf,
    pub(crate) peer: PathBuf,
}

/// Our `assay-load`, which is next to `assay`.
pub(crate) fn load(assay: &Path) -> Result<PathBuf, Failure> {
    let ours = assay.with_file_name("assay-load");
    if ours.is_file() {
        return Ok(ours);
    }
    let remedy = "build it with `make build`";
    Err(Failure::Failed(format!("{} does not exist: {remedy}", ours.display())))
}

impl Programs {
    /// The peer named by `variable`, whose files `is_there` must exist, and ours, which is next to
    /// `assay`. `None` if the variable is not set.
    pub(crate) fn named(
        variable: &str,
        what: &str,
        assay: &Path,
        is_there: impl Fn(&Path) -> Vec<PathBuf>,
    ) -> Result<Option<Self>, Failure> {
        let Some(peer) = std::env::var_os(variable).filter(|path| !path.is_empty()) else {
            progress(&format!("not compared: {variable} is not set ({what})"));
            return Ok(None);
        };
        let (peer, ours) = (PathBuf::from(peer), load(assay)?);
        if let Some(missing) = is_there(&peer).into_iter().find(|path| !path.is_file()) {
            let missing = missing.display();
            return Err(Failure::Failed(format!(
                "{missing} does not exist: {variable} must name {what}"
            )));
        }
        Ok(Some(Self { ours, peer }))
    }

    /// The same if the variable names the program itself.
    pub(crate) fn program(
        variable: &str,
        what: &str,
        assay: &Path,
    ) -> Result<Option<Self>, Failure> {
        Self::named(variable, what, assay, |peer| vec![peer.to_owned()])
    }
}

/// All comparisons whose peers are available.
pub(crate) fn measure(
    assay: &Path,
    extent: &Extent,
    folder: &Path,
) -> Result<Vec<Figure>, Failure> {
    let is_selected = |part| extent.only.is_none_or(|only| only == part);
    let mut figures = Vec::new();
    if is_selected(Part::Graph500)
        && let Some(comparison) = graph500::Comparison::find(assay)?
    {
        progress(&format!("graph500 compared with its peer, SCALE {}", extent.scale));
        figures.extend(comparison.measure(folder, extent.scale, extent.rounds)?);
    }
    if is_selected(Part::Filebench)
        && let Some(comparison) = filebench::Comparison::find(assay)?
    {
        progress("fileserver compared with its peer");
        figures.extend(comparison.measure(folder, extent.rounds)?);
    }
    if is_selected(Part::Ycsb)
        && let Some(comparison) = ycsb::Comparison::find(assay, folder, extent.records)?
    {
        progress(&format!("ycsb compared with its peer, {} records", extent.records));
        figures.extend(comparison.measure(extent.rounds)?);
    }
    if is_selected(Part::Parsec)
        && let Some(comparison) = parsec::Comparison::find(assay)?
    {
        progress("blackscholes and streamcluster compared with their peers");
        figures.extend(comparison.measure(folder, extent.rounds)?);
    }
    if is_selected(Part::Multichase)
        && let Some(comparison) = multichase::Comparison::find(assay)?
    {
        progress("chase compared with multichase");
        figures.extend(comparison.measure(extent.samples, extent.rounds)?);
    }
    if is_selected(Part::Stream)
        && let Some(comparison) = stream::Comparison::find(assay)?
    {
        progress("bandwidth compared with STREAM");
        figures.push(comparison.measure(extent.rounds)?);
    }
    Ok(figures)
}
