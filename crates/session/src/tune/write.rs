//! Writes the study with the chosen setting to a new file.

use std::io::Write;
use std::path::Path;

use assay_files::{create_new, input_text};
use assay_plan::Setting;
use assay_study::{rewrite, shipped_file};

use super::Origin;
use crate::error::Error;
use crate::load::{MOST_TEXT, reload};
use crate::overrides::StudyChoice;

/// Writes the study. Other overrides are left out: the file keeps its author's values except for the
/// setting.
pub(super) fn study(file: &Path, origin: &Origin, setting: &Setting) -> Result<(), Error> {
    let refuse = |why: &dyn std::fmt::Display| {
        Error::usage(format!(
            "{} was not written: {why}\n  hint: paste the lines above into the study",
            file.display()
        ))
    };
    let Origin { choice, name, text, factors } = origin;
    let as_written = StudyChoice { seed: choice.seed, ..StudyChoice::named(&choice.study) };
    let from = reload(name, text, &as_written)?;
    let to = setting.apply(&from, factors).map_err(|why| refuse(&why))?;
    let beside = Path::new(&choice.study).parent().unwrap_or(Path::new(""));
    let load = |path: &str| {
        shipped_file(path).or_else(|_| {
            input_text(&beside.join(path), MOST_TEXT)
                .map_err(|error| format!("{path}: {}", error.cause))
        })
    };
    let changed = rewrite(text, &from, &to, factors, &load).map_err(|why| refuse(&why))?;
    let new = create_new(file).map_err(std::io::Error::from);
    let written = new.and_then(|mut new| new.write_all(changed.as_bytes()));
    written.map_err(|cause| refuse(&cause))
}
