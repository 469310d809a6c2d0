//! `[disks.NAME]`: where I/O goes.

use std::collections::BTreeMap;

use super::names;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{Disk, DiskSource, Format, NullBlk, Scalar};
use crate::template::Templated;

pub(crate) fn read(reader: &mut Reader<'_>, table: &At<'_>) -> BTreeMap<String, Disk> {
    let mut disks = BTreeMap::new();
    for (name, at) in super::named_tables(reader, table, "disk", key::DISK) {
        let section = Section::open(reader, at, format!("the disk `{name}`"), key::DISK);
        disks.insert(name.to_owned(), disk(reader, &section));
    }
    disks
}

fn disk(reader: &mut Reader<'_>, section: &Section<'_>) -> Disk {
    let word = section.word(reader, "use", key::DISK_SOURCES);
    if let Some(word) = word {
        keys_fit_the_source(reader, section, word);
    }
    Disk {
        source: source(reader, section, word.unwrap_or("loop")),
        size: section.templated(reader, "size"),
        format: format(reader, section),
        partitions: section.templated(reader, "partitions").unwrap_or(Templated::Value(0)),
        scheduler: section.templated(reader, "scheduler"),
        queue: queue(reader, section),
    }
}

fn source(reader: &mut Reader<'_>, section: &Section<'_>, word: &str) -> DiskSource {
    let text = |name: &str| section.text(name).unwrap_or_default().to_owned();
    match word {
        "block" => DiskSource::Block {
            device: text("device"),
            erase: section.text("erase").map(str::to_owned),
        },
        "directory" => DiskSource::Directory { path: text("path") },
        "null_blk" => DiskSource::NullBlk(NullBlk {
            iops: section.templated(reader, "iops"),
            depth: section.templated(reader, "depth"),
        }),
        _ => DiskSource::Loop,
    }
}

/// Reports missing keys and keys without meaning for a source.
fn keys_fit_the_source(reader: &mut Reader<'_>, section: &Section<'_>, word: &str) {
    let (needed, misplaced): (&[&str], &[&str]) = match word {
        "block" => (&["device"], &["path", "size", "iops", "depth"]),
        "directory" => (
            &["path"],
            &["device", "erase", "iops", "depth", "format", "partitions", "scheduler", "queue"],
        ),
        "null_blk" => (&["size"], &["device", "erase", "path"]),
        _ => (&["size"], &["device", "erase", "path", "iops", "depth"]),
    };
    for name in needed.iter().filter(|name| !section.has(name)) {
        let about = key::DISK.iter().find(|key| key.name == *name).map_or("", |key| key.about);
        section.missing(reader, name, about);
    }
    for name in misplaced {
        let why = match (word, *name) {
            ("block", "size") => "the size of a block device is fixed".to_owned(),
            (_, "iops" | "depth") => "only the speed of a null_blk can be set".to_owned(),
            ("directory", _) => "the disk of a directory is left unchanged".to_owned(),
            _ => format!("`use = \"{word}\"` creates the disk itself"),
        };
        section.misplaced(reader, name, &why, &format!("remove `{name}`, or change `use`"));
    }
}

fn format(reader: &mut Reader<'_>, section: &Section<'_>) -> Templated<Format> {
    let written = section.text("format").unwrap_or("none");
    if !written.contains('{') && section.word(reader, "format", key::FORMATS).is_none() {
        return Templated::Value(Format::None);
    }
    section.templated(reader, "format").unwrap_or(Templated::Value(Format::None))
}

fn queue(reader: &mut Reader<'_>, section: &Section<'_>) -> Vec<(String, Templated<Scalar>)> {
    let Some(table) = section.get("queue") else { return vec![] };
    let mut attributes = vec![];
    for (name, key_span, at) in reader.entries(table) {
        names::attribute(reader, name, key_span);
        if let Some(value) = reader.templated(&at, &format!("the queue attribute `{name}`")) {
            attributes.push((name.to_owned(), value));
        }
    }
    attributes
}
