//! A run folder from elsewhere: what its study starts would start here, as this user, and its disks
//! have the names of another machine.

use std::path::Path;

use assay_escape::{line, shell_words};
use assay_files::{Caller, Trust, check};
use assay_host::machine;
use assay_kernel::Root;
use assay_record::Manifest;

use crate::exit::Code;
use crate::talk;

/// Refuses a run of another host, or in a folder that others may write, after it has shown what
/// would be started.
pub(super) fn refuse(folder: &Path, manifest: &Manifest) -> Result<(), Code> {
    let Some(why) = why_foreign(folder, manifest) else { return Ok(()) };
    talk::say(&format!("the command line: {}", line(&shell_words(&manifest.command))));
    talk::say("the study:");
    for text in manifest.study_text.lines() {
        talk::say(&format!("  {}", line(text)));
    }
    talk::error(&format!(
        "{why}, and what its study starts would start on this host\n  hint: nothing was started; \
         read the study above, its commands and disks first; then `--trust`"
    ));
    Err(Code::Usage)
}

fn why_foreign(folder: &Path, manifest: &Manifest) -> Option<String> {
    let here = machine(&Root::real());
    if here.is_none() || manifest.host.machine != here {
        let name = line(&manifest.host.host_name);
        return Some(format!("the run was recorded on another machine ({name})"));
    }
    let refused = check(folder, Caller::of_sudo(), Trust::Checked).err()?;
    Some(format!("others may have changed the run's folder ({})", refused.cause))
}
