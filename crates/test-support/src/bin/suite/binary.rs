//! The test binaries, from the messages of cargo's build.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A test binary.
#[derive(Debug)]
pub(crate) struct Binary {
    pub(crate) path: PathBuf,
    /// The folder of its crate, the working directory of its tests.
    pub(crate) folder: PathBuf,
    /// The crate's folder, with the name of the target if its tests are not beside its source: `judge`,
    /// `judge/judge`.
    pub(crate) name: String,
}

impl Binary {
    /// The name of its crate's folder: `judge`.
    pub(crate) fn crate_name(&self) -> &str {
        self.name.split('/').next().unwrap_or(&self.name)
    }

    /// Parses a line that cargo printed about a built artifact.
    fn read(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let path = PathBuf::from(message["executable"].as_str()?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        let crate_name = folder.file_name()?.to_string_lossy().into_owned();
        let name = match message["target"]["kind"][0].as_str()? {
            "test" => format!("{crate_name}/{}", message["target"]["name"].as_str()?),
            _ => crate_name,
        };
        Some(Self { path, folder, name })
    }
}

/// Binaries with long computing tests, which begin first, so that none of them is left alone at the end. Most
/// tests of the host are in that of the command line: they can begin while others compute.
const FIRST: [&str; 5] = ["cli/assay", "host", "load", "report/report", "load/load"];

/// All test binaries.
pub(crate) fn all(built: &str) -> Vec<Binary> {
    let mut binaries: Vec<Binary> = built.lines().filter_map(Binary::read).collect();
    let rank = |binary: &Binary| FIRST.iter().position(|name| binary.name == *name);
    binaries.sort_by_key(|binary| rank(binary).unwrap_or(FIRST.len()));
    binaries
}
