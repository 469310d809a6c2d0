//! The target of a recording, from its start to its end.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use assay_record::run_folder::RunFolder;
use assay_sys::kernel::bounded_query::BoundedQueries;
use assay_sys::kernel::clock::monotonic_ns;
use assay_sys::kernel::{Error, Root, process, task};
use rustix::process::{Pid, Signal, kill_process_group};

use super::target::FollowTarget;

/// Folder of the command's output, in the run folder.
const LOG: &str = "logs/command";

/// How long a command may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a process may keep its files from being read.
const ANSWER: Duration = Duration::from_secs(1);

/// A command that was started, or an existing process or group.
pub(super) enum Followed {
    Command { child: Child, status: Option<ExitStatus> },
    Process { root: Root, pid: u32, queries: BoundedQueries, started: u64, gone: bool },
    Group,
}

/// How the target ended.
pub(super) struct Ended {
    pub(super) at_ns: u64,
    pub(super) how: String,
    pub(super) pid: Option<u32>,
    pub(super) exit_code: Option<u8>,
    pub(super) log: Option<String>,
}

impl Followed {
    /// Starts the command in a process group of its own, so that a Ctrl-C reaches only the recording, which
    /// then stops the command. Its output goes to the run folder.
    pub(super) fn start(
        root: &Root,
        target: &FollowTarget,
        folder: &RunFolder,
    ) -> Result<Self, Error> {
        let words = match target {
            FollowTarget::Group(_) => return Ok(Self::Group),
            FollowTarget::Process(pid) => {
                let (root, pid) = (root.clone(), *pid);
                let mut queries = BoundedQueries::with_limit(ANSWER);
                let started = started(&mut queries, &root, pid).ok().flatten().unwrap_or(0);
                return Ok(Self::Process { root, pid, queries, started, gone: false });
            }
            FollowTarget::Command(words) => words,
        };
        // Orphaned descendants are reparented to this process, and so are still followed.
        process::adopt_orphans()?;
        let log = folder.dir().make_dir(LOG)?;
        let create = |name: &str| log.create(name);
        let (program, arguments) = words
            .split_first()
            .ok_or_else(|| Error::unexpected("start", Path::new(""), "there is no command"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(create("stdout")?)
            .stderr(create("stderr")?);
        let child = process::start_answered(&mut command).map_err(|cause| {
            let error = Error::new("start", Path::new(program), &cause);
            match cause.kind() {
                std::io::ErrorKind::NotFound => error.with_hint("the program is not installed"),
                _ => error,
            }
        })?;
        Ok(Self::Command { child, status: None })
    }

    /// Whether the target has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        match self {
            Self::Command { child, status } => {
                if status.is_none() {
                    *status = child.try_wait().ok().flatten();
                }
                status.is_some()
            }
            Self::Process { root, pid, queries, started: start_time, gone } => {
                // One that does not answer has not ended.
                let now = started(queries, root, *pid);
                *gone |= now.is_ok_and(|now| now != Some(*start_time));
                *gone
            }
            Self::Group => false,
        }
    }

    /// Stops the command if it still runs, and returns how the target ended.
    pub(super) fn end(mut self) -> Ended {
        let at_ns = monotonic_ns();
        let over = self.has_ended();
        let ended = Ended { at_ns, how: String::new(), pid: None, exit_code: None, log: None };
        match self {
            Self::Group => Ended { how: "the time was up".to_owned(), ..ended },
            Self::Process { pid, .. } => {
                let how = if over { "the process ended" } else { "the time was up" };
                Ended { how: how.to_owned(), pid: Some(pid), ..ended }
            }
            Self::Command { child, status } => {
                let pid = Some(child.id());
                let log = Some(LOG.to_owned());
                match status {
                    Some(status) => {
                        let how = format!("the command ended: {status}");
                        let code = code(status);
                        Ended { how, pid, log, exit_code: Some(code), ..ended }
                    }
                    None => {
                        let how = stop(child).to_owned();
                        Ended { how, pid, log, ..ended }
                    }
                }
            }
        }
    }
}

/// Asks the command and its process group to end, and kills them if they do not.
fn stop(mut child: Child) -> &'static str {
    let group = Pid::from_child(&child);
    let _ = kill_process_group(group, Signal::TERM);
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Ok(Some(_)) = child.try_wait() {
            return "the command was stopped when the time was up";
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = kill_process_group(group, Signal::KILL);
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    "the command was killed when the time was up: it did not end when it was asked to"
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn started(queries: &mut BoundedQueries, root: &Root, pid: u32) -> Result<Option<u64>, String> {
    let root = root.clone();
    queries.run(pid, move || {
        let text = root.read(format!("/proc/{pid}/stat")).ok()?;
        let stat = task::stat(text.as_bytes())?;
        // A zombie counts as ended.
        (stat.state != b'Z').then_some(stat.started)
    })
}
