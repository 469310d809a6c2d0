//! `assay predict`

use std::time::Duration;

use assay_predict::Prediction;
use assay_session::{CalibrationOptions, Code, Error, Predicted, calibrate, predict};
use clap::Args;

use crate::observer::{Terminal, load, this_host};
use crate::output;
use crate::parsers::repeat_length;
use crate::shared_arguments::StudyArguments;

/// Arguments of `assay predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// First calibrate the study's disk: three short measurements per kind of request (needs root)
    #[arg(long)]
    calibrate: bool,
    /// Length of each measurement
    #[arg(long, value_name = "DURATION", value_parser = repeat_length, default_value = "2s", requires = "calibrate")]
    each: Duration,
    /// Folder of the measurements [default: `runs/<time>-calibration`]
    #[arg(long, value_name = "DIR", requires = "calibrate")]
    out: Option<std::path::PathBuf>,
    /// Print prediction.json instead of a table
    #[arg(long)]
    json: bool,
}

/// Predicts a study; changes the host only to calibrate.
pub(crate) fn run(arguments: &PredictArguments) -> Result<Code, Error> {
    let context = this_host();
    let loaded = load(&arguments.study.choice(), arguments.json)?;
    if arguments.calibrate {
        let options = CalibrationOptions { each: arguments.each, out: arguments.out.clone() };
        calibrate(&context, &loaded, options, &mut Terminal)?;
    }
    let Predicted { prediction, took, refusals, code } = predict(&context, &loaded)?;
    for refusal in &refusals {
        output::message(&format!("this host cannot run the study: {refusal}"));
    }
    if arguments.json {
        output::json(&prediction)?;
    } else {
        output::data(&assay_report::prediction_text(&prediction, output::width()));
        if prediction.verdict.is_some() {
            print_timing(&prediction, took);
        }
    }
    Ok(code)
}

fn print_timing(prediction: &Prediction, took: Duration) {
    output::message(&format!(
        "predicted in {:.3} s, {:.0} times faster than running it ({:.0} s)",
        took.as_secs_f64(),
        prediction.run_s / took.as_secs_f64().max(1e-6),
        prediction.run_s
    ));
}
