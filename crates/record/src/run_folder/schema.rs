//! Versions of the manifest that this version reads, and errors for the others.

use std::collections::HashSet;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::run_folder::error::Error;
use crate::run_folder::json::parse_json;
use crate::run_folder::manifest::{Manifest, SCHEMA};

/// The oldest it reads.
const OLDEST: u32 = 1;

/// The fields common to all versions of the format.
#[derive(Deserialize)]
struct Origin {
    schema: Option<u32>,
    assay: Option<String>,
}

/// Parses a manifest. The version is checked first: a newer format may lack fields that this one requires,
/// and "missing field" would be a misleading error.
pub fn parse(text: &str, path: &Path) -> Result<Manifest, Error> {
    let origin: Origin = parse_json(text).map_err(|cause| damaged(path, &cause))?;
    check(&origin, path)?;
    let manifest: Manifest = serde_json::from_str(text).map_err(|cause| damaged(path, &cause))?;
    let mut samples_folders = HashSet::new();
    for repeat in manifest.trials.iter().flat_map(|trial| &trial.repeats) {
        check_samples(&repeat.samples, path)?;
        if !samples_folders.insert(&repeat.samples) {
            let cause = format!("two repeats name the same samples folder `{}`", repeat.samples);
            return Err(Error::refused("read", path, &cause).with_hint(MADE_TO_HARM));
        }
    }
    Ok(manifest)
}

/// Refuses a samples folder outside of `samples/`.
pub(crate) fn check_samples(name: &str, path: &Path) -> Result<(), Error> {
    let mut parts = Path::new(name).components();
    let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    if is_name && !name.ends_with('/') {
        return Ok(());
    }
    let cause = format!("its samples folder is `{name}`, which leads out of the run folder");
    Err(Error::refused("read", path, &cause).with_hint(MADE_TO_HARM))
}

const MADE_TO_HARM: &str = "the manifest was damaged, or crafted to do harm";

/// Refuses a manifest of another format.
fn check(origin: &Origin, path: &Path) -> Result<(), Error> {
    let by = origin.assay.as_ref().map_or_else(String::new, |by| format!(", by assay {by}"));
    let Some(schema) = origin.schema else {
        return Err(Error::refused(
            "read",
            path,
            "it has no field `schema`, which every manifest has",
        )
        .with_hint("name the folder of a run, such as runs/<time>-<study>"));
    };
    let read = if OLDEST == SCHEMA { format!("{SCHEMA}") } else { format!("{OLDEST} to {SCHEMA}") };
    if schema > SCHEMA {
        let cause = format!("it is of schema {schema}{by}, newer than this version reads ({read})");
        return Err(Error::refused("read", path, &cause)
            .with_hint("use the version that recorded the run, or a later one"));
    }
    if schema < OLDEST {
        let cause = format!("it is of schema {schema}{by}, older than this version reads ({read})");
        return Err(
            Error::refused("read", path, &cause).with_hint("use the version that recorded the run")
        );
    }
    Ok(())
}

/// A text that is not JSON, or of a different structure. A manifest is replaced atomically, so one that ends
/// in the middle was truncated by a copy or by the disk.
fn damaged(path: &Path, cause: &serde_json::Error) -> Error {
    if cause.is_eof() {
        let cause = format!("it ends in the middle, at line {}", cause.line());
        return Error::refused("read", path, &cause)
            .with_hint("a copy or a disk lost the rest of it; copy the run folder again");
    }
    Error::refused("read", path, cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, Path::new("run/manifest.json")).unwrap_err().to_string()
    }

    #[test]
    fn the_error_for_a_newer_format_names_both_versions_and_the_remedy() {
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
    fn a_truncated_manifest_is_reported_as_such() {
        let text = error("{\"schema\": 1,\n \"study\": \"io-w");
        assert!(text.contains("ends in the middle, at line 2"), "{text}");
        assert!(error("").contains("ends in the middle"));
    }

    #[test]
    fn another_document_is_not_a_manifest() {
        assert!(error("{\"study\": \"x\"}").contains("no field `schema`"));
        assert!(error("not json").contains("cannot read run/manifest.json"));
        assert!(error("{\"schema\": 1}").contains("missing field"));
    }
}
