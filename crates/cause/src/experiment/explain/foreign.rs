//! Run folders from elsewhere: the study's commands would run here, as this user, and its disks have
//! the names of another machine.

use std::path::Path;

use assay_host::machine;
use assay_record::run_folder::{Manifest, Run, RunFolder};
use assay_run::observer::Observer;
use assay_run::recorded_run::open_run;
use assay_sys::escape::{line, shell_words};
use assay_sys::exit::{Code, Error};
use assay_sys::files::{Caller, Checked, Trust, check};
use assay_sys::kernel::Root;

/// Opens a run whose study is to be started again. Unless `trusted`, the folder is checked before
/// anything is read, and everything is read from the directory that was checked. A run of another host,
/// or in a folder that others can write to, is refused; the error shows what would be started.
pub(super) fn open(
    root: &Root,
    path: &Path,
    trusted: bool,
    observer: &mut dyn Observer,
) -> Result<Run, Error> {
    if trusted {
        return Ok(open_run(path, observer)?.1);
    }
    let (run, why) = match check(path, Caller::from_sudo(), Trust::Checked) {
        Ok(checked) => {
            let run = read(checked).map_err(Error::usage)?;
            let why = why_foreign(root, &run.manifest);
            (run, why)
        }
        Err(refused) => {
            let why = format!("others may have changed the run folder ({})", refused.cause);
            (open_run(path, observer)?.1, Some(why))
        }
    };
    match why {
        Some(why) => Err(refuse(&run.manifest, &why)),
        None => Ok(run),
    }
}

fn read(checked: Checked) -> Result<Run, assay_record::run_folder::Error> {
    // A missing folder gets the same error as everywhere else.
    let path = checked.path();
    let folder = match checked.open() {
        Ok(dir) => RunFolder::from_dir(dir)?,
        Err(_) => RunFolder::open(&path)?,
    };
    Run::from_folder(&folder)
}

fn refuse(manifest: &Manifest, why: &str) -> Error {
    let command = format!("the command line: {}", line(&shell_words(&manifest.command)));
    let study = manifest.study_text.lines().map(|text| format!("  {}", line(text)));
    let reason = format!(
        "{why}, and its study would run on this host\n  hint: nothing was started; check the commands \
         and disks of the study above, then give `--allow-foreign-run`"
    );
    Error {
        context: [command, "the study:".to_owned()].into_iter().chain(study).collect(),
        reasons: vec![reason],
        ..Error::ended(Code::Usage)
    }
}

/// Why the run is from another machine, by the machine's hash. This guards against mistakes only: the
/// hash can be forged.
fn why_foreign(root: &Root, manifest: &Manifest) -> Option<String> {
    let here = machine(root);
    if here.is_none() || manifest.host.machine != here {
        let name = line(&manifest.host.host_name);
        return Some(format!("the run was recorded on another machine ({name})"));
    }
    None
}
