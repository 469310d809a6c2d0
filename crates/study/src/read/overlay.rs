//! `[published]`: keys of the study itself, with the sizes and times of the document that it repeats.

use toml::de::{DeTable, DeValue};

/// The name of the table.
pub(crate) const PUBLISHED: &str = "published";

/// Puts the keys of `[published]` in place of the same keys of the study: tables key by key, everything
/// else as a whole.
pub(super) fn apply(root: &mut DeTable<'_>) {
    if let Some(DeValue::Table(overlay)) = root.remove(PUBLISHED).map(toml::Spanned::into_inner) {
        merge(root, overlay);
    }
}

fn merge<'d>(into: &mut DeTable<'d>, overlay: DeTable<'d>) {
    for (key, value) in overlay {
        let existing = into.get_mut(&key).map(toml::Spanned::get_mut);
        match (existing, value) {
            (Some(DeValue::Table(inner)), value) if value.get_ref().is_table() => {
                if let DeValue::Table(overlay) = value.into_inner() {
                    merge(inner, overlay);
                }
            }
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
