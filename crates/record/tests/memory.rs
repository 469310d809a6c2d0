//! Memory that a hostile file of samples takes. Alone in its process, whose peak it reads.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use assay_record::run_folder::{Column, SampleStream, Table, read_tables};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

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
    let path = place.path().join("io.csv");
    let length = fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length + HOLE).unwrap();
    let before = peak();
    let error = read_tables(place.path()).unwrap_err().to_string();
    assert!(error.contains("line 4 is damaged: it has more than 1048576 bytes"), "{error}");
    let grown = peak() - before;
    assert!(grown < HOLE / 4, "{grown} bytes for {length} bytes and a hole");
    File::options().write(true).open(&path).unwrap().set_len(length + 4096).unwrap();
    assert_eq!(read_tables(place.path()).unwrap(), [table], "a line that is not whole");
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
    let of = |names: &[String]| {
        let counter = |name: &String| format!("optional int64 {name} (INTEGER(64,false));");
        let fixed = "required int64 time_ns (INTEGER(64,false)); required binary subject (STRING);";
        let counters: String = names.iter().map(counter).collect();
        Arc::new(parse_message_type(&format!("message m {{ {fixed} {counters} }}")).unwrap())
    };
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_size_limit(usize::MAX)
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(1 << 24);
    let mut file = File::create(path).unwrap();
    let written = file.try_clone().unwrap();
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(written, of(&names[..1]), properties).unwrap();
    for rows in [1, stored] {
        let numbers: Vec<i64> = (0..rows as i64).collect();
        let mut group = writer.next_row_group().unwrap();
        for column in 0..3 {
            let mut writer = group.next_column().unwrap().unwrap();
            if column == 1 {
                let names = vec![ByteArray::from("a"); rows];
                writer.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
            } else {
                let levels = vec![1; rows];
                let levels = (column == 2).then_some(&levels[..]);
                writer.typed::<Int64Type>().write_batch(&numbers, levels, None).unwrap();
            }
            writer.close().unwrap();
        }
        group.close().unwrap();
    }
    let groups: Vec<RowGroupMetaData> = writer.flushed_row_groups().to_vec();
    // The end of this file stays in the middle of the forged one.
    writer.close().unwrap();
    let schema = Arc::new(SchemaDescriptor::new(of(&names)));
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
