//! What each run has shown, as lines of a table, and the figures of all.

use assay_blame::{Answer, Verdict};
use assay_session::{BlamedCommand, Effect, Proof};

use super::situation::{ALL, Class, Question, Seen, Situation};
use super::watch::Watched;
use crate::csv::cell;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::pairs::Pair;
use crate::statistics::Reached;

/// Percentage points that a class may be off.
const MARGIN: f64 = 2.0;

/// How far the sum may be from the kernel's counter, in percent, and in which part of all runs.
const OFF: f64 = 0.5;
const OFTEN: f64 = 0.95;

/// Of 20 proofs so many must agree.
const AGREE: f64 = 0.9;

pub(super) const HEADING: &str = "situation,run,cpus,class,truth_percent,charged_percent,off_points,run_delay_off_percent,\
    verdict,gone_percent,gone_low,gone_high,agrees,note";

/// A class of one run, or its proof.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    situation: &'static str,
    run: usize,
    cpus: Pair,
    class: Option<Class>,
    proof: Option<Proof>,
    /// How far the sum is from the kernel's counter, in percent.
    off: Option<f64>,
    is_valid: bool,
    /// What is wrong.
    note: String,
}

impl Row {
    /// The rows of one run; a run that failed has one with the reason.
    pub(super) fn all(
        situation: &Situation,
        run: usize,
        cpus: Pair,
        watched: Result<Watched, Failure>,
    ) -> Vec<Self> {
        let row = Self { situation: situation.name, run, cpus, ..Self::default() };
        let Watched { own, others } = match watched {
            Ok(watched) => watched,
            Err(failure) => return vec![Self { note: format!("failed: {failure}"), ..row }],
        };
        let BlamedCommand { answer, proof, outcome, .. } = own;
        let Answer { difference_percent, verdict, reason, .. } = &answer;
        let row = Self {
            off: *difference_percent,
            is_valid: *verdict == Verdict::Valid,
            note: reason.clone().unwrap_or_default(),
            ..row
        };
        match situation.question {
            Question::Proof => {
                let notes = proof.iter().flat_map(|proof| &proof.notes).cloned();
                let note = std::iter::once(row.note.clone()).chain(notes).collect::<Vec<_>>();
                vec![Self { note: note.join("; "), proof, ..row }]
            }
            Question::Attribution(classes) => {
                let seen = Seen { answer: &answer, used: &outcome.report.used, others: &others };
                let with = |class| Self { class: Some(class), ..row.clone() };
                classes(&seen).into_iter().map(with).collect()
            }
        }
    }

    /// One line, without its end.
    pub(super) fn csv(&self) -> String {
        let number =
            |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
        let class = self.class.as_ref();
        let charged = self.proof.as_ref().and_then(|proof| proof.attributed_percent);
        let effect = self.effect();
        let cells = [
            cell(self.situation),
            self.run.to_string(),
            format!("{}-{}", self.cpus[0], self.cpus[1]),
            cell(class.map_or("", |class| class.name)),
            number(class.map(|class| class.truth)),
            number(class.map(|class| class.charged).or(charged)),
            number(class.map(Class::off)),
            number(self.off),
            if self.is_valid { "valid" } else { "void" }.to_owned(),
            number(effect.map(|effect| effect.percent)),
            number(effect.map(|effect| effect.low)),
            number(effect.map(|effect| effect.high)),
            self.agrees().map_or_else(String::new, |agrees| agrees.to_string()),
            cell(&self.note),
        ];
        cells.join(",")
    }

    fn effect(&self) -> Option<&Effect> {
        self.proof.as_ref().and_then(|proof| proof.effect.value())
    }

    fn agrees(&self) -> Option<bool> {
        self.proof.as_ref().and_then(|proof| proof.agrees)
    }

    /// Whether a class is within the margin; one that is not a number is not.
    fn is_near(&self) -> bool {
        self.is_valid && self.class.as_ref().is_some_and(|class| class.off().abs() <= MARGIN)
    }
}

impl Class {
    fn off(&self) -> f64 {
        self.charged - self.truth
    }
}

/// A figure for each situation, and one for the sums of all runs.
pub(super) fn figures(rows: &[Row]) -> Vec<Figure> {
    let of = |situation: &Situation| {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.situation == situation.name).collect();
        match situation.question {
            Question::Attribution(_) => classes(situation.name, &rows),
            Question::Proof => proofs(situation.name, &rows),
        }
    };
    let mut figures: Vec<Figure> = ALL.iter().map(of).collect();
    figures.push(sums(rows));
    figures
}

fn classes(name: &str, rows: &[&Row]) -> Figure {
    let runs = runs(rows);
    let near = |run: &usize| rows.iter().filter(|row| row.run == *run).all(|row| row.is_near());
    let reached = runs.iter().filter(|run| near(run)).count();
    let offs = rows.iter().filter_map(|row| row.class.as_ref()).map(|class| class.off().abs());
    let worst = offs.fold(0.0, f64::max);
    let mut figure = count(name, reached, runs.len(), 1.0);
    figure
        .remarks
        .push(format!("classes within {MARGIN} points of the truth; the worst is {worst:.2} off"));
    figure.remarks.extend(rows.iter().filter(|row| !row.is_near()).map(|row| row.csv()));
    figure
}

fn proofs(name: &str, rows: &[&Row]) -> Figure {
    let agree = rows.iter().filter(|row| row.agrees() == Some(true)).count();
    let mut figure = count(name, agree, rows.len(), AGREE);
    figure.remarks.push(
        "attribution is within the 95 % interval of what goes away, or a point away from it"
            .to_owned(),
    );
    figure
        .remarks
        .extend(rows.iter().filter(|row| row.agrees() != Some(true)).map(|row| row.csv()));
    figure
}

/// Of each run, once.
fn sums(rows: &[Row]) -> Figure {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    let each: Vec<&Row> = rows
        .iter()
        .filter(|row| {
            let is_new = !seen.contains(&(row.situation, row.run));
            seen.push((row.situation, row.run));
            is_new
        })
        .collect();
    let near = each.iter().filter(|row| row.off.is_some_and(|off| off.abs() <= OFF)).count();
    let worst = each.iter().filter_map(|row| row.off).map(f64::abs).fold(0.0, f64::max);
    let mut figure = count("sum within 0.5 % of run_delay", near, each.len(), OFTEN);
    figure.remarks.push(format!("the worst is {worst:.3} % off"));
    figure
}

fn count(name: &str, reached: usize, runs: usize, part: f64) -> Figure {
    let is_reached = runs > 0 && reached as f64 >= part * runs as f64;
    Figure {
        name: name.to_owned(),
        measured: format!("{reached} of {runs}"),
        target: format!("at least {:.0} %", part * 100.0),
        of_target: None,
        reached: if is_reached { Reached::Yes } else { Reached::No },
        remarks: Vec::new(),
    }
}

/// The numbers of the runs, each once.
fn runs(rows: &[&Row]) -> Vec<usize> {
    let mut runs: Vec<usize> = rows.iter().map(|row| row.run).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(run: usize, truth: f64, charged: f64) -> Row {
        let class = Some(Class { name: "own_quota", truth, charged });
        Row { situation: ALL[1].name, run, class, off: Some(0.1), is_valid: true, ..Row::default() }
    }

    #[test]
    fn a_run_counts_only_if_all_its_classes_are_near() {
        let rows = [row(1, 70.0, 71.9), row(1, 0.0, 0.0), row(2, 70.0, 70.0), row(2, 0.0, 2.1)];
        let figure = &figures(&rows)[1];
        assert_eq!((figure.measured.as_str(), figure.reached), ("1 of 2", Reached::No));
        assert!(figure.remarks[0].contains("2.10 off"), "{figure:?}");
        let unknown = [row(1, f64::NAN, 70.0)];
        assert_eq!(figures(&unknown)[1].measured, "0 of 1");
    }

    #[test]
    fn the_sum_of_a_run_counts_once_and_a_failed_run_is_a_miss() {
        let failed = Row::all(&ALL[1], 2, [0, 1], Err(Failure::Failed("no, really".to_owned())));
        let rows = [row(1, 70.0, 70.0), row(1, 0.0, 0.0), failed[0].clone()];
        let figures = figures(&rows);
        assert_eq!(figures[1].measured, "1 of 2");
        assert_eq!(figures.last().unwrap().measured, "1 of 2");
        assert_eq!(failed[0].csv().split(',').count(), HEADING.split(',').count());
    }

    #[test]
    fn without_any_run_nothing_is_reached() {
        assert!(figures(&[]).iter().all(|figure| figure.reached == Reached::No));
    }
}
