//! What `assay audit` costs: a snapshot of a thousand groups, and watching 256 groups with a thousand processes that each
//! wake up more than ten times a second.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use assay_cgroup::Tree;
use assay_host::Ledger;
use assay_kernel::child::{ChildrenUsage, children_usage};
use assay_kernel::{Root, signal};

use crate::assay::{Assay, Usage};
use crate::child;
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::statistics::Estimate;
use crate::with_ledger::with_ledger;

/// Groups of the snapshot.
const MANY: usize = 1000;

/// Groups and processes that are watched.
const WATCHED: usize = 256;
const PROCESSES: usize = 1000;

/// Targets: seconds and bytes of a snapshot, part of one CPU while it watches.
const AT_MOST_S: f64 = 1.0;
const AT_MOST_BYTES: f64 = (64 << 20) as f64;
const AT_MOST_PART: f64 = 0.005;

/// Lengths of two watches. What starting and ending take is in both, so the difference is the watching alone.
const SHORT_S: u64 = 5;
const LONG_S: u64 = 25;

const SECONDS: Shown = Shown { factor: 1.0, unit: "s", decimals: 3 };
const MEBIBYTES: Shown = Shown { factor: 1.0 / (1 << 20) as f64, unit: "MiB", decimals: 1 };
const PERCENT: Shown = Shown { factor: 100.0, unit: "% of one CPU", decimals: 3 };

/// Sleeps in a loop, without starting other processes.
const SLEEPER: &str = "select(undef, undef, undef, 0.09) while 1";

/// Measures `rounds` rounds. The host is always restored, after SIGKILL by means of the ledger in `folder`.
pub(crate) fn measure(
    assay: &Assay,
    program: &Path,
    folder: &Path,
    rounds: usize,
) -> Result<Vec<Figure>, Failure> {
    let mut figures = with_ledger(&folder.join("audit-state"), "bench-audit", |root, ledger| {
        let _tree = groups(root, ledger, "many", MANY)?;
        snapshots(assay, folder, rounds)
    })?;
    figures.extend(with_ledger(&folder.join("audit-state"), "bench-watch", |root, ledger| {
        let (tree, names) = groups(root, ledger, "watched", WATCHED)?;
        let _crowd = Crowd::start(root, &tree, &names)?;
        watches(program, rounds)
    })?);
    Ok(figures)
}

/// So many groups with a weight each, in the hierarchies of CPU and memory.
fn groups(
    root: &Root,
    ledger: &mut Ledger,
    name: &str,
    count: usize,
) -> Result<(Tree, Vec<String>), Failure> {
    let facts = assay_host::gather(root)?;
    let (hierarchies, absent) = facts.cgroup.hierarchies_with(["cpu", "memory"]);
    if let Some((name, why)) = absent.into_iter().next() {
        return Err(Failure::Failed(format!("the controller `{name}` is not available: {why}")));
    }
    let top = format!("assay-bench-{name}-{}", std::process::id());
    let tree = Tree::create(root, ledger, &hierarchies, &top)?;
    let names: Vec<String> = (1..=count).map(|number| format!("g{number}")).collect();
    let is_v2 = facts.cgroup.is_on_v2("cpu");
    let (file, value) = if is_v2 { ("cpu.weight", "200") } else { ("cpu.shares", "2048") };
    for name in &names {
        tree.make(name, false)?;
        tree.write(name, "cpu", file, value)?;
    }
    Ok((tree, names))
}

/// Processes in the groups, in turns; they end with it.
struct Crowd {
    processes: Vec<Child>,
}

impl Crowd {
    fn start(root: &Root, tree: &Tree, names: &[String]) -> Result<Self, Failure> {
        let mut crowd = Self { processes: Vec::with_capacity(PROCESSES) };
        for name in names.iter().cycle().take(PROCESSES) {
            let mut command = Command::new("perl");
            command.args(["-e", SLEEPER]).stdin(Stdio::null()).stdout(Stdio::null());
            let failed = |cause| Failure::Failed(format!("cannot start perl: {cause}"));
            let process = command.stderr(Stdio::null()).spawn().map_err(failed)?;
            let id = process.id().to_string();
            crowd.processes.push(process);
            for group in tree.directories(name) {
                root.write(group.join("cgroup.procs"), &id)?;
            }
            if let Some(signal) = signal::interrupted_by() {
                return Err(Failure::Interrupted(signal));
            }
        }
        Ok(crowd)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // One that has ended by itself needs no signal.
            let _ = process.kill();
        }
        for process in &mut self.processes {
            let _ = process.wait();
        }
    }
}

fn snapshots(assay: &Assay, folder: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    let busy = idle_wait::wait()?;
    let file = |round| folder.join(format!("snapshot-{round}.json"));
    let take = |file: PathBuf| {
        assay.peak(&[OsStr::new("audit"), OsStr::new("--snapshot"), file.as_os_str()])
    };
    let taken: Vec<Usage> = (0..rounds).map(|round| take(file(round))).collect::<Result<_, _>>()?;
    let few = || Failure::Failed("too few rounds for an interval".to_owned());
    let figure = |name: &str, of: fn(&Usage) -> f64, target, shown| {
        let values: Vec<f64> = taken.iter().map(of).collect();
        let name = format!("a snapshot of {MANY} groups: {name}");
        Some(Figure::bound(&name, Estimate::median(&values)?, target, shown))
    };
    let time = figure("time", |usage| usage.time.as_secs_f64(), AT_MOST_S, &SECONDS);
    let mut time = time.ok_or_else(few)?;
    time.remarks.push(format!("median [smallest, largest] of {rounds}, by the 20 ms"));
    time.remarks.extend(idle_wait::remark(busy));
    let memory = figure("memory", |usage| usage.peak as f64, AT_MOST_BYTES, &MEBIBYTES);
    Ok(vec![time, memory.ok_or_else(few)?])
}

fn watches(program: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    let (mut contended, mut changes) = (Vec::new(), Vec::new());
    let mut busiest: f64 = 0.0;
    for _ in 0..rounds {
        busiest = busiest.max(idle_wait::wait()?);
        contended.push(stated(&watch(program, &["--for"], LONG_S)?.0)?);
        let time = |seconds| watch(program, &["--watch", "--for"], seconds).map(|(_, time)| time);
        changes.push((time(LONG_S)? - time(SHORT_S)?) / (LONG_S - SHORT_S) as f64);
    }
    let figure = |what: &str, parts: &[f64], how: String| {
        let name = format!("{what}, {WATCHED} groups and {PROCESSES} processes");
        let estimate = Estimate::median(parts)
            .ok_or_else(|| Failure::Failed("too few rounds for an interval".to_owned()))?;
        let mut figure = Figure::bound(&name, estimate, AT_MOST_PART, &PERCENT);
        figure.remarks.push(how);
        figure.remarks.extend(idle_wait::remark(busiest));
        Ok::<Figure, Failure>(figure)
    };
    let stated = format!(
        "median [smallest, largest] of {rounds}: what it says of itself, its eBPF programs included"
    );
    let differences = format!(
        "median [smallest, largest] of {rounds}: CPU time of {LONG_S} s less that of {SHORT_S} s; each process wakes up eleven times a second"
    );
    Ok(vec![
        figure("`audit --for`", &contended, stated)?,
        figure("`audit --watch`", &changes, differences)?,
    ])
}

/// What an audit of so many seconds writes, and its CPU time in seconds.
fn watch(program: &Path, words: &[&str], seconds: u64) -> Result<(String, f64), Failure> {
    let used = |usage: ChildrenUsage| usage.user_us + usage.system_us;
    let before = used(children_usage());
    let mut command = Command::new(program);
    command.arg("audit").args(words).arg(format!("{seconds}s")).arg("--json");
    let text = child::stdout(&mut command)?;
    Ok((text, used(children_usage()).saturating_sub(before) as f64 / 1e6))
}

/// The part of one CPU that an audit says it took.
fn stated(document: &str) -> Result<f64, Failure> {
    let document: serde_json::Value =
        serde_json::from_str(document).map_err(|cause| Failure::from_display(&cause))?;
    let of = |key: &str| document["contended"][key].clone();
    if let Some(why) = of("switches")["not_available"].as_str() {
        return Err(Failure::Failed(format!("no eBPF programs to measure: {why}")));
    }
    of("cost").as_f64().ok_or_else(|| Failure::Failed("an audit without its cost".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_cost_counts_only_with_its_programs() {
        let with = r#"{"contended":{"cost":0.25,"switches":{"value":{}}}}"#;
        assert_eq!(stated(with).ok(), Some(0.25));
        let without = r#"{"contended":{"cost":0.25,"switches":{"not_available":"refused"}}}"#;
        let Err(Failure::Failed(why)) = stated(without) else { panic!("it counts") };
        assert!(why.contains("refused"), "{why}");
        assert!(stated("{}").is_err());
    }
}
