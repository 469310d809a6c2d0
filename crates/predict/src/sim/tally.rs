//! Statistics of a simulation.

use crate::scenario::Scenario;

/// Fraction at the beginning that is left out.
const WARM_UP: f64 = 0.1;

/// Number of parts that the rest is divided into, to estimate the random error of a share.
const PARTS: usize = 10;

/// Maximum number of recorded states: sufficient for parts of equal time.
const MARKS: usize = 400;

/// Result of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// Each member's share of the bytes; they add up to 1.
    pub shares: Vec<f64>,
    /// Each member's share of the requests.
    pub shares_of_requests: Vec<f64>,
    /// Standard error of the logarithm of each share over the whole run; infinite for a member that was
    /// served too rarely.
    pub scatter: Vec<f64>,
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_s: f64,
    /// The part of all CPUs that is idle.
    pub idle: f64,
    /// Mean number of requests between taking a tag and completion.
    pub queue: f64,
    /// Mean number of requests in the device.
    pub in_device: f64,
    /// Seconds that were simulated.
    pub simulated_s: f64,
    /// Requests that were served.
    pub served: u64,
}

#[derive(Debug)]
pub(super) struct Tally {
    served: u64,
    by_member: Vec<f64>,
    /// `(time, blocks of each member)` at recorded times.
    marks: Vec<(f64, Vec<f64>)>,
    /// `(time, blocks served so far)` of each member at the beginning of each of its turns.
    turns: Vec<Vec<(f64, f64)>>,
    every: u64,
    due: u64,
    time: f64,
    busy: f64,
    queue: f64,
    in_device: f64,
}

impl Tally {
    pub(super) fn new(members: usize) -> Self {
        Self {
            served: 0,
            by_member: vec![0.0; members],
            marks: vec![(0.0, vec![0.0; members])],
            turns: vec![Vec::new(); members],
            every: 64,
            due: 64,
            time: 0.0,
            busy: 0.0,
            queue: 0.0,
            in_device: 0.0,
        }
    }

    pub(super) const fn served(&self) -> u64 {
        self.served
    }

    pub(super) fn pass(&mut self, seconds: f64, busy: f64, queue: u32, in_device: u32) {
        self.time += seconds;
        self.busy += seconds * busy;
        self.queue += seconds * f64::from(queue);
        self.in_device += seconds * f64::from(in_device);
    }

    pub(super) fn serve(&mut self, now: f64, member: usize, blocks: u32) {
        self.by_member[member] += f64::from(blocks);
        self.served += u64::from(blocks);
        if self.served >= self.due {
            self.marks.push((now, self.by_member.clone()));
            self.due = self.served + self.every;
            if self.marks.len() >= MARKS {
                self.thin_out();
            }
        }
    }

    /// A turn of a member begins.
    pub(super) fn turn(&mut self, now: f64, member: usize) {
        self.turns[member].push((now, self.by_member[member]));
    }

    /// Drops every other record, and halves the rate from now on.
    fn thin_out(&mut self) {
        let mut keep = false;
        self.marks.retain(|_| {
            keep = !keep;
            keep
        });
        self.every *= 2;
    }

    /// Blocks of each member until `time`, by interpolation.
    fn at(&self, time: f64) -> Vec<f64> {
        let after = self.marks.partition_point(|(mark, _)| *mark <= time);
        let (Some(before), Some(next)) =
            (self.marks.get(after.wrapping_sub(1)), self.marks.get(after))
        else {
            return self.by_member.clone();
        };
        let part = (time - before.0) / (next.0 - before.0).max(1e-12);
        before.1.iter().zip(&next.1).map(|(a, b)| a + (b - a) * part).collect()
    }

    pub(super) fn close(mut self, now: f64, scenario: &Scenario) -> Simulated {
        self.marks.push((now, self.by_member.clone()));
        let from = now * WARM_UP;
        let span = (now - from).max(1e-9);
        let cuts: Vec<Vec<f64>> =
            (0..=PARTS).map(|part| self.at(from + span * part as f64 / PARTS as f64)).collect();
        let between = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| (b - a).max(0.0)).collect()
        };
        let mut blocks = between(&cuts[0], &cuts[PARTS]);
        let parts: Vec<Vec<f64>> = cuts
            .windows(2)
            .map(|pair| normalised(&in_bytes(&between(&pair[0], &pair[1]), scenario)))
            .collect();
        let longer = (scenario.seconds / now.max(1e-9)).max(1.0);
        let mut scatter = scatter(&parts, longer);
        for (member, turns) in self.turns.iter().enumerate() {
            if let Some(renewal) = Renewal::new(turns, from, scenario.seconds) {
                blocks[member] = renewal.rate * span;
                scatter[member] = renewal.scatter;
            }
        }
        let bytes: Vec<f64> = in_bytes(&blocks, scenario);
        Simulated {
            shares: normalised(&bytes),
            shares_of_requests: normalised(&blocks),
            scatter,
            iops: blocks.iter().sum::<f64>() / span,
            bytes_s: bytes.iter().sum::<f64>() / span,
            idle: 1.0 - (self.busy / self.time.max(1e-12) / scenario.cpus).min(1.0),
            queue: self.queue / self.time.max(1e-12),
            in_device: self.in_device / self.time.max(1e-12),
            simulated_s: now,
            served: self.served,
        }
    }
}

/// Rate and scatter of a member from whole turns: with few turns, a window with arbitrary ends would count
/// one too many or too few.
struct Renewal {
    rate: f64,
    scatter: f64,
}

/// Minimum number of turns.
const FEW: usize = 3;

impl Renewal {
    fn new(turns: &[(f64, f64)], from: f64, run_s: f64) -> Option<Self> {
        let turns = &turns[turns.partition_point(|(time, _)| *time < from)..];
        let (first, last) = (turns.first()?, turns.last()?);
        let time = last.0 - first.0;
        let count = turns.len() - 1;
        if count < FEW || time <= 0.0 || last.1 <= first.1 {
            return None;
        }
        let rate = (last.1 - first.1) / time;
        // The difference of each turn's service from the mean rate times its duration.
        let off = turns.windows(2).map(|pair| {
            let worth = rate * (pair[1].0 - pair[0].0);
            ((pair[1].1 - pair[0].1) - worth).powi(2)
        });
        let each = (last.1 - first.1) / count as f64;
        let deviation = (off.sum::<f64>() / count as f64).sqrt() / each;
        let turns_of_run = (count as f64 * run_s / time).max(1.0);
        // A run ends at a random point within a turn, which adds a uniform deviation of 0.29 turns.
        let scatter = (deviation.powi(2) / turns_of_run + (0.29 / turns_of_run).powi(2)).sqrt();
        Some(Self { rate, scatter })
    }
}

fn in_bytes(blocks: &[f64], scenario: &Scenario) -> Vec<f64> {
    blocks.iter().zip(&scenario.members).map(|(count, own)| count * own.bytes as f64).collect()
}

fn normalised(amounts: &[f64]) -> Vec<f64> {
    let all: f64 = amounts.iter().sum();
    amounts.iter().map(|amount| if all > 0.0 { amount / all } else { 0.0 }).collect()
}

/// Standard errors over the parts, scaled to a run that is `longer` times as long.
fn scatter(parts: &[Vec<f64>], longer: f64) -> Vec<f64> {
    let members = parts.first().map_or(0, Vec::len);
    let scatter_of = |member: usize| {
        let logs: Vec<f64> = parts.iter().map(|part| part[member].ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let error = (squares / ((logs.len() - 1) * logs.len()) as f64 / longer).sqrt();
        if error.is_finite() { error } else { f64::INFINITY }
    };
    (0..members).map(scatter_of).collect()
}
