//! Workloads of a kind of the registry: their `args`.

use assay_workload::PLACEHOLDERS;

use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{Scalar, Tool};
use crate::template::Templated;

pub(super) fn read(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Tool {
    let args = section.part(reader, "args", args);
    Tool::Kind { name: name.to_owned(), args }
}

fn args(reader: &mut Reader<'_>, table: &At<'_>) -> Vec<(String, Vec<Templated<Scalar>>)> {
    let mut args = vec![];
    for (name, key_span, at) in reader.entries(table) {
        reader.spans.insert(format!("{}#key", at.path), key_span);
        let what = format!("the option `{name}`");
        let elements = reader.one_or_more(&at);
        let values = with_placeholders(reader, |reader| {
            elements.iter().map(|element| reader.templated(element, &what)).collect()
        });
        if let Some(values) = values {
            args.push((name.to_owned(), values));
        }
    }
    args
}

/// Reads with the placeholders of the run in addition to the factors. A factor of the same name
/// hides a placeholder.
pub(super) fn with_placeholders<'l, T>(
    reader: &mut Reader<'l>,
    read: impl FnOnce(&mut Reader<'l>) -> T,
) -> T {
    let factors = reader.factors.len();
    reader.factors.extend(PLACEHOLDERS.iter().map(|name| (*name).to_owned()));
    let read = read(reader);
    reader.factors.truncate(factors);
    read
}
