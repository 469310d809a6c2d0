//! `assay export`

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_export::{Error, Follower, Format, Live, Outcome, export, json_lines};
use assay_run_folder::{Run, RunFolder, runs};
use clap::{Args, ValueEnum};

use crate::destination::Destination;
use crate::exit::Code;
use crate::output;

/// How often a run that goes on is looked at. The sampler writes its batches once a second.
const LOOK: Duration = Duration::from_millis(500);

/// What `assay export` takes.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Folders of runs, or folders that hold folders of runs; all become one set of tables
    #[arg(value_name = "RUN", required_unless_present = "follow")]
    runs: Vec<PathBuf>,
    /// The form
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Parquet)]
    to: Form,
    /// Where to: a folder for parquet and csv (`export/` in the run's folder by default), a file for
    /// the others (stdout by default)
    #[arg(long, value_name = "PLACE")]
    out: Option<PathBuf>,
    /// Leave the table `samples` out, which is the largest by far
    #[arg(long)]
    no_samples: bool,
    /// Follow a run that goes on, as JSON lines or with `--to openmetrics`, until it is over
    #[arg(long, value_name = "RUN", conflicts_with = "runs")]
    follow: Option<PathBuf>,
}

/// The forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Five tables as Parquet
    Parquet,
    /// Five tables as CSV
    Csv,
    /// The rows of the same tables as JSON lines
    Jsonl,
    /// Verdicts as OpenMetrics text; of a run that goes on, its counters
    Openmetrics,
    /// The document of `fio --output-format=json`, of groups that do I/O
    Fio,
    /// The document of `hyperfine --export-json`, of workloads that end by themselves
    Hyperfine,
}

/// Writes runs in forms that other programs read.
pub(crate) fn run(arguments: &ExportArguments) -> Code {
    let done = match &arguments.follow {
        Some(run) => follow(run, arguments),
        None => write(arguments),
    };
    match done {
        Ok(code) => code,
        Err(error) => failed(&error),
    }
}

/// How an error ends the program.
fn failed(error: &Error) -> Code {
    match error {
        Error::NobodyReads => return Code::Kept,
        other => output::error(other),
    }
    match error {
        Error::Run(_) | Error::DoesNotFit(_) => Code::Usage,
        _ => Code::Host,
    }
}

fn write(arguments: &ExportArguments) -> Result<Code, Error> {
    let found = expanded(&arguments.runs)?;
    let samples = !arguments.no_samples;
    match arguments.to {
        Form::Parquet | Form::Csv => {
            let format = if arguments.to == Form::Csv { Format::Csv } else { Format::Parquet };
            let folder = match (&arguments.out, found.as_slice()) {
                (Some(out), _) => assay_files::output_dir(out)?,
                // Below the run, where nothing that a link leads to is written to.
                (None, [only]) => RunFolder::open(only)?.dir().make_dir("export")?,
                (None, _) => {
                    return Err(Error::DoesNotFit(
                        "several runs become one set of tables\n  hint: say in which folder, with \
                         --out"
                            .to_owned(),
                    ));
                }
            };
            Ok(conclude(&export(&found, format, &folder, samples)?))
        }
        Form::Jsonl => {
            let mut out = open(arguments.out.as_deref())?;
            let outcome = json_lines(&found, &mut out, samples)?;
            finish(out)?;
            Ok(conclude(&outcome))
        }
        form => document(form, &found, arguments.out.as_deref()),
    }
}

/// Says what was written, and what was left out.
fn conclude(outcome: &Outcome) -> Code {
    for (path, why) in &outcome.left_out {
        output::error(&format!("{} is left out: {why}", path.display()));
    }
    for file in &outcome.files {
        output::data(&file.display().to_string());
    }
    if outcome.runs == 0 { Code::Usage } else { Code::Kept }
}

/// Runs as they are named, and those in folders of runs.
fn expanded(named: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for path in named {
        if path.join("manifest.json").exists() {
            found.push(path.clone());
            continue;
        }
        let inside = if path.is_dir() { runs(path)? } else { Vec::new() };
        if inside.is_empty() {
            // Opening it says what is wrong with it.
            RunFolder::open(path)?;
        }
        found.extend(inside);
    }
    Ok(found)
}

/// The forms that hold one run.
fn document(form: Form, found: &[PathBuf], out: Option<&Path>) -> Result<Code, Error> {
    let [path] = found else {
        return Err(Error::DoesNotFit(
            "this form holds one run\n  hint: name one, or use `--to parquet`".to_owned(),
        ));
    };
    let run = Run::load(path)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let text = match form {
        Form::Fio => format!("{:#}\n", assay_export::fio(&run.manifest, &run.samples)?),
        Form::Hyperfine => format!("{:#}\n", assay_export::hyperfine(&run.manifest)?),
        _ => {
            let promises = run.manifest.recording.is_none();
            let judged = promises.then(|| assay_judge::judge(&run.manifest, &run.samples));
            assay_export::openmetrics(&name, &run.manifest, judged.as_ref())
        }
    };
    let mut out = open(out)?;
    out.write_all(text.as_bytes()).map_err(|cause| io(&cause))?;
    finish(out).map(|()| Code::Kept)
}

/// The file or stream that was named; stdout where none was.
fn open(out: Option<&Path>) -> Result<BufWriter<Destination>, Error> {
    Ok(BufWriter::new(match out.filter(|path| path.as_os_str() != "-") {
        None => Destination::stdout().map_err(|cause| io(&cause))?,
        Some(path) => Destination::of(assay_files::output(path)?),
    }))
}

/// The same for whoever reads it while it grows.
fn open_live(out: Option<&Path>) -> Result<BufWriter<Destination>, Error> {
    let whole = open(out)?.into_inner().map_err(|cause| io(cause.error()))?;
    Ok(BufWriter::new(whole.at_once()?))
}

fn finish(mut out: BufWriter<Destination>) -> Result<(), Error> {
    out.flush().map_err(|cause| io(&cause))?;
    let whole = out.into_inner().map_err(|cause| io(cause.error()))?;
    Ok(whole.finish()?)
}

fn io(cause: &std::io::Error) -> Error {
    match cause.kind() {
        std::io::ErrorKind::BrokenPipe => Error::NobodyReads,
        _ => Error::Write("the output".to_owned(), cause.to_string()),
    }
}

fn follow(run: &Path, arguments: &ExportArguments) -> Result<Code, Error> {
    if !run.is_dir() {
        RunFolder::open(run)?;
    }
    match arguments.to {
        Form::Openmetrics => metrics(run, arguments.out.as_deref()),
        Form::Parquet | Form::Jsonl => {
            let mut out = open_live(arguments.out.as_deref())?;
            lines(Follower::new(run), &mut out, &|| false)
        }
        _ => Err(Error::DoesNotFit(
            "a run that goes on has no such form yet\n  hint: follow it with `--to jsonl` or `--to \
             openmetrics`"
                .to_owned(),
        )),
    }
}

/// Writes what is new as lines until the run is over, or `enough` says so.
pub(crate) fn lines(
    mut follower: Follower,
    out: &mut dyn Write,
    enough: &dyn Fn() -> bool,
) -> Result<Code, Error> {
    loop {
        // What is written after this question is asked is still read below.
        let over = enough() || follower.is_over();
        follower.write(out)?;
        out.flush().map_err(|cause| io(&cause))?;
        if over {
            return Ok(Code::Kept);
        }
        std::thread::sleep(LOOK);
    }
}

/// Writes the latest counters again and again until the run is over: into a file that is replaced
/// whole, or one text after the other.
fn metrics(run: &Path, out: Option<&Path>) -> Result<Code, Error> {
    let mut follower = Follower::new(run);
    let mut live = Live::default();
    loop {
        let over = follower.is_over();
        follower.samples(&mut |place, table| live.take(place, table))?;
        let text = live.text(follower.run());
        match out {
            None => output::data(&text),
            Some(path) => assay_files::replace(path, text.as_bytes())?,
        }
        if over {
            return Ok(Code::Kept);
        }
        std::thread::sleep(2 * LOOK);
    }
}

/// Follows a run in a thread of its own while it is carried out.
pub(crate) struct Beside {
    thread: std::thread::JoinHandle<Result<Code, Error>>,
    over: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Beside {
    /// Begins to follow; the place is opened first, so that what is wrong with it is said before
    /// anything runs.
    pub(crate) fn start(run: &RunFolder, out: &Path) -> Result<Self, Code> {
        let mut out = open_live(Some(out)).map_err(|error| failed(&error))?;
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (follower, seen) = (Follower::of(run), std::sync::Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            lines(follower, &mut out, &|| seen.load(std::sync::atomic::Ordering::Acquire))
        });
        Ok(Self { thread, over })
    }

    /// Writes what is left. That it could not be written is said, and is no failure of the run.
    pub(crate) fn finish(self) {
        self.over.store(true, std::sync::atomic::Ordering::Release);
        if let Ok(Err(error)) = self.thread.join() {
            failed(&error);
        }
    }
}
