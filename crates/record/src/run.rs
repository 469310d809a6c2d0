//! A recorded run, loaded whole.

use std::path::Path;

use crate::error::Error;
use crate::folder::RunFolder;
use crate::manifest::Manifest;
use crate::stream::tables_in;
use crate::table::Table;

/// Everything that judging and reporting need.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The manifest.
    pub manifest: Manifest,
    /// Tables of samples by trial and repeat, aligned with the manifest. A repeat whose samples
    /// are lost has none.
    pub samples: Vec<Vec<Vec<Table>>>,
}

impl Run {
    /// Loads a run folder.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::of(&RunFolder::open(path)?)
    }

    /// Loads a run folder that is open.
    pub fn of(folder: &RunFolder) -> Result<Self, Error> {
        let manifest = folder.read_manifest()?;
        let mut samples = Vec::with_capacity(manifest.trials.len());
        for trial in &manifest.trials {
            let mut repeats = Vec::with_capacity(trial.repeats.len());
            for repeat in &trial.repeats {
                let samples = folder.samples(&repeat.samples)?;
                repeats.push(samples.map_or_else(|| Ok(Vec::new()), |dir| tables_in(&dir))?);
            }
            samples.push(repeats);
        }
        Ok(Self { manifest, samples })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_files::Dir;

    use super::*;

    const MANIFEST: &str = include_str!("../../testbed/faults/one-cpu/manifest.json");

    /// A run folder from elsewhere, with its samples.
    fn run() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("manifest.json"), MANIFEST).unwrap();
        fs::create_dir_all(place.path().join("samples/trial-00-repeat-00")).unwrap();
        assert!(Run::load(place.path()).is_ok());
        place
    }

    #[test]
    fn nothing_in_a_run_folder_is_followed_or_waited_for() {
        let place = run();
        let samples = place.path().join("samples/trial-00-repeat-00");
        let fifo = Dir::open(&samples).unwrap().make_fifo("io.arrows").unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("io.arrows: it is no regular file"), "{error}");
        drop(fifo);
        fs::remove_file(samples.join("io.arrows")).unwrap();
        symlink("/etc/passwd", samples.join("io.parquet")).unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("io.parquet: it is a link"), "{error}");

        let place = run();
        fs::remove_dir(place.path().join("samples/trial-00-repeat-00")).unwrap();
        symlink("/etc", place.path().join("samples/trial-00-repeat-00")).unwrap();
        let error = Run::load(place.path()).unwrap_err().to_string();
        assert!(error.contains("links are not followed"), "{error}");
    }

    #[test]
    fn a_manifest_names_no_samples_elsewhere() {
        let place = run();
        for elsewhere in ["/etc", "../../etc"] {
            let text = MANIFEST.replace("\"trial-00-repeat-00\"", &format!("\"{elsewhere}\""));
            fs::write(place.path().join("manifest.json"), text).unwrap();
            let error = Run::load(place.path()).unwrap_err().to_string();
            assert!(error.contains("leads out of the run folder"), "{error}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_an_error() {
        let place = run();
        let deep = format!("{{\"schema\": 1, \"x\": {}", "[".repeat(200_000));
        fs::write(place.path().join("manifest.json"), deep).unwrap();
        assert!(Run::load(place.path()).is_err());
        fs::write(place.path().join("manifest.json"), MANIFEST).unwrap();
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        fs::write(place.path().join("tune.json"), deep).unwrap();
        let folder = RunFolder::open(place.path()).unwrap();
        let error = folder.read_json::<serde_json::Value>("tune.json").unwrap_err().to_string();
        assert!(error.contains("recursion limit") && error.contains("tune.json"), "{error}");
    }
}
