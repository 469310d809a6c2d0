//! A Slurm cluster of two nodes on one host, as Debian packages it: munged, slurmctld and two slurmd on
//! separate ports, with keys, configuration and state in a temporary folder.

use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Number of nodes.
const NODES: usize = 2;

const PROGRAMS: [&str; 5] = ["munged", "slurmctld", "slurmd", "sbatch", "squeue"];

/// A running cluster. Dropping it ends its processes and removes its files.
pub(crate) struct Cluster {
    place: TempDir,
    munge: Child,
    daemons: Vec<Child>,
}

impl Cluster {
    /// Why there cannot be a cluster here, if so.
    pub(crate) fn why_not() -> Option<String> {
        let missing = PROGRAMS.into_iter().find(|program| find(program).is_none())?;
        Some(format!("{missing} is not installed (scripts/setup fleet does it)"))
    }

    /// Starts it and waits until every node is idle.
    pub(crate) fn start() -> Self {
        let place = tempfile::Builder::new().prefix("assay-slurm-").tempdir().unwrap();
        let root = place.path();
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
        for part in ["state", "spool", "log", "munge", "run"] {
            fs::create_dir(root.join(part)).unwrap();
        }
        let munge = start_munge(root);
        fs::write(root.join("slurm.conf"), configuration(root)).unwrap();
        let mut cluster = Self { place, munge, daemons: Vec::new() };
        let controller = cluster.daemon("slurmctld", &["-c"], "slurmctld");
        cluster.daemons.push(controller);
        for node in 1..=NODES {
            let name = format!("assay{node}");
            let daemon = cluster.daemon("slurmd", &["-N", &name], &name);
            cluster.daemons.push(daemon);
        }
        cluster.wait_until("every node is idle", || {
            let states = cluster.ask("sinfo", &["--noheader", "--Node", "--format=%T"]);
            states.lines().count() == NODES && states.lines().all(|state| state == "idle")
        });
        cluster
    }

    /// The value of SLURM_CONF.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.place.path().join("slurm.conf")
    }

    fn daemon(&self, program: &str, more: &[&str], log: &str) -> Child {
        let log = File::create(self.place.path().join("log").join(log)).unwrap();
        Command::new(find(program).unwrap())
            .args(more)
            .arg("-D")
            .arg("-f")
            .arg(self.configuration())
            .env("SLURM_CONF", self.configuration())
            .current_dir(self.place.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    /// Waits for a few short runs on a host that may be busy.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(300);
        while !is_so() {
            assert!(Instant::now() < deadline, "not yet: {what}\n{}", self.logs());
            sleep(Duration::from_millis(200));
        }
    }

    /// Waiting and running jobs, one per line.
    pub(crate) fn queued(&self) -> String {
        self.ask("squeue", &["--noheader"])
    }

    pub(crate) fn ask(&self, program: &str, words: &[&str]) -> String {
        let output = Command::new(find(program).unwrap())
            .args(words)
            .env("SLURM_CONF", self.configuration())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn logs(&self) -> String {
        let logs = assay_test_support::entries(&self.place.path().join("log"));
        let tail = |path: &PathBuf| {
            let text = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines: Vec<&str> = text.lines().collect();
            format!("{}:\n{}\n", path.display(), lines[lines.len().saturating_sub(8)..].join("\n"))
        };
        logs.iter().map(tail).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        // Steps and jobs left by a failed test: no other process has this folder in its environment.
        let place = self.place.path().display().to_string();
        processes_with(&[&place]).into_iter().filter(|id| *id != std::process::id()).for_each(kill);
        let _ = self.munge.kill();
        let _ = self.munge.wait();
    }
}

/// munged with this cluster's own key and socket.
fn start_munge(root: &Path) -> Child {
    let folder = root.join("munge");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let mut key = [0; 128];
    File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
    fs::write(folder.join("key"), key).unwrap();
    fs::set_permissions(folder.join("key"), fs::Permissions::from_mode(0o400)).unwrap();
    let option = |name: &str, path: PathBuf| format!("--{name}={}", path.display());
    let child = Command::new(find("munged").unwrap())
        .arg("--foreground")
        .arg(option("key-file", folder.join("key")))
        .arg(option("socket", root.join("run/munge.socket")))
        .arg(option("pid-file", folder.join("pid")))
        .arg(option("log-file", folder.join("log")))
        .arg(option("seed-file", folder.join("seed")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !root.join("run/munge.socket").exists() {
        assert!(Instant::now() < deadline, "munged does not answer");
        sleep(Duration::from_millis(20));
    }
    child
}

/// slurm.conf(5). Nodes that do not answer are down after ten seconds instead of five minutes.
fn configuration(root: &Path) -> String {
    let root = root.display();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    // Held together, so that no two are the same.
    let sockets: Vec<TcpListener> =
        (0..=NODES).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> =
        sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect();
    let nodes: String = (0..NODES)
        .map(|node| {
            format!(
                "NodeName=assay{} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1\n",
                node + 1,
                ports[node + 1]
            )
        })
        .collect();
    format!(
        "ClusterName=assaytest\n\
         SlurmctldHost={host}(127.0.0.1)\n\
         SlurmctldPort={}\n\
         AuthType=auth/munge\n\
         AuthInfo=socket={root}/run/munge.socket\n\
         CredType=cred/munge\n\
         SlurmUser=root\n\
         SlurmdUser=root\n\
         StateSaveLocation={root}/state\n\
         SlurmdSpoolDir={root}/spool/%n\n\
         SlurmctldPidFile={root}/slurmctld.pid\n\
         SlurmdPidFile={root}/slurmd-%n.pid\n\
         ProctrackType=proctrack/pgid\n\
         TaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\n\
         SelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\n\
         SwitchType=switch/none\n\
         MpiDefault=none\n\
         ReturnToService=2\n\
         SlurmdTimeout=10\n\
         SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1\n\
         {nodes}\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
        ports[0]
    )
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Processes whose environment contains all of these.
fn processes_with(texts: &[&str]) -> Vec<u32> {
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
        let environment = String::from_utf8_lossy(&environment).into_owned();
        texts.iter().all(|text| environment.contains(text)).then_some(id)
    });
    ids.collect()
}

/// Kills a process that may be gone already.
fn kill(id: u32) {
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}
