//! The columns of a Parquet file, read from its footer before the Parquet library sees it.
//!
//! That library builds a schema by recursion, one stack frame for each level that the footer claims
//! (parquet 60, `schema_from_array_helper`), and a stack that overflows ends the process: there is no
//! panic to catch. Samples have no levels. Their list of columns is read here in a loop and handed to
//! the library, which then passes over the one in the file, to a depth of 64 at most.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::error::Error;
use crate::limit;

/// What stands at both ends of a Parquet file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Bytes of the footer's length and the mark behind it.
const TAIL: u64 = 8;

/// The schema of a file with columns and nothing nested in them.
pub(crate) fn schema(file: &File, path: &Path) -> Result<Arc<SchemaDescriptor>, Error> {
    let failed = |why: String| {
        Error::new("read", path, &why)
            .with_hint("a copy or a disk damaged it, or it was made to; copy it again")
    };
    let footer = bytes(file, path, &failed)?;
    let elements = Thrift { rest: &footer }.elements().map_err(failed)?;
    flat(&elements).map(|root| Arc::new(SchemaDescriptor::new(Arc::new(root)))).map_err(failed)
}

/// The footer without its length and mark.
fn bytes(file: &File, path: &Path, failed: &dyn Fn(String) -> Error) -> Result<Vec<u8>, Error> {
    let wrong = |cause: std::io::Error| Error::io("read", path, &cause);
    let length = file.metadata().map_err(wrong)?.len();
    let cut = || failed("it does not end as a Parquet file does".to_owned());
    let end = length.checked_sub(TAIL).ok_or_else(cut)?;
    let mut tail = [0_u8; TAIL as usize];
    file.read_exact_at(&mut tail, end).map_err(wrong)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != MAGIC {
        return Err(cut());
    }
    let size = u64::from(u32::from_le_bytes([a, b, c, d]));
    if size > limit::footer() {
        let why = format!("its footer has {size} bytes, and {} are read", limit::footer());
        return Err(failed(why));
    }
    let begin = end.checked_sub(size).ok_or_else(cut)?;
    let mut footer = vec![0; size as usize];
    file.read_exact_at(&mut footer, begin).map_err(wrong)?;
    Ok(footer)
}

/// One entry of the list that a schema is (parquet.thrift, `SchemaElement`).
#[derive(Debug, Default)]
struct Element {
    kind: Option<i64>,
    repetition: Option<i64>,
    name: String,
    children: i64,
    converted: Option<i64>,
}

/// The root with its columns.
fn flat(elements: &[Element]) -> Result<Type, String> {
    let Some((root, columns)) = elements.split_first() else {
        return Err("its schema is empty".to_owned());
    };
    if let Some(group) = columns.iter().find(|element| element.children != 0) {
        return Err(format!(
            "its column `{}` holds columns, where samples hold values",
            group.name
        ));
    }
    if usize::try_from(root.children) != Ok(columns.len()) {
        return Err(format!(
            "its schema promises {} columns and has {}",
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
        _ => return Err(format!("its column `{}` is of a type that no sample has", column.name)),
    };
    let repetition = match column.repetition {
        Some(0) => Repetition::REQUIRED,
        Some(1) => Repetition::OPTIONAL,
        _ => {
            return Err(format!(
                "its column `{}` has lists, where samples have values",
                column.name
            ));
        }
    };
    // What else there is shows in the type of the column, which is looked at next.
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

/// How deep structures lie within the entry of a column: a time's unit is the deepest.
const DEEPEST: usize = 8;

/// What is left of a text in thrift's compact protocol (thrift-compact-protocol.md).
struct Thrift<'b> {
    rest: &'b [u8],
}

impl<'b> Thrift<'b> {
    /// The list of the schema. All writers put the format's version in front of it and nothing else.
    fn elements(mut self) -> Result<Vec<Element>, String> {
        let odd = || "its footer does not begin with a version and a schema".to_owned();
        let mut last = 0;
        let version = self.field(&mut last).filter(|kind| (last, *kind) == (1, I32));
        version.and_then(|kind| self.skip(kind)).ok_or_else(odd)?;
        self.field(&mut last).filter(|kind| (last, *kind) == (2, LIST)).ok_or_else(odd)?;
        let (kind, count) = self.list().ok_or_else(odd)?;
        if kind != STRUCT {
            return Err(odd());
        }
        if count > limit::COLUMNS as u64 + 1 {
            return Err(format!("it has {} columns, and {} are read", count - 1, limit::COLUMNS));
        }
        let elements = (0..count).map(|_| self.element()).collect::<Option<Vec<_>>>();
        elements.ok_or_else(|| "its schema is cut or damaged".to_owned())
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

    /// The type of the next field of a structure, whose number goes to `last`.
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

    /// The type of a list's entries and how many there are.
    fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        Some((head & 0x0f, count))
    }

    /// Passes over a value in a loop: the structures that are open are counted, not entered.
    fn skip(&mut self, kind: u8) -> Option<()> {
        let (mut open, mut kind) = (0, kind);
        loop {
            match kind {
                // A truth stands in the type itself.
                1 | 2 => {}
                BYTE => drop(self.byte()?),
                4 | I32 | I64 => drop(self.number()?),
                7 => drop(self.take(8)?),
                BINARY => drop(self.text()?),
                STRUCT if open < DEEPEST => open += 1,
                STOP if open > 0 => open -= 1,
                // No list, set or map stands in the entry of a column.
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

    /// A number with its sign in the lowest bit.
    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Seven bits a byte, the lowest first.
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
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A file whose schema is nested so deep, each level with an empty name and one child.
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
        crate::stream::read_tables(place.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_schema_that_is_nested_without_end_is_refused_and_no_stack_overflows() {
        assert!(error(&nested(1_000_000)).contains("999999 columns"));
        assert!(error(&nested(4000)).contains("holds columns, where samples hold values"));
    }

    #[test]
    fn a_footer_that_is_none_is_named_with_a_hint() {
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
    fn numbers_and_structures_end() {
        let mut long = Thrift { rest: &[0xff; 20] };
        assert_eq!(long.number(), None);
        assert_eq!(Thrift { rest: &[0x1c; 100] }.skip(STRUCT), None);
        // A time: its unit is a structure in a structure.
        let mut time = Thrift { rest: &[0x8c, 0x11, 0x1c, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x07] };
        assert_eq!((time.skip(STRUCT), time.rest), (Some(()), &[0x07][..]));
    }
}
