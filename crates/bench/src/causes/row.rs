//! What each run said of the cause, as lines of a table, and the figures of all.

use assay_verdict::{ProofState, TrialJudgement};

use super::sign::Shown;
use super::studies::Injected;
use crate::csv::cell;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::statistics::Reached;

/// Of 20 runs with a cause, so many must prove it, and none of 20 runs without it.
const TARGET: f64 = 0.95;

/// Instead of a verdict.
const FAILED: &str = "failed";

pub(super) const HEADING: &str =
    "cause,put_in,run,verdict,took_hold,named_proven,proven,contributes,excluded,shown,evidence";

/// One run.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    code: &'static str,
    with: bool,
    number: usize,
    verdict: &'static str,
    /// Whether the cause took hold, by what the rule does not use; `None` if it is not known.
    took_hold: Option<bool>,
    shown: String,
    /// Codes of causes by what the events say of them.
    proven: Vec<String>,
    contributes: Vec<String>,
    excluded: Vec<String>,
    /// The figures of this cause, or the reason of the verdict where there are none.
    evidence: String,
}

impl Row {
    pub(super) fn new(
        cause: &Injected,
        with: bool,
        number: usize,
        ended: Result<TrialJudgement, Failure>,
    ) -> Self {
        let code = cause.code;
        let row = Self { code, with, number, verdict: FAILED, ..Self::default() };
        let trial = match ended {
            Ok(trial) => trial,
            Err(failure) => return Self { evidence: failure.to_string(), ..row },
        };
        let Shown { took_hold, words } = cause.sign.of(&trial);
        let row = Self { took_hold, shown: words, ..row };
        let Some(promise) = trial.promises.first() else { return row };
        let codes = |state| {
            let of = promise.proofs.iter().filter(|proof| proof.state == state);
            of.map(|proof| proof.code.clone()).collect()
        };
        let own = promise.proofs.iter().find(|proof| proof.code == code);
        Self {
            verdict: promise.verdict.word(),
            proven: codes(ProofState::Proven),
            contributes: codes(ProofState::Contributes),
            excluded: codes(ProofState::Excluded),
            evidence: own.map_or(&promise.reason, |proof| &proof.evidence).clone(),
            ..row
        }
    }

    fn proves(&self) -> bool {
        self.proven.iter().any(|code| code == self.code)
    }

    /// One line, without its end.
    pub(super) fn csv(&self) -> String {
        let word = |holds: bool| if holds { "yes" } else { "no" };
        let cells = [
            self.code,
            word(self.with),
            &self.number.to_string(),
            self.verdict,
            self.took_hold.map_or("unknown", word),
            word(self.proves()),
            &self.proven.join(" "),
            &self.contributes.join(" "),
            &self.excluded.join(" "),
            &self.shown,
            &self.evidence,
        ];
        cells.map(cell).join(",")
    }
}

/// Two figures for each cause.
pub(super) fn figures(causes: &[&Injected], rows: &[Row], remark: Option<&str>) -> Vec<Figure> {
    let of = |cause: &&Injected| {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.code == cause.code).collect();
        [true, false].map(|with| figure(cause, with, &rows, remark.map(str::to_owned)))
    };
    causes.iter().flat_map(of).collect()
}

fn figure(cause: &Injected, with: bool, rows: &[&Row], remark: Option<String>) -> Figure {
    let rows: Vec<&Row> = rows.iter().copied().filter(|row| row.with == with).collect();
    let proven = rows.iter().filter(|row| row.proves()).count();
    let needed = if with { (TARGET * rows.len() as f64).ceil() as usize } else { 0 };
    let reached = !rows.is_empty() && if with { proven >= needed } else { proven == 0 };
    // Others that are proven as well are worth a look, too.
    let is_odd = |row: &&&Row| {
        row.proves() != with
            || row.took_hold != Some(with)
            || row.proven.len() > 1
            || row.verdict == FAILED
    };
    let odd = rows.iter().filter(is_odd);
    let held = rows.iter().filter(|row| row.took_hold == Some(true)).count();
    let unknown = rows.iter().filter(|row| row.took_hold.is_none()).count();
    let held = format!("by other counters it took hold in {held}, and {unknown} do not tell");
    Figure {
        name: format!(
            "{} {} ({})",
            cause.code,
            if with { "put in" } else { "not put in" },
            cause.what
        ),
        measured: format!("proven in {proven} of {}", rows.len()),
        target: if with { format!("at least {needed}") } else { "0".to_owned() },
        of_target: None,
        reached: if reached { Reached::Yes } else { Reached::No },
        remarks: std::iter::once(held).chain(odd.map(|row| row.csv())).chain(remark).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::studies::ALL;
    use super::*;

    fn rows(with: bool, proven: usize) -> impl Iterator<Item = Row> {
        (0..20).map(move |number| Row {
            code: ALL[0].code,
            with,
            number,
            verdict: "broken",
            proven: if number < proven { vec![ALL[0].code.to_owned()] } else { Vec::new() },
            evidence: "3 requests, on average".to_owned(),
            ..Row::default()
        })
    }

    #[test]
    fn one_miss_of_twenty_is_allowed_and_no_wrong_proof() {
        let reached = |with, without| {
            let rows: Vec<Row> = rows(true, with).chain(rows(false, without)).collect();
            let figures = figures(&[&ALL[0]], &rows, None);
            figures.into_iter().map(|figure| figure.reached).collect::<Vec<_>>()
        };
        assert_eq!(reached(19, 0), [Reached::Yes, Reached::Yes]);
        assert_eq!(reached(18, 1), [Reached::No, Reached::No]);
        let nothing = figures(&[&ALL[0]], &[], None);
        assert!(nothing.iter().all(|figure| figure.reached == Reached::No));
    }

    #[test]
    fn a_line_has_as_many_cells_as_the_heading() {
        let row = rows(true, 1).next().unwrap();
        assert_eq!(row.csv().split(',').count(), HEADING.split(',').count());
    }
}
