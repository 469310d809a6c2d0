//! How much of a watch is over, on a terminal.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::output;

/// A line on stderr that is written anew every second until this value is dropped.
pub(crate) struct Countdown(Option<(Sender<()>, JoinHandle<()>)>);

impl Countdown {
    /// Shows nothing for what takes less than two seconds, and none where no line can be redrawn.
    pub(crate) fn start(length: Option<Duration>) -> Self {
        const SHORTEST: Duration = Duration::from_secs(2);
        let is_shown = output::can_draw() && length.is_none_or(|length| length > SHORTEST);
        if !is_shown {
            return Self(None);
        }
        let (stop, stopped) = channel();
        let begun = Instant::now();
        let show = move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                let of = length.map(|length| format!(" of {}", length.as_secs()));
                let (over, of) = (begun.elapsed().as_secs(), of.unwrap_or_default());
                output::to_stderr(&format!("\rwatching: {over}{of} s"));
            }
            output::to_stderr("\r\x1b[K");
        };
        Self(Builder::new().spawn(show).ok().map(|shown| (stop, shown)))
    }
}

impl Drop for Countdown {
    fn drop(&mut self) {
        if let Some((stop, shown)) = self.0.take() {
            drop(stop);
            let _ = shown.join();
        }
    }
}
