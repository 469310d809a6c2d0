//! The samples of a run as rows, read one file and one batch at a time.

use assay_run_folder::{Budget, Manifest, RunFolder, Table, sample_files};

use crate::cell::{Cell, Sink};
use crate::error::Error;

/// Writes all samples of a run folder.
pub(crate) fn samples(
    run: &str,
    folder: &RunFolder,
    manifest: &Manifest,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut budget = Budget::default();
    for (trial, record) in manifest.trials.iter().enumerate() {
        for (repeat, record) in record.repeats.iter().enumerate() {
            let origin = Origin { run, trial, repeat, start_ns: record.all_released_ns };
            let Some(samples) = folder.samples(&record.samples)? else { continue };
            for file in sample_files(&samples)? {
                let mut failed = None;
                file.each(&samples, &mut budget, &mut |table| {
                    failed = origin.table(&table, sink).err();
                    failed.is_none()
                })?;
                if let Some(error) = failed {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// The run, trial and repeat of samples.
struct Origin<'r> {
    run: &'r str,
    trial: usize,
    repeat: usize,
    start_ns: u64,
}

impl Origin<'_> {
    fn table(&self, table: &Table, sink: &mut dyn Sink) -> Result<(), Error> {
        for row in 0..table.time_ns.len() {
            let subject = &table.subjects[table.subject[row] as usize];
            let time_ns = table.time_ns[row];
            let seconds = (time_ns as f64 - self.start_ns as f64) * 1e-9;
            for column in &table.columns {
                // A counter that could not be read has no row.
                let Some(value) = column.values[row] else { continue };
                sink.row(&[
                    Cell::Text(self.run),
                    Cell::whole(self.trial),
                    Cell::whole(self.repeat),
                    Cell::Text(&table.source),
                    Cell::Text(subject),
                    Cell::Number(seconds),
                    Cell::Whole(time_ns),
                    Cell::Text(&column.name),
                    Cell::Whole(value),
                ])?;
            }
        }
        Ok(())
    }
}
