//! The samples of a run as rows, read one file and one batch at a time.

use std::path::PathBuf;

use assay_record::run_folder::{Budget, Manifest, RunFolder, SampleFile, Table, sample_files};
use assay_sys::exit::Error;
use assay_sys::files::Dir;

use crate::export::cell::{Cell, Sink};

/// Writes all samples of a run folder. What cannot be read is added to `left_out`, with the reason; of a
/// file that is damaged further on, the rows before the damage are written.
pub(crate) fn samples(
    run: &str,
    folder: &RunFolder,
    manifest: &Manifest,
    sink: &mut dyn Sink,
    left_out: &mut Vec<(PathBuf, String)>,
) -> Result<(), Error> {
    let mut budget = Budget::default();
    for (trial, record) in manifest.trials.iter().enumerate() {
        for (repeat, record) in record.repeats.iter().enumerate() {
            let origin = Origin { run, trial, repeat, start_ns: record.all_released_ns };
            let (samples, files) = match files(folder, &record.samples) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => {
                    left_out
                        .push((folder.file("samples").join(&record.samples), error.to_string()));
                    continue;
                }
            };
            for file in files {
                let mut failed = None;
                let read = file.each(&samples, &mut budget, &mut |table| {
                    failed = origin.table(&table, sink).err();
                    failed.is_none()
                });
                if let Some(error) = failed {
                    return Err(error);
                }
                if let Err(error) = read {
                    left_out.push((samples.path().join(&file.name), error.to_string()));
                }
            }
        }
    }
    Ok(())
}

/// The folder of a repeat's samples with its files, if it exists.
fn files(
    folder: &RunFolder,
    repeat: &str,
) -> Result<Option<(Dir, Vec<SampleFile>)>, assay_sys::files::Error> {
    let Some(samples) = folder.samples(repeat)? else { return Ok(None) };
    let files = sample_files(&samples)?;
    Ok(Some((samples, files)))
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
