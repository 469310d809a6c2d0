//! Runs a Slurm command and captures its output.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assay_files::search_path;
use assay_host::find_program;
use assay_kernel::program::{self, Excess, Limits, Unfinished};
use assay_kernel::signal;

use crate::error::Error;

/// Captured output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) command: String,
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

const MISSING: &str = "apt-get install slurm-client on a node that may submit jobs, or run Assay \
                       there; `assay run` needs no Slurm";

/// Time for a command. Slurm's own timeouts (`MessageTimeout`, retries of a controller that does not answer) end
/// after a minute or two.
const TIME: Duration = Duration::from_secs(300);

/// Bytes that a command may print: some hundred for each node or job.
const OUTPUT: u64 = 64 << 20;

/// Runs a command to its end. Ctrl-C ends one that only asks. One that changes jobs is ended by the second Ctrl-C:
/// nobody knows what a command ended on its way has changed.
pub(super) fn call(program: &str, words: &[&str]) -> Result<Output, Error> {
    let path = find_program(program).ok_or_else(|| {
        Error::new(format!("Slurm is not installed here: there is no {program}")).hint(MISSING)
    })?;
    // Jobs are cancelled after an interruption, and their states queried meanwhile.
    let (once, twice) = (signal::interrupted_by().is_some(), signal::interrupted_twice());
    let stop = || match once || changes_jobs(program, words) {
        true => !twice && signal::interrupted_twice(),
        false => signal::interrupted_by().is_some(),
    };
    call_within(&path, program, words, &Limits { time: TIME, output: OUTPUT, stop: &stop })
}

fn changes_jobs(program: &str, words: &[&str]) -> bool {
    matches!(program, "sbatch" | "scancel") || words.first() == Some(&"release")
}

fn call_within(
    path: &Path,
    program: &str,
    words: &[&str],
    limits: &Limits<'_>,
) -> Result<Output, Error> {
    // In its own process group: a Ctrl-C at the terminal is for Assay, which then ends the jobs,
    // and must not interrupt a command in the middle of a submission.
    let mut command = Command::new(path);
    command
        .args(words)
        .env("LC_ALL", "C")
        // sbatch passes the environment on to the job, which root runs on every host.
        .env("PATH", search_path())
        .env_remove("SQUEUE_FORMAT")
        .env_remove("SINFO_FORMAT")
        .process_group(0);
    let output =
        program::run(&mut command, "", limits).map_err(|why| unfinished(program, words, &why))?;
    Ok(Output {
        command: std::iter::once(program)
            .chain(words.iter().copied())
            .collect::<Vec<_>>()
            .join(" "),
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

fn unfinished(program: &str, words: &[&str], why: &Unfinished) -> Error {
    let reason = match why {
        Unfinished::Failed(cause) => {
            return Error::new(format!("cannot start {program}: {cause}"));
        }
        Unfinished::Killed { why: Excess::Stopped, .. } => {
            "was ended by an interruption".to_owned()
        }
        killed => format!("did not end: {killed}"),
    };
    let error = Error::new(format!("{program} {reason}"));
    match changes_jobs(program, words) {
        true => error.hint("what it has changed is unknown: `squeue` shows the jobs"),
        false => error.hint("does `scontrol ping` answer?"),
    }
}

/// Runs a command that must succeed; returns its stdout.
pub(super) fn succeed(program: &str, words: &[&str]) -> Result<String, Error> {
    let output = call(program, words)?;
    if output.success { Ok(output.stdout) } else { Err(output.error()) }
}

impl Output {
    /// The failure, with the command's own message.
    pub(super) fn error(&self) -> Error {
        let error = Error::new(format!("`{}` failed: {}", self.command, self.reason_line()));
        let stderr = self.stderr.as_str();
        if stderr.contains("configuration source") || stderr.contains("configuration file") {
            return error.hint(
                "name the cluster's configuration with SLURM_CONF, or run this on a \
                               node of the cluster",
            );
        }
        if stderr.contains("unge") {
            return error.hint("is munged running, with the cluster's key?");
        }
        if stderr.contains("contact slurm controller") || stderr.contains("onnection refused") {
            return error.hint("is slurmctld running? `scontrol ping` shows it");
        }
        error
    }

    /// The line of stderr with the reason.
    pub(super) fn reason_line(&self) -> String {
        let lines = || self.stderr.lines().chain(self.stdout.lines()).map(str::trim);
        let fatal = lines().find(|line| line.contains("fatal:"));
        let last = lines().rfind(|line| !line.is_empty());
        fatal.or(last).unwrap_or("no error message").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(stderr: &str) -> Output {
        Output {
            command: "sbatch x".to_owned(),
            success: false,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn a_missing_slurm_is_reported_with_a_remedy() {
        let error = succeed("assay-no-such-sbatch", &["--version"]).unwrap_err();
        assert!(error.what.contains("not installed"), "{error}");
        assert!(error.hint.unwrap().contains("slurm-client"));
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_and_named() {
        let call = |program, script, limits: Limits<'_>| {
            call_within(Path::new("/bin/sh"), program, &["-c", script], &limits).unwrap_err()
        };
        let limits = Limits { time: TIME, output: 1 << 16, stop: &|| false };
        let short = Limits { time: Duration::from_millis(200), ..limits };
        let error = call("squeue", "exec sleep 1000", short);
        assert!(error.what.starts_with("squeue did not end: it was killed"), "{error}");
        let error = call("sbatch", "exec sleep 1000", short);
        assert!(error.hint.unwrap().contains("`squeue` shows the jobs"));
        let error = call("sinfo", "yes", limits);
        assert!(error.what.contains("printed more than 65536 bytes"), "{error}");
        let error = call("sacct", "exec sleep 1000", Limits { stop: &|| true, ..limits });
        assert_eq!(error.what, "sacct was ended by an interruption");
    }

    #[test]
    fn messages_of_slurm_are_reported_with_a_hint() {
        // Messages of Slurm 22.05 without a configuration, without its controller, without munged.
        let error = failed(
            "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n\
             sbatch: fatal: Could not establish a configuration source",
        )
        .error();
        assert!(error.what.ends_with("fatal: Could not establish a configuration source"));
        assert!(error.hint.unwrap().contains("SLURM_CONF"));
        let error = failed("squeue: error: Unable to contact slurm controller (connect failure)");
        assert!(error.error().hint.unwrap().contains("slurmctld"));
        let error = failed("sbatch: error: Munge encode failed: Failed to access /run/munge/x");
        assert!(error.error().hint.unwrap().contains("munged"));
    }
}
