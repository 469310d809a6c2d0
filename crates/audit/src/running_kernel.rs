//! What is known of the running kernel.

use std::cell::OnceCell;

use assay_sys::kernel::parse::symbols::has_function;
use assay_sys::kernel::{Root, btf};
use serde::Serialize;

use crate::{KnownBy, Sign, Signs, known_of};

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
#[must_use]
pub fn known_facts(root: &Root, release: &str) -> Vec<KnownFact> {
    let known = known_of(release, &SignsBelow::new(root)).into_iter();
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

/// Signs of the kernel whose files are below a root.
pub(crate) struct SignsBelow<'r> {
    root: &'r Root,
    functions: OnceCell<String>,
}

impl<'r> SignsBelow<'r> {
    pub(crate) const fn new(root: &'r Root) -> Self {
        Self { root, functions: OnceCell::new() }
    }
}

impl Signs for SignsBelow<'_> {
    fn shares_place(&self, sign: &Sign) -> Option<bool> {
        match btf::member_offsets(self.root, sign.structure, sign.members).ok()? {
            [Some(one), Some(other)] => Some(one == other),
            _ => None,
        }
    }

    fn has_function(&self, names: &[&str]) -> bool {
        const MOST: u64 = 64 << 20;
        let read = || self.root.read_at_most("/proc/kallsyms", MOST).unwrap_or_default();
        has_function(self.functions.get_or_init(read), names)
    }
}

/// The same as lines of text.
#[must_use]
pub fn known_lines(known: &[KnownFact]) -> Vec<String> {
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
