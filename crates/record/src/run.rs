//! A recorded run, loaded whole.

use std::path::Path;

use crate::error::Error;
use crate::folder::RunFolder;
use crate::manifest::Manifest;
use crate::stream::read_tables;
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
                let place = folder.dir().here().join("samples").join(&repeat.samples);
                repeats.push(if place.is_dir() { read_tables(&place)? } else { Vec::new() });
            }
            samples.push(repeats);
        }
        Ok(Self { manifest, samples })
    }
}
