//! Processes of a user without rights that keep readers of their /proc/PID waiting, some beyond SIGKILL: nothing waits for them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_host::facts::Hierarchy;
use assay_sys::kernel::Root;
use assay_test_support::{Need, skip};

use crate::bench::Bench;
use crate::ends::Holder;
use crate::running::Running;

/// The processes in a group of their own. Dropping it lets them go.
struct Hostile {
    server: Child,
    processes: Vec<String>,
    group: PathBuf,
}

impl Hostile {
    /// `None` where a user may not mount FUSE.
    fn start(bench: &Bench) -> Option<Self> {
        let file = bench.write("silent", "");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/silent_processes.py");
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.args(["unshare", "--user", "--map-root-user", "--mount", "python3"]);
        // A user may not read the source.
        let text = fs::read_to_string(script).unwrap();
        command.args(["-c", &text]).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
        // Without the first one there are no such namespaces.
        let said =
            lines.next().map(|_| lines.next().expect("its processes, or why there are none"));
        let Some(numbers) = said.filter(|line| !line.starts_with("refused")) else {
            server.wait().unwrap();
            return None;
        };
        let processes: Vec<String> = numbers.split(' ').map(str::to_owned).collect();
        let facts = assay_host::gather(&Root::real()).unwrap();
        let io = &facts.cgroup.controllers["io"].hierarchy;
        // A limit that binds nobody: the audit asks on which disks their files are.
        let (mount, file, limit) = match io {
            Hierarchy::V1(mount) => (mount, "blkio.throttle.read_bps_device", "1073741824"),
            Hierarchy::V2(mount) => (mount, "io.max", "rbps=1073741824"),
            Hierarchy::Absent(why) => panic!("{why}"),
        };
        let device = fs::read_to_string("/sys/block/loop0/dev").unwrap();
        let group = mount.join(format!("assay-test-{}", std::process::id()));
        fs::create_dir(&group).unwrap();
        let hostile = Self { server, processes, group };
        fs::write(hostile.group.join(file), format!("{} {limit}", device.trim())).unwrap();
        for process in &hostile.processes {
            fs::write(hostile.group.join("cgroup.procs"), process).unwrap();
        }
        Some(hostile)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
        let begun = Instant::now();
        while fs::remove_dir(&self.group).is_err() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn processes_that_keep_their_readers_waiting_hold_nothing_up() {
    let test = "processes that keep their readers waiting";
    let Some(bench) = Bench::with(test, &[Need::Controller("io"), Need::Loop]) else { return };
    let Some(hostile) = Hostile::start(&bench) else {
        skip(test, "users may not mount FUSE");
        return;
    };
    let lock = bench.path("state/lock");
    fs::create_dir_all(bench.path("state/ledger")).unwrap();
    fs::write(&lock, "").unwrap();
    let group = hostile.group.file_name().unwrap().to_str().unwrap();
    let group = format!("/{group}");
    let holder = Holder::start("later", &[lock]);
    let mut commands: Vec<(Vec<&str>, &[i32])> = vec![
        (vec!["audit"], &[0, 1]),
        (vec!["restore"], &[6]),
        (vec!["top", "--group", &group], &[0]),
        (vec!["fairness", "--for", "1s", "--group", &group], &[0, 1, 3]),
        (vec!["record", "--for", "1s", "--out", "recorded", "--group", &group], &[0]),
    ];
    for process in &hostile.processes {
        commands.push((vec!["blame", "--for", "1s", "--pid", process], &[0, 3]));
    }
    for (words, codes) in commands {
        let begun = Instant::now();
        let mut command = bench.program();
        command.args(&words);
        let ended =
            Running::start(command, bench.folder(), bench.out()).end(Duration::from_secs(30));
        eprintln!("{words:?}: {:?} after {:?}", ended.status.code(), begun.elapsed());
        assert!(codes.contains(&ended.status.code().unwrap()), "{words:?}: {}", ended.stderr);
        if words == ["restore"] {
            ended.assert_says(&[&format!("process {} (perl)", holder.id())]);
        }
        // What could be read is recorded, and what could not is named.
        if words[0] == "record" {
            let says = format!("process {} keeps readers of its files", hostile.processes[1]);
            assert!(ended.stdout.contains(&says), "no `{says}`: {}", ended.stdout);
        }
    }
}
