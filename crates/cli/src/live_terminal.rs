//! Live views on stderr: on a terminal a frame that is redrawn in place, elsewhere only lines.

mod frame;

use assay_report::Style;
use assay_run::progress::LiveScreen;

use crate::output;
use frame::Frame;

/// The terminal behind stderr, or a file or pipe.
pub(crate) struct LiveTerminal(Option<Frame>);

impl LiveTerminal {
    pub(crate) fn new() -> Self {
        Self(output::can_draw().then(Frame::default))
    }
}

impl LiveScreen for LiveTerminal {
    fn shows_frames(&self) -> bool {
        self.0.is_some()
    }

    fn draw(&mut self, frame: &dyn Fn(Style) -> Vec<String>) {
        if let Some(screen) = &mut self.0 {
            let size = output::size();
            screen.draw(frame(output::style(size)), size.columns);
        }
    }

    fn print(&mut self, line: &dyn Fn(Style) -> String) {
        let size = output::size();
        let draw = |color| line(Style { color, ..output::style(size) });
        match &mut self.0 {
            Some(screen) => screen.above(&output::paint_for_stderr(draw), size.columns),
            None => output::message_painted(draw),
        }
    }
}

impl Drop for LiveTerminal {
    fn drop(&mut self) {
        if let Some(screen) = &mut self.0 {
            screen.clear(output::size().columns);
        }
    }
}
