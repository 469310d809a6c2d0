//! `assay judge --fio`, `--bw-log`, `--csv`: numbers that another tool measured.

use std::path::{Path, PathBuf};

use assay_files::input_text;
use assay_judge::{Amounts, ExternalData, ExternalFacts, ExternalGroup, Scatter, judge_external};
use assay_units::Percent;
use assay_workload::amounts::parse_amounts;
use assay_workload::fio::{Spread, Totals, job_names, parse_bandwidth_log, parse_totals, sum_jobs};
use clap::{Args, ValueEnum};

use crate::exit::Code;
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
    let data = match read_all(arguments) {
        Ok(data) => data,
        Err(why) => {
            output::error(&why);
            return Code::Usage;
        }
    };
    let judgement = judge_external(&data);
    if as_json {
        match serde_json::to_string_pretty(&judgement) {
            Ok(text) => output::data(&text),
            Err(cause) => output::error(&cause),
        }
    } else {
        let title = format!("{}: do shares follow the weights?", data.title);
        let width = output::width();
        output::data_painted(|color| {
            assay_report::judgement_text(&title, &judgement, width, color)
        });
    }
    Code::from_verdict(judgement.verdict)
}

fn read_all(arguments: &ExternalDataArguments) -> Result<ExternalData, String> {
    let (groups, files) = if !arguments.fio.is_empty() {
        (groups_from_fio(arguments)?, arguments.fio.as_slice())
    } else if !arguments.bw_log.is_empty() {
        (groups_from_logs(&arguments.bw_log)?, arguments.bw_log.as_slice())
    } else {
        let file = arguments.csv.as_slice();
        (groups_from_csv(file)?, file)
    };
    let groups = weighted(groups, &arguments.weights)?;
    let bytes = arguments.measure == MeasureArgument::Bytes;
    let title: Vec<String> = files.iter().map(|file| stem(file)).collect();
    Ok(ExternalData {
        title: title.join(", "),
        measure: match (&arguments.csv, bytes) {
            (Some(_), _) => "amount",
            (None, true) => "io.bytes",
            (None, false) => "io.ios",
        }
        .to_owned(),
        groups,
        within: arguments.within,
        confidence: arguments.confidence,
    })
}

/// The largest size of a file of numbers, in bytes: a log of some ten million requests.
const MOST_NUMBERS: u64 = 1 << 30;

fn read(file: &Path) -> Result<String, String> {
    input_text(file, MOST_NUMBERS).map_err(|error| error.to_string())
}

fn stem(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Gives each group its weight.
fn weighted(mut groups: Vec<ExternalGroup>, weights: &[f64]) -> Result<Vec<ExternalGroup>, String> {
    if groups.len() != weights.len() {
        let names: Vec<String> = groups.iter().map(|group| format!("`{}`", group.name)).collect();
        return Err(format!(
            "there are {} groups ({}) and {} weights\n  hint: give one weight for each group, in \
             this order",
            groups.len(),
            names.join(", "),
            weights.len()
        ));
    }
    for (group, weight) in groups.iter_mut().zip(weights) {
        group.weight = *weight;
    }
    Ok(groups)
}

fn group(name: String, amounts: Amounts) -> ExternalGroup {
    ExternalGroup { name, weight: 0.0, amounts, facts: ExternalFacts::default() }
}

/// One group per file, or per job of a single file.
fn groups_from_fio(arguments: &ExternalDataArguments) -> Result<Vec<ExternalGroup>, String> {
    let mut groups = Vec::new();
    for file in &arguments.fio {
        let in_file = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let jobs = parse_totals(&read(file)?).map_err(|error| in_file(&error))?;
        if arguments.fio.len() == 1 && jobs.len() > 1 {
            groups.extend(jobs);
        } else {
            let all = sum_jobs(&stem(file), &jobs)
                .ok_or_else(|| in_file(&format!("no job of {}", job_names(&jobs))))?;
            groups.push(all);
        }
    }
    let bytes = arguments.measure == MeasureArgument::Bytes;
    Ok(groups.into_iter().map(|totals| group_from_totals(totals, bytes)).collect())
}

fn group_from_totals(totals: Totals, bytes: bool) -> ExternalGroup {
    let scatter = |spread: Spread| Scatter {
        mean: spread.mean,
        deviation: spread.deviation,
        readings: spread.readings,
    };
    let spread = if bytes { totals.bytes_spread } else { totals.ios_spread };
    // fio prints its result when the job is over; without a recorded start, assume that it ran until
    // then.
    let began_s = totals.began_s.or_else(|| Some(totals.printed_s? - totals.runtime_s));
    let paced = match totals.stonewall {
        true => Some("stonewall".to_owned()),
        false => totals.paced,
    };
    ExternalGroup {
        name: totals.name,
        weight: 0.0,
        amounts: Amounts::Total {
            amount: if bytes { totals.bytes } else { totals.ios },
            seconds: totals.runtime_s,
            scatter: spread.map(scatter),
        },
        facts: ExternalFacts {
            failure: totals.failure,
            began_s,
            ended_s: began_s.map(|began| began + totals.runtime_s),
            outstanding: totals.outstanding,
            wanted: totals.iodepth,
            paced,
            direct: totals.direct.or(Some(false)),
            disk: totals.disk,
        },
    }
}

fn groups_from_logs(files: &[PathBuf]) -> Result<Vec<ExternalGroup>, String> {
    let read_log = |file: &PathBuf| {
        let series = parse_bandwidth_log(&read(file)?);
        let series = series.map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(group(stem(file), Amounts::Series(series)))
    };
    files.iter().map(read_log).collect()
}

fn groups_from_csv(file: &[PathBuf]) -> Result<Vec<ExternalGroup>, String> {
    let mut groups = Vec::new();
    for file in file {
        let table = parse_amounts(&read(file)?);
        let table = table.map_err(|error| format!("{}: {error}", file.display()))?;
        groups.extend(table.into_iter().map(|(name, series)| group(name, Amounts::Series(series))));
    }
    Ok(groups)
}
