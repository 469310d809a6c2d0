//! How the CPUs spent their time (proc_stat(5)), and how much of it was not the command's.

use std::collections::BTreeMap;
use std::time::Instant;

use assay_host::facts::Available;
use assay_judge::OnOneCpu;
use assay_sys::kernel::Root;
use assay_sys::kernel::counters::fields;
use assay_sys::units::CpuSet;

use crate::exec::ResourceUsage;

/// Ticks of a CPU: user, nice, system, idle, iowait, irq, softirq, steal.
type Ticks = [u64; 8];
const IDLE: [usize; 2] = [3, 4];
const STEAL: usize = 7;

const STAT: &str = "/proc/stat";

/// Shorter halves have too few ticks.
const SHORTEST_HALF_S: f64 = 0.5;

/// The ticks of some CPUs at one moment.
pub(super) struct Times(BTreeMap<u16, Ticks>);

/// Reads them; not available if the kernel lists one of the CPUs not at all.
pub(super) fn read(root: &Root, cpus: &CpuSet) -> Available<Times> {
    let text = match root.read(STAT) {
        Ok(text) => text,
        Err(error) => return Available::NotAvailable(error.to_string()),
    };
    let one = |cpu: u16| Some((cpu, fields(text.as_bytes(), &format!("cpu{cpu} "))?));
    let times: Option<BTreeMap<u16, Ticks>> = cpus.iter().map(one).collect();
    match times.filter(|times| !times.is_empty()) {
        Some(times) => Available::Value(Times(times)),
        None => Available::NotAvailable(format!("{STAT} lists not all of the CPUs {cpus}")),
    }
}

impl Times {
    /// The ticks since an earlier moment.
    pub(super) fn since(&self, before: &Self) -> Spent {
        let grown = self.0.iter().filter_map(|(cpu, after)| {
            let before = before.0.get(cpu)?;
            let grown: Ticks = std::array::from_fn(|kind| after[kind].saturating_sub(before[kind]));
            Some((*cpu, grown))
        });
        Spent(grown.collect())
    }
}

/// Ticks of each CPU while the command ran.
pub(super) struct Spent(BTreeMap<u16, Ticks>);

impl Spent {
    /// The part of these CPUs that processes outside the command used.
    pub(super) fn others(&self, used: &ResourceUsage) -> Available<f64> {
        let own = match &used.cpu_s {
            Available::Value(seconds) => *seconds,
            Available::NotAvailable(why) => return Available::NotAvailable(why.clone()),
        };
        let all = seconds(self.0.values().map(sum).sum());
        if all <= 0.0 {
            return Available::NotAvailable("the command ended within one tick".to_owned());
        }
        let busy = seconds(self.0.values().map(busy).sum());
        Available::Value(((busy - own) / all).max(0.0))
    }

    /// The same of the CPU where it was most, if the kernel counts the command's time on each CPU.
    pub(super) fn others_on_one(&self, used: &ResourceUsage) -> Option<OnOneCpu> {
        let own = used.cpu_by_number_s.value()?;
        self.most(|cpu, ticks| Some(seconds(busy(ticks)) - own.get(usize::from(cpu))?))
    }

    /// The part of these CPUs that the hypervisor took.
    pub(super) fn steal(&self) -> f64 {
        let stolen: u64 = self.0.values().map(|ticks| ticks[STEAL]).sum();
        stolen as f64 / self.0.values().map(sum).sum::<u64>().max(1) as f64
    }

    /// The same of the CPU where it was most.
    pub(super) fn steal_on_one(&self) -> Option<OnOneCpu> {
        self.most(|_, ticks| Some(seconds(ticks[STEAL])))
    }

    fn most(&self, lost_s: impl Fn(u16, &Ticks) -> Option<f64>) -> Option<OnOneCpu> {
        let parts = self.0.iter().filter_map(|(cpu, ticks)| {
            let all = Some(seconds(sum(ticks))).filter(|all| *all > 0.0)?;
            Some(OnOneCpu { cpu: *cpu, part: (lost_s(*cpu, ticks)? / all).max(0.0) })
        });
        parts.max_by(|a, b| a.part.total_cmp(&b.part))
    }
}

fn sum(ticks: &Ticks) -> u64 {
    ticks.iter().sum()
}

fn busy(ticks: &Ticks) -> u64 {
    sum(ticks) - ticks[STEAL] - IDLE.iter().map(|kind| ticks[*kind]).sum::<u64>()
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Readings of all CPUs together, to compare the accounted time of both halves with the clock.
#[derive(Default)]
pub(super) struct Halves(Vec<(Instant, u64)>);

/// After so many readings every other one is dropped: a command may run for days.
const MOST_READINGS: usize = 4096;

impl Halves {
    pub(super) fn note(&mut self, root: &Root) {
        let Ok(text) = root.read(STAT) else { return };
        let Some(ticks) = fields::<8>(text.as_bytes(), "cpu ") else { return };
        if self.0.len() >= MOST_READINGS {
            let mut number = 0_usize;
            self.0.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.0.push((Instant::now(), sum(&ticks)));
    }

    /// Accounted CPU seconds a second in the first and in the second half.
    pub(super) fn rates(&self) -> Available<(f64, f64)> {
        let short = || Available::NotAvailable("the command ended within a second".to_owned());
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return short() };
        let half = last.0.duration_since(first.0) / 2;
        let middle = self.0.iter().find(|(at, _)| at.duration_since(first.0) >= half);
        let Some(middle) = middle else { return short() };
        let rate = |from: &(Instant, u64), to: &(Instant, u64)| {
            let passed = to.0.duration_since(from.0).as_secs_f64();
            (passed >= SHORTEST_HALF_S).then(|| seconds(to.1.saturating_sub(from.1)) / passed)
        };
        match (rate(first, middle), rate(middle, last)) {
            (Some(first), Some(second)) => Available::Value((first, second)),
            _ => short(),
        }
    }
}
