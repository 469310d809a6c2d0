//! `assay-fuzz [--time SECONDS] [--only NAME] [--seed N] [--found FOLDER]`: each target for so long, in
//! a process of its own with limits of memory and time; what it came to, a line each.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use assay_files::Dir;
use assay_fuzz::{Limits, Round, TARGETS, Target};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Bytes of memory of one target.
const MEMORY: u64 = 4 << 30;

/// Seconds for one input.
const PATIENCE: u64 = 20;

/// How a worker ends whose input took too long.
const TOO_LONG: i32 = 3;

/// How one ends that has found panics.
const PANICS: i32 = 1;

struct Words {
    time: u64,
    only: Option<String>,
    seed: u64,
    found: PathBuf,
    worker: bool,
}

fn main() -> ExitCode {
    let Some(words) = words() else {
        eprintln!(
            "usage: assay-fuzz [--time SECONDS] [--only NAME] [--seed N] [--found FOLDER]\n\
             targets: {}",
            TARGETS.map(|target| target.name).join(" ")
        );
        return ExitCode::from(2);
    };
    let chosen = |target: &&Target| words.only.as_ref().is_none_or(|name| name == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(chosen).collect();
    let done: Result<Vec<bool>, String> = targets
        .into_iter()
        .map(|target| if words.worker { worker(target, &words) } else { supervise(target, &words) })
        .collect();
    match done {
        Ok(sound) if sound.is_empty() => {
            eprintln!("error: there is no such target\n  hint: `assay-fuzz --help` names them");
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
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match word.as_str() {
            "--time" => time = given.next()?.parse().ok()?,
            "--only" => only = Some(given.next()?),
            "--seed" => seed = given.next()?.parse().ok()?,
            "--found" => found = PathBuf::from(given.next()?),
            "--worker" => worker = true,
            _ => return None,
        }
    }
    Some(Words { time, only, seed, found, worker })
}

/// Runs a target in a process that may be ended by a signal, and says what became of it.
fn supervise(target: &Target, words: &Words) -> Result<bool, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let program = std::env::current_exe().map_err(|error| said(&error))?;
    let status = Command::new(program)
        .args(["--worker", "--only", target.name, "--time", &words.time.to_string()])
        .args(["--seed", &words.seed.to_string(), "--found"])
        .arg(&words.found)
        .status()
        .map_err(|error| said(&error))?;
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

/// The file with the input that is being read.
fn last(target: &Target) -> PathBuf {
    PathBuf::from(format!("{}-last", target.name))
}

fn worker(target: &Target, words: &Words) -> Result<bool, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let dir = Dir::make_all(&words.found).map_err(|error| said(&error))?;
    dir.remove_file(last(target)).map_err(|error| said(&error))?;
    let mut file = dir.create(last(target)).map_err(|error| said(&error))?;
    let memory = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    setrlimit(Resource::As, memory).map_err(|error| said(&error))?;
    let count = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&count));
    let limits = Limits { time: Duration::from_secs(words.time), executions: u64::MAX };
    let round = Round::run(target, words.seed, limits, Some(&mut file), &count);
    dir.remove_file(last(target)).map_err(|error| said(&error))?;
    println!(
        "{:<12} {:>10} executions, {:>5} answers, {} panics, slowest input {:.3} s ({} bytes)",
        target.name,
        round.executions,
        round.answers,
        round.panics.len(),
        round.slowest.as_secs_f64(),
        round.slowest_input.len()
    );
    for (number, found) in round.panics.iter().enumerate() {
        let name = format!("{}-panic-{number}", target.name);
        dir.replace(&name, &found.input).map_err(|error| said(&error))?;
        println!("  {}: {}", words.found.join(&name).display(), found.why);
    }
    if round.slowest > Duration::from_secs(1) {
        save(&dir, &format!("{}-slowest", target.name), &round.slowest_input, &words.found)?;
    }
    Ok(round.panics.is_empty())
}

fn save(dir: &Dir, name: &str, input: &[u8], place: &Path) -> Result<(), String> {
    dir.replace(name, input).map_err(|error| error.to_string())?;
    println!("  {}: the slowest", place.join(name).display());
    Ok(())
}

/// Ends the process where one input takes too long; its file stays.
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
