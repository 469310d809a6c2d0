//! Why the run of a task has no verdict: the document that the run hands over.

use std::fs::File;
use std::os::unix::fs::FileExt;

use assay_run_folder::parse_json;
use assay_verdict::RunErrors;

/// Bytes that are read, and signs of the reason that are recorded.
const MOST_ERRORS: usize = 1 << 20;
const LONGEST_REASON: usize = 1000;

/// Exit codes of docs/cli.md: the three verdicts, and an interruption.
const VERDICTS: [i32; 3] = [0, 1, 3];
const INTERRUPTED: i32 = 130;

/// The first error of a run that ended without a verdict, without its hint.
pub(crate) fn reason(code: i32, errors: &File) -> Option<String> {
    if VERDICTS.contains(&code) {
        return None;
    }
    let first = read_errors(errors).and_then(|document| document.errors.into_iter().next());
    let line = first.as_deref().and_then(|text| text.lines().next());
    Some(match line {
        Some(line) => line.chars().take(LONGEST_REASON).collect(),
        None if code == INTERRUPTED => "its run was interrupted".to_owned(),
        None => format!("its run ended with exit code {code} and without an error; see stderr.txt"),
    })
}

/// The document that the run has written into its descriptor; `None` if it is missing or damaged.
fn read_errors(file: &File) -> Option<RunErrors> {
    let mut bytes = vec![0; MOST_ERRORS];
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], length as u64).ok()? {
            0 => break,
            count => length += count,
        }
    }
    let document: RunErrors = parse_json(std::str::from_utf8(&bytes[..length]).ok()?).ok()?;
    (document.schema == RunErrors::SCHEMA).then_some(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_first_error_of_the_document() {
        let place = tempfile::tempdir().unwrap();
        let file = |text: &str| {
            let path = place.path().join("errors.json");
            std::fs::write(&path, text).unwrap();
            File::open(path).unwrap()
        };
        let document = RunErrors {
            schema: RunErrors::SCHEMA,
            code: 4,
            errors: vec!["no disk\n  hint: name one".to_owned(), "later".to_owned()],
        };
        let text = serde_json::to_string(&document).unwrap();
        assert_eq!(reason(4, &file(&text)).unwrap(), "no disk");
        assert_eq!(reason(3, &file(&text)), None, "it has a verdict");
        let endless = "x".repeat(2 * MOST_ERRORS);
        for damaged in ["", "error: no disk", &text.replace(":1", ":2"), &endless] {
            let why = reason(4, &file(damaged)).unwrap();
            assert!(why.contains("exit code 4") && why.contains("stderr.txt"), "{why}");
        }
    }
}
