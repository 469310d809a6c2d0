//! `assay judge --fio`, `--bw-log`, `--csv`: numbers that another tool measured.

use std::ops::Bound;
use std::path::PathBuf;

use assay_judge::verdict::Judgement;
use assay_run::external_data::{ExternalFiles, Numbers, Quantity, judge_external, read_external};
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::for_ci::ForCi;
use crate::output;
use crate::parsers::{margin, number_in, one_of};

/// The files with the numbers, and what they are judged against.
#[derive(Debug, Args)]
pub(crate) struct ExternalDataArguments {
    /// JSON of fio, a file or a job a group
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "run", requires = "weights")]
    fio: Vec<PathBuf>,
    /// Bandwidth logs of fio, a file a group
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["run", "fio"], requires = "weights")]
    bw_log: Vec<PathBuf>,
    /// Table: group, time (s), amount or total
    #[arg(long, value_name = "FILE", conflicts_with_all = ["run", "fio", "bw_log"], requires = "weights")]
    csv: Option<PathBuf>,
    /// Weight of each group, as `1:2`
    ///
    /// In the order of the files, jobs, or first rows.
    #[arg(long, value_name = "W:W", value_parser = weights, conflicts_with = "run")]
    weights: Option<Weights>,
    /// Margin, relative to the promised share
    #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = margin, conflicts_with = "run")]
    within: f64,
    /// Quantity of fio: bytes or ios
    #[arg(long, value_name = "WHAT", default_value = "bytes", hide_default_value = true, hide_possible_values = true, value_parser = one_of(&QUANTITIES), conflicts_with = "run")]
    measure: Quantity,
}

const QUANTITIES: [(&str, Quantity, &str); 2] = [
    ("bytes", Quantity::Bytes, "Bytes read and written"),
    ("ios", Quantity::Ios, "Requests read and written"),
];

/// One value for clap, which takes a list for several.
type Weights = Vec<f64>;

fn weights(text: &str) -> Result<Weights, String> {
    let above_0 = (Bound::Excluded(0.0), Bound::Excluded(f64::INFINITY));
    let weight = |text| number_in(text, above_0, "a weight must be a number above 0");
    text.split([':', ',']).map(weight).collect()
}

/// Reads the files, judges, shows.
pub(crate) fn run(
    arguments: &ExternalDataArguments,
    ci: ForCi,
    as_json: bool,
) -> Result<Code, Error> {
    let data = read_external(&files(arguments))?;
    let judgement = judge_external(&data);
    if !ci.has_stdout() {
        show(&data.title, &judgement, as_json)?;
    }
    Ok(ci.conclude(&judgement, None, judgement.verdict.code()))
}

fn show(title: &str, judgement: &Judgement, as_json: bool) -> Result<(), Error> {
    if as_json {
        return output::json(judgement);
    }
    let title = format!("{title}: do shares follow the weights?");
    let width = output::width();
    output::data_painted(|color| assay_report::judgement_text(&title, judgement, width, color));
    Ok(())
}

fn files(arguments: &ExternalDataArguments) -> ExternalFiles {
    let numbers = match (&arguments.csv, arguments.bw_log.is_empty()) {
        (Some(table), _) => Numbers::Table(table.clone()),
        (None, false) => Numbers::BandwidthLogs(arguments.bw_log.clone()),
        (None, true) => Numbers::Fio(arguments.fio.clone()),
    };
    ExternalFiles {
        numbers,
        quantity: arguments.measure,
        weights: arguments.weights.clone().unwrap_or_default(),
        within: arguments.within,
    }
}
