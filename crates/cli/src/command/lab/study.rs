//! `assay lab run`: runs a study in a guest and copies its run folder back.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use assay_files::{Dir, Trust};
use assay_kernel::signal;
use assay_lab::{Argument, Cache, GuestTask, ReadOnlyMount, Results, WORK};
use assay_run_folder::RunFolder;
use assay_study::{DiskOverride, DiskSource, Stop};
use assay_units::{Bytes, format_duration};
use jiff::Timestamp;

use super::{LabRunArguments, Terminal, code, guest_task, program, refuse};
use crate::args::StudyArguments;
use crate::command::judge::show;
use crate::exit::Code;
use crate::observer::{self, load};

/// Size of the guest's disk for images of scratch disks, since its memory is small.
const WORK_SIZE: Bytes = Bytes::mebi(8 << 10);

/// Where the folder of a study file is mounted in the guest.
const STUDY: &str = "/run/assay/study";

/// Boots a guest, runs the study there, and shows its result.
pub(super) fn run(arguments: &LabRunArguments, cache: &Cache) -> ExitCode {
    match prepare(arguments) {
        Ok((task, folder)) => carry_out(arguments, cache, &task, &folder),
        Err(code) => code,
    }
}

/// Checks everything that can be checked before the slow boot of a guest.
fn prepare(arguments: &LabRunArguments) -> Result<(GuestTask, PathBuf), ExitCode> {
    let on_host = StudyArguments { disk: None, ..arguments.study.clone() };
    let loaded = load(&on_host.choice(), arguments.json).map_err(ExitCode::from)?;
    arguments.guest.spec(&in_guest(arguments)).check().map_err(|why| {
        crate::output::error(&why);
        ExitCode::from(Code::Usage)
    })?;
    let (program, shown_program) = program().map_err(|why| refuse(&why))?;
    assay_lab::ready(&Cache::usual()).map_err(|error| refuse(&error))?;
    let uses_images = match &arguments.study.disk {
        Some(disk) => *disk == DiskOverride::Loop,
        None => loaded.study.disks.values().any(|disk| disk.source == DiskSource::Loop),
    };
    let stamp = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("runs").join(format!("{stamp}-{}", loaded.study.name)));
    let folder = RunFolder::create(&out, Trust::Checked).map_err(|error| refuse(&error))?;
    let (study, shown_study) = study_in_guest(&arguments.study.study);
    let results = format!("{WORK}/run");
    let mut command = vec![Argument::Text(program), Argument::Text("run".to_owned())];
    command.extend(run_words(&StudyArguments { study, ..arguments.study.clone() }));
    command.extend(["--out", results.as_str()].map(|word| Argument::Text(word.to_owned())));
    let task = GuestTask {
        command,
        mounts: std::iter::once(shown_program).chain(shown_study).collect(),
        results: Some(Results { from: results, to: folder.path().to_owned() }),
        work: uses_images.then_some(WORK_SIZE),
        ..guest_task()
    };
    Ok((task, folder.path().to_owned()))
}

fn carry_out(
    arguments: &LabRunArguments,
    cache: &Cache,
    task: &GuestTask,
    folder: &Path,
) -> ExitCode {
    signal::note_interruptions();
    let spec = arguments.guest.spec(&in_guest(arguments));
    // The table is printed here from the copied folder, with the paths of this host.
    let mut quiet = WithoutOutput(Terminal);
    let ended = match assay_lab::run(&spec, task, cache, &mut quiet) {
        Ok(ended) => ended,
        Err(error) => {
            remove_if_empty(folder);
            return refuse(&error);
        }
    };
    let code = code(&ended);
    if !folder.join("verdict.json").is_file() {
        remove_if_empty(folder);
        return code;
    }
    let opened = assay_session::open_run(folder, &mut observer::Terminal);
    let Ok((folder, run)) = opened else { return Code::Host.into() };
    match folder.read_json("verdict.json") {
        Ok(judgement) => {
            show(&folder, &run.manifest, &judgement, arguments.json);
            code
        }
        Err(error) => refuse(&error),
    }
}

/// Removes the folder if no run was recorded in it.
fn remove_if_empty(folder: &Path) {
    if !folder.join("manifest.json").exists() {
        let name = folder.file_name().unwrap_or_default();
        let Ok(above) = Dir::open(folder.parent().unwrap_or(Path::new(""))) else { return };
        for part in ["samples", "logs", ""] {
            let _ = above.remove_dir(Path::new(name).join(part));
        }
    }
}

/// Disks that the lab attaches to the guest; all others are made by the run in the guest.
fn in_guest(arguments: &LabRunArguments) -> Vec<DiskOverride> {
    match &arguments.study.disk {
        Some(disk @ (DiskOverride::Nvme(_) | DiskOverride::Virtio(_))) => vec![disk.clone()],
        Some(disk @ DiskOverride::Block(_)) => vec![disk.clone()],
        _ => vec![],
    }
}

/// The path of a study file in the guest; a shipped study needs no file.
fn study_in_guest(study: &str) -> (String, Option<ReadOnlyMount>) {
    let path = Path::new(study);
    let (Ok(path), true) = (path.canonicalize(), path.is_file()) else {
        return (study.to_owned(), None);
    };
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
        return (study.to_owned(), None);
    };
    let shown = ReadOnlyMount { guest: STUDY.into(), host: folder.to_owned() };
    (format!("{STUDY}/{}", name.to_string_lossy()), Some(shown))
}

/// The arguments of `assay run` equivalent to these.
pub(crate) fn run_words(arguments: &StudyArguments) -> Vec<Argument> {
    // Name every field, so that a new one is not forgotten here.
    let StudyArguments { study, set, repeats, at_most, stop, disk, scheduler, seed } = arguments;
    let mut words = vec![study.clone()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for setting in set {
        option("--set", setting.clone());
    }
    if let Some(repeats) = repeats {
        option("--repeats", repeats.to_string());
    }
    if let Some(stop) = stop {
        let word = if *stop == Stop::Precise { "precise" } else { "at_most" };
        option("--stop", word.to_owned());
    }
    if let Some(at_most) = at_most {
        option("--at-most", format_duration(*at_most));
    }
    if let Some(scheduler) = scheduler {
        option("--scheduler", scheduler.clone());
    }
    option("--seed", seed.to_string());
    let mut words: Vec<Argument> = words.into_iter().map(Argument::Text).collect();
    if let Some(disk) = disk {
        words.push(Argument::Text("--disk".to_owned()));
        words.push(match disk {
            DiskOverride::Nvme(_) | DiskOverride::Virtio(_) => Argument::Disk(1),
            other => Argument::Text(other.to_string()),
        });
    }
    words
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        study: StudyArguments,
    }

    fn parse(line: &[&str]) -> StudyArguments {
        Line::try_parse_from(std::iter::once(&"run").chain(line)).unwrap().study
    }

    #[test]
    fn all_overrides_are_passed_to_the_run_in_the_guest() {
        let line = [
            "x.toml",
            "--set",
            "groups=4,8",
            "--repeats",
            "2",
            "--at-most",
            "20 s",
            "--scheduler",
            "none",
            "--seed",
            "7",
            "--disk",
            "null_blk:iops=500,depth=32",
        ];
        let text = |word: Argument| match word {
            Argument::Text(text) => text,
            Argument::Disk(number) => format!("disk {number}"),
        };
        let inside: Vec<String> = run_words(&parse(&line)).into_iter().map(text).collect();
        assert_eq!(inside, line);
        let nvme = run_words(&parse(&["x", "--disk", "nvme:2GiB"]));
        assert_eq!(nvme.last(), Some(&Argument::Disk(1)));
    }

    #[test]
    fn a_study_file_is_mounted_and_a_shipped_study_is_passed_by_name() {
        assert_eq!(study_in_guest("io-weight"), ("io-weight".to_owned(), None));
        let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
        let (name, shown) = study_in_guest(file.path().to_str().unwrap());
        let own = file.path().file_name().unwrap().to_str().unwrap();
        assert_eq!(name, format!("{STUDY}/{own}"));
        assert_eq!(shown.unwrap().host, file.path().parent().unwrap().canonicalize().unwrap());
    }
}
