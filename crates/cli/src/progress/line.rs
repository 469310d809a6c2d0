//! A single progress line at the end of the terminal, for commands without a live view.

use super::screen::Screen;
use crate::output;

/// The progress line and the lines that stay above it. If stderr is not a terminal that can be drawn
/// on, only the latter are written.
pub(crate) struct Line {
    screen: Option<Screen>,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { screen: output::can_draw().then(Screen::default) }
    }

    /// Whether the progress line is shown.
    pub(crate) const fn is_shown(&self) -> bool {
        self.screen.is_some()
    }

    /// Redraws the progress line, cut to the width: the most important comes first.
    pub(crate) fn draw(&mut self, text: &str) {
        if let Some(screen) = &mut self.screen {
            let columns = output::size().columns;
            let text = assay_escape::line(text);
            let line = text.chars().take(columns.saturating_sub(1)).collect();
            screen.draw(vec![line], columns);
        }
    }

    /// Writes a line that stays.
    pub(crate) fn print(&mut self, text: &str) {
        match &mut self.screen {
            Some(screen) => screen.above(&output::safe_for_stderr(text), output::size().columns),
            None => output::message(text),
        }
    }

    /// Clears the progress line.
    pub(crate) fn finish(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.clear(output::size().columns);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A progress bar `cells` wide; `done` is from 0 to 1.
pub(crate) fn bar(done: f64, cells: usize) -> String {
    let full = "=".repeat((done.clamp(0.0, 1.0) * cells as f64) as usize);
    format!("[{full:<cells$}]")
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_always_has_the_given_width() {
        assert_eq!(bar(0.5, 4), "[==  ]");
        assert_eq!(bar(7.0, 4), "[====]");
        assert_eq!(bar(f64::NAN, 4), "[    ]");
    }
}
