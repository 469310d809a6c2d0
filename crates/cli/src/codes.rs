//! What a code means: of a cause, a rule of `assay audit`, something known of a kernel, or a mistake in a study file.

use assay_audit::KNOWN;
use assay_cause::cause_docs::{cause_entry, cause_text};
use assay_cause::causes::catalogue;
use assay_sys::closest;
use assay_sys::exit::Error;

/// What each verdict means, and what to do about it, in a table.
const VERDICTS: &str = include_str!("../../../docs/guide/reading-a-verdict.md");

/// The mistakes that study files can have, each below a heading with its code.
const DIAGNOSTICS: &str = include_str!("../../../docs/reference/diagnostics.md");

/// All that is known of a code, for a terminal.
///
/// # Errors
///
/// Usage: there is no such code. The hint names the closest one.
pub(crate) fn explain_code(code: &str) -> Result<String, Error> {
    let code = code.to_ascii_uppercase();
    let text = cause_entry(&code)
        .map(cause_text)
        .or_else(|| assay_audit::find(&code).map(assay_audit::explain))
        .or_else(|| KNOWN.iter().find(|known| known.code == code).map(ToString::to_string))
        .or_else(|| diagnostic(&code))
        .or_else(|| verdict(&code.to_ascii_lowercase()));
    text.ok_or_else(|| {
        let all = codes();
        let hint = match closest(&code, all.iter().copied()) {
            Some(similar) => format!("did you mean `{similar}`?"),
            None => format!("one of {}", all.join(", ")),
        };
        Error::usage(format!("unknown code `{code}`\n  hint: {hint}"))
    })
}

/// A row of the table of verdicts.
fn verdict(word: &str) -> Option<String> {
    let begin = format!("| **{word}** | ");
    let row = VERDICTS.lines().find_map(|line| line.strip_prefix(&begin))?;
    let (meaning, remedy) = row.trim_end_matches(" |").split_once(" | ")?;
    Some(format!("{word}: {meaning}\n  what to do: {}", remedy.replace('`', "")))
}

/// Every code.
fn codes() -> Vec<&'static str> {
    let rules = assay_audit::all().map(|rule| rule.code);
    let is_rule = |code: &str| assay_audit::find(code).is_some();
    let known = KNOWN.iter().map(|known| known.code).filter(|code| !is_rule(code));
    let mistakes =
        DIAGNOSTICS.lines().filter_map(|line| Some(line.strip_prefix("## ")?.split_once(": ")?.0));
    catalogue().map(|entry| entry.code).chain(rules).chain(known).chain(mistakes).collect()
}

fn diagnostic(code: &str) -> Option<String> {
    let section = DIAGNOSTICS.split("\n## ").skip(1).find(|section| section.starts_with(code))?;
    Some(format!(
        "{}\n",
        section.trim_end().replace("**Remedy.**", "Remedy:").replace("*Warning.*", "Warning:")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained_in_letters_of_either_case() {
        let all = codes();
        assert!(all.len() > 120, "{}", all.len());
        for code in all {
            let text = explain_code(&code.to_lowercase()).unwrap();
            assert!(text.starts_with(&format!("{code}: ")) && text.ends_with('\n'), "{text}");
            assert!(text.len() > 2 * code.len() + 40, "{text}");
        }
    }
}
