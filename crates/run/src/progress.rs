//! Live views of runs and searches: what is shown and when, on any screen.

mod run;
mod search;

#[cfg(test)]
mod tests;

use assay_report::Style;

pub use run::RunProgress;
pub use search::SearchProgress;

/// Where a live view is drawn: a frame that is replaced in place, and lines that stay above it. The frame
/// is cleared when the screen is dropped.
pub trait LiveScreen {
    /// Whether frames are shown; if not, only lines are.
    fn shows_frames(&self) -> bool;
    /// Replaces the frame.
    fn draw(&mut self, frame: &dyn Fn(Style) -> Vec<String>);
    /// Prints a line that stays.
    fn print(&mut self, line: &dyn Fn(Style) -> String);
}

/// Draws a frame of one line, cut to the width: the most important comes first.
fn draw_line(screen: &mut dyn LiveScreen, text: &str) {
    screen.draw(&|style| vec![assay_sys::escape::line(text).chars().take(style.columns).collect()]);
}

/// A progress bar; `done` is from 0 to 1.
fn bar(done: f64) -> String {
    const CELLS: usize = 24;
    let full = "=".repeat((done.clamp(0.0, 1.0) * CELLS as f64) as usize);
    format!("[{full:<CELLS$}]")
}
