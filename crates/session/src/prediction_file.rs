//! The prediction in a run folder: written before the run starts, with its hash in the events, and
//! scored against the judgement afterwards.

use assay_kernel::clock::monotonic_ns;
use assay_predict::{Basis, Prediction, Score, score};
use assay_run_folder::{Event, EventLog, RunFolder, read_events};
use assay_runner::Request;
use assay_verdict::Judgement;
use sha2::{Digest, Sha256};

use crate::calibration_store::predicted;
use crate::context::Context;
use crate::observer::Observer;

/// Kind of the event that holds a prediction's hash.
const EVENT: &str = "prediction";

const FILE: &str = "prediction.json";
const SCORE: &str = "score.json";

/// Writes the prediction into the run folder if its disk was calibrated or `always` is set. An error is
/// reported and does not stop the run.
pub(crate) fn record_prediction(
    context: &Context,
    request: &Request,
    always: bool,
    observer: &mut dyn Observer,
) {
    let (study, plan) = (&request.study, &request.plan);
    let (prediction, _) = predicted(context, study, plan, &request.facts, request.seed);
    if !always && matches!(prediction.calibration, Basis::Assumed(_)) {
        return;
    }
    if let Err(why) = write(&request.folder, &prediction) {
        observer.error(&format!("the prediction was not recorded: {why}"));
    }
}

fn write(folder: &RunFolder, prediction: &Prediction) -> Result<(), String> {
    let to_text = |error: assay_run_folder::Error| error.to_string();
    folder.write_json(FILE, prediction).map_err(to_text)?;
    let event = Event {
        time_ns: monotonic_ns(),
        kind: EVENT.to_owned(),
        trial: None,
        repeat: None,
        text: format!("{FILE} sha256 {}", hash(folder)?),
    };
    let mut events = EventLog::create(&folder.stable_path(folder.dir())).map_err(to_text)?;
    events.append(&event).map_err(to_text)
}

fn hash(folder: &RunFolder) -> Result<String, String> {
    let text = folder.text(FILE).map_err(|error| error.to_string())?;
    Ok(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Scores the prediction of a run, if it has one, against its judgement. A prediction that was changed
/// after the run started is not scored.
pub(crate) fn score_prediction(
    folder: &RunFolder,
    judgement: &Judgement,
    observer: &mut dyn Observer,
) {
    if !folder.has(FILE) {
        return;
    }
    let to_text = |error: assay_run_folder::Error| error.to_string();
    let written = read(folder).and_then(|prediction| {
        folder.write_json(SCORE, &score(&prediction, judgement)).map_err(to_text)
    });
    if let Err(why) = written {
        // The score of an earlier judgement would be mistaken for this one's.
        let _ = folder.dir().remove_file(SCORE);
        observer.error(&format!("the prediction was not scored: {why}"));
    }
}

/// The score of a run's prediction, if it has one.
///
/// ```no_run
/// # fn example(folder: &assay_run_folder::RunFolder) {
/// assert!(assay_session::read_score(folder).is_some());
/// # }
/// ```
#[must_use]
pub fn read_score(folder: &RunFolder) -> Option<Score> {
    folder.read_json(SCORE).ok()
}

fn read(folder: &RunFolder) -> Result<Prediction, String> {
    let hash = hash(folder)?;
    let to_text = |error: assay_run_folder::Error| error.to_string();
    let events = read_events(folder).map_err(to_text)?;
    let is_it = |event: &Event| event.kind == EVENT && event.text.ends_with(&hash);
    if !events.iter().any(is_it) {
        return Err(format!(
            "{FILE} was changed after the run started; its hash is not in events.jsonl"
        ));
    }
    folder.read_json(FILE).map_err(to_text)
}
