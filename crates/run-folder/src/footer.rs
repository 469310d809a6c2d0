//! Reads the columns of a Parquet file from its footer before the Parquet library sees it.
//!
//! The library builds a schema by recursion, one stack frame per level that the footer declares (parquet 60,
//! `schema_from_array_helper`), and a stack overflow ends the process: there is no panic to catch. Samples
//! are not nested. Their list of columns is read here in a loop and passed to the library, which then skips
//! the one in the file, recursing to a depth of 64 at most.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::error::Error;
use crate::limit;

/// Magic number at both ends of a Parquet file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Bytes of the footer's length and the magic number behind it.
const TAIL: u64 = 8;

/// The schema of a file with flat columns only.
pub(crate) fn schema(file: &File, path: &Path) -> Result<Arc<SchemaDescriptor>, Error> {
    let failed = |why: String| {
        Error::new("read", path, &why)
            .with_hint("it was damaged by a copy or a disk, or on purpose; copy it again")
    };
    let footer = bytes(file, path, &failed)?;
    let elements = Thrift { rest: &footer }.elements().map_err(failed)?;
    flat(&elements).map(|root| Arc::new(SchemaDescriptor::new(Arc::new(root)))).map_err(failed)
}

/// The footer without its length and magic number.
fn bytes(file: &File, path: &Path, failed: &dyn Fn(String) -> Error) -> Result<Vec<u8>, Error> {
    let io_error = |cause: std::io::Error| Error::io("read", path, &cause);
    let length = file.metadata().map_err(io_error)?.len();
    let truncated = || failed("it does not end as a Parquet file does".to_owned());
    let end = length.checked_sub(TAIL).ok_or_else(truncated)?;
    let mut tail = [0_u8; TAIL as usize];
    file.read_exact_at(&mut tail, end).map_err(io_error)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != MAGIC {
        return Err(truncated());
    }
    let size = u64::from(u32::from_le_bytes([a, b, c, d]));
    if size > limit::footer() {
        let why = format!("its footer has {size} bytes; the limit is {}", limit::footer());
        return Err(failed(why));
    }
    let begin = end.checked_sub(size).ok_or_else(truncated)?;
    let mut footer = vec![0; size as usize];
    file.read_exact_at(&mut footer, begin).map_err(io_error)?;
    Ok(footer)
}

/// One entry of the list that encodes a schema (parquet.thrift, `SchemaElement`).
#[derive(Debug, Default)]
struct Element {
    kind: Option<i64>,
    repetition: Option<i64>,
    name: String,
    children: i64,
    converted: Option<i64>,
}

/// The root with its columns; nested ones are refused.
fn flat(elements: &[Element]) -> Result<Type, String> {
    let Some((root, columns)) = elements.split_first() else {
        return Err("its schema is empty".to_owned());
    };
    if let Some(group) = columns.iter().find(|element| element.children != 0) {
        return Err(format!(
            "its column `{}` is nested; samples have flat columns only",
            group.name
        ));
    }
    if usize::try_from(root.children) != Ok(columns.len()) {
        return Err(format!(
            "its schema declares {} columns and has {}",
            root.children,
            columns.len()
        ));
    }
    let fields = columns.iter().map(|column| leaf(column).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, String>>()?;
    let whole = Type::group_type_builder(&root.name).with_fields(fields).build();
    whole.map_err(|cause| cause.to_string())
}

fn leaf(column: &Element) -> Result<Type, String> {
    let physical = match column.kind {
        Some(0) => Physical::BOOLEAN,
        Some(1) => Physical::INT32,
        Some(2) => Physical::INT64,
        Some(3) => Physical::INT96,
        Some(4) => Physical::FLOAT,
        Some(5) => Physical::DOUBLE,
        Some(6) => Physical::BYTE_ARRAY,
        _ => {
            return Err(format!("its column `{}` has a type that samples do not use", column.name));
        }
    };
    let repetition = match column.repetition {
        Some(0) => Repetition::REQUIRED,
        Some(1) => Repetition::OPTIONAL,
        _ => {
            return Err(format!(
                "its column `{}` is repeated; samples have single values only",
                column.name
            ));
        }
    };
    // Other annotations are ignored; the Arrow type of the column is checked next.
    let converted = match column.converted {
        Some(0) => ConvertedType::UTF8,
        Some(14) => ConvertedType::UINT_64,
        _ => ConvertedType::NONE,
    };
    let leaf = Type::primitive_type_builder(&column.name, physical)
        .with_repetition(repetition)
        .with_converted_type(converted);
    leaf.build().map_err(|cause| cause.to_string())
}

// Types of thrift's compact protocol.
const STOP: u8 = 0;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Maximum nesting of structures within a column's entry; the deepest is the unit of a time.
const DEEPEST: usize = 8;

/// The rest of a text in thrift's compact protocol (thrift-compact-protocol.md).
struct Thrift<'b> {
    rest: &'b [u8],
}

impl<'b> Thrift<'b> {
    /// The list of schema elements. All writers put only the format's version in front of it.
    fn elements(mut self) -> Result<Vec<Element>, String> {
        let malformed = || "its footer does not begin with a version and a schema".to_owned();
        let mut last = 0;
        let version = self.field(&mut last).filter(|kind| (last, *kind) == (1, I32));
        version.and_then(|kind| self.skip(kind)).ok_or_else(malformed)?;
        self.field(&mut last).filter(|kind| (last, *kind) == (2, LIST)).ok_or_else(malformed)?;
        let (kind, count) = self.list().ok_or_else(malformed)?;
        if kind != STRUCT {
            return Err(malformed());
        }
        if count > limit::COLUMNS as u64 + 1 {
            return Err(format!("it has {} columns; the limit is {}", count - 1, limit::COLUMNS));
        }
        let elements = (0..count).map(|_| self.element()).collect::<Option<Vec<_>>>();
        elements.ok_or_else(|| "its schema is truncated or damaged".to_owned())
    }

    fn element(&mut self) -> Option<Element> {
        let (mut element, mut last) = (Element::default(), 0);
        loop {
            let kind = self.field(&mut last)?;
            match (last, kind) {
                (_, STOP) => return Some(element),
                (1, I32) => element.kind = Some(self.signed()?),
                (3, I32) => element.repetition = Some(self.signed()?),
                (4, BINARY) => element.name = std::str::from_utf8(self.text()?).ok()?.to_owned(),
                (5, I32) => element.children = self.signed()?,
                (6, I32) => element.converted = Some(self.signed()?),
                _ => self.skip(kind)?,
            }
        }
    }

    /// The type of the next field of a structure; `last` becomes its number.
    fn field(&mut self, last: &mut i64) -> Option<u8> {
        let head = self.byte()?;
        let kind = head & 0x0f;
        if kind == STOP {
            return Some(STOP);
        }
        *last = match head >> 4 {
            0 => self.signed()?,
            step => *last + i64::from(step),
        };
        Some(kind)
    }

    /// The type of a list's entries and their number.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        Some((head & 0x0f, count))
    }

    /// Skips a value in a loop: open structures are counted, not entered recursively.
    fn skip(&mut self, kind: u8) -> Option<()> {
        let (mut open, mut kind) = (0, kind);
        loop {
            match kind {
                // A boolean is encoded in the type itself.
                1 | 2 => {}
                BYTE => drop(self.byte()?),
                4 | I32 | I64 => drop(self.number()?),
                7 => drop(self.take(8)?),
                BINARY => drop(self.text()?),
                STRUCT if open < DEEPEST => open += 1,
                STOP if open > 0 => open -= 1,
                // The entry of a column has no list, set or map.
                _ => return None,
            }
            if open == 0 {
                return Some(());
            }
            kind = self.field(&mut 0)?;
        }
    }

    fn text(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    /// A zigzag-encoded number: the sign is in the lowest bit.
    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A variable-length number: seven bits per byte, lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file whose schema has this many levels, each with an empty name and one child.
    fn nested(levels: usize) -> Vec<u8> {
        let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
        let mut count = levels;
        while count >= 0x80 {
            footer.push(count as u8 | 0x80);
            count >>= 7;
        }
        footer.push(count as u8);
        (0..levels).for_each(|_| footer.extend([0x48, 0x00, 0x15, 0x02, 0x00]));
        footer.push(0x00);
        let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
        [&MAGIC[..], &footer, &length, &MAGIC].concat()
    }

    fn error(bytes: &[u8]) -> String {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("io.parquet"), bytes).unwrap();
        crate::run::read_tables(place.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_deeply_nested_schema_is_refused_without_a_stack_overflow() {
        assert!(error(&nested(1_000_000)).contains("999999 columns"));
        assert!(error(&nested(4000)).contains("is nested; samples have flat columns only"));
    }

    #[test]
    fn an_invalid_footer_is_an_error_with_a_hint() {
        for (bytes, why) in [
            (&b""[..], "does not end as a Parquet file does"),
            (b"PAR1\x00\x00\x00\x00PARX", "does not end as a Parquet file does"),
            (b"PAR1\xff\xff\xff\x7fPAR1", "its footer has 2147483647 bytes"),
            (b"PAR1\x09\x00\x00\x00PAR1", "does not end as a Parquet file does"),
            (b"PAR1\x00\x00\x00\x00PAR1", "does not begin with a version and a schema"),
        ] {
            let error = error(bytes);
            assert!(error.contains(why) && error.contains("copy it again"), "{error}");
        }
    }

    #[test]
    fn unterminated_numbers_and_structures_are_refused() {
        let mut long = Thrift { rest: &[0xff; 20] };
        assert_eq!(long.number(), None);
        assert_eq!(Thrift { rest: &[0x1c; 100] }.skip(STRUCT), None);
        // A time: its unit is a structure in a structure.
        let mut time = Thrift { rest: &[0x8c, 0x11, 0x1c, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x07] };
        assert_eq!((time.skip(STRUCT), time.rest), (Some(()), &[0x07][..]));
    }
}
