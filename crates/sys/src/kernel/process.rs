//! Starting processes inside their control groups, from the first instruction of their program;
//! signals, and process state.
//!
//! Of others' processes `status`, `comm`, `cgroup`, `schedstat` and the list of threads never make their reader wait. `stat`, `wchan`,
//! `syscall` and all links do, as long as a process is within exec(2), where it closes files: on FUSE for as long as its user likes
//! (fs/exec.c, `exec_update_lock`; seen on 6.18). The reader ends only with its process.

mod handle;
mod start;

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::kernel::bounded_query::BoundedQueries;
use crate::kernel::error::Error;
use crate::kernel::parse::keyed;
use crate::kernel::placement::Placement;
use crate::kernel::privileges::{self, User};
use crate::kernel::root::Root;
use crate::kernel::{open_files, signal};

/// How long one file of a process may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

pub use handle::{ProcessHandle, send_to_all};
pub use start::start_answered;

/// The open `cgroup.procs` files of the groups in which a process is to be started: one on cgroup v2,
/// one per hierarchy on v1.
#[derive(Debug)]
pub struct Membership {
    files: Vec<(PathBuf, File)>,
    placement: Placement,
    user: Option<User>,
}

/// How a command is started.
type Start = fn(&mut Command) -> io::Result<Child>;

impl Membership {
    /// Opens `cgroup.procs` in each of these group directories.
    pub fn open(root: &Root, groups: &[PathBuf]) -> Result<Self, Error> {
        groups
            .iter()
            .map(|group| {
                let path = group.join("cgroup.procs");
                File::options()
                    .write(true)
                    .open(root.resolve(&path))
                    .map(|file| (path.clone(), file))
                    .map_err(|cause| Error::new("open", &path, &cause))
            })
            .collect::<Result<_, _>>()
            .map(|files| Self { files, placement: Placement::default(), user: None })
    }

    /// The same, with a placement for the started process.
    #[must_use]
    pub fn placed(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    /// The same, starting processes as this user, without a way to gain privileges.
    #[must_use]
    pub fn run_as(self, user: Option<User>) -> Self {
        Self { user, ..self }
    }

    /// The user of started processes, if it is not this process's own.
    #[must_use]
    pub fn user(&self) -> Option<&User> {
        self.user.as_ref()
    }

    /// Starts `command` inside the groups and in a process group of its own, so that a Ctrl-C at the
    /// terminal reaches only Assay, which then ends the workloads in order. It inherits no descriptors
    /// but standard input, output and error.
    ///
    /// The child writes `0`, which means itself, to each `cgroup.procs` between fork and exec: this
    /// works on v1 and v2 alike, while clone3(CLONE_INTO_CGROUP) supports only v2.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, Error> {
        self.spawn_by(Command::spawn, command)
    }

    /// The same from another thread, for a program on a file system that [may not answer](start_answered). The program must not
    /// ask to be killed with the thread that started it (PR_SET_PDEATHSIG).
    pub fn spawn_answered(&self, command: &mut Command) -> Result<Child, Error> {
        self.spawn_by(start_answered, command)
    }

    fn spawn_by(&self, start: Start, command: &mut Command) -> Result<Child, Error> {
        let user = self.user.clone();
        // Another user must not be able to inject input into our terminal (TIOCSTI): a new session has
        // no terminal. It is a process group as well.
        let command = if user.is_some() { command } else { command.process_group(0) };
        self.start(start, command, move || {
            signal::restore_defaults();
            if let Some(user) = &user {
                rustix::process::setsid()?;
                user.become_user()?;
            }
            privileges::close_the_rest_at_exec();
            Ok(())
        })
    }

    /// Starts `command` inside the groups and in the process group of its parent, so that it may read
    /// from the terminal, and a Ctrl-C reaches both.
    pub fn spawn_in_foreground(&self, command: &mut Command) -> Result<Child, Error> {
        self.start(start_answered, command, || Ok(()))
    }

    fn start(
        &self,
        start: Start,
        command: &mut Command,
        then: impl Fn() -> io::Result<()> + Send + Sync + 'static,
    ) -> Result<Child, Error> {
        let program = PathBuf::from(command.get_program());
        // The caller may start the command again after `self` is dropped, so the command owns its
        // descriptors.
        let files = self.files.iter().map(|(_, file)| file.try_clone());
        let files: Vec<File> =
            files.collect::<io::Result<_>>().map_err(|cause| self.explain(&program, &cause))?;
        let placement = self.placement.prepared();
        let enter = move || {
            for file in &files {
                if rustix::io::write(file, b"0")? != 1 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
            }
            // Placement comes after that: entering a cpuset sets the process's CPUs and nodes.
            placement.apply()?;
            open_files::restore_limit();
            then()
        };
        // SAFETY: `enter` does not allocate and makes only system calls.
        unsafe { command.pre_exec(enter) };
        start(command).map_err(|cause| self.explain(&program, &cause))
    }

    fn explain(&self, program: &Path, cause: &io::Error) -> Error {
        let error = Error::new("start", program, cause);
        match cause.kind() {
            io::ErrorKind::NotFound => error.with_hint("the program is not installed"),
            io::ErrorKind::TimedOut => error,
            _ => {
                let groups: Vec<String> =
                    self.files.iter().map(|(path, _)| path.display().to_string()).collect();
                let placement = match self.placement.is_any() {
                    true => format!(" and to be placed on {}", self.placement),
                    false => String::new(),
                };
                let user = self.user.as_ref().map(|user| format!(" as user {}", user.uid));
                let user = user.unwrap_or_default();
                error.with_hint(format!("it was to enter {}{placement}{user}", groups.join(", ")))
            }
        }
    }
}

/// Sends `signal` to one process by its id.
pub fn send(pid: u32, signal: Signal) -> Result<(), Error> {
    let (id, path) = identified(pid)?;
    kill_process(id, signal).map_err(|cause| Error::new("signal", &path, &cause.into()))
}

/// Sends `signal` to every process of the process group led by `pid`, as a terminal does.
pub fn send_to_group(pid: u32, signal: Signal) -> Result<(), Error> {
    let (id, path) = identified(pid)?;
    kill_process_group(id, signal).map_err(|cause| Error::new("signal", &path, &cause.into()))
}

fn identified(pid: u32) -> Result<(Pid, PathBuf), Error> {
    let path = PathBuf::from(format!("/proc/{pid}"));
    let id = i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| Error::unexpected("signal", &path, "no such process id"))?;
    Ok((id, path))
}

/// Stops this process until it receives SIGCONT.
pub fn stop_self() -> Result<(), Error> {
    send(std::process::id(), Signal::STOP)
}

/// Continues a stopped process.
pub fn continue_process(pid: u32) -> Result<(), Error> {
    send(pid, Signal::CONT)
}

/// Makes the kernel kill this process when the thread that started it ends (prctl(2),
/// PR_SET_PDEATHSIG). Not inherited by children.
pub fn die_with_parent() -> Result<(), Error> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|cause| Error::new("prctl", Path::new("/proc/self"), &cause.into()))
}

/// Makes the kernel kill the program when the thread that starts it ends, however that ends (prctl(2),
/// PR_SET_PDEATHSIG; it stays over execve(2) unless that changes the user).
pub fn kill_with_starter(command: &mut Command) {
    let ask = || Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?);
    // SAFETY: `ask` does not allocate and makes one system call.
    unsafe { command.pre_exec(ask) };
}

/// From now on orphaned descendants become children of this process, so that following the tree of its
/// children finds them all (prctl(2), PR_SET_CHILD_SUBREAPER; 3.4).
pub fn adopt_orphans() -> Result<(), Error> {
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own))
        .map_err(|cause| Error::new("prctl", Path::new("/proc/self"), &cause.into()))
}

/// The state letter of a process (`R`, `S`, `T`, ...), or `None` when it is gone.
pub fn state(root: &Root, pid: u32) -> Option<char> {
    keyed::colon(&status(root, pid)?, "State")?.chars().next()
}

fn status(root: &Root, pid: u32) -> Option<String> {
    root.read(format!("/proc/{pid}/status")).ok()
}

/// The start time of a process, in ticks since boot (field 22 of proc_pid_stat(5)): together with its
/// id it identifies a process uniquely until the next boot. `None` when it is gone.
pub fn started(root: &Root, pid: u32) -> Option<u64> {
    let own_root = root.clone();
    let read = move || own_root.read(format!("/proc/{pid}/stat"));
    let stat = BoundedQueries::with_limit(PATIENCE).run(pid, read).ok()?.ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// A process for messages: `process 812 (fio), started 14 s ago`.
#[must_use]
pub fn name(root: &Root, pid: u32) -> String {
    let name = root.read_trimmed(format!("/proc/{pid}/comm")).unwrap_or_default();
    let age = started(root, pid).and_then(|ticks| {
        let uptime = root.read("/proc/uptime").ok()?;
        let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        Some(uptime - ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    });
    let age = age.map(|age| format!(", started {:.0} s ago", age.max(0.0))).unwrap_or_default();
    format!("process {pid} ({}){age}", name.escape_debug())
}

/// The parent of a process, or `None` when it is gone.
pub fn parent(root: &Root, pid: u32) -> Option<u32> {
    keyed::colon(&status(root, pid)?, "PPid")?.parse().ok()
}

/// Whether it is a thread of the kernel; `None` when it is gone. Since Linux 6.8 there is a line that says so; before, only
/// such a thread and a process that has ended have no memory.
#[must_use]
pub fn is_kernel_thread(root: &Root, pid: u32) -> Option<bool> {
    let status = status(root, pid)?;
    if let Some(said) = keyed::colon(&status, "Kthread") {
        return Some(said == "1");
    }
    let has_ended = keyed::colon(&status, "State")?.starts_with(['Z', 'X']);
    Some(!has_ended && keyed::colon(&status, "VmSize").is_none())
}

/// Runs `body` with the calling thread at the lowest real-time priority, so that a burst of wake-ups
/// that it causes cannot preempt it half-way. Where the host does not allow that (no CAP_SYS_NICE, a
/// group without real-time budget) the body runs without it.
pub fn with_real_time_priority<T>(body: impl FnOnce() -> T) -> T {
    let raised = set_policy(libc::SCHED_FIFO, 1);
    let result = body();
    if raised {
        set_policy(libc::SCHED_OTHER, 0);
    }
    result
}

/// Gives the calling thread the lowest real-time priority, SCHED_FIFO 1 (sched_setscheduler(2)).
pub fn become_real_time() -> Result<(), Error> {
    if set_policy(libc::SCHED_FIFO, 1) {
        return Ok(());
    }
    let cause = io::Error::last_os_error();
    Err(Error::new("sched_setscheduler", Path::new("/proc/self"), &cause))
}

/// A raw system call, because musl's `sched_setscheduler` only returns ENOSYS: POSIX defines it for
/// processes, the kernel for threads.
fn set_policy(policy: i32, priority: i32) -> bool {
    // `struct sched_param` of include/uapi/linux/sched/types.h has only this member.
    let parameters: libc::c_int = priority;
    // SAFETY: pid 0 is the calling thread, and `parameters` is read only within the call.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_started_again_enters_the_same_groups_and_writes_to_no_other_file() {
        let tree = tempfile::tempdir().unwrap();
        let procs = tree.path().join("cgroup.procs");
        std::fs::write(&procs, "").unwrap();
        let groups = Membership::open(&Root::at(tree.path()), &[PathBuf::from("/")]).unwrap();
        let mut command = Command::new("true");
        assert!(groups.spawn(&mut command).unwrap().wait().unwrap().success());
        drop(groups);
        // One of them usually has the number of the descriptor just closed.
        let path = |number: i32| tree.path().join(format!("foreign{number}"));
        let foreign: Vec<File> = (0..8).map(|number| File::create(path(number)).unwrap()).collect();
        assert!(command.spawn().unwrap().wait().unwrap().success());
        assert_eq!(std::fs::read_to_string(&procs).unwrap(), "00", "once for each start");
        for file in foreign {
            assert_eq!(file.metadata().unwrap().len(), 0, "another file was written");
        }
    }
}
