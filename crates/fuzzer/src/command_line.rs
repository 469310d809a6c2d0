//! The command line of a fuzzing program, `[--time SECONDS] [--only NAME] [--seed N] [--found FOLDER]`: runs each
//! target for this time, in a process of its own with limits of memory and time, and prints one line of results each.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use assay_sys::files::Dir;
use assay_sys::kernel::Root;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::round::{Limits, Round};
use crate::target::Target;

/// Memory limit of one target, bytes: its heap, and the stacks of threads.
const MEMORY: u64 = 512 << 20;

/// Time limit of one input, seconds.
const PATIENCE: u64 = 20;

/// Exit code of a worker whose input took too long.
const TOO_LONG: i32 = 3;

/// Exit code of a worker that found panics.
const PANICS: i32 = 1;

struct Words {
    time: u64,
    only: Option<String>,
    seed: u64,
    found: PathBuf,
    worker: bool,
}

/// The whole program: runs the targets that the arguments choose among all.
#[must_use]
pub fn run(program: &str, all: &[Target]) -> ExitCode {
    if std::env::args().nth(1).is_some_and(|word| word == "--targets") {
        all.iter().for_each(|target| println!("{}", target.name));
        return ExitCode::SUCCESS;
    }
    let Some(words) = words() else {
        eprintln!(
            "usage: {program} [--time SECONDS] [--only NAME] [--seed N] [--found FOLDER]\n\
             \x20      {program} --targets"
        );
        return ExitCode::from(2);
    };
    let chosen = |target: &&Target| words.only.as_ref().is_none_or(|name| name == target.name);
    let targets: Vec<&Target> = all.iter().filter(chosen).collect();
    let results: Result<Vec<bool>, String> = targets
        .into_iter()
        .map(|target| if words.worker { worker(target, &words) } else { supervise(target, &words) })
        .collect();
    match results {
        Ok(sound) if sound.is_empty() => {
            eprintln!("error: unknown target\n  hint: `{program} --targets` names them");
            ExitCode::from(2)
        }
        Ok(sound) if sound.iter().all(|sound| *sound) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn words() -> Option<Words> {
    let (mut time, mut only, mut seed, mut worker) = (60, None, 1, false);
    let mut found = PathBuf::from("target/fuzz");
    let mut arguments = std::env::args().skip(1);
    while let Some(word) = arguments.next() {
        match word.as_str() {
            "--time" => time = arguments.next()?.parse().ok()?,
            "--only" => only = Some(arguments.next()?),
            "--seed" => seed = arguments.next()?.parse().ok()?,
            "--found" => found = PathBuf::from(arguments.next()?),
            "--worker" => worker = true,
            _ => return None,
        }
    }
    Some(Words { time, only, seed, found, worker })
}

/// Runs a target in a process that may be killed by a signal, and prints the result.
fn supervise(target: &Target, words: &Words) -> Result<bool, String> {
    let message = |error: &dyn std::fmt::Display| error.to_string();
    let program = std::env::current_exe().map_err(|error| message(&error))?;
    let status = Command::new(program)
        .args(["--worker", "--only", target.name, "--time", &words.time.to_string()])
        .args(["--seed", &words.seed.to_string(), "--found"])
        .arg(&words.found)
        .status()
        .map_err(|error| message(&error))?;
    if status.code().is_some_and(|code| code == 0 || code == PANICS) {
        return Ok(status.success());
    }
    let why = ended(status);
    println!("{:<12} {why}: {}", target.name, words.found.join(last(target)).display());
    Ok(false)
}

fn ended(status: ExitStatus) -> String {
    match status.code() {
        Some(TOO_LONG) => format!("an input took more than {PATIENCE} s"),
        _ => format!("ended with {status}"),
    }
}

/// The file with the current input.
fn last(target: &Target) -> PathBuf {
    PathBuf::from(format!("{}-last", target.name))
}

fn worker(target: &Target, words: &Words) -> Result<bool, String> {
    let message = |error: &dyn std::fmt::Display| error.to_string();
    let dir = Dir::make_all(&words.found).map_err(|error| message(&error))?;
    dir.remove_file(last(target)).map_err(|error| message(&error))?;
    let mut file = dir.create(last(target)).map_err(|error| message(&error))?;
    let memory = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    setrlimit(Resource::Data, memory).map_err(|error| message(&error))?;
    let count = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&count));
    let limits = Limits { time: Duration::from_secs(words.time), executions: u64::MAX };
    let round = Round::run(target, words.seed, limits, Some(&mut file), &count);
    dir.remove_file(last(target)).map_err(|error| message(&error))?;
    println!(
        "{:<12} {:>10} executions, {:>5} answers, {} panics, slowest input {:.3} s ({} bytes), {} at most",
        target.name,
        round.executions,
        round.answers,
        round.panics.len(),
        round.slowest.as_secs_f64(),
        round.slowest_input.len(),
        most_memory()
    );
    for (number, panic) in round.panics.iter().enumerate() {
        let name = format!("{}-panic-{number}", target.name);
        dir.replace(&name, &panic.input).map_err(|error| message(&error))?;
        println!("  {}: {}", words.found.join(&name).display(), panic.why);
    }
    if round.slowest > Duration::from_secs(1) {
        save(&dir, &format!("{}-slowest", target.name), &round.slowest_input, &words.found)?;
    }
    Ok(round.panics.is_empty())
}

/// The most memory that this process has used, with its program.
fn most_memory() -> String {
    let status = Root::real().read("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    most.map_or_else(|| "memory unknown".to_owned(), |most| most.trim().to_owned())
}

fn save(dir: &Dir, name: &str, input: &[u8], folder: &Path) -> Result<(), String> {
    dir.replace(name, input).map_err(|error| error.to_string())?;
    println!("  {}: the slowest", folder.join(name).display());
    Ok(())
}

/// Ends the process when one input takes too long; its file is kept.
fn watch(count: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let (mut before, mut since) = (0, 0);
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = count.load(Ordering::Relaxed);
            since = if now == before { since + 1 } else { 0 };
            before = now;
            if since > PATIENCE {
                std::process::exit(TOO_LONG);
            }
        }
    });
}
