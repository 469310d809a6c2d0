//! The samples of many runs, one Parquet file a source, read and written a batch at a time.
//!
//! Columns are `host: utf8`, `trial: uint32`, `repeat: uint32`, then those of the source
//! (docs/run-folder.md). Hosts need not have the same counters: one that lacks a counter has nulls.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use assay_files::Dir;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use crate::error::Error;
use crate::parquet::Batches;

/// Rows that are held before they go to the disk: with fifty counters some 50 MB.
const ROW_GROUP: usize = 1 << 17;

/// Rows that are read at once.
const BATCH: usize = 1 << 14;

/// What became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gathered {
    /// Rows by source.
    pub rows: BTreeMap<String, u64>,
    /// Files that could not be read, with the reason; the rows of all others are there.
    pub left_out: Vec<(PathBuf, String)>,
}

/// One file of samples and where it belongs.
struct Piece<'r> {
    host: &'r str,
    trial: u32,
    repeat: u32,
    folder: Arc<Dir>,
    name: OsString,
}

/// Gathers the samples of runs, each a host and its run folder, into the directory `folder`. Memory does not grow
/// with the number of runs. Samples that are still Arrow streams, as a killed run leaves them, are
/// left out.
pub fn gather(runs: &[(String, PathBuf)], folder: &Dir) -> Result<Gathered, Error> {
    let mut gathered = Gathered::default();
    for (source, pieces) in pieces(runs)? {
        let name = format!("{source}.parquet");
        let rows = gather_source(&pieces, folder, &name, &mut gathered.left_out)?;
        gathered.rows.insert(source, rows);
    }
    Ok(gathered)
}

impl Piece<'_> {
    fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    fn batches(&self) -> Result<Batches, Error> {
        Batches::open(self.folder.read(&self.name)?, &self.path(), BATCH)
    }
}

/// Every Parquet file of every repeat, by source.
fn pieces(runs: &[(String, PathBuf)]) -> Result<BTreeMap<String, Vec<Piece<'_>>>, Error> {
    let mut found: BTreeMap<String, Vec<Piece<'_>>> = BTreeMap::new();
    for (host, run) in runs {
        let samples = match Dir::open(run).and_then(|run| run.dir("samples")) {
            Err(error) if error.is_missing() => continue,
            samples => samples?,
        };
        for name in samples.names()? {
            let Some((trial, repeat)) = name.to_str().and_then(numbers) else { continue };
            let folder = Arc::new(samples.dir(&name)?);
            for name in folder.names()? {
                let path = Path::new(&name);
                if path.extension().is_none_or(|found| found != "parquet") {
                    continue;
                }
                let Some(source) = path.file_stem().and_then(|stem| stem.to_str()) else {
                    continue;
                };
                let folder = Arc::clone(&folder);
                let piece = Piece { host, trial, repeat, folder, name: name.clone() };
                found.entry(source.to_owned()).or_default().push(piece);
            }
        }
    }
    Ok(found)
}

/// `trial-01-repeat-00`.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (trial, repeat) = name.strip_prefix("trial-")?.split_once("-repeat-")?;
    Some((trial.parse().ok()?, repeat.parse().ok()?))
}

fn gather_source(
    pieces: &[Piece<'_>],
    folder: &Dir,
    name: &str,
    left_out: &mut Vec<(PathBuf, String)>,
) -> Result<u64, Error> {
    let (whole, counters) = readable(pieces, left_out);
    let schema = schema(&counters);
    let path = folder.path().join(name);
    let failed = |cause: &dyn std::fmt::Display| Error::new("write", &path, cause);
    let draft = folder.draft(name)?;
    let properties =
        WriterProperties::builder().set_max_row_group_row_count(Some(ROW_GROUP)).build();
    let mut writer = ArrowWriter::try_new(draft, SchemaRef::clone(&schema), Some(properties))
        .map_err(|cause| failed(&cause))?;
    let mut rows = 0;
    for piece in whole {
        for batch in piece.batches()? {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            let wide = widen(piece, &batch, &schema).map_err(|cause| failed(&cause))?;
            writer.write(&wide).map_err(|cause| failed(&cause))?;
        }
    }
    writer.into_inner().map_err(|cause| failed(&cause))?.commit()?;
    Ok(rows)
}

/// The pieces whose footers can be read, and the counters that any of them has, in the order in
/// which they are met.
fn readable<'p, 'r>(
    pieces: &'p [Piece<'r>],
    left_out: &mut Vec<(PathBuf, String)>,
) -> (Vec<&'p Piece<'r>>, Vec<String>) {
    let (mut whole, mut counters, mut known) = (Vec::new(), Vec::new(), BTreeSet::new());
    for piece in pieces {
        match piece.batches() {
            Ok(batches) => {
                for name in batches.counters() {
                    if known.insert(name.to_owned()) {
                        counters.push(name.to_owned());
                    }
                }
                whole.push(piece);
            }
            Err(error) => left_out.push((piece.path(), error.cause)),
        }
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

/// A batch of one host with all columns of all hosts.
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
