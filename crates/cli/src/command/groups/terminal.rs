//! The terminal while groups are watched: its keys one by one, and a screen that is redrawn in
//! place. Given back as it was.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use rustix::termios::{tcgetattr, tcgetwinsize, tcsetattr};

/// The other screen, without a cursor (xterm's private modes 1049 and 25).
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Columns of the terminal behind stdout, if it is one.
pub(super) fn width() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (stdout().is_terminal() && columns > 0 && rows > 0).then_some((columns, rows))
}

/// A screen to draw on.
pub(super) struct Screen(());

impl Screen {
    /// Takes the terminal behind stdout, if it is one that can be drawn on.
    pub(super) fn take() -> Option<Self> {
        size()?;
        if std::env::var_os("TERM").is_none_or(|kind| kind == "dumb") {
            return None;
        }
        show(ENTER).ok()?;
        Some(Self(()))
    }

    /// Columns and lines, as they are now.
    pub(super) fn size(&self) -> (usize, usize) {
        const USUAL: (usize, usize) = (80, 24);
        size().unwrap_or(USUAL)
    }

    /// Draws over what is there in one write, each line to its end, so that nothing flickers
    /// (ECMA-48: CUP, EL, ED).
    pub(super) fn draw(&self, lines: &[String]) -> io::Result<()> {
        show(&format!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n")))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that has gone needs nothing back.
        let _ = show(LEAVE);
    }
}

fn show(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// The keyboard, read key by key; given back as it was.
pub(super) struct Keys(Option<Termios>);

impl Keys {
    /// Switches the terminal to single keys without echo. Where stdin is no terminal, or this
    /// process is not in its foreground, there are no keys.
    pub(super) fn listen() -> Self {
        let in_foreground = rustix::termios::tcgetpgrp(stdin())
            .is_ok_and(|group| group == rustix::process::getpgrp());
        if !stdin().is_terminal() || !in_foreground {
            return Self(None);
        }
        let Ok(found) = tcgetattr(stdin()) else { return Self(None) };
        let mut keys = found.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        keys.special_codes[SpecialCodeIndex::VMIN] = 0;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        // A Ctrl-Z would leave the shell on the other screen; 0 switches it off (termios(3)).
        keys.special_codes[SpecialCodeIndex::VSUSP] = 0;
        match tcsetattr(stdin(), OptionalActions::Now, &keys) {
            Ok(()) => Self(Some(found)),
            Err(_) => Self(None),
        }
    }

    /// The key that is pressed within `limit`, if one is.
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
        if let Some(found) = &self.0 {
            // A terminal that has gone needs nothing back.
            let _ = tcsetattr(stdin(), OptionalActions::Now, found);
        }
    }
}
