//! Groups again and again, on a terminal or as plain blocks.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::time::{Duration, Instant};

use assay_cgroup::inventory::{Inventory, rates};
use assay_kernel::signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use rustix::termios::{tcgetattr, tcgetwinsize, tcsetattr};

use super::{document, table};
use crate::exit::Code;
use crate::talk;

/// Clears the screen and goes to its first place (ECMA-48: ED 2, CUP).
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Reads every `period` and shows the busiest, until `q`, Ctrl-C or the end of the reader.
pub(super) fn run(
    first: Inventory,
    read: impl Fn() -> Inventory,
    period: Duration,
    as_json: bool,
) -> Code {
    signal::note_interruptions();
    let on_terminal = stdout().is_terminal() && !as_json;
    let keys = Keys::listen();
    let mut before = first;
    loop {
        if ended(&keys, period) {
            return Code::Kept;
        }
        let now = read();
        let rates = rates(&before, &now);
        let text = if as_json {
            document(&now, &rates).to_string()
        } else if on_terminal {
            let height = height().saturating_sub(4).max(1);
            format!("{CLEAR}{}\nq ends", table::busiest(&now, &rates, talk::width(), height))
        } else {
            format!("{}\n", table::busiest(&now, &rates, talk::width(), usize::MAX))
        };
        // A reader that has gone away (`assay groups --watch | head`) ends it.
        if writeln!(stdout().lock(), "{text}").and_then(|()| stdout().flush()).is_err() {
            return Code::Kept;
        }
        before = now;
    }
}

fn height() -> usize {
    const USUAL: usize = 24;
    let rows = tcgetwinsize(stdout()).ok().map(|size| usize::from(size.ws_row));
    rows.filter(|rows| *rows > 0).unwrap_or(USUAL)
}

/// Waits for the next reading; says whether the user has asked for the end meanwhile.
fn ended(keys: &Keys, period: Duration) -> bool {
    let until = Instant::now() + period;
    loop {
        if signal::interrupted_by().is_some() {
            return true;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        if keys.pressed(left.min(Duration::from_millis(200))) == Some(b'q') {
            return true;
        }
    }
}

/// The keyboard, read key by key; given back as it was.
struct Keys(Option<Termios>);

impl Keys {
    /// Switches the terminal to single keys without echo. Where stdin is no terminal, or this
    /// process is not in its foreground, there are no keys.
    fn listen() -> Self {
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
        match tcsetattr(stdin(), OptionalActions::Now, &keys) {
            Ok(()) => Self(Some(found)),
            Err(_) => Self(None),
        }
    }

    /// The key that is pressed within `limit`, if one is.
    fn pressed(&self, limit: Duration) -> Option<u8> {
        if self.0.is_none() {
            std::thread::sleep(limit);
            return None;
        }
        let limit = Timespec { tv_sec: 0, tv_nsec: i64::from(limit.subsec_nanos()) };
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
