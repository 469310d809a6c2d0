//! Terminal view of a running run: its position and the remaining time.
//!
//! Pure functions from state to lines; the caller decides when and how to draw.

mod bar;
mod line;

use std::time::Duration;

use assay_judge::verdict::{PromiseJudgement, TrialJudgement, Verdict};

use crate::number;
use crate::wording;
use line::{Ink, Line};

/// How lines are formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Maximum columns of a line.
    pub columns: usize,
    /// Maximum number of lines.
    pub rows: usize,
    /// Whether to use ANSI colours; they only repeat what a word says.
    pub color: bool,
    /// Whether the terminal can show non-ASCII characters.
    pub unicode: bool,
}

/// The current trial and repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Counted from 1.
    pub trial: usize,
    /// Trials of the run.
    pub trials: usize,
    /// Counted from 1.
    pub repeat: u32,
    /// Repeats of each trial.
    pub repeats: u32,
}

/// Progress of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clock {
    /// Not known.
    Unknown,
    /// A fraction, 0 to 1.
    Part(f64),
    /// Elapsed of total time.
    Time {
        /// Since the common start.
        elapsed: Duration,
        /// At most.
        of: Duration,
    },
}

/// A run in progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Live<'v> {
    /// The study's name.
    pub study: &'v str,
    /// The current trial and repeat.
    pub position: Position,
    /// The values of the trial's factors, `groups = 8, iodepth = 32`; empty without any.
    pub factors: &'v str,
    /// The current phase: `make groups`, `run`.
    pub phase: &'v str,
    /// Progress of the phase.
    pub clock: Clock,
    /// Remaining time; an upper bound if repeats may end early.
    pub remaining: Duration,
    /// Whether repeats end as soon as their promises are decided.
    pub ends_early: bool,
    /// The signal that requested the end of the run, if any.
    pub stopping: Option<&'v str>,
}

impl Live<'_> {
    /// The lines, within the limits of the style.
    #[must_use]
    pub fn lines(&self, style: Style) -> Vec<String> {
        let mut lines = self.headline(style.columns);
        if !self.factors.is_empty() {
            lines.push(Line::default().then(Ink::Plain, format!("  {}", self.factors)));
        }
        lines.push(self.phase_line(style.columns));
        // The last line always has room.
        let over = (lines.len() + 1).saturating_sub(style.rows.max(1)).min(lines.len());
        lines.drain(..over);
        let mut lines: Vec<String> = lines.into_iter().map(|line| line.write(style)).collect();
        lines.extend(self.last_line(style));
        lines
    }

    /// One line, or two if the remaining time does not fit next to the position.
    fn headline(&self, columns: usize) -> Vec<Line> {
        let Position { trial, trials, repeat, repeats } = self.position;
        let position = match repeats {
            1 => format!(" trial {trial} of {trials}"),
            _ => format!(" trial {trial} of {trials}, repeat {repeat} of {repeats}"),
        };
        let prefix = if self.ends_early { "at most " } else { "" };
        let left = format!("{prefix}{} left", clock_text(self.remaining));
        let line = Line::default().then(Ink::Bold, self.study).then(Ink::Plain, position);
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

    /// Always shown, and shorter than the terminal: the terminal echoes `^C` at the cursor, and a
    /// line wrapped by it could not be overwritten.
    fn last_line(&self, style: Style) -> Option<String> {
        let line = match self.stopping {
            Some(signal) => Line::default()
                .then(Ink::Verdict(Verdict::Undecided), format!("{signal}: "))
                .then(Ink::Plain, "the run is ending; press again to skip waiting"),
            None => Line::default()
                .then(Ink::Faint, "Ctrl-C: end the run, restore the host, judge complete repeats"),
        };
        let columns = style.columns.saturating_sub(3);
        (style.rows > 0).then(|| line.write(Style { columns, ..style }))
    }
}

/// One line for a finished trial.
#[must_use]
pub fn trial_line(
    position: Position,
    factors: &str,
    judged: &TrialJudgement,
    style: Style,
) -> String {
    let Position { trial, trials, .. } = position;
    let line = match judged.promises.is_empty() {
        true => Line::default().then(Ink::Plain, "no promise for this trial"),
        false => Line::default()
            .then(Ink::Verdict(judged.verdict), wording::tag(judged.verdict).marked()),
    };
    let mut text = format!("  trial {trial} of {trials}");
    if !factors.is_empty() {
        text.push_str(&format!(": {factors}"));
    }
    let value = |promise: &PromiseJudgement| promise.worst_error.map_or(-1.0, |worst| worst.value);
    let worst = judged.promises.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
    if let Some(worst) = worst.and_then(wording::worst_error) {
        text.push_str(&format!("; worst error {worst}"));
    }
    line.then(Ink::Plain, text).write(style)
}

/// `41 s`, `2 min 41 s`, `1 h 03 min`.
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
    fn durations_are_formatted_as_a_clock() {
        let text = |seconds| clock_text(Duration::from_secs(seconds));
        assert_eq!(text(41), "41 s");
        assert_eq!(text(161), "2 min 41 s");
        assert_eq!(text(3780), "1 h 03 min");
    }
}
