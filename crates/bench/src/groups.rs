//! Many groups made, set, read back and removed: by Assay, by libcgroup's tools and by a shell,
//! in turns within one run.

mod contender;
mod script;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_facts::Home;
use assay_host::Ledger;
use assay_kernel::{Root, signal};

use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::statistics::Estimate;
use crate::with_ledger::with_ledger;
use contender::{Contender, contenders, ours};

const CONFIDENCE: f64 = 0.95;

/// A part of someone else's time.
const PART: Shown = Shown { factor: 1.0, unit: "of theirs", decimals: 3 };

/// Where all of it happens and what is set there.
struct Field {
    count: usize,
    /// One a hierarchy, each with its files and the values to be written.
    homes: Vec<Place>,
    /// Scripts, ledgers and what is read back.
    folder: PathBuf,
}

/// The top group in one hierarchy.
struct Place {
    home: Home,
    /// What libcgroup calls the controllers, by the names that the hierarchy has for them.
    controllers: Vec<&'static str>,
    /// The top group below the mount.
    name: String,
    files: Vec<(&'static str, &'static str)>,
}

impl Place {
    fn top(&self) -> PathBuf {
        self.home.mount.join(&self.name)
    }
}

/// Measures `rounds` rounds with `count` groups. The host is put back whatever happens; after
/// SIGKILL the ledger in `folder` does it.
pub(crate) fn measure(folder: &Path, count: usize, rounds: usize) -> Result<Vec<Figure>, Failure> {
    with_ledger(&folder.join("groups-state"), "bench-groups", |root, ledger| {
        in_field(folder, count, rounds, root, ledger)
    })
}

fn in_field(
    folder: &Path,
    count: usize,
    rounds: usize,
    root: &Root,
    ledger: &mut Ledger,
) -> Result<Vec<Figure>, Failure> {
    let field = field(folder, count, root, ledger)?;
    let others = contenders(&field)?;
    let busy = idle_wait::wait()?;
    let mut found: Vec<Vec<(f64, f64)>> = vec![Vec::new(); others.len()];
    let mut steps = Vec::new();
    // The first round warms what the kernel allocates for groups; it does not count.
    for round in 0..=rounds {
        let (own, step) = ours(&field, root)?;
        for at in 0..others.len() {
            // Everyone comes at every place of the round in turn.
            let at = (at + round) % others.len();
            let theirs = others[at].run(&field)?;
            if let Some(signal) = signal::interrupted_by() {
                return Err(Failure::Interrupted(signal));
            }
            if round > 0 {
                found[at].push((theirs.as_secs_f64(), own.as_secs_f64()));
            }
        }
        if round > 0 {
            steps.push(step);
        }
    }
    others
        .iter()
        .zip(&found)
        .map(|(contender, pairs)| figure(&field, contender, pairs, &steps, busy))
        .collect()
}

/// Makes the top groups: cgroup v1 has one for the CPU and one for memory, or one for both.
fn field(folder: &Path, count: usize, root: &Root, ledger: &mut Ledger) -> Result<Field, Failure> {
    let facts = assay_host::gather(root)?;
    let (homes, absent) = facts.cgroup.homes(["cpu", "memory"]);
    if let Some((name, why)) = absent.into_iter().next() {
        return Err(Failure::Failed(format!("the controller `{name}` is not available: {why}")));
    }
    let name = format!("assay-bench-groups-{}", std::process::id());
    for home in homes.iter().filter(|home| home.is_v2) {
        enable(root, ledger, home)?;
    }
    let tops: Vec<PathBuf> = homes.iter().map(|home| home.mount.join(&name)).collect();
    ledger.make_groups(root, &tops)?;
    let homes = homes.into_iter().map(|home| place(home, &name)).collect();
    Ok(Field { count, homes, folder: folder.to_owned() })
}

/// Lets groups inside the top group have both controllers, which needs them above it first.
fn enable(root: &Root, ledger: &mut Ledger, home: &Home) -> Result<(), Failure> {
    let path = home.mount.join("cgroup.subtree_control");
    let enabled = root.read(&path)?;
    for name in ["cpu", "memory"] {
        if !enabled.split_whitespace().any(|word| word == name) {
            ledger.write_with_inverse(root, &path, &format!("+{name}"), &format!("-{name}"))?;
        }
    }
    Ok(())
}

fn place(home: Home, name: &str) -> Place {
    let (mut files, mut controllers) = (Vec::new(), Vec::new());
    if home.controllers.contains("cpu") {
        controllers.push("cpu");
        files.push(if home.is_v2 { ("cpu.weight", "200") } else { ("cpu.shares", "2048") });
    }
    if home.controllers.contains("memory") {
        controllers.push("memory");
        let file = if home.is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
        files.push((file, "67108864"));
    }
    Place { home, controllers, name: name.to_owned(), files }
}

fn figure(
    field: &Field,
    contender: &Contender,
    pairs: &[(f64, f64)],
    steps: &[Steps],
    busy: f64,
) -> Result<Figure, Failure> {
    let ratio = Estimate::ratio(pairs, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few rounds for an interval".to_owned()))?;
    let name = format!("{} groups: time by {}", field.count, contender.name);
    let mut figure = Figure::bound(&name, ratio, contender.at_most, &PART);
    figure.remarks.push(format!(
        "{} rounds in turns; made, set ({} files each), read back and removed, in {} hierarchies",
        pairs.len(),
        field.homes.iter().map(|place| place.files.len()).sum::<usize>(),
        field.homes.len()
    ));
    figure.remarks.push(contender.how.to_owned());
    figure.remarks.push(Steps::shares(steps));
    figure.remarks.extend(idle_wait::remark(busy));
    Ok(figure)
}

/// How long each step of ours took.
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
