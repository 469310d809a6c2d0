//! `assay predict`

mod calibrate;
mod prediction_file;
mod store;

use std::time::{Duration, Instant};

use assay_facts::HostFacts;
use assay_plan::Plan;
use assay_predict::{Costs, Prediction, predict};
use clap::Args;

use crate::args::{StudyArguments, duration};
use crate::command::run::{facts_for, plan_for, refuse};
use crate::exit::Code;
use crate::load::load;
use crate::output;

pub(crate) use prediction_file::{read_score, record_prediction, score_prediction};

/// Arguments of `assay predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    #[command(flatten)]
    study: StudyArguments,
    /// First calibrate the study's disk: three short measurements per kind of request (needs root)
    #[arg(long)]
    calibrate: bool,
    /// Length of each measurement
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "2s", requires = "calibrate")]
    each: Duration,
    /// Folder of the measurements [default: `runs/<time>-calibration`]
    #[arg(long, value_name = "DIR", requires = "calibrate")]
    out: Option<std::path::PathBuf>,
    /// Print prediction.json instead of a table
    #[arg(long)]
    json: bool,
}

/// Predicts a study; changes the host only to calibrate.
pub(crate) fn run(arguments: &PredictArguments) -> Code {
    match carry_out(arguments) {
        Ok(code) | Err(code) => code,
    }
}

fn carry_out(arguments: &PredictArguments) -> Result<Code, Code> {
    let loaded = load(&arguments.study, arguments.json)?;
    let facts = facts_for(&loaded.study).map_err(|error| refuse(&error))?;
    let plan = plan_for(&loaded.study, &facts, arguments.study.seed);
    if arguments.calibrate {
        let out = arguments.out.clone();
        calibrate::measure(&plan, &facts, arguments.each, out)?;
    }
    for refusal in &plan.refusals {
        output::message(&format!("this host cannot run the study: {refusal}"));
    }
    let (prediction, took) = predicted(&loaded.study.name, &plan, &facts, arguments.study.seed);
    if arguments.json {
        let text = serde_json::to_string_pretty(&prediction).map_err(|error| refuse(&error))?;
        output::data(&text);
    } else {
        output::data(&assay_report::prediction_text(&prediction, output::width()));
        if prediction.verdict.is_some() {
            print_timing(&prediction, took);
        }
    }
    let code = prediction.verdict.map(Code::from_verdict);
    Ok(code.unwrap_or(Code::Undecided))
}

fn print_timing(prediction: &Prediction, took: Duration) {
    output::message(&format!(
        "predicted in {:.3} s, {:.0} times faster than running it ({:.0} s)",
        took.as_secs_f64(),
        prediction.run_s / took.as_secs_f64().max(1e-6),
        prediction.run_s
    ));
}

/// The prediction of a plan from the calibration of this host's disk, if any, and the time it took.
fn predicted(study: &str, plan: &Plan, facts: &HostFacts, seed: u64) -> (Prediction, Duration) {
    let (costs, basis) = store::costs(plan, facts);
    let costs: Costs = costs.unwrap_or_default();
    let began = Instant::now();
    let prediction = predict(study, plan, facts, &costs, basis, seed);
    (prediction, began.elapsed())
}
