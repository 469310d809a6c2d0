//! The answer of `assay exec --quiet-check` for people.

use assay_judge::verdict::wording::margin;
use assay_judge::verdict::{Check, Validity};

/// The answer in one line, then every check with what it saw, failed ones first.
#[must_use]
pub fn validity_text(validity: &Validity, bold: bool) -> String {
    let strong = |word: &str| if bold { format!("\x1b[1m{word}\x1b[0m") } else { word.to_owned() };
    let first = match validity.is_valid() {
        true => format!(
            "{}: nothing from outside took more than {} of its CPUs, or disturbed it otherwise",
            strong("valid"),
            margin(validity.within)
        ),
        false => format!("{}: its numbers prove nothing", strong("void")),
    };
    let mut checks: Vec<&Check> = validity.checks.iter().collect();
    checks.sort_by_key(|check| check.ok);
    let lines = checks.into_iter().map(|check| {
        let mark = if check.ok { "" } else { "FAILED: " };
        format!("  {:<10} {mark}{}", check.check, check.evidence)
    });
    [first].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}
