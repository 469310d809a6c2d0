//! Memory that a hostile file of samples takes. Alone in its process, whose peak it reads.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use assay_files::Dir;
use assay_run_folder::{Budget, Column, SampleStream, Table, read_tables, sample_files};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;

/// The most memory that this process has used, in bytes (proc(5), `VmHWM`).
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// One after the other: a peak is that of the whole process.
#[test]
fn a_file_takes_memory_by_its_length() {
    a_stream_is_read_in_pieces_however_long_it_is();
    columns_that_share_their_bytes_are_refused();
}

/// A hole takes no space on disk.
fn a_stream_is_read_in_pieces_however_long_it_is() {
    const HOLE: u64 = 256 << 20;
    let place = tempfile::tempdir().unwrap();
    let table = Table {
        source: "io".to_owned(),
        time_ns: vec![1, 2],
        subject: vec![0, 0],
        subjects: vec!["a".to_owned()],
        columns: vec![Column { name: "bytes".to_owned(), values: vec![Some(1), None] }],
    };
    let mut stream = SampleStream::create(place.path(), "io", &["bytes".to_owned()]).unwrap();
    stream.append(&table).unwrap();
    let path = place.path().join("io.arrows");
    let length = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length + HOLE).unwrap();
    let before = peak();
    assert_eq!(read_tables(place.path()).unwrap(), [table]);
    let dir = Dir::open(place.path()).unwrap();
    let mut rows = 0;
    let mut take = |table: Table| {
        rows += table.time_ns.len();
        true
    };
    sample_files(&dir).unwrap()[0].each(&dir, &mut Budget::default(), &mut take).unwrap();
    assert_eq!(rows, 2);
    let grown = peak() - before;
    assert!(grown < HOLE / 4, "{grown} bytes for {length} bytes and a hole");
}

/// 64 counters of one row, all stored in the same page of 8 MiB.
fn columns_that_share_their_bytes_are_refused() {
    let place = tempfile::tempdir().unwrap();
    shared(&place.path().join("io.parquet"), 64, 1 << 20);
    let before = peak();
    let error = read_tables(place.path()).unwrap_err().to_string();
    assert!(error.contains("its columns take "), "{error}");
    let grown = peak() - before;
    assert!(grown < 64 << 20, "{grown} bytes");
}

/// Writes a file of one row whose counters are all stored in one chunk, which has a page with more values.
fn shared(path: &Path, counters: usize, stored: usize) {
    let names: Vec<String> = (0..counters).map(|counter| format!("c{counter}")).collect();
    let fixed = |name: &str, kind| Field::new(name, kind, false);
    let counter = |name: &str| Field::new(name, DataType::UInt64, true);
    let head = [fixed("time_ns", DataType::UInt64), fixed("subject", DataType::Utf8)];
    let of = |names: &[String]| {
        let counters = names.iter().map(|name| counter(name));
        Arc::new(Schema::new(head.iter().cloned().chain(counters).collect::<Vec<_>>()))
    };
    let (one, all) = (of(&names[..1]), of(&names));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(usize::MAX)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(1 << 24);
    let mut file = File::create(path).unwrap();
    let written = file.try_clone().unwrap();
    let mut writer = ArrowWriter::try_new(written, one.clone(), Some(properties.build())).unwrap();
    for rows in [1, stored] {
        let times: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..rows as u64));
        let subjects: ArrayRef = Arc::new(StringArray::from_iter_values(vec!["a"; rows]));
        let columns = vec![Arc::clone(&times), subjects, times];
        writer.write(&RecordBatch::try_new(one.clone(), columns).unwrap()).unwrap();
        writer.flush().unwrap();
    }
    let groups: Vec<RowGroupMetaData> = writer.flushed_row_groups().to_vec();
    // The end of this file stays in the middle of the forged one.
    writer.close().unwrap();
    let schema = Arc::new(ArrowSchemaConverter::new().convert(&all).unwrap());
    let chunk = |column: usize| {
        let (group, of) = if column < 2 { (0, column) } else { (1, 2) };
        let from = groups[group].column(of);
        let chunk = ColumnChunkMetaData::builder(schema.column(column))
            .set_encodings(from.encodings().collect())
            .set_num_values(1)
            .set_total_compressed_size(from.compressed_size())
            .set_total_uncompressed_size(from.uncompressed_size())
            .set_data_page_offset(from.data_page_offset());
        chunk.build().unwrap()
    };
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(1)
        .set_column_metadata((0..counters + 2).map(chunk).collect());
    let whole = FileMetaData::new(1, 1, None, None, Arc::clone(&schema), None);
    let whole = ParquetMetaData::new(whole, vec![group.build().unwrap()]);
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &whole).finish().unwrap();
    file.write_all(&footer).unwrap();
}
