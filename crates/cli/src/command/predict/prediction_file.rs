//! A prediction in the folder of the run that it is about: written before the run starts, with its
//! hash in the events, and set beside the judgement afterwards.

use assay_kernel::clock::monotonic_ns;
use assay_predict::{Basis, Prediction, Score, score};
use assay_run_folder::{Event, EventLog, RunFolder, read_events};
use assay_runner::Request;
use assay_verdict::Judgement;
use sha2::{Digest, Sha256};

use super::predicted;
use crate::output;

/// The kind of the event that has a prediction's hash.
const EVENT: &str = "prediction";

const FILE: &str = "prediction.json";
const SCORE: &str = "score.json";

/// Writes the prediction into the run folder, where its disk was measured or `always` is set. What
/// keeps it from being written is said, and the run goes on.
pub(crate) fn note(request: &Request, always: bool) {
    let (prediction, _) = predicted(&request.study, &request.plan, &request.facts, request.seed);
    if !always && matches!(prediction.calibration, Basis::Assumed(_)) {
        return;
    }
    if let Err(why) = write(&request.folder, &prediction) {
        output::error(&format!("the prediction was not recorded: {why}"));
    }
}

fn write(folder: &RunFolder, prediction: &Prediction) -> Result<(), String> {
    let said = |error: assay_run_folder::Error| error.to_string();
    folder.write_json(FILE, prediction).map_err(said)?;
    let event = Event {
        time_ns: monotonic_ns(),
        kind: EVENT.to_owned(),
        trial: None,
        repeat: None,
        text: format!("{FILE} sha256 {}", hash(folder)?),
    };
    let mut events = EventLog::create(&folder.steady(folder.dir())).map_err(said)?;
    events.append(&event).map_err(said)
}

fn hash(folder: &RunFolder) -> Result<String, String> {
    let text = folder.text(FILE).map_err(|error| error.to_string())?;
    Ok(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Sets the prediction of a run, where it has one, beside its judgement. A prediction that is not
/// the one that was written before the run is not scored.
pub(crate) fn score_beside(folder: &RunFolder, judgement: &Judgement) {
    if !folder.has(FILE) {
        return;
    }
    let said = |error: assay_run_folder::Error| error.to_string();
    let written = read(folder).and_then(|prediction| {
        folder.write_json(SCORE, &score(&prediction, judgement)).map_err(said)
    });
    if let Err(why) = written {
        // A score of an earlier judgement would be taken for this one's.
        let _ = folder.dir().remove_file(SCORE);
        output::error(&format!("the prediction is not scored: {why}"));
    }
}

/// The score of a run's prediction, where it has one.
pub(crate) fn scored(folder: &RunFolder) -> Option<Score> {
    folder.read_json(SCORE).ok()
}

fn read(folder: &RunFolder) -> Result<Prediction, String> {
    let hash = hash(folder)?;
    let said = |error: assay_run_folder::Error| error.to_string();
    let noted = read_events(folder).map_err(said)?;
    let is_it = |event: &Event| event.kind == EVENT && event.text.ends_with(&hash);
    if !noted.iter().any(is_it) {
        return Err(format!(
            "{FILE} is not the one that was written before the run; its hash is not in events.jsonl"
        ));
    }
    folder.read_json(FILE).map_err(said)
}
