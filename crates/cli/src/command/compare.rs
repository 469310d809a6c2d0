//! `assay compare`

mod interleaved;
mod newest;

use std::path::{Path, PathBuf};

use assay_compare::{Side, Terms, compare_levels, compare_runs};
use assay_run_folder::{Run, RunFolder};
use assay_units::Percent;
use assay_verdict::{Equivalence, RunComparison};
use clap::Args;

use crate::exit::Code;
use crate::finish_run::{open_run, read_run};
use crate::output;

/// Arguments of `assay compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Run folders A and B; only one with `--over` or `--baseline`
    #[arg(value_name = "RUN", num_args = 0..=2)]
    runs: Vec<PathBuf>,
    /// Compare a run with this one and fail only on regressions; without a run, the newest in `runs/`
    /// that is not the baseline
    #[arg(long, value_name = "RUN", conflicts_with_all = ["over", "study"])]
    baseline: Option<PathBuf>,
    /// Compare two levels of a factor within one run, repeat by repeat
    #[arg(long, value_name = "FACTOR[=A,B]", conflicts_with = "study")]
    over: Option<String>,
    #[command(flatten)]
    interleaved: interleaved::InterleavedArguments,
    #[command(flatten)]
    how: How,
}

/// How two sides are compared and shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct How {
    /// Margin: equal if the larger is at most this much above the smaller
    #[arg(long, value_name = "PERCENT", default_value = "5 %", value_parser = margin)]
    within: f64,
    /// Confidence of the intervals
    #[arg(long, value_name = "PERCENT", default_value = "95 %", value_parser = confidence)]
    confidence: f64,
    /// Also decide by this measure, e.g. `io.bytes` or `reader.read_p99_ns`; may be repeated
    #[arg(long, value_name = "MEASURE")]
    measure: Vec<String>,
    /// Also compare runs of different studies, or repeats of very different length
    #[arg(long)]
    anyway: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Write an HTML page of the comparison to this file, or as compare.html to this folder
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Shows what changed from one run to the other, by how much, and with what confidence.
pub(crate) fn run(arguments: &CompareArguments) -> Code {
    match carry_out(arguments) {
        Ok(code) | Err(code) => code,
    }
}

fn carry_out(arguments: &CompareArguments) -> Result<Code, Code> {
    let how = &arguments.how;
    if arguments.interleaved.study.is_some() {
        return interleaved::run(&arguments.interleaved, how);
    }
    let comparison = match (&arguments.baseline, &arguments.over, arguments.runs.as_slice()) {
        (Some(baseline), _, [run]) => against_baseline(baseline, run, how)?,
        (Some(baseline), _, []) => {
            let newest = newest::run(baseline)?;
            with_baseline(baseline, &newest, &how.terms(true))?
        }
        (None, Some(over), [run]) => levels(run, over, how)?,
        (None, None, [a, b]) => two(a, b, &how.terms(false))?,
        _ => {
            return Err(usage(
                "name two runs; or one with `--baseline RUN` or `--over FACTOR`; or a study with \
                 `--interleaved STUDY`",
            ));
        }
    };
    show(&comparison, how)
}

impl How {
    fn terms(&self, baseline: bool) -> Terms {
        Terms {
            within: self.within,
            confidence: self.confidence,
            measures: self.measure.clone(),
            baseline,
            anyway: self.anyway,
        }
    }
}

/// Compares a run with a baseline.
pub(crate) fn against_baseline(
    baseline: &Path,
    run: &Path,
    how: &How,
) -> Result<RunComparison, Code> {
    two(baseline, run, &how.terms(true))
}

/// Compares a run that has just ended with a baseline, prints the result to stderr, and returns the exit
/// code: the worse of the run's and the comparison's.
///
/// The run is read from the open folder that it was written to, even if its path has changed.
pub(crate) fn after_run(baseline: &Path, run: &RunFolder, code_of_run: Code) -> Code {
    let terms = Terms { baseline: true, ..Terms::default() };
    let code = with_baseline(baseline, run, &terms).map_or_else(
        |code| code,
        |comparison| {
            let width = output::width();
            let text = |color| assay_report::comparison_text(&comparison, width, color);
            output::message_painted(text);
            code(comparison.verdict)
        },
    );
    code_of_run.worse(code)
}

/// Refuses a baseline that cannot be read before it costs a run.
pub(crate) fn check_baseline(baseline: &Path) -> Result<(), Code> {
    open_run(baseline).map(drop)
}

fn with_baseline(baseline: &Path, run: &RunFolder, terms: &Terms) -> Result<RunComparison, Code> {
    let (_, baseline_run) = open_run(baseline)?;
    let new_run = read_run(run)?;
    Ok(between((baseline, &baseline_run), (run.path(), &new_run), terms))
}

fn two(a: &Path, b: &Path, terms: &Terms) -> Result<RunComparison, Code> {
    let (_, run_a) = open_run(a)?;
    let (_, run_b) = open_run(b)?;
    Ok(between((a, &run_a), (b, &run_b), terms))
}

fn between(a: (&Path, &Run), b: (&Path, &Run), terms: &Terms) -> RunComparison {
    let (name_a, name_b) = (a.0.display().to_string(), b.0.display().to_string());
    compare_runs(&side(&name_a, a.1), &side(&name_b, b.1), terms)
}

/// Compares two levels of a factor of one run.
pub(crate) fn levels(run: &Path, over: &str, how: &How) -> Result<RunComparison, Code> {
    let (_, recorded) = open_run(run)?;
    let (factor, named) = over.split_once('=').unwrap_or((over, ""));
    let named: Vec<String> =
        named.split(',').map(|level| level.trim().to_owned()).filter(|l| !l.is_empty()).collect();
    let name = run.display().to_string();
    compare_levels(&side(&name, &recorded), factor.trim(), &named, &how.terms(false))
        .map_err(|why| usage(&why))
}

fn side<'r>(name: &'r str, run: &'r Run) -> Side<'r> {
    Side { name, manifest: &run.manifest, samples: &run.samples }
}

/// Shows a comparison, writes its page if requested, and returns the exit code.
pub(crate) fn show(comparison: &RunComparison, how: &How) -> Result<Code, Code> {
    if how.json {
        let text = serde_json::to_string_pretty(comparison).map_err(|cause| {
            output::error(&cause);
            Code::Host
        })?;
        output::data(&text);
    } else {
        let width = output::width();
        output::data_painted(|color| assay_report::comparison_text(comparison, width, color));
    }
    if let Some(path) = &how.html {
        write_page(comparison, path)?;
    }
    Ok(code(comparison.verdict))
}

fn write_page(comparison: &RunComparison, path: &Path) -> Result<(), Code> {
    let page = assay_report::comparison_html(comparison).map_err(|error| {
        output::error(&error);
        Code::Host
    })?;
    let file = if path.is_dir() { path.join("compare.html") } else { path.to_owned() };
    assay_files::replace(&file, page.as_bytes()).map_err(|error| {
        output::error(&error);
        Code::Host
    })?;
    output::message(&format!("page: {}", file.display()));
    Ok(())
}

/// The exit code of a comparison (docs/cli.md).
fn code(verdict: Equivalence) -> Code {
    match verdict {
        Equivalence::Equal | Equivalence::Better => Code::Kept,
        Equivalence::Worse | Equivalence::Different => Code::Broken,
        Equivalence::Undecided => Code::Undecided,
        Equivalence::NotComparable => Code::Usage,
    }
}

/// Prints a usage error.
pub(crate) fn usage(why: &str) -> Code {
    output::error(&format!("{why}\n  hint: `assay compare --help` shows the ways to call it"));
    Code::Usage
}

fn margin(text: &str) -> Result<f64, String> {
    let fraction = percent(text)?;
    match fraction > 0.0 && fraction <= 10.0 {
        true => Ok(fraction),
        false => Err("a margin must be above 0 % and at most 1000 %".to_owned()),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    let fraction = percent(text)?;
    match (0.5..1.0).contains(&fraction) {
        true => Ok(fraction),
        false => Err("a confidence must be at least 50 % and below 100 %, e.g. 95 %".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    text.parse::<Percent>().map(Percent::fraction).map_err(|error| error.to_string())
}
