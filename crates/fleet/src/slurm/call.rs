//! One command of Slurm, started, waited for, heard.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use assay_files::search_path;
use assay_host::find_program;

use crate::error::Error;

/// What a command said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) command: String,
    pub(super) success: bool,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

const MISSING: &str = "apt-get install slurm-client on a node that may submit jobs, or run Assay \
                       there; `assay run` needs no Slurm";

/// Runs a command to its end.
pub(super) fn call(program: &str, words: &[&str]) -> Result<Said, Error> {
    let path = find_program(program).ok_or_else(|| {
        Error::new(format!("Slurm is not installed here: there is no {program}")).hint(MISSING)
    })?;
    // In a process group of its own: a Ctrl-C at the terminal is for Assay, which then ends the
    // jobs, and must not cut a command short that is half-way through a submission.
    let output = Command::new(path)
        .args(words)
        .env("LC_ALL", "C")
        // sbatch hands it on to the job, which root runs on every host.
        .env("PATH", search_path())
        .env_remove("SQUEUE_FORMAT")
        .env_remove("SINFO_FORMAT")
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|cause| Error::new(format!("cannot start {program}: {cause}")))?;
    Ok(Said {
        command: std::iter::once(program)
            .chain(words.iter().copied())
            .collect::<Vec<_>>()
            .join(" "),
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Runs a command that must succeed; what it printed.
pub(super) fn succeed(program: &str, words: &[&str]) -> Result<String, Error> {
    let said = call(program, words)?;
    if said.success { Ok(said.stdout) } else { Err(said.error()) }
}

impl Said {
    /// The failure, in the command's own words.
    pub(super) fn error(&self) -> Error {
        let error = Error::new(format!("`{}` failed: {}", self.command, self.last_word()));
        let said = self.stderr.as_str();
        if said.contains("configuration source") || said.contains("configuration file") {
            return error.hint(
                "name the cluster's configuration with SLURM_CONF, or run this on a \
                               node of the cluster",
            );
        }
        if said.contains("unge") {
            return error.hint("is munged running, with the cluster's key?");
        }
        if said.contains("contact slurm controller") || said.contains("onnection refused") {
            return error.hint("is slurmctld running? `scontrol ping` tells");
        }
        error
    }

    /// The line of its talk that says why.
    pub(super) fn last_word(&self) -> String {
        let lines = || self.stderr.lines().chain(self.stdout.lines()).map(str::trim);
        let fatal = lines().find(|line| line.contains("fatal:"));
        let last = lines().rfind(|line| !line.is_empty());
        fatal.or(last).unwrap_or("it said nothing").to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stderr: &str) -> Said {
        Said {
            command: "sbatch x".to_owned(),
            success: false,
            stdout: String::new(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn a_missing_slurm_is_said_with_its_remedy() {
        let error = succeed("assay-no-such-sbatch", &["--version"]).unwrap_err();
        assert!(error.what.contains("not installed"), "{error}");
        assert!(error.hint.unwrap().contains("slurm-client"));
    }

    #[test]
    fn the_words_of_slurm_are_passed_on_with_what_to_look_at() {
        // What Slurm 22.05 says without any configuration, without its controller, without munged.
        let error = said(
            "sbatch: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n\
             sbatch: fatal: Could not establish a configuration source",
        )
        .error();
        assert!(error.what.ends_with("fatal: Could not establish a configuration source"));
        assert!(error.hint.unwrap().contains("SLURM_CONF"));
        let error = said("squeue: error: Unable to contact slurm controller (connect failure)");
        assert!(error.error().hint.unwrap().contains("slurmctld"));
        let error = said("sbatch: error: Munge encode failed: Failed to access /run/munge/x");
        assert!(error.error().hint.unwrap().contains("munged"));
    }
}
