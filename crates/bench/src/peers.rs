//! Comparison with well-known programs.

use std::path::Path;

use crate::failure::Failure;
use crate::figure::Figure;
use crate::{Extent, Part, filebench, graph500, multichase, parsec, progress, stream, ycsb};

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
