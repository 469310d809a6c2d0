//! What is known of the running kernel.

use assay_audit::{KnownBy, Sign, known_of};
use assay_kernel::{Root, btf};
use serde::Serialize;

/// Something that is known of the running kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownFact {
    /// Its code.
    pub code: &'static str,
    /// What the kernel does.
    pub sentence: &'static str,
    /// `version` (its distribution may have mended it) or `types` (its own types show it).
    pub known_by: &'static str,
    /// What of Assay shows it.
    pub shown_by: &'static str,
    /// Commits and documents.
    pub source: &'static str,
}

/// What is known of the kernel of this release, whose types are below `root`.
///
/// ```
/// let known = assay_session::known_facts(&assay_kernel::Root::at("/nowhere".as_ref()), "6.18.44");
/// assert!(known.iter().any(|fact| fact.code == "A-KERNEL-REWEIGHT"));
/// ```
#[must_use]
pub fn known_facts(root: &Root, release: &str) -> Vec<KnownFact> {
    let known = known_of(release, |sign| shares_place(root, sign)).into_iter();
    known
        .map(|(known, by)| KnownFact {
            code: known.code,
            sentence: known.sentence,
            known_by: match by {
                KnownBy::Version => "version",
                KnownBy::Sign => "types",
            },
            shown_by: known.shown_by,
            source: known.source,
        })
        .collect()
}

/// Whether the members share their place; `None` if the kernel lacks one, or has no types.
pub(crate) fn shares_place(root: &Root, sign: &Sign) -> Option<bool> {
    match btf::member_offsets(root, sign.structure, sign.members).ok()? {
        [Some(one), Some(other)] => Some(one == other),
        _ => None,
    }
}

pub(super) fn lines(known: &[KnownFact]) -> Vec<String> {
    let mut lines = vec!["what is known of this kernel".to_owned()];
    if known.is_empty() {
        lines.push("  nothing: no entry of the table has its version".to_owned());
    }
    for fact in known {
        let by = if fact.known_by == "types" { "by its types" } else { "by its version" };
        lines.push(format!("  {:<18} {}", fact.code, fact.sentence));
        lines.push(format!("  {:<18} known {by}; shown by {}; {}", "", fact.shown_by, fact.source));
    }
    lines
}
