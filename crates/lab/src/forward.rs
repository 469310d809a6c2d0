//! Forwards what a guest prints on a thread of its own.
//!
//! Its reader may stop reading (`| less`). Then the guest waits, but never the loop that watches its limits.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use assay_sys::kernel::signal;

use crate::process::OutputChunk;

/// Receives output of a guest, on another thread than the one that runs the guest.
pub trait Watcher: Send {
    /// Bytes of the command's standard output.
    fn output(&mut self, bytes: &[u8]);
    /// Bytes of its standard error.
    fn errors(&mut self, bytes: &[u8]);
    /// A message from the lab itself.
    fn remark(&mut self, text: &str);
}

/// How many messages may wait for the thread.
const MAX_MESSAGES: usize = 64;

/// How often the end of the thread is looked for.
const TICK: Duration = Duration::from_millis(100);

/// How long a reader may read nothing after the guest has ended, while what is left waits for it.
const READER: Duration = Duration::from_secs(600);

/// The same when the user has ended the guest.
const READER_AFTER_INTERRUPTION: Duration = Duration::from_secs(2);

enum Message {
    Chunk(OutputChunk),
    Remark(String),
}

/// The sender's side of the thread.
pub(crate) struct Forwarder {
    to: SyncSender<Message>,
    /// What the thread could not take yet.
    waiting: VecDeque<Message>,
    /// Wakes the sender after the thread has taken a message; disconnected when the thread has ended.
    taken: Receiver<()>,
}

impl Forwarder {
    pub(crate) fn start(mut watcher: impl Watcher + 'static) -> Self {
        let (to, messages) = sync_channel(MAX_MESSAGES);
        let (wake, taken) = sync_channel(1);
        // Without it nothing is printed, as after a panic.
        let _ = Builder::new().spawn(move || {
            for message in messages {
                // One wake-up is enough.
                let _ = wake.try_send(());
                match message {
                    Message::Chunk(OutputChunk::Output(bytes)) => watcher.output(&bytes),
                    Message::Chunk(OutputChunk::Errors(bytes)) => watcher.errors(&bytes),
                    Message::Remark(text) => watcher.remark(&text),
                }
            }
        });
        Self { to, waiting: VecDeque::new(), taken }
    }

    /// Takes output; to be called only after `is_ready`.
    pub(crate) fn chunk(&mut self, chunk: OutputChunk) {
        self.waiting.push_back(Message::Chunk(chunk));
        self.hand_over();
    }

    pub(crate) fn remark(&mut self, text: &str) {
        self.waiting.push_back(Message::Remark(text.to_owned()));
        self.hand_over();
    }

    /// Waits for at most `patience` until the thread has taken everything. If it has not, the guest must
    /// wait.
    pub(crate) fn is_ready(&mut self, patience: Duration) -> bool {
        let begun = Instant::now();
        while !self.hand_over() {
            match self.taken.recv_timeout(patience.saturating_sub(begun.elapsed())) {
                Ok(()) => {}
                Err(_) => return self.hand_over(),
            }
        }
        true
    }

    /// Whether the thread has room for everything.
    fn hand_over(&mut self) -> bool {
        while let Some(message) = self.waiting.pop_front() {
            match self.to.try_send(message) {
                // A thread that has panicked prints nothing any more.
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                Err(TrySendError::Full(message)) => {
                    self.waiting.push_front(message);
                    return false;
                }
            }
        }
        true
    }

    /// Waits until everything is printed, until the reader has read nothing for some minutes, or until Ctrl-C;
    /// returns whether everything is printed. If not, the thread is left behind.
    pub(crate) fn finish(self) -> bool {
        match signal::interrupted_by() {
            None => self.finish_within(READER, &|| signal::interrupted_by().is_some()),
            Some(_) => self.finish_within(READER_AFTER_INTERRUPTION, &signal::interrupted_twice),
        }
    }

    fn finish_within(mut self, patience: Duration, stop: &dyn Fn() -> bool) -> bool {
        let mut progress = Instant::now();
        let gives_up = |progress: Instant| stop() || progress.elapsed() >= patience;
        let mut left = self.waiting.len();
        while !self.is_ready(TICK) {
            if self.waiting.len() < left {
                (left, progress) = (self.waiting.len(), Instant::now());
            }
            if gives_up(progress) {
                return false;
            }
        }
        let Self { to, taken, .. } = self;
        drop(to);
        loop {
            match taken.recv_timeout(TICK) {
                Ok(()) => progress = Instant::now(),
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) if gives_up(progress) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// Waits for the reader before each of its messages.
    struct Slow {
        reads: Receiver<()>,
        seen: Sender<String>,
    }

    impl Watcher for Slow {
        fn output(&mut self, bytes: &[u8]) {
            let _ = self.reads.recv();
            let _ = self.seen.send(String::from_utf8_lossy(bytes).into_owned());
        }

        fn errors(&mut self, bytes: &[u8]) {
            self.output(bytes);
        }

        fn remark(&mut self, text: &str) {
            self.output(text.as_bytes());
        }
    }

    fn slow() -> (Forwarder, Sender<()>, Receiver<String>) {
        let ((reader, reads), (seen, messages)) = (channel(), channel());
        (Forwarder::start(Slow { reads, seen }), reader, messages)
    }

    fn output(number: usize) -> OutputChunk {
        OutputChunk::Output(number.to_string().into_bytes())
    }

    #[test]
    fn messages_arrive_in_order_and_completely() {
        let (mut forwarder, reader, messages) = slow();
        forwarder.remark("booting");
        forwarder.chunk(OutputChunk::Errors(b"bad".to_vec()));
        (0..200).for_each(|number| forwarder.chunk(output(number)));
        assert!(!forwarder.is_ready(TICK), "nobody has read");
        // Without its reader the watcher waits for nothing.
        drop(reader);
        assert!(forwarder.finish_within(READER, &|| false));
        let expected = ["booting", "bad"].map(str::to_owned).into_iter();
        let expected = expected.chain((0..200).map(|number| number.to_string()));
        assert!(messages.into_iter().eq(expected));
    }

    #[test]
    fn a_reader_that_reads_nothing_is_left_behind() {
        for count in [1, 2 * MAX_MESSAGES] {
            let (mut forwarder, _reader, _messages) = slow();
            (0..count).for_each(|number| forwarder.chunk(output(number)));
            assert!(!forwarder.finish_within(TICK, &|| false), "{count}: the limit");
            let (mut forwarder, _reader, _messages) = slow();
            (0..count).for_each(|number| forwarder.chunk(output(number)));
            assert!(!forwarder.finish_within(READER, &|| true), "{count}: Ctrl-C");
        }
    }
}
