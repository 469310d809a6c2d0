//! All changes of the host, and whether they were restored.

use assay_host::facts::Available;
use assay_judge::verdict::Judgement;
use assay_record::run_folder::{Change, Manifest};
use assay_sys::escape::page::{Rows, Section, Tag, Tone};

use crate::number::NONE;

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
    let mut table = Rows::new(changes).prose("change", |change: &Change| change.what.clone());
    if changes.iter().any(|change| change.before.is_some() || change.set.is_some()) {
        table =
            table
                .left("before", 0, |change| or_none(&change.before))
                .left("set", 0, |change| or_none(&change.set));
    }
    let table = table.left("afterwards", 0, afterwards);
    let restored = |change: &&Change| change.restored == Available::Value(true);
    let line = match changes.iter().filter(restored).count() {
        _ if changes.is_empty() => "none".to_owned(),
        all if all == changes.len() => format!("{all}, all restored"),
        some => format!("{some} of {} restored", changes.len()),
    };
    let is_restored = judgement.restored.or(manifest.restored) == Some(true);
    let section = Section::new("changes", "Changes", |page| {
        page.styled(class, text);
        match changes.is_empty() {
            true => page.styled("aside", "Nothing was changed on this host."),
            false => page.table(table),
        }
    });
    // What is left on the host is not hidden.
    if is_restored { section.folded(line) } else { section }
}

fn afterwards(change: &Change) -> Tag {
    match &change.restored {
        Available::Value(true) => Tag::new(Tone::Good, "\u{2713}", "restored"),
        Available::Value(false) => Tag::new(Tone::Bad, "\u{2717}", "left as set"),
        Available::NotAvailable(reason) => Tag::new(Tone::Bad, "\u{2717}", reason.as_str()),
    }
}
