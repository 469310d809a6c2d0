//! One line that moves at the end of the terminal, for commands whose progress needs no picture.

use super::screen::Screen;
use crate::output;

/// The line, and those that stay above it. Where stderr is no terminal that a line can be drawn
/// on, only those that stay are written.
pub(crate) struct Line {
    screen: Option<Screen>,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { screen: output::can_draw().then(Screen::default) }
    }

    /// Whether anybody sees it move.
    pub(crate) const fn moves(&self) -> bool {
        self.screen.is_some()
    }

    /// Draws it anew. What does not fit is cut off, so that the most important stands first.
    pub(crate) fn draw(&mut self, text: &str) {
        if let Some(screen) = &mut self.screen {
            let columns = output::size().columns;
            let text = assay_escape::line(text);
            let line = text.chars().take(columns.saturating_sub(1)).collect();
            screen.draw(vec![line], columns);
        }
    }

    /// Writes a line that stays.
    pub(crate) fn say(&mut self, text: &str) {
        match &mut self.screen {
            Some(screen) => screen.above(&output::shown(text), output::size().columns),
            None => output::say(text),
        }
    }

    /// Takes the moving line away.
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

/// A bar of `cells` cells of which this part is done.
pub(crate) fn bar(done: f64, cells: usize) -> String {
    let full = "=".repeat((done.clamp(0.0, 1.0) * cells as f64) as usize);
    format!("[{full:<cells$}]")
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_is_as_long_as_its_cells_whatever_is_done() {
        assert_eq!(bar(0.5, 4), "[==  ]");
        assert_eq!(bar(7.0, 4), "[====]");
        assert_eq!(bar(f64::NAN, 4), "[    ]");
    }
}
