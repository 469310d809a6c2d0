//! Slurm, through its commands: sbatch and scontrol.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use assay_host::find_program;
use assay_sys::exit::Error;
use assay_sys::files::search_path;
use assay_sys::kernel::process::kill_with_starter;
use assay_sys::kernel::program::{self, Limits};
use assay_sys::kernel::signal;

/// The command that changes what Slurm does.
const SUBMITS: &str = "sbatch";

/// Finds a Slurm that answers.
pub(crate) fn find() -> Result<(), Error> {
    // Slurm's own commands would retry for a minute.
    if let Some(path) = std::env::var_os("SLURM_CONF").filter(|path| !path.is_empty())
        && !PathBuf::from(&path).exists()
    {
        return Err(Error::host(format!(
            "SLURM_CONF names {}, which does not exist\n  hint: name the cluster's slurm.conf, or unset SLURM_CONF",
            path.display()
        )));
    }
    match call("scontrol", &["ping"])? {
        Output { success: true, .. } => Ok(()),
        output => Err(Error::host(format!(
            "{}\n  hint: do slurmctld and munged run, and does SLURM_CONF or /etc/slurm/slurm.conf name them?",
            output.error()
        ))),
    }
}

/// The names in a node list such as `node[1-3]`.
pub(crate) fn expand(list: &str) -> Result<Vec<String>, Error> {
    let listed = succeed("scontrol", &["show", "hostnames", list])?;
    Ok(listed.lines().map(|line| line.trim().to_owned()).collect())
}

/// Submits a job; returns its id, which a semicolon and the cluster may follow.
pub(crate) fn sbatch(words: &[&str]) -> Result<u64, Error> {
    let output = succeed(SUBMITS, &[&["--parsable"], words].concat())?;
    let id = output.trim().split(';').next().and_then(|id| id.parse().ok());
    id.ok_or_else(|| Error::host(format!("sbatch printed `{}` instead of a job id", output.trim())))
}

/// What a command printed.
struct Output {
    command: String,
    success: bool,
    stdout: String,
    stderr: String,
}

impl Output {
    fn error(&self) -> Error {
        let lines = || self.stderr.lines().chain(self.stdout.lines()).map(str::trim);
        let fatal = lines().find(|line| line.contains("fatal:"));
        let why = fatal.or_else(|| lines().rfind(|line| !line.is_empty()));
        Error::host(format!("`{}` failed: {}", self.command, why.unwrap_or("no error message")))
    }
}

pub(crate) fn succeed(program: &str, words: &[&str]) -> Result<String, Error> {
    let output = call(program, words)?;
    if output.success { Ok(output.stdout) } else { Err(output.error()) }
}

/// Slurm's own timeouts end after a minute or two.
const TIME: Duration = Duration::from_secs(300);

/// Some hundred bytes for each node or task.
const OUTPUT: u64 = 64 << 20;

/// Runs a command to its end, or to the second Ctrl-C.
fn call(program: &str, words: &[&str]) -> Result<Output, Error> {
    let path = find_program(program).ok_or_else(|| {
        Error::host(format!(
            "Slurm is not installed here: there is no {program}\n  hint: apt-get install slurm-client on a node that may \
             submit jobs, or run Assay there; `assay run` needs no Slurm"
        ))
    })?;
    let mut command = Command::new(path);
    command
        .args(words)
        .env("LC_ALL", "C")
        // sbatch hands the environment on to the job, which root runs on every host.
        .env("PATH", search_path())
        // A Ctrl-C at the terminal is for Assay, and must not interrupt a submission.
        .process_group(0);
    // A question ends with who asks it.
    if program != SUBMITS {
        kill_with_starter(&mut command);
    }
    let limits = Limits { time: TIME, output: OUTPUT, stop: &signal::interrupted_twice };
    let output = program::run(&mut command, "", &limits)
        .map_err(|why| Error::host(format!("{program} did not end: {why}")))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Output {
        command: [&[program], words].concat().join(" "),
        success: output.status.success(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}
