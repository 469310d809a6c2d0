//! `assay compare`

use std::path::{Path, PathBuf};

use assay_cause::experiment::compare::{
    compare, compare_levels_of, compare_with_baseline, newest_run,
};
use assay_judge::compare::Terms;
use assay_judge::verdict::RunComparison;
use assay_record::run_folder::RunFolder;
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::observer::{Terminal, refuse};
use crate::output;
use crate::parsers::{confidence, margin};
use crate::shared_arguments::FormatArguments;

/// Arguments of `assay compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// Run folders; one with --over or --baseline
    #[arg(value_name = "RUN", num_args = 0..=2)]
    runs: Vec<PathBuf>,
    /// Fail only on regressions from this run
    ///
    /// Without another run, the newest in `runs/` that is not the baseline.
    #[arg(long, value_name = "RUN", conflicts_with = "over")]
    baseline: Option<PathBuf>,
    /// Compare two levels within one run
    #[arg(long, value_name = "FACTOR[=A,B]")]
    over: Option<String>,
    #[command(flatten)]
    how: How,
}

/// How two sides are compared and shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct How {
    /// Margin within which two are equal
    ///
    /// Equal if the larger is at most this much above the smaller.
    #[arg(long, value_name = "PERCENT", default_value = "5 %", value_parser = margin)]
    within: f64,
    /// Confidence of the intervals
    #[arg(long, value_name = "PERCENT", default_value = "95 %", value_parser = confidence)]
    confidence: f64,
    /// Decide by this measure too
    ///
    /// E.g. `io.bytes` or `reader.read_p99_ns`; may be repeated.
    #[arg(long, value_name = "MEASURE")]
    measure: Vec<String>,
    /// Compare different studies or lengths too
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    format: FormatArguments,
    /// Write an HTML page; compare.html in a folder
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Shows what changed from one run to the other, by how much, and with what confidence.
pub(crate) fn run(arguments: &CompareArguments) -> Result<Code, Error> {
    let how = &arguments.how;
    let (plain, against, observer) = (how.terms(false), how.terms(true), &mut Terminal);
    let comparison = match (&arguments.baseline, &arguments.over, arguments.runs.as_slice()) {
        (Some(baseline), _, [run]) => compare(baseline, run, &against, observer),
        (Some(baseline), _, []) => {
            let run = newest_run(Path::new("runs"), baseline)?;
            let (path, shown) = (run.path().display(), baseline.display());
            output::message(&format!("comparing {path} with {shown}"));
            compare_with_baseline(baseline, &run, &against, observer)
        }
        (None, Some(over), [run]) => {
            let (factor, named) = levels(over);
            compare_levels_of(run, factor, &named, &plain, observer)
        }
        (None, None, [a, b]) => compare(a, b, &plain, observer),
        _ => Err(Error::usage(
            "name two runs; or one with `--baseline RUN` or `--over FACTOR`\n  hint: `assay compare \
             --help` shows the ways to call it",
        )),
    };
    show(&comparison?, how)
}

/// The factor and the levels of `FACTOR[=A,B]`.
fn levels(over: &str) -> (&str, Vec<String>) {
    let (factor, named) = over.split_once('=').unwrap_or((over, ""));
    let named = named.split(',').map(|level| level.trim().to_owned());
    (factor.trim(), named.filter(|level| !level.is_empty()).collect())
}

impl How {
    fn terms(&self, baseline: bool) -> Terms {
        Terms {
            within: self.within,
            confidence: self.confidence,
            measures: self.measure.clone(),
            baseline,
            anyway: self.force,
        }
    }
}

/// Compares a run that has just ended with a baseline, prints the result to stderr, and returns the exit
/// code: the worse of the run's and the comparison's.
pub(crate) fn after_run(baseline: &Path, run: &RunFolder, code_of_run: Code) -> Code {
    let terms = Terms { baseline: true, ..Terms::default() };
    let code = match compare_with_baseline(baseline, run, &terms, &mut Terminal) {
        Ok(comparison) => {
            let width = output::width();
            let text = |color| assay_report::comparison_text(&comparison, width, color);
            output::message_painted(text);
            comparison.verdict.code()
        }
        Err(error) => refuse(&error),
    };
    code_of_run.worse(code)
}

/// Shows a comparison, writes its page if requested, and returns the exit code.
fn show(comparison: &RunComparison, how: &How) -> Result<Code, Error> {
    if how.format.is_json() {
        output::json(comparison)?;
    } else {
        let width = output::width();
        output::data_painted(|color| assay_report::comparison_text(comparison, width, color));
    }
    if let Some(path) = &how.report {
        let file = if path.is_dir() { path.join("compare.html") } else { path.to_owned() };
        output::page(&file, &assay_report::comparison_html(comparison))?;
        output::message(&format!("page: {}", file.display()));
    }
    Ok(comparison.verdict.code())
}
