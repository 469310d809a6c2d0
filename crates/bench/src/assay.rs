//! Runs the program under test as users run it.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assay_record::run_folder::{Manifest, RunFolder};

use crate::child;
use crate::failure::Failure;

/// The `assay` binary with a separate folder for all its files.
pub(crate) struct Assay {
    program: PathBuf,
    folder: PathBuf,
}

/// Resources used by a process.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) time: Duration,
    /// Peak memory in bytes.
    pub(crate) peak: u64,
}

/// Exit codes of a run with a verdict: kept, broken, undecided or void.
const JUDGED: [i32; 3] = [0, 1, 3];

impl Assay {
    /// `folder` is an existing folder.
    pub(crate) fn new(program: &Path, folder: &Path) -> Result<Self, Failure> {
        let program = program.canonicalize().map_err(|cause| {
            Failure::Failed(format!(
                "cannot run {}: {cause}; build it with `cargo build --release -p assay-cli`",
                program.display()
            ))
        })?;
        Ok(Self { program, folder: folder.to_owned() })
    }

    /// Runs a study given as text; returns its run folder and manifest.
    pub(crate) fn run(&self, name: &str, study: &str) -> Result<(PathBuf, Manifest), Failure> {
        let file = self.folder.join(format!("{name}.toml"));
        write(&file, study)?;
        let out = self.folder.join(name);
        let mut command = Command::new(&self.program);
        command.args(["run", "--yes"]).arg(&file).arg("--out").arg(&out).arg("-ojson");
        let (status, output) = self.call(&mut command, name)?;
        if !status.code().is_some_and(|code| JUDGED.contains(&code)) {
            return Err(Failure::Failed(format!("`assay run` ended with {status}: {output}")));
        }
        let manifest = RunFolder::open(&out)?.read_manifest()?;
        let faults = manifest.trials.iter().flat_map(|trial| &trial.repeats);
        if let Some(fault) = faults.filter_map(|repeat| repeat.fault.as_ref()).next() {
            return Err(Failure::Failed(format!("a repeat failed: {}", fault.message)));
        }
        Ok((out, manifest))
    }

    /// Writes the report of a recorded run; returns the duration of the process.
    pub(crate) fn report(&self, run: &Path) -> Result<Duration, Failure> {
        let mut command = Command::new(&self.program);
        command.arg("report").arg(run);
        let began = Instant::now();
        let (status, output) = self.call(&mut command, "report")?;
        let elapsed = began.elapsed();
        if status.success() {
            Ok(elapsed)
        } else {
            Err(Failure::Failed(format!("`assay report` ended with {status}: {output}")))
        }
    }

    /// Runs it with these arguments and measures duration and memory.
    pub(crate) fn peak(&self, words: &[&OsStr]) -> Result<Usage, Failure> {
        let mut command = Command::new(&self.program);
        command.args(words);
        let mut running = self.started(&mut command, "peak")?;
        let began = Instant::now();
        let (status, peak) = child::wait_with_peak(&mut running)?;
        let time = began.elapsed();
        if status.code().is_some_and(|code| JUDGED.contains(&code)) {
            return Ok(Usage { time, peak });
        }
        let output = self.last_output("peak");
        Err(Failure::Failed(format!("`assay` with {words:?} ended with {status}: {output}")))
    }

    /// Runs it to its end with its own ledger; returns the exit status and its last output.
    fn call(&self, command: &mut Command, name: &str) -> Result<(ExitStatus, String), Failure> {
        let mut running = self.started(command, name)?;
        let status = child::wait(&mut running)?;
        Ok((status, self.last_output(name)))
    }

    fn started(&self, command: &mut Command, name: &str) -> Result<Child, Failure> {
        let output_file = self.folder.join(format!("{name}.stderr"));
        let failed =
            |cause| Failure::Failed(format!("cannot create {}: {cause}", output_file.display()));
        let file = File::create(&output_file).map_err(failed)?;
        command
            .env("ASSAY_STATE", self.folder.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file);
        command
            .spawn()
            .map_err(|cause| Failure::Failed(format!("cannot start {command:?}: {cause}")))
    }

    /// The last lines of output of the call with this name.
    fn last_output(&self, name: &str) -> String {
        let output_file = self.folder.join(format!("{name}.stderr"));
        let output = std::fs::read_to_string(output_file).unwrap_or_default();
        let last: Vec<&str> = output.lines().rev().take(3).collect();
        last.into_iter().rev().collect::<Vec<_>>().join("; ")
    }
}

/// Replaces a file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|cause| Failure::Failed(format!("cannot write {}: {cause}", path.display())))
}
