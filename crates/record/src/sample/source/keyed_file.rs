//! Reads a file of keys and values into columns, in one read and one pass.

use assay_sys::kernel::{RereadFile, Root, keyed_lines};

/// A column, its key in the file, and its scale.
pub(crate) struct Key {
    /// The column.
    pub(crate) column: &'static str,
    /// The kernel's name for it.
    pub(crate) key: &'static str,
    /// 1, or 1024 for values in KiB.
    pub(crate) scale: u64,
}

/// A key without scaling.
pub(super) const fn count(column: &'static str, key: &'static str) -> Key {
    Key { column, key, scale: 1 }
}

/// A key in KiB, converted to bytes.
pub(super) const fn kib(column: &'static str, key: &'static str) -> Key {
    Key { column, key, scale: 1024 }
}

/// The open file.
pub(super) struct KeyedFile {
    file: RereadFile,
    names: Vec<&'static str>,
    scales: Vec<u64>,
    order: Vec<usize>,
}

impl KeyedFile {
    /// Opens the file and determines the order of its keys. Fails if it has none of them.
    pub(super) fn open(root: &Root, path: &str, keys: &[Key]) -> Result<Self, String> {
        let file = root.open_reread(path).map_err(|error| error.to_string())?;
        let names: Vec<&'static str> = keys.iter().map(|key| key.key).collect();
        let mut buffer = Vec::new();
        let text = file.read(&mut buffer).map_err(|cause| format!("reading {path}: {cause}"))?;
        let order = keyed_lines::order(text, &names);
        if order.is_empty() {
            return Err(format!("{path} has none of the keys that are read from it"));
        }
        Ok(Self { file, names, scales: keys.iter().map(|key| key.scale).collect(), order })
    }

    /// The keys that this kernel's file lacks.
    pub(super) fn absent(&self) -> impl Iterator<Item = usize> {
        (0..self.names.len()).filter(|index| !self.order.contains(index))
    }

    /// Reads all keys into `values`; all are `None` if the file cannot be read.
    pub(super) fn read(&self, buffer: &mut Vec<u8>, values: &mut [Option<u64>]) {
        match self.file.read(buffer) {
            Ok(text) => keyed_lines::read(text, &self.names, &self.order, values),
            Err(_) => values.fill(None),
        }
        for (value, scale) in values.iter_mut().zip(&self.scales) {
            *value = value.and_then(|value| value.checked_mul(*scale));
        }
    }
}

/// Reasons for missing counters, by `source.column`.
pub(super) fn reasons(
    source: &str,
    path: &str,
    keys: &[Key],
    absent: impl Iterator<Item = usize>,
) -> Vec<(String, String)> {
    let keys = absent.filter_map(|index| keys.get(index));
    keys.map(|key| {
        let reason = format!("{path} of this kernel has no `{}`", key.key);
        (format!("{source}.{}", key.column), reason)
    })
    .collect()
}
