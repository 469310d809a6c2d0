//! What a terminal shows of a run in progress: where it is, how long it still takes, and how the
//! intervals of shares close in on their promises.
//!
//! Pure: a state goes in, lines come out. When a frame is drawn, and how, is the caller's matter.

mod bar;
mod groups;
mod line;

use std::time::Duration;

use assay_verdict::{PromiseJudgement, TrialJudgement, Verdict};

use crate::number;
use crate::wording;
use line::{Ink, Line};

/// How lines are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns that a line may take.
    pub columns: usize,
    /// Lines that may be written.
    pub rows: usize,
    /// Whether ANSI colours may be used. A word always says the same.
    pub color: bool,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
}

/// Which repeat of which trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Counted from 1.
    pub trial: usize,
    /// Trials of the run.
    pub trials: usize,
    /// Counted from 1.
    pub repeat: u32,
    /// Repeats of each trial.
    pub repeats: u32,
}

/// How far a phase is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clock {
    /// Nobody knows.
    Unknown,
    /// This part of it, 0 to 1.
    Part(f64),
    /// So much of so much time.
    Time {
        /// Since the common start.
        elapsed: Duration,
        /// At most.
        of: Duration,
    },
}

/// The last look at the repeat that runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen<'v> {
    /// When it was taken, since the common start.
    pub at: Duration,
    /// What the numbers said. Shown as `within`, `outside` or `open`: a verdict is only given of
    /// a whole trial.
    pub promises: &'v [PromiseJudgement],
}

/// A run in progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Live<'v> {
    /// The study's name.
    pub study: &'v str,
    /// Where the run is.
    pub place: Place,
    /// The values of the trial's factors, `groups = 8, iodepth = 32`; empty without any.
    pub factors: &'v str,
    /// What is done at the moment: `make groups`, `run`.
    pub phase: &'v str,
    /// How far that is.
    pub clock: Clock,
    /// Time that the rest takes, at most where repeats may end before their time.
    pub left: Duration,
    /// Whether repeats end as soon as their promises are decided.
    pub ends_early: bool,
    /// What was seen of the repeat that runs.
    pub seen: Option<Seen<'v>>,
    /// What was asked with Ctrl-C or by a signal, if anything.
    pub stopping: Option<&'v str>,
}

impl Live<'_> {
    /// The lines, none longer and not more of them than the style allows.
    #[must_use]
    pub fn lines(&self, style: Style) -> Vec<String> {
        let mut lines = self.headline(style.columns);
        if !self.factors.is_empty() {
            lines.push(Line::default().then(Ink::Plain, format!("  {}", self.factors)));
        }
        lines.push(self.phase_line(style.columns));
        // The last line stands whatever else has no room.
        let room = style.rows.saturating_sub(lines.len() + 1);
        if let Some(seen) = self.seen {
            lines.extend(groups::lines(&seen, style.columns, room));
        }
        let over = (lines.len() + 1).saturating_sub(style.rows.max(1)).min(lines.len());
        lines.drain(..over);
        let mut lines: Vec<String> = lines.into_iter().map(|line| line.write(style)).collect();
        lines.extend(self.last_line(style));
        lines
    }

    /// One line, or two where the time that is left has no room beside the place.
    fn headline(&self, columns: usize) -> Vec<Line> {
        let Place { trial, trials, repeat, repeats } = self.place;
        let where_ = match repeats {
            1 => format!(" trial {trial} of {trials}"),
            _ => format!(" trial {trial} of {trials}, repeat {repeat} of {repeats}"),
        };
        let most = if self.ends_early { "at most " } else { "" };
        let left = format!("{most}{} left", clock_text(self.left));
        let line = Line::default().then(Ink::Bold, self.study).then(Ink::Plain, where_);
        match line.columns() + 2 + left.chars().count() > columns {
            true => vec![line, Line::default().then(Ink::Plain, format!("  {left}"))],
            false => vec![line.then_right(columns, Ink::Plain, &left)],
        }
    }

    fn phase_line(&self, columns: usize) -> Line {
        let line = Line::default().then(Ink::Plain, format!("  {}", self.phase));
        let (part, text) = match self.clock {
            Clock::Unknown => return line,
            Clock::Part(part) => (part, format!(" {} %", number::fixed(100.0 * part, 0))),
            Clock::Time { elapsed, of } => {
                let part = elapsed.as_secs_f64() / of.as_secs_f64().max(1e-9);
                (part, format!(" {} of {}", clock_text(elapsed), clock_text(of)))
            }
        };
        let line = line.then(Ink::Plain, text);
        let room = columns.saturating_sub(line.columns() + 2).min(40);
        if room < 4 {
            return line;
        }
        line.then(Ink::Plain, "  ").then(Ink::Faint, bar::progress(part, room))
    }

    /// Stands whatever else has no room, and leaves some for the `^C` that a terminal echoes
    /// where the cursor is: a line that is broken by it could not be drawn over.
    fn last_line(&self, style: Style) -> Option<String> {
        let line = match self.stopping {
            Some(signal) => Line::default()
                .then(Ink::Verdict(Verdict::Undecided), format!("{signal}: "))
                .then(Ink::Plain, "the run is ending; again: without waiting"),
            None => Line::default()
                .then(Ink::Faint, "Ctrl-C: end the run, restore the host, judge complete repeats"),
        };
        let columns = style.columns.saturating_sub(3);
        (style.rows > 0).then(|| line.write(Style { columns, ..style }))
    }
}

/// One line for a trial whose repeats are all over.
#[must_use]
pub fn trial_line(place: Place, factors: &str, judged: &TrialJudgement, style: Style) -> String {
    let Place { trial, trials, .. } = place;
    let line = match judged.promises.is_empty() {
        true => Line::default().then(Ink::Plain, "no promise of its own"),
        false => {
            let mark = wording::mark(judged.verdict);
            let word = wording::verdict(judged.verdict);
            Line::default().then(Ink::Verdict(judged.verdict), format!("{mark} {word}"))
        }
    };
    let mut text = format!("  trial {trial} of {trials}");
    if !factors.is_empty() {
        text.push_str(&format!(": {factors}"));
    }
    let worst = judged.promises.iter().filter_map(|promise| promise.worst_error);
    if let Some(worst) = worst.max_by(|one, other| one.value.total_cmp(&other.value)) {
        text.push_str(&format!("; worst error {}", wording::error_interval(worst)));
    }
    line.then(Ink::Plain, text).write(style)
}

/// `41 s`, `2 min 41 s`, `1 h 3 min`: a clock that people read while it runs.
fn clock_text(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_on_a_clock() {
        let text = |seconds| clock_text(Duration::from_secs(seconds));
        assert_eq!(text(41), "41 s");
        assert_eq!(text(161), "2 min 41 s");
        assert_eq!(text(3780), "1 h 03 min");
    }
}
