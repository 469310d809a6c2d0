//! The pages of the columns of a Parquet file, decompressed before the Parquet library sees them.
//!
//! The library would allocate as many bytes as the header of a page declares (parquet 60, `decode_page`), and its decoder
//! of zstd is C, which a static build for musl cannot do without a compiler of its own. So it is told that no column is
//! compressed, and what it reads is decompressed here, within limits.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::Compression;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use crate::codec::{Codec, too_large};
use crate::error::Error;
use crate::limit;
use crate::parquet_file::ParquetFile;

/// Index of the column of names.
pub(crate) const SUBJECT: usize = 1;

/// A file with what its footer says.
#[derive(Clone)]
pub(crate) struct Columns {
    file: Arc<ParquetFile>,
    metadata: Arc<ParquetMetaData>,
}

impl Columns {
    /// Refuses a file that is compressed in a way that is not read.
    pub(crate) fn new(
        file: &ParquetFile,
        metadata: &Arc<ParquetMetaData>,
        path: &Path,
    ) -> std::result::Result<Self, Error> {
        for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
            Codec::new(column.compression()).map_err(|codec| {
                let name = column.column_path().string();
                let hint = "write it with zstd or Snappy, or uncompressed";
                Error::new("read", path, &format!("column `{name}` is compressed with {codec}"))
                    .with_hint(hint)
            })?;
        }
        Ok(Self { file: Arc::new(file.clone()), metadata: Arc::clone(metadata) })
    }

    /// Rows of a row group.
    pub(crate) fn rows(&self, group: usize) -> usize {
        usize::try_from(self.metadata.row_group(group).num_rows()).unwrap_or(0)
    }

    /// The pages of one column in one row group.
    pub(crate) fn pages(&self, group: usize, column: usize) -> Result<Pages> {
        let chunk = self.metadata.row_group(group).column(column);
        let codec = Codec::new(chunk.compression()).map_err(ParquetError::General)?;
        let raw =
            chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        let rows = self.rows(group);
        let raw = SerializedPageReader::new(Arc::clone(&self.file), &raw, rows, None)?;
        Ok(Pages { raw, codec, left: limit::pages(rows, column == SUBJECT) })
    }
}

impl RowGroups for Columns {
    fn num_rows(&self) -> usize {
        (0..self.metadata.num_row_groups()).map(|group| self.rows(group)).sum()
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let groups = 0..self.metadata.num_row_groups();
        Ok(Box::new(Chunks { columns: self.clone(), column, groups }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// One column in each row group that is left.
struct Chunks {
    columns: Columns,
    column: usize,
    groups: Range<usize>,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let pages = self.columns.pages(self.groups.next()?, self.column);
        Some(pages.map(|pages| Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}

/// The pages of one column in one row group.
pub(crate) struct Pages {
    raw: SerializedPageReader<ParquetFile>,
    codec: Option<Codec>,
    /// Bytes that its pages may still have.
    left: usize,
}

impl Pages {
    /// The bytes of a page, of which the first `plain` are never compressed.
    fn decompressed(&mut self, bytes: &Bytes, plain: usize) -> Result<Bytes> {
        let Some(codec) = self.codec else { return self.taken(bytes.clone()) };
        let (head, body) = bytes
            .split_at_checked(plain)
            .ok_or_else(|| ParquetError::EOF("a page ends within its levels".to_owned()))?;
        let body = codec.decompress(body, self.left).map_err(ParquetError::General)?;
        self.taken(if head.is_empty() { body.into() } else { [head, &body].concat().into() })
    }

    /// The page, taken from what its rows can have.
    fn taken(&mut self, page: Bytes) -> Result<Bytes> {
        let left = self.left.checked_sub(page.len());
        self.left = left.ok_or_else(|| ParquetError::General(too_large(self.left)))?;
        Ok(page)
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(mut page) = self.raw.get_next_page()? else { return Ok(None) };
        match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => {
                *buf = self.decompressed(buf, 0)?;
            }
            Page::DataPageV2 {
                buf,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed: is_compressed @ true,
                ..
            } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                *buf = self.decompressed(buf, usize::try_from(levels).unwrap_or(usize::MAX))?;
                *is_compressed = false;
            }
            Page::DataPageV2 { buf, .. } => *buf = self.taken(buf.clone())?,
        }
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.raw.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.raw.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.raw.at_record_boundary()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
