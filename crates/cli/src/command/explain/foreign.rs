//! A run folder from elsewhere: what its study starts would start here, as this user, and its disks
//! have the names of another machine.

use std::path::Path;

use assay_escape::{line, shell_words};
use assay_files::{Caller, Checked, Trust, check};
use assay_host::machine;
use assay_kernel::Root;
use assay_run_folder::{Manifest, Run, RunFolder};

use crate::exit::Code;
use crate::finish_run::open_run;
use crate::output;

/// Opens a run of which something is to be started again. Where that is not `trusted`, the folder is
/// looked at before anything is read, and all that is read comes out of the directory that was looked
/// at. A run of another host, or in a folder that others may write, is refused after it has shown what
/// would be started.
pub(super) fn open(path: &Path, trusted: bool) -> Result<Run, Code> {
    if trusted {
        return Ok(open_run(path)?.1);
    }
    let (run, why) = match check(path, Caller::of_sudo(), Trust::Checked) {
        Ok(checked) => {
            let run = read(checked).map_err(|error| {
                output::error(&error);
                Code::Usage
            })?;
            let why = why_foreign(&run.manifest);
            (run, why)
        }
        Err(refused) => {
            let why = format!("others may have changed the run's folder ({})", refused.cause);
            (open_run(path)?.1, Some(why))
        }
    };
    match why {
        Some(why) => Err(refuse(&run.manifest, &why)),
        None => Ok(run),
    }
}

fn read(checked: Checked) -> Result<Run, assay_run_folder::Error> {
    // Where nothing is, there is no run either, which is said in the same words everywhere.
    let path = checked.path();
    let folder = match checked.open() {
        Ok(dir) => RunFolder::over(dir)?,
        Err(_) => RunFolder::open(&path)?,
    };
    Run::of(&folder)
}

fn refuse(manifest: &Manifest, why: &str) -> Code {
    output::say(&format!("the command line: {}", line(&shell_words(&manifest.command))));
    output::say("the study:");
    for text in manifest.study_text.lines() {
        output::say(&format!("  {}", line(text)));
    }
    output::error(&format!(
        "{why}, and what its study starts would start on this host\n  hint: nothing was started; \
         read the study above, its commands and disks first; then `--trust`"
    ));
    Code::Usage
}

/// The hash tells machines apart that mean no harm; whoever knows a machine can write its hash.
fn why_foreign(manifest: &Manifest) -> Option<String> {
    let here = machine(&Root::real());
    if here.is_none() || manifest.host.machine != here {
        let name = line(&manifest.host.host_name);
        return Some(format!("the run was recorded on another machine ({name})"));
    }
    None
}
