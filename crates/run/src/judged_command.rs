//! Whether a command had its machine to itself: what others, the hypervisor and the machine did while it ran
//! (`assay exec --quiet-check`).

mod cpu_times;
mod machine;
mod speed;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assay_host::facts::{Available, HostFacts};
use assay_host::{Ledger, Next, Watcher, gather};
use assay_judge::verdict::Validity;
use assay_judge::{Disturbances, validity};
use assay_sys::exit::Error;
use assay_sys::kernel::{Error as KernelError, Root};
use assay_sys::units::CpuSet;

use crate::context::Context;
use crate::exec::{Outcome, Report, Stall, Throttling};
use crate::limited_command::{LimitedCommand, run_with};
use crate::observer::Observer;
use cpu_times::{Halves, Spent, Times};
use speed::speed;
pub use text::validity_text;

/// How often the CPUs' times are read while the command runs.
const PERIOD: Duration = Duration::from_millis(250);

/// A command that ran, and whether what it measured counts.
#[derive(Debug)]
pub struct JudgedOutcome {
    /// The report, and what was not restored.
    pub outcome: Outcome,
    /// Whether it was disturbed.
    pub validity: Validity,
}

/// Runs a command as [`run_limited`](crate::limited_command::run_limited) does, and judges whether anything but the command decided
/// how long it took. Others, and the hypervisor, may have taken the part `within` of its CPUs.
///
/// # Errors
/// A setting is wrong, or this host cannot make it: then nothing was touched.
pub fn run_judged(
    context: &Context,
    command: &LimitedCommand,
    within: f64,
    observer: &mut dyn Observer,
) -> Result<Result<JudgedOutcome, u8>, Error> {
    let facts = gather(&context.root).map_err(Error::host)?;
    let mut survey = Survey::new(context.root.clone(), cpus_of(command, &facts));
    let ended = run_with(context, command, &facts, observer, &mut survey)?;
    Ok(ended.map(|outcome| {
        let validity = validity(&survey.disturbances(&outcome.report), within);
        JudgedOutcome { outcome, validity }
    }))
}

/// The CPUs that a command may use: those of its own cpuset, or of this process.
fn cpus_of(command: &LimitedCommand, facts: &HostFacts) -> CpuSet {
    let placed = command.place.iter().flat_map(|place| &place.settings);
    let mut sets = command.settings.iter().chain(placed).filter(|set| set.knob == "cpuset.cpus");
    let own = sets.next_back().and_then(|set| set.value.parse().ok());
    own.unwrap_or_else(|| facts.cpus.allowed.clone())
}

/// Readings of the machine before, while and after the command runs.
struct Survey {
    root: Root,
    cpus: CpuSet,
    /// The directory of the command's group in the hierarchy of the controller `cpu`.
    directory: Option<PathBuf>,
    before: Reading,
    after: Reading,
    halves: Halves,
    looked: Instant,
}

impl Survey {
    fn new(root: Root, cpus: CpuSet) -> Self {
        let (before, after) = (Reading::none(), Reading::none());
        let (halves, looked) = (Halves::default(), Instant::now());
        Self { root, cpus, directory: None, before, after, halves, looked }
    }

    fn disturbances(&self, report: &Report) -> Disturbances {
        let (used, before, after) = (&report.used, &self.before, &self.after);
        let passed = after.at.duration_since(before.at).as_secs_f64().max(1e-3);
        let spent = both(&before.times, &after.times, |before, after| after.since(before));
        let others = then(&spent, |spent| spent.others(used));
        let rate = both(&before.swapped_pages, &after.swapped_pages, |before, after| {
            after.saturating_sub(*before) as f64 / passed
        });
        Disturbances {
            seconds: used.wall_s,
            cpus: self.cpus.clone(),
            others_on_one: spent.value().and_then(|spent| spent.others_on_one(used)),
            others,
            waited: waited(&used.cpu_pressure, &used.throttling),
            most_tasks: then(&used.processes_peak, |peak| Available::Value(peak.value)),
            busiest: machine::busiest(&before.groups, &after.groups, &report.groups, passed),
            steal: then(&spent, |spent| Available::Value(spent.steal())),
            steal_on_one: spent.value().and_then(Spent::steal_on_one),
            held_above: both(&before.held_above, &after.held_above, machine::throttled_since),
            halves: self.halves.rates(),
            speed: both(&before.speed, &after.speed, |before, after| (*before, *after)),
            too_hot: both(&before.too_hot, &after.too_hot, |before, after| {
                after.saturating_sub(*before)
            }),
            swapped: rate,
        }
    }

    /// Everything but the times of the CPUs, which are read next to the command.
    fn read_around(&self) -> Reading {
        Reading {
            speed: speed(&self.cpus),
            groups: machine::group_times(&self.root),
            held_above: machine::throttled_above(&self.root, self.directory.as_deref()),
            swapped_pages: machine::swapped_pages(&self.root),
            too_hot: machine::too_hot(&self.root, &self.cpus),
            ..Reading::none()
        }
    }

    fn read_times(&mut self) -> Available<Times> {
        self.halves.note(&self.root);
        cpu_times::read(&self.root, &self.cpus)
    }
}

impl Watcher for Survey {
    fn begin(&mut self, directory: Option<&Path>) -> Result<(), KernelError> {
        self.directory = directory.map(Path::to_owned);
        self.before = self.read_around();
        self.before.at = Instant::now();
        self.before.times = self.read_times();
        Ok(())
    }

    fn poll(&mut self, _: &mut Ledger, _: bool) -> Next {
        if self.looked.elapsed() >= PERIOD {
            self.looked = Instant::now();
            self.halves.note(&self.root);
        }
        Next::Within(PERIOD.saturating_sub(self.looked.elapsed()))
    }

    fn end(&mut self) {
        let (times, at) = (self.read_times(), Instant::now());
        self.after = Reading { times, at, ..self.read_around() };
    }
}

/// The machine at one moment.
struct Reading {
    at: Instant,
    times: Available<Times>,
    groups: BTreeMap<PathBuf, u64>,
    held_above: Available<BTreeMap<String, f64>>,
    swapped_pages: Available<u64>,
    too_hot: Available<u64>,
    speed: Available<f64>,
}

impl Reading {
    fn none() -> Self {
        fn none<T>() -> Available<T> {
            Available::NotAvailable("it was not read".to_owned())
        }
        Self {
            at: Instant::now(),
            times: none(),
            groups: BTreeMap::new(),
            held_above: none(),
            swapped_pages: none(),
            too_hot: none(),
            speed: none(),
        }
    }
}

/// How long some task of the command waited for a CPU: not available where its own quota made it wait, which pressure
/// does not tell from others.
fn waited(pressure: &Available<Stall>, throttling: &Available<Throttling>) -> Available<f64> {
    match throttling.value().is_some_and(|counted| counted.throttled > 0) {
        true => Available::NotAvailable("its own `cpu.max` made it wait".to_owned()),
        false => then(pressure, |stall| Available::Value(stall.some_s)),
    }
}

fn then<T, U>(one: &Available<T>, change: impl FnOnce(&T) -> Available<U>) -> Available<U> {
    match one {
        Available::Value(value) => change(value),
        Available::NotAvailable(why) => Available::NotAvailable(why.clone()),
    }
}

fn both<T, U>(
    before: &Available<T>,
    after: &Available<T>,
    change: impl FnOnce(&T, &T) -> U,
) -> Available<U> {
    then(before, |before| then(after, |after| Available::Value(change(before, after))))
}

#[cfg(test)]
mod tests;
