//! Accuracy of predictions: configurations drawn from a seed are predicted, run and compared, on
//! this host's loop disk. None of them was used to fit the formulas.

mod draw;
mod question;

use std::path::Path;

use assay_predict::{Calibration, Prediction, Score, share_error};
use assay_run_folder::RunFolder;
use assay_verdict::{Judgement, PromiseJudgement, Verdict};

use crate::assay::Assay;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::statistics::Reached;
use draw::{Family, WITHIN};
use question::Predictor;

/// Parameters of a campaign.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Campaign {
    /// Number of configurations; a family has one for each number of groups.
    pub(crate) configurations: usize,
    /// Seconds of each.
    pub(crate) seconds: u64,
    /// Seed.
    pub(crate) seed: u64,
    /// Only configurations that the calibrated prediction classifies as inside its validated range;
    /// request pools are then drawn up to the largest size.
    pub(crate) inside: bool,
}

/// Seconds of each configuration, unless requested otherwise.
pub(crate) const SECONDS: u64 = 6;

/// Targets of issue 6.
const GOAL_ERROR: f64 = 0.05;
const GOAL_PART: f64 = 0.9;
const GOAL_FASTER: f64 = 1000.0;

/// A configuration after its run.
struct Row {
    name: String,
    groups: usize,
    /// Mean over groups of `|predicted / found - 1|`; `None` where no shares were predicted.
    error: Option<f64>,
    /// The same for shares predicted by the weights alone.
    by_weight: f64,
    predicted: Option<Verdict>,
    found: Verdict,
    /// The largest error of a share, predicted and measured.
    worst: (Option<f64>, Option<f64>),
    rate: Option<f64>,
}

/// Calibrates, predicts and runs all configurations.
pub(crate) fn measure(
    assay: &Assay,
    folder: &Path,
    campaign: Campaign,
    progress: &dyn Fn(&str),
) -> Result<Vec<Figure>, Failure> {
    progress("calibration of this host's loop disk");
    assay.calibrate("calibration", &campaign.first()?)?;
    let calibration: Calibration =
        RunFolder::open(&folder.join("calibration"))?.read_json("calibration.json")?;
    let predictor = Predictor::new(calibration.costs(), campaign.seconds)?;
    let drawn = predictor.drawn(campaign)?;
    let faster = predictor.faster(&drawn)?;
    let mut rows = Vec::new();
    for (number, family) in drawn.iter().enumerate() {
        progress(&format!("family {} of {}: {}", number + 1, drawn.len(), family.name()));
        let (out, _) = assay.run(&format!("family{number}"), &family.study(campaign.seconds))?;
        rows.push(read(family, &out)?);
        // Fifty runs with their samples would fill a small disk.
        let _ = std::fs::remove_dir_all(out.join("samples"));
    }
    Ok(figures(&rows, faster, &calibration))
}

fn read(family: &Family, out: &Path) -> Result<Vec<Row>, Failure> {
    let folder = RunFolder::open(out)?;
    let prediction: Prediction = folder.read_json("prediction.json")?;
    let judgement: Judgement = folder.read_json("verdict.json")?;
    let score: Score = folder.read_json("score.json")?;
    let each = prediction.trials.iter().zip(&score.trials);
    let rows = each.filter_map(|(predicted, score)| {
        let found = judgement.trials.iter().find(|one| one.factors == predicted.factors)?;
        let promise = found.promises.first()?;
        let expected = predicted.promises.first()?;
        let score = score.promises.first();
        Some(Row {
            name: family.name(),
            groups: promise.groups.len(),
            error: score.map(|score| score.mean_error),
            by_weight: by_weight(promise),
            predicted: expected.verdict,
            found: promise.verdict,
            worst: (expected.worst_error, promise.worst_error.map(|error| error.value)),
            rate: score.and_then(|score| score.rate),
        })
    });
    Ok(rows.collect())
}

/// Mean error of the shares promised by the weights.
fn by_weight(promise: &PromiseJudgement) -> f64 {
    let errors = promise.groups.iter().map(|group| share_error(group.expected_share, group.share));
    errors.sum::<f64>() / promise.groups.len().max(1) as f64
}

fn figures(families: &[Vec<Row>], faster: f64, calibration: &Calibration) -> Vec<Figure> {
    let rows: Vec<&Row> = families.iter().flatten().collect();
    let near = rows.iter().filter(|row| row.error.is_some_and(|error| error <= GOAL_ERROR)).count();
    let mut errors: Vec<f64> = rows.iter().filter_map(|row| row.error).collect();
    errors.sort_by(f64::total_cmp);
    let right = rows.iter().filter(|row| row.predicted == Some(row.found)).count();
    let knees: Vec<Knees> = families.iter().map(|family| Knees::new(family)).collect();
    let hit = knees.iter().filter(|knees| knees.are_within_two()).count();
    let mut shares = of_goal("predicted shares within 5 % (mean of a run)", near, rows.len());
    shares.remarks.push(format!(
        "mean error of {} runs with predicted shares: median {:.1} %, mean {:.1} %; verdict as predicted in {right} of {}",
        errors.len(),
        100.0 * errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN),
        100.0 * errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        rows.len()
    ));
    let by_weight = rows.iter().filter(|row| row.by_weight <= GOAL_ERROR).count();
    shares.remarks.push(format!(
        "without the formulas, by the weights alone: {by_weight} of {} within 5 %",
        rows.len()
    ));
    shares.remarks.extend(rows.iter().map(|row| line(row)));
    let mut breaking = of_goal("breaking point within a factor of two", hit, knees.len());
    breaking.remarks.extend(families.iter().zip(&knees).map(|(family, knees)| {
        let name = family.first().map_or("", |row| row.name.as_str());
        let Knees { predicted, found, run_to } = *knees;
        format!("{name}: predicted {}, found {}, run to {run_to}", count(predicted), count(found))
    }));
    let mut speed = Figure {
        name: "prediction against the run it is about".to_owned(),
        measured: format!("{faster:.0} times faster"),
        target: format!("at least {GOAL_FASTER:.0}"),
        of_target: None,
        reached: if faster >= GOAL_FASTER { Reached::Yes } else { Reached::No },
        remarks: Vec::new(),
    };
    let costs = serde_json::to_string(&calibration.costs()).unwrap_or_default();
    speed.remarks.push(format!("calibrated: {costs}"));
    vec![shares, breaking, speed]
}

/// Number of groups above which the error of a family exceeds the margin.
struct Knees {
    predicted: Option<usize>,
    found: Option<usize>,
    /// The largest number of groups that was run.
    run_to: usize,
}

impl Knees {
    fn new(family: &[Row]) -> Self {
        let knee = |breaks: fn(&Row) -> bool| {
            family.iter().filter(|row| breaks(row)).map(|row| row.groups).min()
        };
        Self {
            predicted: knee(|row| match row.worst.0 {
                Some(error) => error > WITHIN,
                None => row.predicted == Some(Verdict::Broken),
            }),
            found: knee(|row| row.worst.1.is_some_and(|error| error > WITHIN)),
            run_to: family.iter().map(|row| row.groups).max().unwrap_or_default(),
        }
    }

    /// A breaking point beyond the largest number of groups counts as twice that.
    fn are_within_two(&self) -> bool {
        let beyond = 2 * self.run_to;
        let (a, b) = (self.predicted.unwrap_or(beyond), self.found.unwrap_or(beyond));
        a <= 2 * b && b <= 2 * a
    }
}

fn count(groups: Option<usize>) -> String {
    groups.map_or_else(|| "none".to_owned(), |groups| groups.to_string())
}

fn of_goal(name: &str, hit: usize, of: usize) -> Figure {
    let reached = if hit as f64 >= GOAL_PART * of as f64 { Reached::Yes } else { Reached::No };
    Figure {
        name: name.to_owned(),
        measured: format!("{hit} of {of}"),
        target: format!("at least {:.0} %", GOAL_PART * 100.0),
        of_target: None,
        reached,
        remarks: Vec::new(),
    }
}

fn line(row: &Row) -> String {
    let percent = |value: Option<f64>| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} %", value * 100.0))
    };
    format!(
        "{} groups={}: shares off by {}; worst error predicted {} found {}; rate predicted / \
         found {}; verdict predicted {} found {:?}",
        row.name,
        row.groups,
        percent(row.error),
        percent(row.worst.0),
        percent(row.worst.1),
        row.rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.2}")),
        row.predicted.map_or_else(|| "-".to_owned(), |verdict| format!("{verdict:?}")),
        row.found
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_breaking_point_counts_if_right_within_a_factor_of_two() {
        let are_within_two =
            |predicted, found| Knees { predicted, found, run_to: 64 }.are_within_two();
        assert!(are_within_two(Some(16), Some(32)) && are_within_two(Some(32), Some(16)));
        assert!(are_within_two(None, None) && are_within_two(Some(64), None));
        assert!(!are_within_two(Some(8), Some(32)) && !are_within_two(None, Some(32)));
    }
}
