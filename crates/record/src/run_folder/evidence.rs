//! Evidence from inside the kernel: where each group waited in a repeat. A document of its own, since it is
//! larger than everything else that is recorded of the repeat.

use std::path::PathBuf;
use std::sync::Arc;

use assay_blame::Evidence;

use crate::run_folder::budget::Budget;
use crate::run_folder::error::Error;
use crate::run_folder::folder::RunFolder;
use crate::run_folder::json::parse_json;
use crate::run_folder::repeat::RepeatRecord;

/// The folder of these documents in the run folder.
const FOLDER: &str = "evidence";

impl RunFolder {
    /// Writes the evidence of the repeat with these samples.
    pub fn write_evidence(&self, samples: &str, evidence: &Evidence) -> Result<(), Error> {
        self.dir().make_dir(FOLDER)?;
        let name = file(samples);
        let text = serde_json::to_string(evidence)
            .map_err(|cause| Error::refused("write", &self.file(&name), &cause))?;
        self.dir().replace(&name, text.as_bytes())
    }

    /// Reads the evidence of a repeat that has some; the text is charged to the budget of the run. The reason is
    /// noted in the record if the document is lost.
    pub(crate) fn read_evidence(
        &self,
        repeat: &mut RepeatRecord,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        let Some(record) = &mut repeat.evidence else { return Ok(()) };
        // The name of the samples was checked when the manifest was read.
        let name = file(&repeat.samples);
        if !self.has(&name) {
            let why = format!("{} is lost", name.display());
            repeat.not_available.insert(FOLDER.to_owned(), why);
            return Ok(());
        }
        let text = self.text(&name)?;
        let path = self.file(&name);
        budget.take_evidence(text.len(), &path)?;
        let evidence =
            parse_evidence(&text).map_err(|cause| Error::refused("read", &path, &cause))?;
        record.document = Some(Arc::new(evidence));
        Ok(())
    }
}

/// The evidence of the repeat with these samples.
fn file(samples: &str) -> PathBuf {
    PathBuf::from(FOLDER).join(format!("{samples}.json"))
}

/// Parses evidence of unknown origin.
pub fn parse_evidence(text: &str) -> Result<Evidence, String> {
    let evidence: Evidence = parse_json(text).map_err(|cause| cause.to_string())?;
    if evidence.schema > assay_blame::EVIDENCE_SCHEMA {
        return Err(format!(
            "it is of schema {}, newer than this version reads ({})",
            evidence.schema,
            assay_blame::EVIDENCE_SCHEMA
        ));
    }
    Ok(evidence)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_host::facts::Available;
    use assay_sys::files::Trust;

    use super::*;
    use crate::run_folder::repeat::EvidenceRecord;
    use crate::run_folder::run::Run;

    const MANIFEST: &str = include_str!("../../../test-support/faults/one-cpu/manifest.json");
    const SAMPLES: &str = "trial-00-repeat-00";

    fn evidence() -> Evidence {
        let none = || Available::NotAvailable("no type information".to_owned());
        Evidence {
            schema: assay_blame::EVIDENCE_SCHEMA,
            seconds: 2.5,
            cpu: Available::Value(Vec::new()),
            disks: none(),
        }
    }

    /// A run with evidence of its only repeat.
    fn run() -> (tempfile::TempDir, RunFolder) {
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(&place.path().join("run"), Trust::Checked).unwrap();
        let mut manifest =
            crate::run_folder::parse_manifest(MANIFEST, "manifest.json".as_ref()).unwrap();
        manifest.trials[0].repeats.truncate(1);
        let repeat = &mut manifest.trials[0].repeats[0];
        assert_eq!(repeat.samples, SAMPLES);
        let document = Some(Arc::new(evidence()));
        repeat.evidence = Some(EvidenceRecord { cpu_s: Some(0.25), document });
        folder.write_manifest(&manifest).unwrap();
        folder.write_evidence(SAMPLES, &evidence()).unwrap();
        (place, folder)
    }

    fn load(folder: &RunFolder) -> Result<RepeatRecord, Error> {
        Ok(Run::from_folder(folder)?.manifest.trials[0].repeats[0].clone())
    }

    #[test]
    fn a_run_is_loaded_with_the_evidence_that_its_manifest_lists() {
        let (_place, folder) = run();
        let text = folder.text("manifest.json").unwrap();
        assert!(
            text.contains("\"cpu_s\": 0.25") && !text.contains("no type information"),
            "{text}"
        );
        let repeat = load(&folder).unwrap();
        assert_eq!(repeat.evidence(), Some(&evidence()));
        assert_eq!(repeat.evidence.as_ref().unwrap().cpu_s, Some(0.25));
        assert_eq!(repeat.not_available.get("evidence"), None);
    }

    #[test]
    fn lost_evidence_is_a_reason_and_not_an_error() {
        let (_place, folder) = run();
        fs::remove_dir_all(folder.file("evidence")).unwrap();
        let repeat = load(&folder).unwrap();
        assert_eq!(repeat.evidence(), None);
        let why = &repeat.not_available["evidence"];
        assert!(why.contains("evidence/trial-00-repeat-00.json is lost"), "{why}");
    }

    #[test]
    fn damaged_newer_and_linked_evidence_is_refused() {
        let (_place, folder) = run();
        let file = folder.file("evidence/trial-00-repeat-00.json");
        let error = |text: &str| {
            fs::write(&file, text).unwrap();
            load(&folder).unwrap_err().to_string()
        };
        let good = serde_json::to_string(&evidence()).unwrap();
        assert!(error(&good[..40]).contains("trial-00-repeat-00.json: EOF"));
        assert!(error(&good.replace("\"schema\":1", "\"schema\":9")).contains("schema 9, newer"));
        fs::remove_file(&file).unwrap();
        symlink("/etc/hostname", &file).unwrap();
        let repeat = load(&folder).unwrap();
        assert!(repeat.evidence().is_none() && repeat.not_available.contains_key("evidence"));
    }

    #[test]
    fn all_evidence_of_a_run_shares_one_budget() {
        let mut budget = Budget::default();
        let path = std::path::Path::new("evidence/x.json");
        budget.take_evidence(200 << 20, path).unwrap();
        let error = budget.take_evidence(100 << 20, path).unwrap_err().to_string();
        assert!(error.contains("evidence/x.json") && error.contains("ASSAY_UNLIMITED"), "{error}");
    }
}
