//! What `assay audit` costs: a snapshot of a thousand groups.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_sys::kernel::Root;

use crate::assay::{Assay, Usage};
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::statistics::Estimate;
use crate::with_ledger::with_ledger;

/// Groups of the snapshot.
const MANY: usize = 1000;

/// Targets: seconds and bytes of a snapshot.
const AT_MOST_S: f64 = 1.0;
const AT_MOST_BYTES: f64 = (64 << 20) as f64;

const SECONDS: Shown = Shown { factor: 1.0, unit: "s", decimals: 3 };
const MEBIBYTES: Shown = Shown { factor: 1.0 / (1 << 20) as f64, unit: "MiB", decimals: 1 };
/// Measures `rounds` rounds. The host is always restored, after SIGKILL by means of the ledger in `folder`.
pub(crate) fn measure(assay: &Assay, folder: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    with_ledger(&folder.join("audit-state"), "bench-audit", |root, ledger| {
        groups(root, ledger)?;
        snapshots(assay, folder, rounds)
    })
}

/// Groups with a weight each, in the hierarchies of CPU and memory.
fn groups(root: &Root, ledger: &mut Ledger) -> Result<(), Failure> {
    let facts = assay_host::gather(root)?;
    let (hierarchies, absent) = facts.cgroup.hierarchies_with(["cpu", "memory"]);
    if let Some((name, why)) = absent.into_iter().next() {
        return Err(Failure::Failed(format!("the controller `{name}` is not available: {why}")));
    }
    let top = format!("assay-bench-audit-{}", std::process::id());
    let tree = Tree::create(root, ledger, &hierarchies, &top)?;
    let is_v2 = facts.cgroup.is_on_v2("cpu");
    let (file, value) = if is_v2 { ("cpu.weight", "200") } else { ("cpu.shares", "2048") };
    for number in 1..=MANY {
        let name = format!("g{number}");
        tree.make(&name, false)?;
        tree.write(&name, "cpu", file, value)?;
    }
    Ok(())
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
