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

/// What `assay compare` takes.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The folders of two runs, A and B; with `--over` or `--baseline` of one
    #[arg(value_name = "RUN", num_args = 0..=2)]
    runs: Vec<PathBuf>,
    /// Compare a run with this one: only what became worse counts. Without a run, the newest in
    /// `runs/` that is not the baseline
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
    /// The margin: equal means that the larger is at most so much above the smaller
    #[arg(long, value_name = "PERCENT", default_value = "5 %", value_parser = margin)]
    within: f64,
    /// Confidence of the intervals
    #[arg(long, value_name = "PERCENT", default_value = "95 %", value_parser = confidence)]
    confidence: f64,
    /// Let this measure decide too, as `io.bytes` or `reader.read_p99_ns`; may be repeated
    #[arg(long, value_name = "MEASURE")]
    measure: Vec<String>,
    /// Compare also runs of different studies, and repeats of very different length
    #[arg(long)]
    anyway: bool,
    /// Print the document instead of a table
    #[arg(long)]
    json: bool,
    /// Write the page of the comparison to this file; into a folder as compare.html
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Says what changed from one run to the other, by how much, and how sure that is.
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
        (Some(baseline), _, []) => against_baseline(baseline, &newest::run(baseline)?, how)?,
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

/// Compares a run that has just ended with a baseline, on stderr, and says how the program ends: a
/// regression outweighs whatever the run by itself would have said, but a host that failed.
///
/// The run is read from the folder that it was written into, whatever has its name by now.
pub(crate) fn after_run(baseline: &Path, run: &RunFolder, code_of_run: Code) -> Code {
    let terms = Terms { baseline: true, ..Terms::default() };
    let compared = open_run(baseline).and_then(|(_, of_baseline)| {
        let of_run = read_run(run)?;
        Ok(between((baseline, &of_baseline), (run.path(), &of_run), &terms))
    });
    let compared = match compared {
        Ok(compared) => compared,
        Err(code) => return code,
    };
    let width = output::width();
    output::say_painted(|color| assay_report::comparison_text(&compared, width, color));
    match (code(compared.verdict), code_of_run) {
        (Code::Kept, of_run) => of_run,
        (of_comparison, _) => of_comparison,
    }
}

fn two(a: &Path, b: &Path, terms: &Terms) -> Result<RunComparison, Code> {
    let (_, of_a) = open_run(a)?;
    let (_, of_b) = open_run(b)?;
    Ok(between((a, &of_a), (b, &of_b), terms))
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

/// Shows a comparison, writes its page where that is wanted, and says how the program ends.
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
    if let Some(place) = &how.html {
        write_page(comparison, place)?;
    }
    Ok(code(comparison.verdict))
}

fn write_page(comparison: &RunComparison, place: &Path) -> Result<(), Code> {
    let page = assay_report::comparison_html(comparison).map_err(|error| {
        output::error(&error);
        Code::Host
    })?;
    let file = if place.is_dir() { place.join("compare.html") } else { place.to_owned() };
    assay_files::replace(&file, page.as_bytes()).map_err(|error| {
        output::error(&error);
        Code::Host
    })?;
    output::say(&format!("page: {}", file.display()));
    Ok(())
}

/// How the program ends; docs/cli.md.
fn code(likeness: Equivalence) -> Code {
    match likeness {
        Equivalence::Equal | Equivalence::Better => Code::Kept,
        Equivalence::Worse | Equivalence::Different => Code::Broken,
        Equivalence::Undecided => Code::Undecided,
        Equivalence::NotComparable => Code::Usage,
    }
}

/// Wrong usage.
pub(crate) fn usage(why: &str) -> Code {
    output::error(&format!("{why}\n  hint: `assay compare --help` shows the ways to call it"));
    Code::Usage
}

fn margin(text: &str) -> Result<f64, String> {
    let fraction = percent(text)?;
    match fraction > 0.0 && fraction <= 10.0 {
        true => Ok(fraction),
        false => Err("a margin lies above 0 % and at most at 1000 %".to_owned()),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    let fraction = percent(text)?;
    match (0.5..1.0).contains(&fraction) {
        true => Ok(fraction),
        false => Err("a confidence lies between 50 % and 100 %, as 95 % does".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    text.parse::<Percent>().map(Percent::fraction).map_err(|error| error.to_string())
}
