//! All changes of the host, and whether they were restored.

use assay_host::facts::Available;
use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Change, Manifest};
use assay_sys::escape::page::{Rows, Section, Tag, Tone};

use crate::number::NONE;

/// So many changes are shown at once.
const SHOWN: usize = 24;

pub(super) fn section(manifest: &Manifest, judgement: &Judgement) -> Section {
    let changes = &manifest.changes;
    let (class, text) = match judgement.restored.or(manifest.restored) {
        Some(true) => ("note fine", "Restored: yes. The host was restored."),
        Some(false) => (
            "note warning",
            "Restored: no. The host was not restored completely. Run `assay restore`; it restores the changes listed \
             below as not restored.",
        ),
        None => (
            "note warning",
            "Restored: not known. The run did not record whether the host was restored. Run `assay restore`: it does \
             nothing if nothing is left to restore.",
        ),
    };
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
    let table = Rows::new(changes)
        .prose("change", |change: &Change| change.what.clone())
        .left("before", 0, |change| or_none(&change.before))
        .left("set", 0, |change| or_none(&change.set))
        .left("afterwards", 0, afterwards);
    let remaining =
        changes.iter().filter(|change| change.restored != Available::Value(true)).count();
    Section::new("changes", "Changed and restored", |page| {
        page.styled(class, text);
        match changes.len() {
            0 => page.styled("aside", "Nothing was changed on this host."),
            1..=SHOWN => page.table(table),
            all => {
                let left = if remaining > 0 {
                    format!(", {remaining} not restored")
                } else {
                    String::new()
                };
                page.fold(format!("All {all} changes{left}"), remaining > 0, |page| {
                    page.table(table);
                });
            }
        }
    })
    .listed("Changes")
}

fn afterwards(change: &Change) -> Tag {
    match &change.restored {
        Available::Value(true) => Tag::new(Tone::Good, "\u{2713}", "restored"),
        Available::Value(false) => Tag::new(Tone::Bad, "\u{2717}", "left as set"),
        Available::NotAvailable(reason) => Tag::new(Tone::Bad, "\u{2717}", reason.as_str()),
    }
}
