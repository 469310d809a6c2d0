//! The terminal of `assay top --watch`: single keys and a screen redrawn in place. Its state is
//! restored afterwards.

use std::io::{self, IsTerminal, stdin, stdout};
use std::time::Duration;

use assay_sys::kernel::stream::write_data;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use rustix::termios::{tcgetattr, tcsetattr};

use crate::output::{Size, is_dumb, size_of};

/// The alternate screen, without a cursor (xterm's private modes 1049 and 25).
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// A screen to draw on.
pub(super) struct Screen(());

impl Screen {
    /// Switches the terminal behind stdout to the alternate screen, if it can be drawn on.
    pub(super) fn enter() -> Option<Self> {
        size_of(stdout()).filter(|_| !is_dumb())?;
        show(ENTER).ok()?;
        Some(Self(()))
    }

    /// The current columns and lines.
    pub(super) fn size(&self) -> Size {
        size_of(stdout()).unwrap_or(Size { columns: 80, rows: 24 })
    }

    /// Redraws in one write, each line to its end, so that nothing flickers (ECMA-48: CUP, EL, ED).
    pub(super) fn draw(&self, lines: &[String]) -> io::Result<()> {
        show(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that has gone away needs no restoring.
        let _ = show(LEAVE);
    }
}

fn show(text: &str) -> io::Result<()> {
    write_data(stdout(), text.as_bytes())
}

/// The keyboard, read key by key; holds the terminal's settings to restore.
pub(super) struct Keys(Option<Termios>);

impl Keys {
    /// Switches the terminal to single keys without echo. There are no keys if stdin is not a terminal
    /// or this process is not in its foreground.
    pub(super) fn listen() -> Self {
        let in_foreground = rustix::termios::tcgetpgrp(stdin())
            .is_ok_and(|group| group == rustix::process::getpgrp());
        if !stdin().is_terminal() || !in_foreground {
            return Self(None);
        }
        let Ok(saved) = tcgetattr(stdin()) else { return Self(None) };
        let mut keys = saved.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        keys.special_codes[SpecialCodeIndex::VMIN] = 0;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Ctrl-Z would leave the shell on the alternate screen; 0 disables it (termios(3)).
        keys.special_codes[SpecialCodeIndex::VSUSP] = 0;
        match tcsetattr(stdin(), OptionalActions::Now, &keys) {
            Ok(()) => Self(Some(saved)),
            Err(_) => Self(None),
        }
    }

    /// The key pressed within `limit`, if any.
    pub(super) fn pressed(&self, limit: Duration) -> Option<u8> {
        if self.0.is_none() {
            std::thread::sleep(limit);
            return None;
        }
        let limit = Timespec {
            tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        let stdin = stdin();
        let ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&limit)).ok()?;
        let mut key = [0];
        (ready > 0 && rustix::io::read(&stdin, &mut key).ok()? == 1).then_some(key[0])
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(saved) = &self.0 {
            // A terminal that has gone away needs no restoring.
            let _ = tcsetattr(stdin(), OptionalActions::Now, saved);
        }
    }
}
