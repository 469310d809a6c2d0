//! The footer of a Parquet file, read by the Parquet library within bounds.
//!
//! The library builds a schema by recursion, one stack frame for each level (parquet 60, `schema_from_array_helper`), and a
//! stack overflow ends the process. So it reads a schema of few entries, which has no more levels, on a stack for that many.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

use parquet::basic::{ConvertedType, Type};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use crate::run_folder::error::{Error, damaged};
use crate::run_folder::guard::guarded;
use crate::run_folder::limit;
use crate::run_folder::parquet_file::ParquetFile;
use crate::run_folder::table::check_counters;

/// Bytes at the end of a file: the length of its footer, and `PAR1`.
const TAIL: u64 = 8;

/// Bytes of the stack: 16 KiB for each level.
const STACK: usize = limit::COLUMNS << 14;

/// Reads the footer of a file, which has samples.
pub(crate) fn load(file: &File, same: &ParquetFile, path: &Path) -> Result<ParquetMetaData, Error> {
    check_columns(file, path)?;
    let load = || {
        let footer = ParquetMetaDataReader::new().parse_and_finish(same);
        let footer = footer.map_err(|cause| damaged(path, &cause))?;
        check(footer.file_metadata().schema_descr(), path)?;
        Ok(footer)
    };
    thread::scope(|scope| {
        let reader = thread::Builder::new().stack_size(STACK);
        let reader = reader
            .spawn_scoped(scope, || guarded(path, load))
            .map_err(|cause| Error::new("read", path, cause))?;
        reader.join().unwrap_or_else(|_| Err(damaged(path, &"the Parquet library gave up on it")))
    })
}

/// Whether this is the schema of samples; checked before the first row is read.
fn check(schema: &SchemaDescriptor, path: &Path) -> Result<(), Error> {
    /// What to do about a column of another type, which programs make of samples that they write again.
    const RETYPED: &str = "write it with that type: a counter is a whole number or null, of which pandas makes a \
                           floating-point number unless it reads with `dtype_backend=\"pyarrow\"`";
    let columns = schema.columns();
    if columns.len() < 2 {
        let why = "expected `time_ns`, `subject` and their counters";
        return Err(damaged(path, &format!("it has {} columns, {why}", columns.len())));
    }
    for (index, column) in columns.iter().enumerate() {
        let (found, actual) = (kind(column), column.name());
        let expected = if index == 1 { "utf8" } else { "uint64" };
        if let Some(name) = ["time_ns", "subject"].get(index).filter(|name| **name != actual) {
            let why =
                format!("column {index} is `{actual}` of {found}, expected `{name}` of {expected}");
            return Err(damaged(path, &why));
        }
        if found != expected {
            let why = format!("its column `{actual}` is {found}, expected {expected}");
            return Err(Error::refused("read", path, &why).with_hint(RETYPED));
        }
    }
    let counters = columns.iter().skip(2).map(|column| column.name());
    check_counters(counters).map_err(|why| damaged(path, &why))
}

/// The type of a column, as other programs call it.
fn kind(column: &ColumnDescriptor) -> String {
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return "nested".to_owned();
    }
    match (column.physical_type(), column.converted_type()) {
        (Type::INT64, ConvertedType::UINT_64) => "uint64".to_owned(),
        (Type::BYTE_ARRAY, ConvertedType::UTF8) => "utf8".to_owned(),
        (Type::DOUBLE, _) => "float64".to_owned(),
        (other, _) => other.to_string().to_lowercase(),
    }
}

/// Refuses a file that is too long or has too many columns.
fn check_columns(file: &File, path: &Path) -> Result<(), Error> {
    let io_error = |cause: std::io::Error| Error::new("read", path, cause);
    let length = file.metadata().map_err(io_error)?.len();
    if length > limit::parquet() {
        let why = format!("it has {length} bytes; the limit is {}", limit::parquet());
        return Err(Error::refused("read", path, &why).with_hint(limit::HOW_TO_LIFT));
    }
    let truncated = || damaged(path, &"it does not end as a Parquet file does");
    let end = length.checked_sub(TAIL).ok_or_else(truncated)?;
    let mut tail = [0_u8; 4];
    file.read_exact_at(&mut tail, end).map_err(io_error)?;
    let size = u64::from(u32::from_le_bytes(tail));
    let begin = end.checked_sub(size).ok_or_else(truncated)?;
    // A version and the number of columns have eleven bytes at most.
    let mut head = [0; 16];
    let read = file.read_at(&mut head[..size.min(16) as usize], begin).map_err(io_error)?;
    match columns(&head[..read]) {
        Some(count) if count <= limit::COLUMNS as u64 => Ok(()),
        Some(count) => {
            let most = limit::COLUMNS;
            Err(damaged(path, &format!("it has {count} columns; the limit is {most}")))
        }
        None => Err(damaged(path, &"its footer does not begin with a version and a schema")),
    }
}

/// The number of columns: how many entries the list of the schema has beside its root. All writers put only the version
/// in front of that list (thrift-compact-protocol.md).
fn columns(footer: &[u8]) -> Option<u64> {
    const VERSION: u8 = 0x15;
    const SCHEMA: u8 = 0x19;
    const OF_STRUCTURES: u8 = 0xc;
    let (_, rest) = number(footer.strip_prefix(&[VERSION])?)?;
    let (head, rest) = rest.strip_prefix(&[SCHEMA])?.split_first()?;
    let count = if head >> 4 == 15 { number(rest)?.0 } else { u64::from(head >> 4) };
    count.checked_sub(1).filter(|_| head & 0xf == OF_STRUCTURES)
}

/// A number of seven bits a byte, lowest first, and what follows it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(5).position(|byte| *byte < 0x80)?;
    let (digits, rest) = bytes.split_at(end + 1);
    Some((digits.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f)), rest))
}

#[cfg(test)]
mod tests {
    use std::fs;

    const MAGIC: [u8; 4] = *b"PAR1";

    /// A file whose schema has this many levels, each with an empty name and one child.
    fn nested(levels: usize) -> Vec<u8> {
        let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
        let mut count = levels;
        while count >= 0x80 {
            footer.push(count as u8 | 0x80);
            count >>= 7;
        }
        footer.push(count as u8);
        (0..levels).for_each(|_| footer.extend([0x35, 0x00, 0x18, 0x00, 0x15, 0x02, 0x00]));
        footer.push(0x00);
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        [&MAGIC[..], &footer, &length, &MAGIC].concat()
    }

    fn error(bytes: &[u8]) -> String {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("io.parquet"), bytes).unwrap();
        crate::run_folder::run::read_tables(place.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_deeply_nested_schema_is_refused_without_a_stack_overflow() {
        assert!(error(&nested(1_000_000)).contains("999999 columns"));
        let at_most = error(&nested(4097));
        assert!(at_most.contains("io.parquet") && at_most.contains("copy it again"), "{at_most}");
    }

    #[test]
    fn an_invalid_footer_is_an_error_with_a_hint() {
        for (bytes, why) in [
            (&b""[..], "does not end as a Parquet file does"),
            (b"PAR1\xff\xff\xff\x7fPAR1", "does not end as a Parquet file does"),
            (b"PAR1\x00\x00\x00\x00PAR1", "does not begin with a version and a schema"),
            (b"PAR1\x15\xff\xff\xff\xff\xff\x05\x00\x00\x00PAR1", "a version and a schema"),
            (b"PAR1\x15\x02\x19\x1c\x00\x05\x00\x00\x00PARX", "Corrupt footer"),
        ] {
            let error = error(bytes);
            assert!(error.contains(why) && error.contains("copy it again"), "{error}");
        }
    }
}
