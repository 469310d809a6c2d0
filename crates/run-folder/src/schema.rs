//! Which manifests this version reads, and what to say of those that it does not.

use std::collections::HashSet;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::error::Error;
use crate::manifest::Manifest;

/// The version of the run folder's format that this version writes, and the newest that it reads.
pub const SCHEMA: u32 = 1;

/// The oldest that it reads.
const OLDEST: u32 = 1;

/// What every version of the format says of itself.
#[derive(Deserialize)]
struct Origin {
    schema: Option<u32>,
    assay: Option<String>,
}

/// Reads the text of a manifest. The version is looked at first: a newer format may lack what this
/// one asks for, and "missing field" would send its reader the wrong way.
pub fn parse(text: &str, path: &Path) -> Result<Manifest, Error> {
    let origin: Origin = serde_json::from_str(text).map_err(|cause| damaged(path, &cause))?;
    check(&origin, path)?;
    let manifest: Manifest = serde_json::from_str(text).map_err(|cause| damaged(path, &cause))?;
    let mut known = HashSet::new();
    for repeat in manifest.trials.iter().flat_map(|trial| &trial.repeats) {
        check_samples(&repeat.samples, path)?;
        if !known.insert(&repeat.samples) {
            let cause =
                format!("two repeats are said to have their samples in `{}`", repeat.samples);
            return Err(Error::new("read", path, &cause).with_hint(MADE_TO_HARM));
        }
    }
    Ok(manifest)
}

/// Refuses a folder of samples that is not one in `samples/`.
pub(crate) fn check_samples(name: &str, path: &Path) -> Result<(), Error> {
    let mut parts = Path::new(name).components();
    let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    if is_name && !name.ends_with('/') {
        return Ok(());
    }
    let cause =
        format!("its samples are said to be in `{name}`, which leads out of the run folder");
    Err(Error::new("read", path, &cause).with_hint(MADE_TO_HARM))
}

const MADE_TO_HARM: &str = "the manifest was damaged, or made to harm";

/// Refuses another format.
fn check(origin: &Origin, path: &Path) -> Result<(), Error> {
    let by = origin.assay.as_ref().map_or_else(String::new, |by| format!(", by assay {by}"));
    let Some(schema) = origin.schema else {
        return Err(Error::new(
            "read",
            path,
            &"it names no schema, as every manifest of a run does",
        )
        .with_hint("name the folder of a run, such as runs/<time>-<study>"));
    };
    let read = if OLDEST == SCHEMA { format!("{SCHEMA}") } else { format!("{OLDEST} to {SCHEMA}") };
    if schema > SCHEMA {
        let cause = format!("it is of schema {schema}{by}, newer than this version reads ({read})");
        return Err(Error::new("read", path, &cause)
            .with_hint("use the version that recorded the run, or a later one"));
    }
    if schema < OLDEST {
        let cause = format!("it is of schema {schema}{by}, older than this version reads ({read})");
        return Err(
            Error::new("read", path, &cause).with_hint("use the version that recorded the run")
        );
    }
    Ok(())
}

/// A text that is no JSON, or not of this shape. A manifest is replaced whole, so that one that ends
/// in the middle was cut by whoever copied it or by the disk.
fn damaged(path: &Path, cause: &serde_json::Error) -> Error {
    if cause.is_eof() {
        let cause = format!("it ends in the middle, at line {}", cause.line());
        return Error::new("read", path, &cause)
            .with_hint("a copy or a disk lost the rest of it; copy the run folder again");
    }
    Error::new("read", path, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, Path::new("run/manifest.json")).unwrap_err().to_string()
    }

    #[test]
    fn a_newer_format_names_both_versions_and_who_can_read_it() {
        let text = error(r#"{"schema": 99, "assay": "7.0.0", "strange": []}"#);
        assert!(text.contains("schema 99, by assay 7.0.0, newer"), "{text}");
        assert!(text.contains("hint: use the version that recorded"), "{text}");
    }

    #[test]
    fn an_older_format_is_refused_as_such() {
        assert!(error(r#"{"schema": 0}"#).contains("older than this version reads (1)"));
    }

    #[test]
    fn samples_lie_in_the_run_folder() {
        for name in ["/etc", "../other", "a/b", "", ".", "..", "a/"] {
            assert!(check_samples(name, Path::new("m")).is_err(), "{name}");
        }
        assert!(check_samples("trial-00-repeat-00", Path::new("m")).is_ok());
    }

    #[test]
    fn a_manifest_that_ends_in_the_middle_is_said_to() {
        let text = error("{\"schema\": 1,\n \"study\": \"io-w");
        assert!(text.contains("ends in the middle, at line 2"), "{text}");
        assert!(error("").contains("ends in the middle"));
    }

    #[test]
    fn another_document_is_no_manifest() {
        assert!(error("{\"study\": \"x\"}").contains("names no schema"));
        assert!(error("not json").contains("cannot read run/manifest.json"));
        assert!(error("{\"schema\": 1}").contains("missing field"));
    }
}
