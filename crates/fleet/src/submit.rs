//! The job script, and its submission.

use std::path::{Path, PathBuf};

use assay_sys::escape::{shell_word, shell_words, slurm_word};
use assay_sys::exit::Error;
use minijinja::Environment;
use serde::Serialize;

use crate::folder::{Fleet, FleetFolder, usable_in_a_script};
use crate::limit::Limit;
use crate::slurm::{sbatch, succeed};

/// What the tasks of a fleet run.
#[derive(Debug)]
pub struct Script {
    /// The program, under the same path on all hosts.
    pub program: PathBuf,
    /// Files of the study, below the fleet's folder.
    pub study: Vec<PathBuf>,
    /// Arguments of `assay run`, without the seed and the folder.
    pub words: Vec<String>,
    /// The time limit of a task.
    pub limit: Limit,
    /// The partition, if one is named.
    pub partition: Option<String>,
    /// Whether folders that other users may write to are accepted.
    pub trust_folder: bool,
}

/// A file that a task compares before it starts anything.
#[derive(Serialize)]
struct Compared {
    sum: String,
    path: String,
}

impl Compared {
    fn new(path: &Path) -> Result<Self, Error> {
        usable_in_a_script(path)?;
        let path = path.display().to_string();
        let output = succeed("sha256sum", &["--", &path])?;
        Ok(Self { sum: output.split(' ').next().unwrap_or_default().to_owned(), path })
    }
}

impl Script {
    /// Writes `job.sh`: the files are compared with what they are now.
    pub fn write(&self, folder: &FleetFolder, fleet: &Fleet) -> Result<(), Error> {
        let text = self.text(folder, fleet)?;
        folder.dir().replace("job.sh", text.as_bytes()).map_err(Error::host)
    }

    fn text(&self, folder: &FleetFolder, fleet: &Fleet) -> Result<String, Error> {
        // The load generators, which the program finds next to itself.
        let generators = self.program.with_file_name("assay-load");
        let programs = [Some(self.program.clone()), generators.exists().then_some(generators)];
        let study = self.study.iter().map(|name| folder.path().join(name));
        let files: Result<Vec<Compared>, Error> =
            programs.into_iter().flatten().chain(study).map(|path| Compared::new(&path)).collect();
        let mut environment = Environment::new();
        environment.set_keep_trailing_newline(true);
        environment.add_filter("shell", |text: String| shell_word(&text));
        environment.add_filter("slurm", |text: String| slurm_word(&text));
        let values = minijinja::context! {
            study => fleet.study,
            minutes => self.limit.minutes,
            signal_ahead_s => self.limit.signal_ahead_s,
            partition => self.partition,
            program => self.program.display().to_string(),
            fleet => folder.path().display().to_string(),
            files => files?,
            words => shell_words(&self.words),
            seed => fleet.seed,
            wait_min => self.limit.minutes,
            trust_folder => self.trust_folder,
        };
        environment
            .render_str(include_str!("job.sh"), values)
            .map_err(|cause| Error::host(format!("cannot write the job script: {cause}")))
    }
}

/// Submits these tasks and records the jobs: one array that keeps off the nodes in `exclude`, or a job for each task that
/// has a node of its own.
pub fn submit(
    folder: &FleetFolder,
    fleet: &mut Fleet,
    tasks: &[usize],
    exclude: &[String],
) -> Result<(), Error> {
    let again = !fleet.jobs.is_empty();
    let log = format!("--output={}", folder.path().join("log/%A_%a.txt").display());
    let script = folder.path().join("job.sh").display().to_string();
    let size = if fleet.hosts.is_empty() { tasks.len() } else { 1 };
    for part in tasks.chunks(size.max(1)) {
        let array: Vec<String> = part.iter().map(usize::to_string).collect();
        let mut words = vec![format!("--array={}", array.join(",")), log.clone()];
        match fleet.hosts.get(part[0]) {
            Some(node) => words.push(format!("--nodelist={node}")),
            None if exclude.is_empty() => {}
            None => words.push(format!("--exclude={}", exclude.join(","))),
        }
        words.push(script.clone());
        words.extend(again.then(|| "again".to_owned()));
        let job = sbatch(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
        fleet.jobs.push(job);
        folder.write_fleet(fleet).map_err(|error| {
            let hint = format!("the job {job} is in the queue; `scancel {job}` removes it");
            Error::host(format!("{error}\n  hint: {hint}"))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Output};

    use assay_sys::files::Trust;

    use super::*;
    use crate::folder::SCHEMA;

    /// A fleet in `place` whose program is a shell script that prints its arguments.
    fn fleet(place: &Path, study: &str) -> (FleetFolder, Fleet, Script) {
        let program = place.join("it's assay");
        std::fs::write(&program, "#!/bin/sh\necho \"$@\"\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let folder = FleetFolder::create(&place.join("fleet"), Trust::Checked).unwrap();
        folder.dir().make_dir("study").unwrap();
        folder.dir().replace("study/mine.toml", b"as submitted").unwrap();
        let fleet = Fleet {
            schema: SCHEMA,
            study: study.to_owned(),
            seed: 5,
            tasks: 4,
            ..Fleet::default()
        };
        let script = Script {
            program,
            study: vec!["study/mine.toml".into()],
            words: vec!["my study.toml".to_owned()],
            limit: Limit { minutes: 12, signal_ahead_s: 120 },
            partition: Some("all".to_owned()),
            trust_folder: false,
        };
        script.write(&folder, &fleet).unwrap();
        (folder, fleet, script)
    }

    fn start(folder: &FleetFolder) -> Output {
        let mut command = Command::new("sh");
        command.arg(folder.path().join("job.sh"));
        command.env("SLURM_ARRAY_JOB_ID", "17").env("SLURM_ARRAY_TASK_ID", "3");
        command.env("SLURMD_NODENAME", "n1").output().unwrap()
    }

    #[test]
    fn a_task_restores_its_host_and_runs_its_seed() {
        let place = tempfile::tempdir().unwrap();
        let (folder, ..) = fleet(place.path(), "io-weight");
        let output = start(&folder);
        let run = folder.path().join("nodes/n1/17_3").display().to_string();
        let expected = format!(
            "restore\nrun --yes my study.toml --seed 8 --wait 12m --out {run} --errors-json {run}.json\n"
        );
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
        // Slurm may start another task on the same node afterwards.
        folder.dir().replace("nodes/n1/17_0.json", b"{\"code\": 130, \"errors\": []}").unwrap();
        assert!(start(&folder).status.success(), "it was interrupted");
        folder.dir().replace("nodes/n1/17_0.json", b"{\"code\": 1, \"errors\": []}").unwrap();
        assert_refused(&folder, "the node has a verdict already (n1)");
    }

    fn assert_refused(folder: &FleetFolder, why: &str) {
        let output = start(folder);
        assert_eq!((output.status.code(), output.stdout), (Some(4), vec![]));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(why), "{stderr}");
    }

    /// Anyone who can write there would be root on every host.
    #[test]
    fn a_program_or_study_that_was_changed_does_not_start() {
        let place = tempfile::tempdir().unwrap();
        let (folder, _, script) = fleet(place.path(), "io-weight");
        let study = folder.path().join("study/mine.toml");
        for path in [&script.program, &study] {
            let usual = std::fs::read(path).unwrap();
            std::fs::write(path, "another").unwrap();
            assert_refused(
                &folder,
                &format!("{} is not the file that was submitted", path.display()),
            );
            std::fs::write(path, usual).unwrap();
        }
        std::fs::remove_file(&study).unwrap();
        assert!(Command::new("mkfifo").arg(&study).status().unwrap().success());
        assert_refused(&folder, "is not a regular file");
    }

    #[test]
    fn names_cannot_inject_lines_or_options() {
        let place = tempfile::tempdir().unwrap();
        let (folder, fleet, script) = fleet(place.path(), "io\ntouch /owned\n#SBATCH --uid=0");
        let script = Script { partition: Some("all\n#SBATCH --uid=0".to_owned()), ..script };
        let text = script.text(&folder, &fleet).unwrap();
        assert!(
            !text
                .lines()
                .any(|line| line.starts_with("#SBATCH --uid") || line.starts_with("touch")),
            "{text}"
        );
        let named = text.lines().find(|line| line.starts_with("#SBATCH --job-name")).unwrap();
        assert_eq!(named, "#SBATCH --job-name=assay-io_touch__owned__SBATCH_--uid_0");
        // sbatch stops reading options at the first command.
        assert!(text.rfind("#SBATCH --").unwrap() < text.find("set -eu").unwrap());
        for line in ["#SBATCH --time=12", "#SBATCH --signal=B:TERM@120"] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
    }
}
