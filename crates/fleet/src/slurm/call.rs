//! Runs a Slurm command and captures its output.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use assay_files::search_path;
use assay_host::find_program;

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

/// Runs a command to its end.
pub(super) fn call(program: &str, words: &[&str]) -> Result<Output, Error> {
    let path = find_program(program).ok_or_else(|| {
        Error::new(format!("Slurm is not installed here: there is no {program}")).hint(MISSING)
    })?;
    // In its own process group: a Ctrl-C at the terminal is for Assay, which then ends the jobs,
    // and must not interrupt a command in the middle of a submission.
    let output = Command::new(path)
        .args(words)
        .env("LC_ALL", "C")
        // sbatch passes the environment on to the job, which root runs on every host.
        .env("PATH", search_path())
        .env_remove("SQUEUE_FORMAT")
        .env_remove("SINFO_FORMAT")
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|cause| Error::new(format!("cannot start {program}: {cause}")))?;
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
