//! The job script: readable, and complete for Slurm.

use assay_escape::{shell_word, slurm_word};

use crate::document::Fleet;
use crate::program::{OWN_FOLDER, Program};

/// The program and data of the tasks, with hashes to verify them.
pub(crate) struct Code {
    /// The fleet's folder.
    pub(crate) folder: String,
    /// Hash of its contents (`digest.rs`).
    pub(crate) digest: String,
    /// What the tasks start.
    pub(crate) program: Program,
}

/// The part of the script that copies the program into a private folder of the host, in which no other host can
/// write, and compares the copies: whatever changes afterwards, they are what starts. No more is read than was
/// submitted, and nothing that might never end. TMPDIR is handed on by sbatch or set by a prolog: a folder in which
/// others may change names, or below one, is refused.
fn compared(program: &Program) -> String {
    let Some(first) = program.files.first() else { return String::new() };
    let files = || program.files.iter();
    let sizes: Vec<String> = files().map(|file| format!("{}:{}", file.name, file.bytes)).collect();
    let sums: Vec<String> = files().map(|file| format!("{} {}", file.hash, file.name)).collect();
    format!(
        "# Where nobody else may change names.\n\
         base=$(CDPATH='' cd -P -- \"${{TMPDIR:-/tmp}}\" && pwd -P) || exit 4\n\
         above=$base\n\
         while :; do\n    \
             if [ -z \"$(find \"$above\" -maxdepth 0 '(' -uid 0 -o -uid \"$(id -u)\" ')' \\\n        \
                 '(' ! -perm /022 -o -perm -1000 ')')\" ]; then\n        \
                 echo \"others may change names in $above on $(uname -n) (set TMPDIR to another folder)\" >&2\n        \
                 exit 4\n    \
             fi\n    \
             if [ \"$above\" = / ]; then break; fi\n    \
             above=$(dirname \"$above\")\n\
         done\n\
         own=$(mktemp -d \"$base/{OWN_FOLDER}XXXXXXXXXX\") || exit 4\n\
         # Until the program takes the place of this shell, which removes it at its end.\n\
         trap 'rm -rf \"$own\"' EXIT\n\
         trap 'exit 130' HUP INT TERM\n\
         for file in {sizes}; do\n    \
             from=${{program%/*}}/${{file%:*}}\n    \
             if [ ! -f \"$from\" ]; then\n        \
                 echo \"$from is not a regular file\" >&2\n        \
                 exit 4\n    \
             fi\n    \
             head -c \"${{file#*:}}\" \"$from\" >\"$own/${{file%:*}}\" || exit 4\n\
         done\n\
         if ! (cd \"$own\" && printf '%s  %s\\n' {sums} | sha256sum --check --status); then\n    \
             echo \"$program on $(uname -n) is not the program that was submitted\" >&2\n    \
             exit 4\n\
         fi\n\
         # A workload of another user starts its load generator from there.\n\
         chmod 755 \"$own\" \"$own\"/*\n\
         program=$own/{first}\n\
         if [ ! -x \"$program\" ]; then\n    \
             echo \"no program can be started from $own on $(uname -n) (set TMPDIR)\" >&2\n    \
             exit 4\n\
         fi\n",
        sizes = sizes.join(" "),
        sums = sums.join(" "),
        first = first.name,
    )
}

/// The script of a fleet's jobs; its argument is the number of the task.
pub(crate) fn script(fleet: &Fleet, code: &Code) -> String {
    let partition = fleet
        .partition
        .as_ref()
        .map(|name| format!("#SBATCH --partition={}\n", slurm_word(name)))
        .unwrap_or_default();
    let compared = compared(&code.program);
    let trust = if fleet.trust_folder { " --trust-folder" } else { "" };
    format!(
        "#!/bin/sh\n\
         # Written by `assay fleet run`: runs the study {study} on one host. Submitted once for each host, with\n\
         # --nodelist=NODE --output=FLEET/log/%j_TASK.txt, and the number of the task as its argument.\n\
         # `assay fleet task` waits until the host is free, restores changes of a killed run there,\n\
         # runs the study, and records the result in tasks/TASK/job-JOB/task.json.\n\
         #SBATCH --job-name=assay-{study}\n\
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
         #SBATCH --open-mode=truncate\n\
         \n\
         program={program}\n\
         fleet={quoted}\n\
         if [ ! -x \"$program\" ]; then\n    \
             echo \"$(uname -n) has no program $program (assay fleet run --program PATH)\" >&2\n    \
             exit 4\n\
         fi\n\
         {compared}\
         exec \"$program\" fleet task \"$fleet\" \"$1\" --job \"$SLURM_JOB_ID\" --digest \
         {digest}{trust}\n",
        study = slurm_word(&fleet.study),
        digest = code.digest,
        limit = fleet.time_limit_min,
        ahead = fleet.signal_ahead_s,
        program = shell_word(&code.program.path),
        quoted = shell_word(&code.folder),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use assay_files::Trust;

    use super::*;
    use crate::folder::FleetFolder;

    fn fleet() -> Fleet {
        Fleet {
            study: "io-weight".to_owned(),
            arguments: vec!["io-weight".to_owned()],
            partition: Some("all".to_owned()),
            time_limit_min: 12,
            signal_ahead_s: 120,
            ..Fleet::default()
        }
    }

    fn code(folder: &str) -> Code {
        let program = Program { path: "/opt/it's/assay".to_owned(), files: Vec::new() };
        Code { folder: folder.to_owned(), digest: "d1g3st".to_owned(), program }
    }

    #[test]
    fn the_script_contains_all_slurm_options() {
        let text = script(&fleet(), &code("/shared/a b"));
        for line in [
            "#SBATCH --exclusive",
            "#SBATCH --time=12",
            "#SBATCH --signal=B:TERM@120",
            "#SBATCH --partition=all",
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
        let text = script(&odd, &code("/shared"));
        assert!(!text.lines().any(|line| line.starts_with("#SBATCH --uid")), "{text}");
        let options = text.lines().filter(|line| line.starts_with("#SBATCH")).count();
        let plain = script(&fleet(), &code("/shared"));
        let usual = plain.lines().filter(|line| line.starts_with("#SBATCH")).count();
        assert_eq!(options, usual);
        let named = text.lines().find(|line| line.starts_with("#SBATCH --job-name")).unwrap();
        assert_eq!(named, "#SBATCH --job-name=assay-io_touch__owned__SBATCH_--uid_0");
    }

    #[test]
    fn the_shell_accepts_it_and_names_a_missing_program() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("job.sh");
        std::fs::write(&path, script(&fleet(), &code("/shared"))).unwrap();
        let output = std::process::Command::new("sh").arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(4));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("has no program /opt/it's/assay"), "{stderr}");
    }

    /// Starts a job with a `sha256sum` that afterwards does `change`; returns its exit code and output.
    fn start(program: &Path, change: &str) -> (Option<i32>, String) {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
        let program = Program::copy(program, &folder, 1).unwrap();
        let usual = std::env::var("PATH").unwrap();
        let change = change.replace("COPY", &program.path);
        let sum = place.path().join("sha256sum");
        executable(
            &sum,
            &format!("export PATH={usual}; sha256sum \"$@\"; ended=$?; {change}; exit $ended"),
        );
        let text = script(&fleet(), &Code { program, ..code("/shared") });
        std::fs::write(place.path().join("job.sh"), text).unwrap();
        let mut command = std::process::Command::new("sh");
        command.arg(place.path().join("job.sh"));
        let path = format!("{}:{usual}", place.path().display());
        let output = command.env("PATH", path).env("TMPDIR", place.path()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    fn executable(path: &Path, text: &str) {
        std::fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Root of another host may have put anything there; `cp` would fill the disk of this one.
    #[test]
    fn no_more_than_the_program_is_copied() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
        let own = place.path().join("assay");
        executable(&own, "echo as submitted");
        let program = Program::copy(&own, &folder, 1).unwrap();
        let copy = std::path::PathBuf::from(&program.path);
        let path = place.path().join("job.sh");
        std::fs::write(&path, script(&fleet(), &Code { program, ..code("/shared") })).unwrap();
        std::fs::remove_file(&copy).unwrap();
        executable(&copy, "echo another");
        std::fs::File::options().append(true).open(&copy).unwrap().set_len(64 << 20).unwrap();
        // Files of at most 32 MiB, in blocks of 512 bytes.
        let limited = format!("ulimit -f 65536; exec sh {}", path.display());
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &limited]).env("TMPDIR", place.path());
        let output = command.output().unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(4), vec![]));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("is not the program that was submitted"), "{stderr}");
    }

    /// The file of the program may be written to by its owner, and files in the program's folder renamed.
    #[test]
    fn the_submitted_program_is_the_one_that_starts() {
        let place = tempfile::tempdir().unwrap();
        let [own, other] = ["assay", "other"].map(|name| place.path().join(name));
        executable(&own, "echo as submitted: $2");
        executable(&other, "echo another");
        let as_submitted = (Some(0), "as submitted: task\n".to_owned());
        let other = other.display();
        assert_eq!(start(&own, &format!("cp {other} {}", own.display())), as_submitted);
        executable(&own, "echo as submitted: $2");
        assert_eq!(start(&own, &format!("cp {other} COPY.new; mv COPY.new COPY")), as_submitted);
        assert_eq!(start(&own, &format!("cat {other} > COPY")), as_submitted, "the same file");
    }

    /// `sbatch` hands the submitter's TMPDIR on to a job of root.
    #[test]
    fn no_program_is_copied_to_where_others_may_change_names() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
        let own = place.path().join("assay");
        executable(&own, "echo as submitted");
        let program = Program::copy(&own, &folder, 1).unwrap();
        let path = place.path().join("job.sh");
        std::fs::write(&path, script(&fleet(), &Code { program, ..code("/shared") })).unwrap();
        let (outer, inner) = (place.path().join("outer"), place.path().join("outer/inner"));
        std::fs::create_dir_all(&inner).unwrap();
        let start = |outer_mode, inner_mode| {
            for (dir, mode) in [(&outer, outer_mode), (&inner, inner_mode)] {
                std::fs::set_permissions(dir, std::fs::Permissions::from_mode(mode)).unwrap();
            }
            let mut command = std::process::Command::new("sh");
            let output = command.arg(&path).arg("7").env("TMPDIR", &inner).output().unwrap();
            assert_eq!(
                std::fs::read_dir(&inner).unwrap().count(),
                usize::from(output.status.success())
            );
            for copied in std::fs::read_dir(&inner).unwrap() {
                std::fs::remove_dir_all(copied.unwrap().path()).unwrap();
            }
            (output.status.code(), String::from_utf8(output.stderr).unwrap())
        };
        for (outer_mode, inner_mode) in [(0o755, 0o755), (0o755, 0o1777), (0o1777, 0o700)] {
            let ended = start(outer_mode, inner_mode);
            assert_eq!(ended, (Some(0), String::new()), "{outer_mode:o} {inner_mode:o}");
        }
        for (outer_mode, inner_mode, named) in
            [(0o755, 0o777, &inner), (0o755, 0o770, &inner), (0o777, 0o700, &outer)]
        {
            let (code, stderr) = start(outer_mode, inner_mode);
            assert_eq!(code, Some(4), "{outer_mode:o} {inner_mode:o}");
            let named = format!("others may change names in {} ", named.display());
            assert!(stderr.contains(&named) && stderr.contains("TMPDIR"), "{stderr}");
        }
    }

    #[test]
    fn another_program_than_the_submitted_one_does_not_start() {
        let place = tempfile::tempdir().unwrap();
        let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
        let own = place.path().join("assay");
        executable(&own, "echo as submitted");
        executable(&place.path().join("assay-load"), "");
        let program = Program::copy(&own, &folder, 1).unwrap();
        assert!(folder.file("program-1/assay-load").is_file(), "its load generators come with it");
        let copy = program.path.clone();
        let path = place.path().join("job.sh");
        std::fs::write(&path, script(&fleet(), &Code { program, ..code("/shared") })).unwrap();
        for (changed, back) in [(format!("{copy}-load"), ""), (copy, "echo as submitted")] {
            executable(Path::new(&changed), "echo another");
            let output = std::process::Command::new("sh").arg(&path).output().unwrap();
            assert_eq!((output.status.code(), output.stdout), (Some(4), vec![]), "{changed}");
            executable(Path::new(&changed), back);
        }
    }
}
