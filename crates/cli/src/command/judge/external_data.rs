//! `assay judge --fio`, `--bw-log`, `--csv`: numbers that another tool measured.

use std::path::PathBuf;

use assay_judge::judge_external;
use assay_session::{ExternalFiles, Numbers, Quantity, read_external};
use assay_units::Percent;
use clap::{Args, ValueEnum};

use crate::exit::Code;
use crate::observer::refuse;
use crate::output;

/// The files with the numbers, and what they are judged against.
#[derive(Debug, Args)]
pub(crate) struct ExternalDataArguments {
    /// JSON of fio runs, one file per group; or one file with one job per group
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "run", requires = "weights")]
    fio: Vec<PathBuf>,
    /// Bandwidth logs of fio (`write_bw_log`), one file per group
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["run", "fio"], requires = "weights")]
    bw_log: Vec<PathBuf>,
    /// Table with the columns group, time (s), and amount or total
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "fio", "bw_log"], requires = "weights")]
    csv: Option<PathBuf>,
    /// Weight of each group, in the order of the files, jobs, or first rows
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = weight)]
    weights: Vec<f64>,
    /// Margin: allowed deviation of a share, relative to the promised share
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = within)]
    within: f64,
    /// Confidence of the intervals
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = confidence)]
    confidence: f64,
    /// Quantity from fio's JSON
    #[arg(long, value_name = "WHAT", default_value = "bytes")]
    measure: MeasureArgument,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MeasureArgument {
    /// Bytes read and written
    Bytes,
    /// Requests read and written
    Ios,
}

fn weight(text: &str) -> Result<f64, String> {
    let weight =
        text.trim().parse::<f64>().ok().filter(|weight| *weight > 0.0 && weight.is_finite());
    weight.ok_or_else(|| "a weight must be a number above 0".to_owned())
}

fn within(text: &str) -> Result<f64, String> {
    let part = text.parse::<Percent>().map_err(|error| error.to_string())?.fraction();
    if part > 0.0 { Ok(part) } else { Err("a margin must be above 0 %".to_owned()) }
}

fn confidence(text: &str) -> Result<f64, String> {
    let part = text.parse::<Percent>().map_err(|error| error.to_string())?.fraction();
    let fits = (0.5..1.0).contains(&part);
    if fits {
        Ok(part)
    } else {
        Err("a confidence must be at least 50 % and below 100 %".to_owned())
    }
}

/// Reads the files, judges, shows.
pub(crate) fn run(arguments: &ExternalDataArguments, as_json: bool) -> Code {
    let data = match read_external(&files(arguments)) {
        Ok(data) => data,
        Err(error) => return refuse(&error),
    };
    let judgement = judge_external(&data);
    if as_json {
        // An error was printed; the code is still that of the verdict.
        let _ = output::json(&judgement);
    } else {
        let title = format!("{}: do shares follow the weights?", data.title);
        let width = output::width();
        output::data_painted(|color| {
            assay_report::judgement_text(&title, &judgement, width, color)
        });
    }
    Code::from_verdict(judgement.verdict)
}

fn files(arguments: &ExternalDataArguments) -> ExternalFiles {
    let numbers = match (&arguments.csv, arguments.bw_log.is_empty()) {
        (Some(table), _) => Numbers::Table(table.clone()),
        (None, false) => Numbers::BandwidthLogs(arguments.bw_log.clone()),
        (None, true) => Numbers::Fio(arguments.fio.clone()),
    };
    ExternalFiles {
        numbers,
        quantity: match arguments.measure {
            MeasureArgument::Bytes => Quantity::Bytes,
            MeasureArgument::Ios => Quantity::Ios,
        },
        weights: arguments.weights.clone(),
        within: arguments.within,
        confidence: arguments.confidence,
    }
}
