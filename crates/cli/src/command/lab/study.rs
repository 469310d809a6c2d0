//! `assay lab run`: runs a study in a guest and copies its run folder back.

use std::path::Path;
use std::process::ExitCode;

use assay_lab::Cache;
use assay_lab::study::{guest_task, prepare_lab_study, run_lab_study};
use assay_run::overrides::StudyChoice;
use assay_run::recorded_run::open_run;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::signal;

use super::{LabRunArguments, Terminal, code};
use crate::command::judge::show;
use crate::observer::{self, load};

/// Boots a guest, runs the study there, and shows its result.
pub(super) fn run(arguments: &LabRunArguments, cache: &Cache) -> Result<ExitCode, Error> {
    let choice = arguments.study.choice();
    let loaded = load(&StudyChoice { disk: None, ..choice.clone() }, arguments.format.is_json())?;
    let guest = (arguments.guest.spec(&[]), guest_task());
    let study = prepare_lab_study(&loaded, &choice, arguments.out.as_deref(), guest, cache)?;
    signal::note_interruptions();
    // The table is printed here from the copied folder, with the paths of this host.
    let (ended, folder) = run_lab_study(&study, cache, WithoutOutput(Terminal::default()))?;
    let code = code(&ended);
    if let Some(folder) = folder {
        show_run(&folder, arguments.format.is_json())?;
    }
    Ok(code)
}

fn show_run(folder: &Path, as_json: bool) -> Result<(), Error> {
    let opened = open_run(folder, &mut observer::Terminal);
    let (folder, run) = opened.map_err(|error| Error { code: Code::Host, ..error })?;
    let judgement = folder.read_json("verdict.json").map_err(Error::host)?;
    show(&folder, &run.manifest, &judgement, as_json);
    Ok(())
}

/// Prints everything from a guest except its standard output.
struct WithoutOutput(Terminal);

impl assay_lab::Watcher for WithoutOutput {
    fn output(&mut self, _: &[u8]) {}

    fn errors(&mut self, bytes: &[u8]) {
        self.0.errors(bytes);
    }

    fn remark(&mut self, text: &str) {
        self.0.remark(text);
    }
}
