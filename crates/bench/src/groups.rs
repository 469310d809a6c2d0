//! Creates, sets, reads back and removes many groups: by Assay, by libcgroup's tools and by a
//! shell, interleaved in one run.

mod contender;
mod script;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_facts::UsedHierarchy;
use assay_host::Ledger;
use assay_kernel::{Root, signal};

use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::statistics::Estimate;
use crate::with_ledger::with_ledger;
use contender::{Contender, contenders_for, ours};

const CONFIDENCE: f64 = 0.95;

/// Ratio to a peer's time.
const PART: Shown = Shown { factor: 1.0, unit: "of theirs", decimals: 3 };

/// Where the groups are created and what is set.
struct Setup {
    count: usize,
    /// One per hierarchy, each with its files and values.
    hierarchies: Vec<TopGroup>,
    /// Scripts, ledgers and output files.
    folder: PathBuf,
}

/// The top group in one hierarchy.
struct TopGroup {
    hierarchy: UsedHierarchy,
    /// libcgroup's names of the controllers in this hierarchy.
    controllers: Vec<&'static str>,
    /// The top group below the mount.
    name: String,
    files: Vec<(&'static str, &'static str)>,
}

impl TopGroup {
    fn top(&self) -> PathBuf {
        self.hierarchy.mount.join(&self.name)
    }
}

/// Measures `rounds` rounds with `count` groups. The host is always restored, after SIGKILL by
/// means of the ledger in `folder`.
pub(crate) fn measure(folder: &Path, count: usize, rounds: usize) -> Result<Vec<Figure>, Failure> {
    with_ledger(&folder.join("groups-state"), "bench-groups", |root, ledger| {
        run_rounds(folder, count, rounds, root, ledger)
    })
}

fn run_rounds(
    folder: &Path,
    count: usize,
    rounds: usize,
    root: &Root,
    ledger: &mut Ledger,
) -> Result<Vec<Figure>, Failure> {
    let setup = setup(folder, count, root, ledger)?;
    let contenders = contenders_for(&setup)?;
    let busy = idle_wait::wait()?;
    let mut times: Vec<Vec<(f64, f64)>> = vec![Vec::new(); contenders.len()];
    let mut steps = Vec::new();
    // The first round warms the kernel's allocators; it is discarded.
    for round in 0..=rounds {
        let (our_time, step) = ours(&setup, root)?;
        for at in 0..contenders.len() {
            // Each contender has each position of the round in turn.
            let at = (at + round) % contenders.len();
            let peer_time = contenders[at].run(&setup)?;
            if let Some(signal) = signal::interrupted_by() {
                return Err(Failure::Interrupted(signal));
            }
            if round > 0 {
                times[at].push((peer_time.as_secs_f64(), our_time.as_secs_f64()));
            }
        }
        if round > 0 {
            steps.push(step);
        }
    }
    contenders
        .iter()
        .zip(&times)
        .map(|(contender, pairs)| figure(&setup, contender, pairs, &steps, busy))
        .collect()
}

/// Creates the top groups: cgroup v1 has one for CPU and one for memory, or one for both.
fn setup(folder: &Path, count: usize, root: &Root, ledger: &mut Ledger) -> Result<Setup, Failure> {
    let facts = assay_host::gather(root)?;
    let (hierarchies, absent) = facts.cgroup.hierarchies_with(["cpu", "memory"]);
    if let Some((name, why)) = absent.into_iter().next() {
        return Err(Failure::Failed(format!("the controller `{name}` is not available: {why}")));
    }
    let name = format!("assay-bench-groups-{}", std::process::id());
    for hierarchy in hierarchies.iter().filter(|hierarchy| hierarchy.is_v2) {
        enable(root, ledger, hierarchy)?;
    }
    let tops: Vec<PathBuf> =
        hierarchies.iter().map(|hierarchy| hierarchy.mount.join(&name)).collect();
    ledger.make_groups(root, &tops)?;
    let hierarchies =
        hierarchies.into_iter().map(|hierarchy| top_group(hierarchy, &name)).collect();
    Ok(Setup { count, hierarchies, folder: folder.to_owned() })
}

/// Enables both controllers for children of the top group, which requires them in its parent first.
fn enable(root: &Root, ledger: &mut Ledger, hierarchy: &UsedHierarchy) -> Result<(), Failure> {
    let path = hierarchy.mount.join("cgroup.subtree_control");
    let enabled = root.read(&path)?;
    for name in ["cpu", "memory"] {
        if !enabled.split_whitespace().any(|word| word == name) {
            ledger.write_with_inverse(root, &path, &format!("+{name}"), &format!("-{name}"))?;
        }
    }
    Ok(())
}

fn top_group(hierarchy: UsedHierarchy, name: &str) -> TopGroup {
    let (mut files, mut controllers) = (Vec::new(), Vec::new());
    if hierarchy.controllers.contains("cpu") {
        controllers.push("cpu");
        files.push(if hierarchy.is_v2 { ("cpu.weight", "200") } else { ("cpu.shares", "2048") });
    }
    if hierarchy.controllers.contains("memory") {
        controllers.push("memory");
        let file = if hierarchy.is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
        files.push((file, "67108864"));
    }
    TopGroup { hierarchy, controllers, name: name.to_owned(), files }
}

fn figure(
    setup: &Setup,
    contender: &Contender,
    pairs: &[(f64, f64)],
    steps: &[Steps],
    busy: f64,
) -> Result<Figure, Failure> {
    let ratio = Estimate::ratio(pairs, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few rounds for an interval".to_owned()))?;
    let name = format!("{} groups: time by {}", setup.count, contender.name);
    let mut figure = Figure::bound(&name, ratio, contender.at_most, &PART);
    figure.remarks.push(format!(
        "{} interleaved rounds; created, set ({} files each), read back and removed, in {} hierarchies",
        pairs.len(),
        setup.hierarchies.iter().map(|top_group| top_group.files.len()).sum::<usize>(),
        setup.hierarchies.len()
    ));
    figure.remarks.push(contender.how.to_owned());
    figure.remarks.push(Steps::shares(steps));
    figure.remarks.extend(idle_wait::remark(busy));
    Ok(figure)
}

/// Duration of each of our steps.
#[derive(Debug, Clone, Copy, Default)]
struct Steps {
    make: Duration,
    set: Duration,
    read: Duration,
    remove: Duration,
}

impl Steps {
    fn shares(rounds: &[Self]) -> String {
        let sum = |of: fn(&Self) -> Duration| -> f64 {
            rounds.iter().map(|round| of(round).as_secs_f64()).sum()
        };
        let parts = [
            ("making", sum(|steps| steps.make)),
            ("setting", sum(|steps| steps.set)),
            ("reading", sum(|steps| steps.read)),
            ("removing", sum(|steps| steps.remove)),
        ];
        let all: f64 = parts.iter().map(|(_, time)| time).sum();
        let text = parts.map(|(name, time)| format!("{name} {:.0} %", time / all * 100.0));
        format!("of our own time: {}", text.join(", "))
    }
}
