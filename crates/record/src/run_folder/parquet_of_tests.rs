//! Parquet files as other programs write them, for tests.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

/// The values of a column.
#[derive(Clone)]
pub(crate) enum Values<'v> {
    Whole(Vec<Option<u64>>),
    Signed(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<&'v str>>),
}

/// Writes a file of one row group.
pub(crate) fn write(path: &Path, columns: &[(&str, Values<'_>)], properties: WriterProperties) {
    let fields: String = columns.iter().map(|(name, values)| values.field(name)).collect();
    let schema = Arc::new(parse_message_type(&format!("message m {{ {fields} }}")).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, values) in columns {
        let mut column = group.next_column().unwrap().unwrap();
        values.write(&mut column);
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

impl Values<'_> {
    fn field(&self, name: &str) -> String {
        match self {
            Self::Whole(_) => format!("optional int64 {name} (INTEGER(64,false));"),
            Self::Signed(_) => format!("optional int64 {name};"),
            Self::Number(_) => format!("optional double {name};"),
            Self::Text(_) => format!("optional binary {name} (STRING);"),
        }
    }

    fn write(&self, column: &mut SerializedColumnWriter<'_>) {
        fn all<S: Copy, T: DataType>(
            column: &mut SerializedColumnWriter<'_>,
            values: &[Option<S>],
            of: impl Fn(S) -> T::T,
        ) {
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<T::T> = values.iter().flatten().map(|value| of(*value)).collect();
            column.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
        }
        match self {
            Self::Whole(values) => all::<_, Int64Type>(column, values, u64::cast_signed),
            Self::Signed(values) => all::<_, Int64Type>(column, values, |value| value),
            Self::Number(values) => all::<_, DoubleType>(column, values, |value| value),
            Self::Text(values) => all::<_, ByteArrayType>(column, values, Into::into),
        }
    }
}
