//! The virtual machine as a process: start, output and end.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use assay_sys::files::search_path;
use assay_sys::kernel::child::{ExitWatch, ends_within};
use assay_sys::kernel::{Root, blocked, process};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::Error;

/// Output of a guest.
pub(crate) enum OutputChunk {
    Output(Vec<u8>),
    Errors(Vec<u8>),
}

/// How many chunks of output may wait to be forwarded; a guest that prints more waits itself.
pub(crate) const MAX_CHUNKS: usize = 64;

fn output_channel() -> (SyncSender<OutputChunk>, Receiver<OutputChunk>) {
    sync_channel(MAX_CHUNKS)
}

/// A running virtual machine.
pub(crate) struct Process {
    child: Child,
    chunks: Receiver<OutputChunk>,
}

/// Time limit for QEMU to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Time limit for it to end after SIGKILL.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// How often an interactive guest is checked.
const LOOK: Duration = Duration::from_millis(500);

/// How long output may still arrive after QEMU has ended.
const DRAIN: Duration = Duration::from_secs(2);

impl Process {
    /// Starts virtme-run, which starts QEMU, in a separate process group: a Ctrl-C at the terminal
    /// reaches only the lab, which then ends the guest.
    pub(crate) fn start(
        program: &Path,
        qemu: &Path,
        arguments: &[OsString],
        folder: &Path,
    ) -> Result<Self, Error> {
        let mut command = Command::new(program);
        // A lab that is killed leaves no guest behind.
        process::kill_with_starter(&mut command);
        let mut child = command
            .arg("--qemu-bin")
            .arg(qemu)
            .args(arguments)
            // It searches for busybox and others itself.
            .env("PATH", search_path())
            // Where it leaves a file when it is killed: the next lab removes this folder.
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|cause| Error::new(format!("cannot start {}: {cause}", program.display())))?;
        let (to, chunks) = output_channel();
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        // From here on it ends with this value.
        let process = Self { child, chunks };
        if let Some(output) = output {
            listen(output, to.clone(), OutputChunk::Output)?;
        }
        if let Some(errors) = errors {
            listen(errors, to, OutputChunk::Errors)?;
        }
        Ok(process)
    }

    /// Its process, which virtme-run leaves to QEMU.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next output of the guest, waiting for at most `patience`.
    pub(crate) fn next(&self, patience: Duration) -> Option<OutputChunk> {
        match self.chunks.recv_timeout(patience) {
            Ok(chunk) => Some(chunk),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // Both pipes are closed; only the process itself remains to be waited for.
                std::thread::sleep(patience);
                None
            }
        }
    }

    /// Remaining output of a machine that ended at this time.
    pub(crate) fn next_after(&self, end: Instant) -> Option<OutputChunk> {
        self.chunks.recv_timeout(DRAIN.checked_sub(end.elapsed())?).ok()
    }

    /// The exit status, or `None` while it runs.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(|cause| Error::new(format!("cannot wait for QEMU: {cause}")))
    }

    /// Ends the machine: SIGTERM first, then SIGKILL. A machine that survives, since it hangs in the kernel,
    /// is left behind and described.
    pub(crate) fn end(&mut self) -> Option<String> {
        self.signal(Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < GRACE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            // Nobody forwards it any more, and a machine that waits to write could not end.
            while self.chunks.try_recv().is_ok() {}
            std::thread::sleep(Duration::from_millis(50));
        }
        // virtme-run may end before its QEMU; both are in the group.
        self.signal(Signal::KILL);
        if ends_within(&mut self.child, AFTER_KILL) {
            return None;
        }
        let pid = self.child.id();
        let waits = blocked::describe(&Root::real(), pid);
        Some(format!("the guest (process {pid}) survived SIGKILL and is left behind: {waits}"))
    }

    fn signal(&self, signal: Signal) {
        // The group belongs to a child that had not been reaped before, or its QEMU is left in it;
        // if neither is, the kernel returns ESRCH.
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

fn listen(
    mut from: impl Read + Send + 'static,
    to: SyncSender<OutputChunk>,
    wrap: fn(Vec<u8>) -> OutputChunk,
) -> Result<(), Error> {
    let begun = Builder::new().spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(length) = from.read(&mut buffer) {
            if length == 0 || to.send(wrap(buffer[..length].to_vec())).is_err() {
                break;
            }
        }
    });
    begun.map(drop).map_err(|cause| Error::new(format!("cannot start a thread: {cause}")))
}

/// Starts an interactive guest: QEMU owns the terminal until it ends, also when it is ended because `check` of
/// its process fails.
pub(crate) fn at_the_terminal(
    program: &Path,
    qemu: &Path,
    arguments: &[OsString],
    check: &mut dyn FnMut(u32) -> Result<(), Error>,
) -> Result<ExitStatus, Error> {
    // Earlier messages must be written before the guest clears the terminal.
    let _ = std::io::stderr().flush();
    let mut child = Command::new(program)
        .arg("--qemu-bin")
        .arg(qemu)
        .args(arguments)
        .env("PATH", search_path())
        .spawn()
        .map_err(|cause| Error::new(format!("cannot start {}: {cause}", program.display())))?;
    let end = ExitWatch::new(&child);
    loop {
        end.wait(LOOK);
        let status = child.try_wait();
        let status =
            status.map_err(|cause| Error::new(format!("cannot wait for QEMU: {cause}")))?;
        if let Some(status) = status {
            return Ok(status);
        }
        if let Err(error) = check(child.id()) {
            // virtme-run has become QEMU, which restores the terminal on SIGTERM.
            let _ = process::send(child.id(), Signal::TERM);
            if !ends_within(&mut child, GRACE) {
                let _ = child.kill();
                ends_within(&mut child, AFTER_KILL);
            }
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn start(script: &str) -> Process {
        // `--qemu-bin QEMU` come first and are the script's $0 and $1.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("#!/bin/sh\n{script}\n")).unwrap();
        let path = file.into_temp_path();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let process = Process::start(&path, Path::new("qemu"), &[], Path::new("/tmp")).unwrap();
        // The interpreter reads the script while it runs.
        let _ = path.keep();
        process
    }

    /// Output that never ends by itself, though the test does.
    struct Endless(Arc<AtomicUsize>);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.fetch_add(1, Ordering::Relaxed);
            if count < 100 * MAX_CHUNKS { Ok(buffer.len()) } else { Ok(0) }
        }
    }

    #[test]
    fn output_that_nobody_reads_is_not_collected() {
        let (to, chunks) = output_channel();
        let count = Arc::new(AtomicUsize::new(0));
        listen(Endless(Arc::clone(&count)), to, OutputChunk::Output).unwrap();
        let reads = || count.load(Ordering::Relaxed);
        while reads() <= MAX_CHUNKS {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(reads(), MAX_CHUNKS + 1, "one more waits for the channel");
        for _ in 0..2 * MAX_CHUNKS {
            chunks.recv().unwrap();
        }
        assert!(reads() >= 2 * MAX_CHUNKS, "reading goes on");
    }

    #[test]
    fn both_streams_are_read_to_their_end() {
        let mut process = start("echo out; echo err >&2; exit 3");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = loop {
            if let Some(status) = process.ended().unwrap() {
                break status;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let end = Instant::now();
        while let Some(chunk) = process.next_after(end) {
            match chunk {
                OutputChunk::Output(bytes) => out.extend(bytes),
                OutputChunk::Errors(bytes) => err.extend(bytes),
            }
        }
        assert_eq!((out.as_slice(), err.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn a_machine_that_ignores_sigterm_is_killed_with_its_children() {
        let mut process = start("trap '' TERM; (trap '' TERM; sleep 100) & echo $!; wait");
        let Some(OutputChunk::Output(pid)) = process.next(Duration::from_secs(20)) else {
            panic!("no output")
        };
        let pid = String::from_utf8(pid).unwrap().trim().to_owned();
        process.end();
        let gone = || !Path::new("/proc").join(&pid).join("exe").exists();
        let began = Instant::now();
        while !gone() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(gone(), "process {pid} still exists");
    }
}
