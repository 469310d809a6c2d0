//! Checks the pages of a Parquet file before the library decodes them.
//!
//! A page may be far smaller than what the library makes of it: the header of a dictionary declares how many
//! values to allocate (parquet 60, `DictDecoder::set_dict`), a name stored as its difference from the one before
//! repeats that one, and lengths of names that are stored as differences take no bytes.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::Length;
use parquet::file::serialized_reader::SerializedPageReader;

use crate::run_folder::error::{Error, damaged};
use crate::run_folder::limit;
use crate::run_folder::parquet_file::ParquetFile;

/// Bytes of a number, and of the length in front of a name, in a dictionary.
const NUMBER: usize = 8;
const LENGTH: usize = 4;

/// How no names may be stored.
const DIFFERENCES: [Encoding; 2] = [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY];

/// Checks what the footer says of the pages.
pub(crate) fn check(
    file: &ParquetFile,
    footer: &ParquetMetaData,
    path: &Path,
) -> Result<(), Error> {
    for group in footer.row_groups() {
        check_size(group, file.len()).map_err(|why| damaged(path, &why))?;
        group.columns().iter().try_for_each(|chunk| check_compression(chunk, path))?;
    }
    Ok(())
}

/// A column of a row group, each page of which is checked before it is decoded.
pub(crate) fn open(
    file: &Arc<ParquetFile>,
    chunk: &ColumnChunkMetaData,
) -> ParquetResult<ColumnReader> {
    let rows = usize::try_from(chunk.num_values()).unwrap_or(0);
    let pages = SerializedPageReader::new(Arc::clone(file), chunk, rows, None)?;
    let name = chunk.column_path().string();
    let pages = CheckedPages { pages, name, is_text: chunk.column_type() == Type::BYTE_ARRAY };
    Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(pages)))
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
    Err(Error::refused("read", path, &why).with_hint("write it uncompressed"))
}

/// The pages of a column, checked.
struct CheckedPages {
    pages: SerializedPageReader<ParquetFile>,
    name: String,
    is_text: bool,
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let page = self.pages.get_next_page()?;
        let refused = |why: &str| ParquetError::General(format!("column `{}`: {why}", self.name));
        match &page {
            Some(Page::DictionaryPage { buf, num_values, .. }) => {
                let entry = if self.is_text { LENGTH } else { NUMBER };
                if *num_values as usize > limit::DICTIONARY.min(buf.len() / entry) {
                    let size = buf.len();
                    return Err(refused(&format!(
                        "a dictionary of {num_values} values has {size} bytes"
                    )));
                }
            }
            Some(page) if self.is_text && DIFFERENCES.contains(&page.encoding()) => {
                return Err(refused("its names are stored as differences, which Assay never does"));
            }
            _ => {}
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.pages.skip_next_page()
    }
}

impl Iterator for CheckedPages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

    use super::*;
    use crate::run_folder::parquet::Batches;
    use crate::run_folder::parquet_of_tests::{Values, write};

    const ROWS: usize = 1 << 16;

    /// Writes a file in which every row has this name, with these values of a counter.
    fn file(path: &Path, name: &str, counter: std::ops::Range<u64>, how: WriterPropertiesBuilder) {
        let columns = [
            ("time_ns", Values::Whole(counter.clone().map(|_| Some(1)).collect())),
            ("subject", Values::Text(counter.clone().map(|_| Some(name)).collect())),
            ("bytes", Values::Whole(counter.map(Some).collect())),
        ];
        write(path, &columns, how.build());
    }

    fn read(path: &Path) -> Result<usize, Error> {
        let batches = Batches::open(&File::open(path).unwrap(), path, ROWS)?;
        batches.map(|table| Ok(table?.time_ns.len())).sum()
    }

    /// The library would allocate as many values as the header declares.
    #[test]
    fn a_dictionary_with_fewer_values_than_it_declares_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("io.parquet");
        file(&path, "a", 0..5000, WriterProperties::builder());
        assert_eq!(read(&path).unwrap(), 5000);
        let mut bytes = fs::read(&path).unwrap();
        // The structure of a dictionary's header with its number of values, 5000 and 8191.
        let (count, forged) = ([0x4c, 0x15, 0x90, 0x4e], [0x4c, 0x15, 0xfe, 0x7f]);
        let at = bytes.windows(4).position(|part| part == count).unwrap();
        bytes[at..at + 4].copy_from_slice(&forged);
        fs::write(&path, bytes).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("column `bytes`: a dictionary of 8191 values has 40000"), "{error}");
    }

    #[test]
    fn names_stored_as_differences_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("io.parquet");
        for encoding in DIFFERENCES {
            let how = WriterProperties::builder()
                .set_column_dictionary_enabled("subject".into(), false)
                .set_column_encoding("subject".into(), encoding);
            file(&path, "x", 0..64, how);
            let error = read(&path).unwrap_err().to_string();
            assert!(
                error.contains("column `subject`: its names are stored as differences"),
                "{error}"
            );
        }
    }

    /// The header of a page ends with the file, in a list that declares 2^31 elements.
    #[test]
    fn a_header_that_does_not_end_is_refused() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/parquet/endless-header.parquet");
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(read(Path::new(path))));
        let read = receive.recv_timeout(std::time::Duration::from_secs(30));
        assert!(read.expect("it reads for ever").is_err());
    }
}
