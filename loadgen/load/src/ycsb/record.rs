//! Keys and records as bytes: `user` with a number, and concatenated fields, each as length, name,
//! length, value with big-endian lengths of four bytes. The order of the fields is that of the hash
//! map in which the Java binding holds them.

mod value;

pub(super) use value::{fill, integrity};

use super::distribution::Lengths;
use super::hash::{fnv64, map_order};
use super::random::Random;

/// The format of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyFormat {
    /// Minimum number of digits.
    pub(super) padding: usize,
    /// The number itself instead of its hash.
    pub(super) ordered: bool,
}

impl KeyFormat {
    /// Writes the key of a record number.
    pub(super) fn write(self, number: u64, into: &mut Vec<u8>) {
        let mut value = if self.ordered { number } else { fnv64(number) };
        let mut digits = [0; 20];
        let mut first = digits.len();
        while value > 0 || first == digits.len() {
            first -= 1;
            digits[first] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        let digits = &digits[first..];
        into.clear();
        into.extend_from_slice(b"user");
        into.resize(4 + self.padding.saturating_sub(digits.len()), b'0');
        into.extend_from_slice(digits);
    }
}

/// The format of records: names and lengths of the fields.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    /// By number.
    pub(super) names: Vec<String>,
    /// Field numbers in layout order.
    order: Vec<usize>,
    pub(super) lengths: Lengths,
    /// Verifiable values: derived from key and field.
    pub(super) integrity: bool,
}

impl Shape {
    pub(super) fn new(prefix: &str, fields: u64, lengths: Lengths, integrity: bool) -> Self {
        let names: Vec<String> = (0..fields).map(|field| format!("{prefix}{field}")).collect();
        let keys: Vec<&str> = names.iter().map(String::as_str).collect();
        Self { order: map_order(&keys), names, lengths, integrity }
    }

    /// Writes a complete new record.
    pub(super) fn write(&self, key: &[u8], random: &mut Random, into: &mut Vec<u8>) {
        into.clear();
        for &field in &self.order {
            let name = self.names[field].as_bytes();
            put_length(name.len(), into);
            into.extend_from_slice(name);
            let at = into.len();
            into.extend_from_slice(&[0; 4]);
            self.value(key, field, random, into);
            let length = (into.len() - at - 4) as u32;
            into[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    /// Appends a new value of one field.
    pub(super) fn value(&self, key: &[u8], field: usize, random: &mut Random, into: &mut Vec<u8>) {
        let length = self.lengths.draw(random) as usize;
        if self.integrity {
            integrity(key, &self.names[field], length, into);
        } else {
            fill(length, random, into);
        }
    }

    /// Mean size of a record in bytes.
    pub(super) fn mean_bytes(&self) -> f64 {
        let names: usize = self.names.iter().map(|name| name.len() + 8).sum();
        names as f64 + self.names.len() as f64 * self.lengths.mean()
    }

    /// Whether a record that was read holds what was written.
    pub(super) fn is_intact(&self, key: &[u8], record: &[u8], scratch: &mut Vec<u8>) -> bool {
        let Ok(cells) = fields(record).collect::<Result<Vec<_>, _>>() else { return false };
        !cells.is_empty()
            && cells.iter().all(|cell| {
                scratch.clear();
                let name = String::from_utf8_lossy(cell.name);
                integrity(key, &name, cell.value.len(), scratch);
                scratch == cell.value
            })
    }
}

fn put_length(length: usize, into: &mut Vec<u8>) {
    into.extend_from_slice(&(length as u32).to_be_bytes());
}

/// One field in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell<'r> {
    pub(super) name: &'r [u8],
    pub(super) value: &'r [u8],
}

/// A record with an invalid layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// The fields of a record in order.
pub(super) fn fields(mut record: &[u8]) -> impl Iterator<Item = Result<Cell<'_>, Malformed>> {
    std::iter::from_fn(move || {
        if record.is_empty() {
            return None;
        }
        let cell = split_prefixed(&mut record)
            .and_then(|name| split_prefixed(&mut record).map(|value| Cell { name, value }))
            .ok_or(Malformed);
        if cell.is_err() {
            record = &[];
        }
        Some(cell)
    })
}

/// Splits off a length-prefixed value.
fn split_prefixed<'r>(record: &mut &'r [u8]) -> Option<&'r [u8]> {
    let (length, rest) = record.split_first_chunk::<4>()?;
    let (bytes, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *record = rest;
    Some(bytes)
}

/// Copies a record with new values for some fields: an existing field keeps its position, a new one
/// is appended.
pub(super) fn replace(
    record: &[u8],
    new: &[(&[u8], &[u8])],
    into: &mut Vec<u8>,
) -> Result<(), Malformed> {
    into.clear();
    let mut put = |name: &[u8], value: &[u8]| {
        put_length(name.len(), into);
        into.extend_from_slice(name);
        put_length(value.len(), into);
        into.extend_from_slice(value);
    };
    let mut replaced = 0u64;
    for cell in fields(record) {
        let cell = cell?;
        let index = new.iter().position(|(name, _)| *name == cell.name);
        put(cell.name, index.map_or(cell.value, |index| new[index].1));
        replaced |= index.map_or(0, |index| 1u64.checked_shl(index as u32).unwrap_or(0));
    }
    for (index, (name, value)) in new.iter().enumerate() {
        let exists = index < 64 && replaced & (1 << index) != 0
            || index >= 64 && fields(record).flatten().any(|cell| cell.name == *name);
        if !exists {
            put(name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
