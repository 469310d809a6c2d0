//! Checks the pages of a Parquet file before the library decodes them.
//!
//! A page may be far smaller than what the library makes of it: the header of a dictionary declares how many
//! values to allocate (parquet 60, `DictDecoder::set_dict`), a name in a dictionary is copied into each row
//! that refers to it, and a name stored as its difference from the one before repeats that one.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::Length;
use parquet::file::serialized_reader::SerializedPageReader;

use crate::arrow::damaged;
use crate::error::Error;
use crate::limit;
use crate::parquet_file::ParquetFile;

/// Index of the column of names.
const SUBJECT: usize = 1;

/// Bytes of a number, and of the length in front of a name, in a dictionary.
const NUMBER: usize = 8;
const LENGTH: usize = 4;

/// Checks every dictionary and every page of names. Returns the length of the longest name in a dictionary.
pub(crate) fn check(
    file: &ParquetFile,
    footer: &ParquetMetaData,
    path: &Path,
) -> Result<usize, Error> {
    let file = Arc::new(file.clone());
    let mut longest = 0;
    for group in footer.row_groups() {
        check_size(group, file.len()).map_err(|why| damaged(path, &why))?;
        for (index, chunk) in group.columns().iter().enumerate() {
            check_compression(chunk, path)?;
            let found = check_chunk(&file, chunk, index).map_err(|why| {
                let name = chunk.column_path().string();
                damaged(path, &format!("column `{name}`: {why}"))
            })?;
            longest = longest.max(found);
        }
    }
    Ok(longest)
}

/// A page of each column is in memory at once. So no bytes of the file may be those of two columns.
fn check_size(group: &RowGroupMetaData, length: u64) -> Result<(), String> {
    let sizes = group.columns().iter().map(ColumnChunkMetaData::compressed_size);
    let all =
        sizes.fold(0_u64, |sum, size| sum.saturating_add(u64::try_from(size).unwrap_or(u64::MAX)));
    match all <= length {
        true => Ok(()),
        false => Err(format!("its columns take {all} bytes, of {length}")),
    }
}

/// The library would allocate what a compressed page declares, and this program has none of its decoders.
fn check_compression(chunk: &ColumnChunkMetaData, path: &Path) -> Result<(), Error> {
    if chunk.compression() == Compression::UNCOMPRESSED {
        return Ok(());
    }
    let (name, codec) = (chunk.column_path().string(), chunk.compression().to_string());
    // Without its level, which a file does not tell.
    let codec = codec.split('(').next().unwrap_or_default();
    let why = format!("column `{name}` is compressed with {codec}");
    Err(Error::new("read", path, &why).with_hint("write it uncompressed"))
}

fn check_chunk(
    file: &Arc<ParquetFile>,
    chunk: &ColumnChunkMetaData,
    index: usize,
) -> Result<usize, String> {
    let message = |cause: ParquetError| cause.to_string();
    let rows = usize::try_from(chunk.num_values()).unwrap_or(0);
    let pages = SerializedPageReader::new(Arc::clone(file), chunk, rows, None);
    let mut pages = pages.map_err(message)?;
    let mut longest = 0;
    while let Some(next) = pages.peek_next_page().map_err(message)? {
        if !next.is_dict && index != SUBJECT {
            pages.skip_next_page().map_err(message)?;
            continue;
        }
        match pages.get_next_page().map_err(message)? {
            Some(Page::DictionaryPage { buf, num_values, .. }) => {
                let entry = if index == SUBJECT { LENGTH } else { NUMBER };
                if num_values as usize > buf.len() / entry {
                    let size = buf.len();
                    return Err(format!("a dictionary of {num_values} values has {size} bytes"));
                }
                if index == SUBJECT {
                    longest = longest.max(longest_name(&buf)?);
                }
            }
            Some(page) if page.encoding() == Encoding::DELTA_BYTE_ARRAY => {
                return Err(
                    "its names are stored as differences, which Assay never does".to_owned()
                );
            }
            _ => {}
        }
    }
    Ok(longest)
}

/// The longest name of a dictionary: each is its length and its text (Encodings.md, PLAIN).
fn longest_name(mut dictionary: &[u8]) -> Result<usize, String> {
    let mut longest = 0;
    while let Some((length, rest)) = dictionary.split_first_chunk::<LENGTH>() {
        let length = u32::from_le_bytes(*length) as usize;
        if length > limit::NAME {
            return Err(format!("a subject's name has more than {} bytes", limit::NAME));
        }
        longest = longest.max(length);
        dictionary = rest.get(length..).ok_or("a dictionary ends within a name")?;
    }
    Ok(longest)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{
        Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray, UInt64Array,
    };
    use arrow_schema::{Field, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::{WriterProperties, WriterVersion};

    use super::*;
    use crate::parquet::Batches;

    const ROWS: usize = 1 << 16;

    /// Writes a file in which every row has this name, from a dictionary of that one.
    fn write(path: &Path, name: &str, counter: Vec<u64>, version: WriterVersion) {
        let names: ArrayRef = Arc::new(StringArray::from(vec![name]));
        let keys = Int32Array::from(vec![0; counter.len()]);
        let subjects = DictionaryArray::<Int32Type>::try_new(keys, names).unwrap();
        let times: ArrayRef = Arc::new(UInt64Array::from(vec![1; counter.len()]));
        let columns = [
            ("time_ns", times),
            ("subject", Arc::new(subjects) as ArrayRef),
            ("bytes", Arc::new(UInt64Array::from(counter)) as ArrayRef),
        ];
        let field = |(name, column): &(&str, ArrayRef)| {
            Field::new(*name, column.data_type().clone(), false)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_writer_version(version)
            .set_column_dictionary_enabled("subject".into(), version == WriterVersion::PARQUET_1_0);
        let file = File::create(path).unwrap();
        let mut writer =
            ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.build())).unwrap();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
        writer.close().unwrap();
    }

    fn open(path: &Path) -> Result<Batches, Error> {
        Batches::open(&File::open(path).unwrap(), path, ROWS)
    }

    fn error(path: &Path) -> String {
        open(path).map(|_| ()).unwrap_err().to_string()
    }

    /// 32 KiB in the file, 2 GiB in memory.
    #[test]
    fn a_long_name_in_a_dictionary_is_refused_before_the_first_row() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("io.parquet");
        write(&path, &"x".repeat(1 << 15), vec![1; ROWS], WriterVersion::PARQUET_1_0);
        assert!(fs::metadata(&path).unwrap().len() < 1 << 17);
        let error = error(&path);
        assert!(error.contains("io.parquet") && error.contains("column `subject`"), "{error}");
        assert!(error.contains("more than 4096 bytes"), "{error}");
    }

    #[test]
    fn rows_with_long_names_are_read_in_small_batches() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("io.parquet");
        write(&path, &"x".repeat(limit::NAME), vec![1; ROWS], WriterVersion::PARQUET_1_0);
        let sizes: Vec<usize> =
            open(&path).unwrap().map(|batch| batch.unwrap().num_rows()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), ROWS);
        assert!(sizes.iter().all(|rows| rows * limit::NAME <= limit::BATCH_NAMES), "{sizes:?}");
    }

    /// The library would allocate as many values as the header declares.
    #[test]
    fn a_dictionary_with_fewer_values_than_it_declares_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("io.parquet");
        write(&path, "a", (0..5000).collect(), WriterVersion::PARQUET_1_0);
        assert!(open(&path).is_ok());
        let mut bytes = fs::read(&path).unwrap();
        // The structure of a dictionary's header with its number of values, 5000 and 8191.
        let (count, forged) = ([0x4c, 0x15, 0x90, 0x4e], [0x4c, 0x15, 0xfe, 0x7f]);
        let at = bytes.windows(4).position(|part| part == count).unwrap();
        bytes[at..at + 4].copy_from_slice(&forged);
        fs::write(&path, bytes).unwrap();
        let error = error(&path);
        assert!(error.contains("column `bytes`: a dictionary of 8191 values has 40000"), "{error}");
    }

    #[test]
    fn names_stored_as_differences_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("io.parquet");
        write(&path, &"x".repeat(1 << 15), vec![1; 64], WriterVersion::PARQUET_2_0);
        assert!(error(&path).contains("stored as differences"), "{}", error(&path));
    }

    /// The header of a page ends with the file, in a list that declares 2^31 elements.
    #[test]
    fn a_header_that_does_not_end_is_refused() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/parquet/endless-header.parquet");
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let path = Path::new(path);
            let batches = Batches::open(&File::open(path).unwrap(), path, ROWS);
            send.send(batches.and_then(|mut batches| batches.try_for_each(|batch| batch.map(drop))))
        });
        let read = receive.recv_timeout(std::time::Duration::from_secs(30));
        assert!(read.expect("it reads for ever").is_err());
    }
}
