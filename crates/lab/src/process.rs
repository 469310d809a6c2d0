//! The virtual machine as a process: started, listened to, ended.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use assay_files::search_path;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::Error;

/// What came out of a guest.
pub(crate) enum Sound {
    Output(Vec<u8>),
    Errors(Vec<u8>),
}

/// A virtual machine that runs.
pub(crate) struct Process {
    child: Child,
    sounds: Receiver<Sound>,
}

/// How long QEMU may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// How long the last output may take to arrive after QEMU has ended.
const DRAIN: Duration = Duration::from_secs(2);

impl Process {
    /// Starts virtme-run, and QEMU by it, in a process group of their own: a Ctrl-C at the
    /// terminal reaches the lab alone, which then ends the guest.
    pub(crate) fn start(
        program: &Path,
        qemu: &Path,
        arguments: &[OsString],
    ) -> Result<Self, Error> {
        let mut child = Command::new(program)
            .arg("--qemu-bin")
            .arg(qemu)
            .args(arguments)
            // It looks for busybox and others by itself.
            .env("PATH", search_path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|cause| Error::new(format!("cannot start {}: {cause}", program.display())))?;
        let (to, sounds) = channel();
        if let Some(output) = child.stdout.take() {
            listen(output, to.clone(), Sound::Output);
        }
        if let Some(errors) = child.stderr.take() {
            listen(errors, to, Sound::Errors);
        }
        Ok(Self { child, sounds })
    }

    /// The next thing the guest says, waited for at most this long.
    pub(crate) fn next(&self, patience: Duration) -> Option<Sound> {
        match self.sounds.recv_timeout(patience) {
            Ok(sound) => Some(sound),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // Both pipes are closed; what is left is to wait for the process itself.
                std::thread::sleep(patience);
                None
            }
        }
    }

    /// What was said and not heard yet, once the machine has ended.
    pub(crate) fn rest(&self) -> Vec<Sound> {
        let began = Instant::now();
        let mut rest = Vec::new();
        while let Some(left) = DRAIN.checked_sub(began.elapsed()) {
            match self.sounds.recv_timeout(left) {
                Ok(sound) => rest.push(sound),
                Err(_) => break,
            }
        }
        rest
    }

    /// How it ended, or `None` while it runs.
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(|cause| Error::new(format!("cannot wait for QEMU: {cause}")))
    }

    /// Ends the machine, gently at first.
    pub(crate) fn end(&mut self) {
        self.signal(Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < GRACE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // virtme-run may end before its QEMU; the group holds both.
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }

    fn signal(&self, signal: Signal) {
        // The group is that of a child which was not waited for when this began, or whose QEMU is
        // left in it; with neither left the kernel answers ESRCH.
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

fn listen(mut from: impl Read + Send + 'static, to: Sender<Sound>, wrap: fn(Vec<u8>) -> Sound) {
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        while let Ok(length) = from.read(&mut buffer) {
            if length == 0 || to.send(wrap(buffer[..length].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// Starts a guest for a person: the terminal is QEMU's until it ends.
pub(crate) fn at_the_terminal(
    program: &Path,
    qemu: &Path,
    arguments: &[OsString],
) -> Result<ExitStatus, Error> {
    // What was said before must be on the terminal before the guest clears it.
    let _ = std::io::stderr().flush();
    Command::new(program)
        .arg("--qemu-bin")
        .arg(qemu)
        .args(arguments)
        .env("PATH", search_path())
        .status()
        .map_err(|cause| Error::new(format!("cannot start {}: {cause}", program.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(script: &str) -> Process {
        // `--qemu-bin QEMU` come first and are the script's $0 and $1.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("#!/bin/sh\n{script}\n")).unwrap();
        let path = file.into_temp_path();
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let process = Process::start(&path, Path::new("qemu"), &[]).unwrap();
        // The script is read by its interpreter while it runs.
        let _ = path.keep();
        process
    }

    #[test]
    fn both_streams_are_heard_to_their_end() {
        let mut process = start("echo out; echo err >&2; exit 3");
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = loop {
            if let Some(status) = process.ended().unwrap() {
                break status;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        for sound in process.rest() {
            match sound {
                Sound::Output(bytes) => out.extend(bytes),
                Sound::Errors(bytes) => err.extend(bytes),
            }
        }
        assert_eq!((out.as_slice(), err.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(status.code(), Some(3));
    }

    #[test]
    fn a_machine_that_ignores_the_request_is_killed_with_its_children() {
        let mut process = start("trap '' TERM; (trap '' TERM; sleep 100) & echo $!; wait");
        let Some(Sound::Output(pid)) = process.next(Duration::from_secs(20)) else {
            panic!("nothing was said")
        };
        let pid = String::from_utf8(pid).unwrap().trim().to_owned();
        process.end();
        let gone = || !Path::new("/proc").join(&pid).join("exe").exists();
        let began = Instant::now();
        while !gone() && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(gone(), "process {pid} is left");
    }
}
