//! The trait of table writers.

pub(crate) use assay_record::run_folder::Cell;

/// A table writer of one format.
pub(crate) trait Sink {
    /// Writes one row with one cell per column.
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), assay_sys::exit::Error>;
    /// Flushes remaining rows and moves the file to its final path.
    fn finish(self: Box<Self>) -> Result<(), assay_sys::exit::Error>;
}
