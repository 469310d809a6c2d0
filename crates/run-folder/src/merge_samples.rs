//! Merges the samples of many runs into one Parquet file per source, one batch at a time.
//!
//! Columns are `host: utf8`, `trial: uint32`, `repeat: uint32`, then those of the source
//! (docs/run-folder.md). Hosts need not have the same counters: missing ones are null.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use assay_files::Dir;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::arrow::{damaged, subjects};
use crate::budget::Budget;
use crate::error::Error;
use crate::parquet::Batches;
use crate::repeat_id::RepeatId;

/// Rows buffered before they are written: with fifty counters some 50 MB.
const ROW_GROUP: usize = 1 << 17;

/// Bytes buffered before they are written, however long the names are.
const ROW_GROUP_BYTES: usize = 128 << 20;

/// Rows read at once.
const BATCH: usize = 1 << 14;

/// Counters of one source of one run: each gives a column to every row of all runs.
const COUNTERS: usize = 1024;

/// Files of samples of one run, and sources in it.
const FILES: usize = 1 << 17;
const SOURCES: usize = 256;

/// Length of the name of a source, which becomes the name of a file.
const SOURCE: usize = 64;

/// Values widened to the columns of all runs at once, 8 bytes each.
const CELLS: usize = 1 << 23;

/// Result of a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Rows by source.
    pub rows: BTreeMap<String, u64>,
    /// Files and folders that could not be read completely, with the reason; the rows of all others are
    /// merged.
    pub left_out: Vec<(PathBuf, String)>,
}

/// Files and folders left out so far.
type LeftOut = Vec<(PathBuf, String)>;

/// Columns that precede those of the source in every merged file.
const ADDED: [&str; 3] = ["host", "trial", "repeat"];

/// One file of samples with its host, trial and repeat.
struct Piece<'r> {
    host: &'r str,
    /// Index of the run.
    run: usize,
    trial: u32,
    repeat: u32,
    /// The directory that holds all runs.
    within: &'r Dir,
    /// The file below it. It is opened anew for each pass: a run has more files than may be open at once.
    name: PathBuf,
}

/// Merges the samples of runs, each a host and the path of its run folder below `within`, into the directory
/// `folder`. No link below `within` is followed. Memory does not grow with the number of runs. Samples that are
/// still Arrow streams, as a killed run leaves them, are left out. A damaged run does not affect the rows of
/// others; the returned error is always one of writing.
pub fn merge_samples(
    runs: &[(String, PathBuf)],
    within: &Dir,
    folder: &Dir,
) -> Result<Merged, Error> {
    let mut merged = Merged::default();
    let mut budgets: Vec<Budget> = runs.iter().map(|_| Budget::default()).collect();
    for (source, pieces) in pieces(runs, within, &mut merged.left_out) {
        let name = format!("{source}.parquet");
        let rows = merge_source(&pieces, folder, &name, &mut budgets, &mut merged.left_out)?;
        merged.rows.extend(rows.map(|rows| (source, rows)));
    }
    Ok(merged)
}

impl Piece<'_> {
    fn path(&self) -> PathBuf {
        self.within.path().join(&self.name)
    }

    fn batches(&self) -> Result<Batches, Error> {
        Batches::open(&self.within.read(&self.name)?, &self.path(), BATCH)
    }

    /// A batch of this file, if it is sound and within the budget of its run.
    fn checked(&self, batch: RecordBatch, budget: &mut Budget) -> Result<RecordBatch, Error> {
        let path = self.path();
        budget.take(batch.num_rows(), batch.num_columns(), &path)?;
        subjects(&batch).map_err(|why| damaged(&path, &why))?;
        if [0, 1].iter().any(|index| batch.column(*index).null_count() > 0) {
            return Err(damaged(&path, &"a row has no time or no subject"));
        }
        Ok(batch)
    }
}

/// The value, or `None` after recording the error in `left_out`.
fn or_left_out<T>(result: Result<T, impl Into<Error>>, left_out: &mut LeftOut) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let error: Error = error.into();
            left_out.push((error.path, error.cause));
            None
        }
    }
}

/// Every Parquet file of every repeat, by source.
fn pieces<'r>(
    runs: &'r [(String, PathBuf)],
    within: &'r Dir,
    left_out: &mut LeftOut,
) -> BTreeMap<String, Vec<Piece<'r>>> {
    let mut by_source: BTreeMap<String, Vec<Piece<'r>>> = BTreeMap::new();
    for (run, (host, path)) in runs.iter().enumerate() {
        let samples = path.join("samples");
        let mut sources = BTreeSet::new();
        for (files, (id, name)) in sample_files(within, &samples, left_out).into_iter().enumerate()
        {
            let (trial, repeat) = (u32::try_from(id.trial), u32::try_from(id.repeat));
            let (Ok(trial), Ok(repeat)) = (trial, repeat) else { continue };
            let source = source(&name);
            sources.extend(source.clone());
            if files >= FILES || sources.len() > SOURCES {
                let why = format!(
                    "it holds more than {FILES} files or {SOURCES} sources of samples, the limit of a run: the \
                     rest is left out"
                );
                left_out.push((within.path().join(&samples), why));
                break;
            }
            let Some(source) = source else {
                let why =
                    format!("its name is no source: at most {SOURCE} letters, digits, `_` and `-`");
                left_out.push((within.path().join(name), why));
                continue;
            };
            let piece = Piece { host, run, trial, repeat, within, name };
            by_source.entry(source).or_default().push(piece);
        }
    }
    by_source
}

/// The source of a file of samples, if its name can be that of a file in any folder.
fn source(file: &Path) -> Option<String> {
    let stem = file.file_stem()?.to_str()?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    ((1..=SOURCE).contains(&stem.len()) && stem.bytes().all(is_plain)).then(|| stem.to_owned())
}

/// The Parquet files of all repeats in a run's folder of samples, up to one more than the limit; none if it does
/// not exist.
fn sample_files(within: &Dir, samples: &Path, left_out: &mut LeftOut) -> Vec<(RepeatId, PathBuf)> {
    let mut files = Vec::new();
    let names = match within.dir(samples) {
        Err(error) if error.is_missing() => return files,
        dir => or_left_out(dir.and_then(|dir| dir.names()), left_out),
    };
    for name in names.into_iter().flatten() {
        let Some(id) = name.to_str().and_then(RepeatId::parse) else { continue };
        let repeat = samples.join(name);
        let names = or_left_out(within.dir(&repeat).and_then(|dir| dir.names()), left_out);
        for name in names.into_iter().flatten().map(PathBuf::from) {
            if name.extension().is_some_and(|extension| extension == "parquet") {
                files.push((id, repeat.join(name)));
            }
            if files.len() > FILES {
                return files;
            }
        }
    }
    files
}

/// The rows of one source, if any of its files can be read.
fn merge_source(
    pieces: &[Piece<'_>],
    folder: &Dir,
    name: &str,
    budgets: &mut [Budget],
    left_out: &mut LeftOut,
) -> Result<Option<u64>, Error> {
    let (whole, counters) = readable(pieces, left_out);
    if whole.is_empty() {
        return Ok(None);
    }
    let schema = schema(&counters);
    let path = folder.path().join(name);
    let failed = |cause: &dyn std::fmt::Display| Error::new("write", &path, cause);
    let draft = folder.draft(name)?;
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES));
    let mut writer =
        ArrowWriter::try_new(draft, SchemaRef::clone(&schema), Some(properties.build()))
            .map_err(|cause| failed(&cause))?;
    let mut rows = 0;
    for piece in whole {
        let budget = &mut budgets[piece.run];
        let Some(batches) = or_left_out(piece.batches(), left_out) else { continue };
        for batch in batches {
            let batch = batch.and_then(|batch| piece.checked(batch, budget));
            // Rows before the error are valid and stay.
            let Some(batch) = or_left_out(batch, left_out) else { break };
            rows += batch.num_rows() as u64;
            let at_once = (CELLS / schema.fields().len()).max(1);
            for begin in (0..batch.num_rows()).step_by(at_once) {
                let part = batch.slice(begin, at_once.min(batch.num_rows() - begin));
                let wide = widen(piece, &part, &schema).map_err(|cause| failed(&cause))?;
                writer.write(&wide).map_err(|cause| failed(&cause))?;
            }
        }
    }
    writer.into_inner().map_err(|cause| failed(&cause))?.commit()?;
    Ok(Some(rows))
}

/// The pieces with a readable footer, and the counters of all of them, in order of first occurrence.
fn readable<'p, 'r>(
    pieces: &'p [Piece<'r>],
    left_out: &mut LeftOut,
) -> (Vec<&'p Piece<'r>>, Vec<String>) {
    let (mut whole, mut counters, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut by_run: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for piece in pieces {
        let Some(batches) = or_left_out(piece.batches(), left_out) else { continue };
        // Its column would collide with one that is added to every row.
        if let Some(name) = batches.counters().find(|name| ADDED.contains(name)) {
            left_out.push((piece.path(), format!("it has a counter named `{name}`")));
            continue;
        }
        let of_run = by_run.entry(piece.run).or_default();
        let fresh: BTreeSet<&str> =
            batches.counters().filter(|name| !of_run.contains(*name)).collect();
        if of_run.len() + fresh.len() > COUNTERS {
            let why = format!("the files up to this one have more than {COUNTERS} counters");
            left_out.push((piece.path(), why));
            continue;
        }
        of_run.extend(fresh.into_iter().map(str::to_owned));
        for name in batches.counters() {
            if known.insert(name.to_owned()) {
                counters.push(name.to_owned());
            }
        }
        whole.push(piece);
    }
    (whole, counters)
}

fn schema(counters: &[String]) -> SchemaRef {
    let fixed = [
        Field::new("host", DataType::Utf8, false),
        Field::new("trial", DataType::UInt32, false),
        Field::new("repeat", DataType::UInt32, false),
        Field::new("time_ns", DataType::UInt64, false),
        Field::new("subject", DataType::Utf8, false),
    ];
    let counters = counters.iter().map(|name| Field::new(name, DataType::UInt64, true));
    Arc::new(Schema::new(fixed.into_iter().chain(counters).collect::<Vec<_>>()))
}

/// Extends a batch of one host to the columns of all hosts.
fn widen(
    piece: &Piece<'_>,
    batch: &RecordBatch,
    schema: &SchemaRef,
) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let rows = batch.num_rows();
    let columns: Vec<ArrayRef> = schema
        .fields()
        .iter()
        .map(|field| -> ArrayRef {
            match field.name().as_str() {
                "host" => {
                    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(piece.host, rows)))
                }
                "trial" => Arc::new(UInt32Array::from_value(piece.trial, rows)),
                "repeat" => Arc::new(UInt32Array::from_value(piece.repeat, rows)),
                name => batch
                    .column_by_name(name)
                    .cloned()
                    .unwrap_or_else(|| new_null_array(field.data_type(), rows)),
            }
        })
        .collect();
    RecordBatch::try_new(SchemaRef::clone(schema), columns)
}
