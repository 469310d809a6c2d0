//! `assay blame --prove` beside groups of which is known what they take away: how often attribution is within the
//! interval of the effect.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use assay_facts::Hierarchy;
use assay_host::gather;
use assay_kernel::{Root, process, signal};
use rustix::process::Signal;
use serde_json::Value;

use crate::child;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::progress;
use crate::statistics::Reached;

/// Runs of each kind, unless requested otherwise.
pub(crate) const RUNS: u32 = 20;

/// Of 20 runs so many must agree.
const TARGET: f64 = 0.9;

/// A weight that leaves little to processes outside the groups.
const HEAVY: &str = "cpu.weight=10000";

/// How long a group may take until it has processes.
const START: Duration = Duration::from_secs(60);

/// A group with the CPUs on which it computes; without any it sleeps.
struct Hog {
    quota: &'static str,
    cpus: &'static [usize],
}

const fn hog(quota: &'static str, cpus: &'static [usize]) -> Hog {
    Hog { quota, cpus }
}

/// A situation of which the truth is known.
struct Situation {
    name: &'static str,
    own: Hog,
    /// The first of them is the culprit; without any it is the own quota.
    others: &'static [Hog],
}

const ALL: [Situation; 5] = [
    Situation { name: "the only hog", own: hog("max", &[0]), others: &[hog("max", &[0])] },
    Situation {
        name: "the larger of two hogs, 3:1",
        own: hog("max", &[0, 1]),
        others: &[hog("45000 100000", &[0]), hog("15000 100000", &[1])],
    },
    Situation {
        name: "the smaller of two hogs, 3:1",
        own: hog("max", &[0, 1]),
        others: &[hog("15000 100000", &[1]), hog("45000 100000", &[0])],
    },
    Situation {
        name: "a group that sleeps, beside a hog",
        own: hog("max", &[0]),
        others: &[hog("max", &[]), hog("max", &[0])],
    },
    Situation { name: "the own quota", own: hog("30000 100000", &[0]), others: &[] },
];

/// Makes `runs` proofs in each situation.
pub(crate) fn measure(program: &Path, folder: &Path, runs: usize) -> Result<Vec<Figure>, Failure> {
    let one = |situation: &Situation| {
        let mut proofs = Vec::with_capacity(runs);
        for run in 1..=runs {
            progress(&format!("proof of {}, run {run} of {runs}", situation.name));
            proofs.push(situation.prove(program, folder)?);
        }
        Ok(figure(situation.name, &proofs))
    };
    ALL.iter().map(one).collect()
}

fn figure(name: &str, proofs: &[Value]) -> Figure {
    let agree = proofs.iter().filter(|proof| proof["agrees"] == true).count();
    let runs = proofs.len();
    let reached = agree as f64 >= TARGET * runs as f64;
    let remarks = proofs.iter().map(|proof| {
        let effect = &proof["effect"]["value"];
        format!(
            "charged {:.1} %, gone {:.1} % [{:.1}, {:.1}]",
            number(&proof["attributed_percent"]),
            number(&effect["percent"]),
            number(&effect["low"]),
            number(&effect["high"])
        )
    });
    Figure {
        name: format!("proof agrees: {name}"),
        measured: format!("{agree} of {runs}"),
        target: format!("at least {:.0} %", TARGET * 100.0),
        of_target: None,
        reached: if reached { Reached::Yes } else { Reached::No },
        remarks: remarks.collect(),
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

impl Situation {
    fn prove(&self, program: &Path, folder: &Path) -> Result<Value, Failure> {
        let others = self.others.iter().enumerate();
        let groups = others
            .map(|(index, hog)| Group::start(program, &folder.join(format!("hog-{index}")), hog))
            .collect::<Result<Vec<_>, _>>()?;
        let culprit = match groups.first() {
            Some(group) => group.path()?,
            None => "own_quota".to_owned(),
        };
        let mut command = Command::new(program);
        command.args(["blame", "--json", "--for", "2s", "--prove", &culprit]);
        command.env("ASSAY_STATE", folder.join("own"));
        self.own.put(&mut command);
        let text = child::stdout(&mut command)?;
        let document: Value =
            serde_json::from_str(&text).map_err(|cause| Failure::from_display(&cause))?;
        Ok(document["proof"].clone())
    }
}

impl Hog {
    /// Its settings, and what it runs.
    fn put(&self, command: &mut Command) {
        let computes = |cpu: &usize| format!("taskset -c {cpu} sh -c 'while :; do :; done' &");
        let script = match self.cpus {
            [] => "sleep 1000000".to_owned(),
            cpus => format!("{} wait", cpus.iter().map(computes).collect::<Vec<_>>().join(" ")),
        };
        let quota = format!("cpu.max={}", self.quota);
        command.args(["--set", HEAVY, "--set", &quota, "--", "sh", "-c", &script]);
    }
}

/// A group of `assay exec`, which is ended with this value.
struct Group(Child);

impl Group {
    fn start(program: &Path, state: &Path, hog: &Hog) -> Result<Self, Failure> {
        let mut command = Command::new(program);
        command.args(["exec", "--left", "kill"]).env("ASSAY_STATE", state);
        hog.put(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn();
        child.map(Self).map_err(|cause| Failure::from_display(&cause))
    }

    /// The path of its group, once that has processes.
    fn path(&self) -> Result<String, Failure> {
        let mount = cpu_mount()?;
        let (end, begun) = (format!("-{}", self.0.id()), Instant::now());
        while begun.elapsed() < START && signal::interrupted_by().is_none() {
            for name in Root::real().directories(&mount)? {
                let procs = mount.join(&name).join("cgroup.procs");
                let is_it = name.starts_with("assay-exec-") && name.ends_with(&end);
                if is_it && fs::read_to_string(procs).is_ok_and(|text| !text.is_empty()) {
                    return Ok(format!("/{name}"));
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Failure::Failed("`assay exec` made no group of the controller `cpu`".to_owned()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It restores the host and ends.
        let _ = process::send(self.0.id(), Signal::TERM);
        let _ = self.0.wait();
    }
}

fn cpu_mount() -> Result<PathBuf, Failure> {
    match gather(&Root::real())?.cgroup.controllers.get("cpu").map(|one| one.hierarchy.clone()) {
        Some(Hierarchy::V1(mount) | Hierarchy::V2(mount)) => Ok(mount),
        _ => Err(Failure::Failed("this host has no controller `cpu`".to_owned())),
    }
}
