//! What a study may hold, checked before its parts are read: a file from elsewhere costs its reader neither gigabytes nor
//! minutes.

use std::ops::Range;

use assay_sys::diagnostic::Diagnostic;
use toml::Spanned;
use toml::de::DeValue;

use crate::code;
use crate::combination::MOST_TRIALS;

/// The longest study file, in bytes.
pub const MOST_BYTES: u64 = 1 << 20;

/// Most entries of a list or table. Names in it are compared with each other.
const MOST_ENTRIES: usize = 4096;

/// The longest text, in bytes. The kernel takes 128 KiB as an argument of a program (MAX_ARG_STRLEN).
const LONGEST: usize = 64 << 10;

/// Most mistakes that are reported.
const MOST_FINDINGS: usize = 100;

/// The first value that is too large.
pub(super) fn too_large(root: &DeValue<'_>) -> Option<Diagnostic> {
    within(root, 0..0, MOST_ENTRIES)
}

fn within(value: &DeValue<'_>, span: Range<usize>, most: usize) -> Option<Diagnostic> {
    let too_many = |count: usize| {
        let message = format!("{count} entries are too many for a study");
        (count > most).then(|| complaint(message, span.clone(), &format!("at most {most} entries")))
    };
    let inner = |one: &Spanned<DeValue<'_>>, most| within(one.get_ref(), one.span(), most);
    match value {
        DeValue::String(text) if text.len() > LONGEST => {
            let message = format!("a text of {} bytes is too long for a study", text.len());
            Some(complaint(message, span, &format!("at most {LONGEST} bytes")))
        }
        DeValue::Array(list) => too_many(list.len())
            .or_else(|| list.iter().find_map(|element| inner(element, MOST_ENTRIES))),
        DeValue::Table(table) => too_many(table.len()).or_else(|| {
            table.iter().find_map(|(key, one)| match (key.get_ref().as_ref(), one.get_ref()) {
                // Their lists are checked as trials, which they multiply to.
                ("factors", DeValue::Table(factors)) => {
                    factors.values().find_map(|levels| inner(levels, MOST_TRIALS))
                }
                _ => inner(one, MOST_ENTRIES),
            })
        }),
        _ => None,
    }
}

fn complaint(message: String, span: Range<usize>, expected: &str) -> Diagnostic {
    Diagnostic::error(code::TOO_LARGE, message)
        .at(span, format!("expected {expected}"))
        .hint("split the study")
}

/// Keeps the first mistakes, and says how many others there are.
pub(super) fn shorten(findings: &mut Vec<Diagnostic>) {
    let more = findings.len().saturating_sub(MOST_FINDINGS);
    if more > 0 {
        findings.truncate(MOST_FINDINGS);
        let message = format!("{more} more mistakes are not shown");
        findings.push(Diagnostic::error(code::TOO_LARGE, message).hint("correct these first"));
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    /// The first mistakes of a study with these lines.
    fn mistakes(lines: &str) -> Vec<String> {
        let text = format!("title = \"x\"\n{lines}\n[[groups]]\nname = \"a\"\n");
        let (study, findings) = parse("x", &text, &|_| Err("no file".to_owned()));
        assert!(study.is_none());
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn what_is_too_large_is_the_only_mistake_and_nothing_is_expanded() {
        let list = ["1"; 5000].join(",");
        assert_eq!(
            mistakes(&format!("question = [{list}]")),
            ["5000 entries are too many for a study"]
        );
        let text = "x".repeat(70_000);
        let long = mistakes(&format!("question = \"{text}\""));
        assert_eq!(long, ["a text of 70000 bytes is too long for a study"]);
        // 10^12 of them.
        let inner = "count = 10000\n[[groups.groups]]\nname = \"b\"\ncount = 10000\n";
        let deep = inner.to_owned() + &inner.replace("groups.groups", "groups.groups.groups");
        let many = mistakes(&format!("[[groups]]\nname = \"outer\"\n{deep}"));
        assert!(many.contains(&"its trials have more than 100000 groups".to_owned()), "{many:?}");
        let levels = (0..1000).map(|level| level.to_string()).collect::<Vec<_>>().join(",");
        let trials = mistakes(&format!("[factors]\na = [{levels}]\nb = [{levels}]\n"));
        assert!(trials.contains(&"the factors combine to more than 10000 trials".to_owned()));
    }

    #[test]
    fn of_many_mistakes_the_first_hundred_are_shown() {
        let lines: String = (0..4000).map(|index| format!("mistake{index} = 1\n")).collect();
        let all = mistakes(&lines);
        assert_eq!(all.len(), 101);
        assert!(all[0].contains("mistake0"), "{}", all[0]);
        assert!(all[100].ends_with(" more mistakes are not shown"), "{}", all[100]);
    }
}
