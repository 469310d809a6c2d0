//! The job script: readable, and complete for Slurm.

use assay_escape::{shell_word, slurm_word};

use crate::document::Fleet;

/// The program and data of the tasks, with hashes to verify them.
pub(crate) struct Code {
    /// The fleet's folder.
    pub(crate) folder: String,
    /// Hash of its contents (`digest.rs`).
    pub(crate) digest: String,
    /// Hash of the program, if the submitting host has it.
    pub(crate) program: Option<String>,
}

/// The program as opened by the script, for the shell and for the processes that it starts.
const OPENED: &str = "/proc/self/fd/9";

/// The script for these tasks of a fleet.
pub(crate) fn script(fleet: &Fleet, code: &Code, tasks: &[usize]) -> String {
    let folder = &code.folder;
    let array: Vec<String> = tasks.iter().map(usize::to_string).collect();
    let partition = fleet
        .partition
        .as_ref()
        .map(|name| format!("#SBATCH --partition={}\n", slurm_word(name)))
        .unwrap_or_default();
    // Opened once: the file behind the name may be replaced after the comparison.
    let compared = code.program.as_ref().map_or_else(String::new, |hash| {
        format!(
            "exec 9<\"$program\"\n\
             if ! echo \"{hash}  {OPENED}\" | sha256sum --check --status; then\n    \
                 echo \"$program on $(uname -n) is not the program that was submitted\" >&2\n    \
                 exit 4\n\
             fi\n"
        )
    });
    let started = if code.program.is_some() { OPENED } else { "\"$program\"" };
    let trust = if fleet.trust_folder { " --trust-folder" } else { "" };
    format!(
        "#!/bin/sh\n\
         # Written by `assay fleet run`: each task of this array runs the study {study} on one host.\n\
         # `assay fleet task` waits until the host is free, restores changes of a killed run there,\n\
         # runs the study, and records the result in tasks/TASK/job-JOB/task.json.\n\
         #SBATCH --job-name=assay-{study}\n\
         #SBATCH --array={array}\n\
         #SBATCH --nodes=1\n\
         #SBATCH --ntasks=1\n\
         # The whole host, with its memory: a shared host proves nothing.\n\
         #SBATCH --exclusive\n\
         #SBATCH --mem=0\n\
         #SBATCH --time={limit}\n\
         # Before the limit, to this process only: Assay then stops and restores the host.\n\
         #SBATCH --signal=B:TERM@{ahead}\n\
         # `assay fleet resume` resubmits failed tasks, once they have been examined.\n\
         #SBATCH --no-requeue\n\
         {partition}\
         #SBATCH --output=\"{folder}/log/%A_%a.txt\"\n\
         #SBATCH --open-mode=truncate\n\
         \n\
         program={program}\n\
         fleet={quoted}\n\
         if [ ! -x \"$program\" ]; then\n    \
             echo \"$(uname -n) has no program $program (assay fleet run --program PATH)\" >&2\n    \
             exit 4\n\
         fi\n\
         {compared}\
         exec {started} fleet task \"$fleet\" \"$SLURM_ARRAY_TASK_ID\" --job \
         \"$SLURM_ARRAY_JOB_ID\" --digest {digest}{trust}\n",
        study = slurm_word(&fleet.study),
        digest = code.digest,
        array = array.join(","),
        limit = fleet.time_limit_min,
        ahead = fleet.signal_ahead_s,
        program = shell_word(&fleet.program),
        quoted = shell_word(folder),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet() -> Fleet {
        Fleet {
            program: "/opt/it's/assay".to_owned(),
            study: "io-weight".to_owned(),
            arguments: vec!["io-weight".to_owned()],
            partition: Some("all".to_owned()),
            time_limit_min: 12,
            signal_ahead_s: 120,
            ..Fleet::default()
        }
    }

    fn code(folder: &str) -> Code {
        Code { folder: folder.to_owned(), digest: "d1g3st".to_owned(), program: None }
    }

    #[test]
    fn the_script_contains_all_slurm_options() {
        let text = script(&fleet(), &code("/shared/a b"), &[0, 2]);
        for line in [
            "#SBATCH --array=0,2",
            "#SBATCH --exclusive",
            "#SBATCH --time=12",
            "#SBATCH --signal=B:TERM@120",
            "#SBATCH --partition=all",
            "#SBATCH --output=\"/shared/a b/log/%A_%a.txt\"",
            "fleet='/shared/a b'",
        ] {
            assert!(text.lines().any(|text_line| text_line == line), "{line} in\n{text}");
        }
        // sbatch stops reading options at the first command.
        let last_option = text.rfind("#SBATCH").unwrap();
        assert!(last_option < text.find("program=").unwrap());
    }

    #[test]
    fn names_cannot_inject_lines_or_options() {
        let study = "io\ntouch /owned\n#SBATCH --uid=0".to_owned();
        let partition = Some("all\n#SBATCH --uid=0".to_owned());
        let odd = Fleet { study, partition, ..fleet() };
        let text = script(&odd, &code("/shared"), &[0]);
        assert!(!text.lines().any(|line| line.starts_with("#SBATCH --uid")), "{text}");
        let options = text.lines().filter(|line| line.starts_with("#SBATCH")).count();
        let plain = script(&fleet(), &code("/shared"), &[0]);
        let usual = plain.lines().filter(|line| line.starts_with("#SBATCH")).count();
        assert_eq!(options, usual);
        let named = text.lines().find(|line| line.starts_with("#SBATCH --job-name")).unwrap();
        assert_eq!(named, "#SBATCH --job-name=assay-io_touch__owned__SBATCH_--uid_0");
    }

    #[test]
    fn the_shell_accepts_it_and_names_a_missing_program() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("job.sh");
        std::fs::write(&path, script(&fleet(), &code("/shared"), &[0])).unwrap();
        let output = std::process::Command::new("sh").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(4));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("has no program /opt/it's/assay"), "{stderr}");
    }

    /// An attacker could rename files in the program's folder after the comparison.
    #[test]
    fn the_verified_program_is_the_one_that_starts() {
        use std::fs::{Permissions, set_permissions, write};
        use std::os::unix::fs::PermissionsExt;

        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let program = |name: &str, text: &str| {
            write(path(name), format!("#!/bin/sh\n{text}\n")).unwrap();
            set_permissions(path(name), Permissions::from_mode(0o755)).unwrap();
        };
        program("assay", "echo as submitted: $2");
        program("other", "echo exchanged");
        let usual = std::env::var("PATH").unwrap();
        let exchange = format!(
            "PATH={usual} sha256sum \"$@\"; ended=$?; mv {} {}; exit $ended",
            path("other").display(),
            path("assay").display()
        );
        program("sha256sum", &exchange);
        let fleet = Fleet { program: path("assay").display().to_string(), ..fleet() };
        let hash = crate::digest::of_program(&path("assay"));
        let text = script(&fleet, &Code { program: hash, ..code("/shared") }, &[0]);
        write(path("job.sh"), text).unwrap();
        let start = || {
            let mut command = std::process::Command::new("sh");
            command.arg(path("job.sh"));
            command.env("PATH", format!("{}:{usual}", place.path().display())).output().unwrap()
        };
        let output = start();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "as submitted: task\n");
        assert!(output.status.success() && !path("other").exists());
        let output = start();
        assert_eq!(output.status.code(), Some(4), "a program other than the submitted one");
    }
}
