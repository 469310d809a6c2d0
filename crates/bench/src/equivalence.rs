//! Tests whether programs are as fast with a sampler as without: fio, `assay-load chase` and
//! `assay-load graph500` in a group, with ten sampling rounds per second as in a run and with none,
//! interleaved in one run, and two one-sided tests of the ratio.

mod program;

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assay_cgroup::Tree;
use assay_host::Ledger;
use assay_kernel::Root;
use assay_sample::{
    Choice, ProcessTarget, Processes, Sampler, SamplerAffinity, Targets, prepare_chosen,
};

use crate::child;
use crate::failure::Failure;
use crate::figure::{Figure, would_decide};
use crate::idle_wait;
use crate::paired::{Pair, in_turns};
use crate::peer_programs;
use crate::sampling;
use crate::statistics::{Estimate, Reached, pairs_needed, two_one_sided};
use crate::with_ledger::with_ledger;

pub(crate) use program::Length;
use program::Program;

/// Margin within which both throughputs should be equal.
const MARGIN: f64 = 0.005;
/// Confidence of the displayed interval.
const CONFIDENCE: f64 = 0.95;
/// Level of each one-sided test.
const LEVEL: f64 = 0.05;

/// Time between two rounds, as in runs.
const INTERVAL: Duration = Duration::from_millis(100);

/// The program's group, in both cases.
const GROUP: &str = "load";

/// Measures `rounds` pairs of each program. The host is always restored, after SIGKILL by means of
/// the ledger in `folder`.
pub(crate) fn measure(
    assay: &Path,
    folder: &Path,
    length: Length,
    rounds: usize,
) -> Result<Vec<Figure>, Failure> {
    let load = peer_programs::load(assay)?;
    let load = load
        .canonicalize()
        .map_err(|cause| Failure::Failed(format!("cannot run {}: {cause}", load.display())))?;
    with_ledger(&folder.join("equivalence-state"), "bench-equivalence", |root, ledger| {
        with_group(&load, folder, length, rounds, root, ledger)
    })
}

fn with_group(
    load: &Path,
    folder: &Path,
    length: Length,
    rounds: usize,
    root: &Root,
    ledger: &mut Ledger,
) -> Result<Vec<Figure>, Failure> {
    let facts = assay_host::gather(root)?;
    let counts = if facts.cgroup.is_on_v2("cpu") { "cpu" } else { "cpuacct" };
    let (hierarchies, absent) = facts.cgroup.hierarchies_with([counts, "memory"]);
    if let Some((name, why)) = absent.into_iter().next() {
        return Err(Failure::Failed(format!("the controller `{name}` is not available: {why}")));
    }
    let tree = Tree::create(
        root,
        ledger,
        &hierarchies,
        &format!("assay-bench-equal-{}", std::process::id()),
    )?;
    tree.make(GROUP, false)?;
    let directories = [counts, "memory"].map(|controller| tree.directory(GROUP, controller));
    let of = Processes::Group(directories.into_iter().flatten().collect());
    let names = [GROUP.to_owned()];
    let targets = Targets {
        processes: Ok(vec![ProcessTarget { name: GROUP.to_owned(), of }]),
        ..sampling::targets(&tree, &names, counts, facts.cgroup.is_on_v2("memory"))
    };
    let bench = Bench { root, tree, targets, load, folder, length };
    Program::ALL.into_iter().map(|program| bench.compare(program, rounds)).collect()
}

/// Where programs run, and which of their files are read.
struct Bench<'b> {
    root: &'b Root,
    tree: Tree,
    targets: Targets,
    load: &'b Path,
    folder: &'b Path,
    length: Length,
}

/// Result of one run.
#[derive(Clone, Copy)]
struct Measured {
    throughput: f64,
    /// Fraction of one core used for sampling; 0 without sampling.
    cost: f64,
}

impl Bench<'_> {
    fn compare(&self, program: Program, rounds: usize) -> Result<Figure, Failure> {
        let mut busiest = idle_wait::wait()?;
        // The first run creates the file and fills caches; it is discarded.
        self.without_sampler(program)?;
        let mut pairs = Vec::with_capacity(rounds);
        for _ in 0..rounds.div_ceil(2) {
            busiest = busiest.max(idle_wait::wait()?);
            let two = rounds.saturating_sub(pairs.len()).min(2);
            pairs.extend(in_turns(
                two,
                || self.with_sampler(program),
                || self.without_sampler(program),
            )?);
        }
        figure(program, &pairs, busiest)
    }

    fn with_sampler(&self, program: Program) -> Result<Measured, Failure> {
        let samples = self.folder.join("equivalence-samples");
        std::fs::create_dir_all(&samples)
            .map_err(|cause| Failure::Failed(format!("{}: {cause}", samples.display())))?;
        let choice = Choice::Also(vec!["threads".to_owned()]);
        let prepared = prepare_chosen(self.root, &self.targets, &choice);
        let affinity = SamplerAffinity::unrestricted("programs and sampler share all CPUs here");
        let sampler = Sampler::start(prepared, &samples, INTERVAL, affinity)
            .map_err(|error| Failure::Failed(error.to_string()))?;
        let throughput = self.run(program);
        let outcome = sampler.stop();
        let _ = std::fs::remove_dir_all(&samples);
        if let Some(error) = outcome.failure {
            return Err(Failure::Failed(error.to_string()));
        }
        let cost = outcome.cost.cpu_s / outcome.cost.wall_s.max(f64::MIN_POSITIVE);
        Ok(Measured { throughput: throughput?, cost })
    }

    fn without_sampler(&self, program: Program) -> Result<Measured, Failure> {
        Ok(Measured { throughput: self.run(program)?, cost: 0.0 })
    }

    /// Runs the program to its end in its group; returns its throughput.
    fn run(&self, program: Program) -> Result<f64, Failure> {
        let path = self.folder.join("equivalence-output");
        let failed =
            |cause: std::io::Error| Failure::Failed(format!("{}: {cause}", path.display()));
        let mut command = program.command(self.load, self.folder, self.length);
        command
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(File::create(&path).map_err(failed)?)
            .stderr(Stdio::null());
        let mut running = self.tree.membership(GROUP)?.spawn(&mut command)?;
        let status = child::wait(&mut running)?;
        if !status.success() {
            return Err(Failure::Failed(format!("{command:?} ended with {status}")));
        }
        let output = std::fs::read_to_string(&path).map_err(failed)?;
        program
            .throughput(&output)
            .ok_or_else(|| Failure::Failed(format!("{} reported no throughput", program.name())))
    }
}

fn figure(program: Program, pairs: &[Pair<Measured>], busiest: f64) -> Result<Figure, Failure> {
    // Each pair is (without, with), so that the ratio is with / without.
    let both: Vec<(f64, f64)> =
        pairs.iter().map(|pair| (pair.peer.throughput, pair.ours.throughput)).collect();
    let few = || Failure::Failed("too few rounds for an interval".to_owned());
    let ratio = Estimate::ratio(&both, CONFIDENCE).ok_or_else(few)?;
    let [below, above] = two_one_sided(&both, MARGIN).ok_or_else(few)?;
    let reached = match below.max(above) < LEVEL {
        true => Reached::Yes,
        false if ratio.is_one_within(MARGIN) == Reached::No => Reached::No,
        false => Reached::Undecided,
    };
    let cost = pairs.iter().map(|pair| pair.ours.cost).sum::<f64>() / pairs.len() as f64;
    let mut remarks = vec![
        format!(
            "{}; {} interleaved rounds; the sampler took {:.3} % of one core",
            program.description(),
            pairs.len(),
            cost * 100.0
        ),
        format!(
            "two one-sided tests: p {below:.4} of {:.1} % less or worse, p {above:.4} of {:.1} % \
             more; equal where both are below {LEVEL}",
            MARGIN * 100.0,
            MARGIN * 100.0
        ),
    ];
    if reached == Reached::Undecided {
        remarks.push(would_decide(pairs_needed(&both, CONFIDENCE, MARGIN), "rounds"));
    }
    remarks.extend(idle_wait::remark(busiest));
    Ok(Figure {
        name: format!("{} with the sampler / without", program.name()),
        measured: format!("{:.4} [{:.4}, {:.4}]", ratio.value, ratio.low, ratio.high),
        target: format!("1 within {:.1} %", MARGIN * 100.0),
        of_target: None,
        reached,
        remarks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure_of(ratios: &[f64]) -> Figure {
        let measured = |throughput| Measured { throughput, cost: 0.002 };
        let pairs: Vec<Pair<Measured>> = ratios
            .iter()
            .map(|ratio| Pair { ours: measured(*ratio), peer: measured(1.0) })
            .collect();
        figure(Program::Fio, &pairs, 0.0).unwrap()
    }

    #[test]
    fn a_thousandth_of_noise_is_equal_and_both_tests_are_shown() {
        let figure = figure_of(&[0.999, 1.001, 1.0, 1.0005]);
        assert_eq!(figure.reached, Reached::Yes, "{figure:?}");
        assert!(figure.remarks[1].contains("two one-sided tests: p 0.0"), "{figure:?}");
        assert!(figure.remarks[0].contains("0.200 % of one core"), "{figure:?}");
        assert_eq!(figure.target, "1 within 0.5 %");
    }

    #[test]
    fn a_hundredth_slower_is_not_equal_and_noise_decides_nothing() {
        assert_eq!(figure_of(&[0.99, 0.9905, 0.9895, 0.99]).reached, Reached::No);
        let noisy = figure_of(&[0.97, 1.03, 0.98, 1.02]);
        assert_eq!(noisy.reached, Reached::Undecided);
        assert!(noisy.remarks[2].contains("rounds would decide"), "{noisy:?}");
    }
}
