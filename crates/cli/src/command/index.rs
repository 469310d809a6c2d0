//! The list of runs beside a run, `runs/index.html`.

use std::path::Path;

use assay_record::RunFolder;

use crate::exit::Code;
use crate::talk;

/// Brings the list of runs up to date, where the run lies in a folder that has one. A list that
/// cannot be written is no reason to fail a run that could.
pub(crate) fn update_beside(folder: &RunFolder) {
    let whole = folder.path().canonicalize();
    let Some(around) = whole.as_deref().ok().and_then(Path::parent) else { return };
    if !assay_share::belongs(around) {
        return;
    }
    if let Err(error) = assay_share::update_index(around) {
        talk::say(&format!("note: the list of runs: {error}"));
    }
}

/// Writes the list of all runs in a folder.
pub(crate) fn write(folder: &Path) -> Code {
    match assay_share::update_index(folder) {
        Ok(count) => {
            talk::data(&folder.join("index.html").display().to_string());
            talk::say(&format!("{count} runs"));
            Code::Kept
        }
        Err(error) => {
            talk::error(&error);
            Code::Usage
        }
    }
}
