//! Tables as Parquet.

use std::path::Path;

use assay_record::run_folder::ParquetWriter;
use assay_sys::exit::Error;
use assay_sys::files::Dir;

use crate::export::cell::{Cell, Sink};
use crate::export::columns::Shape;
use crate::export::error::cannot_write;

/// A Parquet file, moved to its final path when complete.
pub(crate) struct Parquet(ParquetWriter);

impl Parquet {
    /// Units and descriptions are in the metadata of the file.
    pub(crate) fn create(folder: &Dir, shape: &Shape) -> Result<Self, Error> {
        let about = shape.columns.iter().flat_map(|column| {
            let about = [("about", column.about), ("unit", column.unit)];
            let about = about.into_iter().filter(|(_, text)| !text.is_empty());
            about.map(|(key, text)| (format!("{}.{key}", column.name), text.to_owned()))
        });
        let columns = shape.columns.iter().map(|column| (column.name, column.kind));
        let name = format!("{}.parquet", shape.name);
        let writer = ParquetWriter::create(folder, Path::new(&name), columns, about.collect());
        writer.map(Self).map_err(cannot_write)
    }
}

impl Sink for Parquet {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), Error> {
        self.0.row(cells.iter().copied()).map_err(cannot_write)
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.0.finish().map_err(cannot_write)
    }
}
