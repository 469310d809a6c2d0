//! Verdicts on real runs whose truth is known: the actual weight of one group secretly differs from
//! the recorded one, by much (half, double) or near the margin.
//!
//! Each run is made with the biased weight and judged twice. With the actual weights the promise
//! holds if the kernel obeys, so a broken verdict counts as false. With a record that hides the
//! bias the promise does not hold, so a kept verdict is false: the bias was missed.

use assay_facts::Available;
use assay_judge::judge;
use assay_run_folder::{Manifest, Run};
use assay_verdict::Verdict;

use crate::assay::Assay;
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::progress;
use crate::statistics::{Estimate, Reached};

/// Groups of every run.
const GROUPS: usize = 16;

/// Unbiased weights, assigned in turn. Each multiple of them is a valid BFQ weight.
const WEIGHTS: [u32; 4] = [100, 200, 300, 400];

/// Target for the median time to a decision, in seconds.
const SECONDS: f64 = 30.0;

/// Longest repeat, in seconds.
const AT_MOST: u32 = 10;

/// Repeats of a run, as for users: it stops at the required precision, whichever record it is
/// judged by.
const REPEATS: u32 = 3;

/// Actual weight as a multiple of the recorded one; used by the runs in turn.
const FACTORS: [f64; 7] = [0.5, 2.0, 0.85, 1.15, 0.88, 1.12, 1.0];

/// Biases smaller than this may be within the margin of 10 %, so only a false `kept` counts.
const FAR: f64 = 0.4;

/// The two-sided 95 % quantile of the normal distribution, for rates of verdicts.
const NORMAL: f64 = 1.959_964;

const TIME: Shown = Shown { factor: 1.0, unit: "s", decimals: 1 };

/// The divided resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// CPU 0, shared by all groups.
    Cpu,
    Disk,
}

impl Resource {
    const fn knob(self) -> &'static str {
        match self {
            Self::Cpu => "cpu.weight",
            Self::Disk => "io.weight",
        }
    }

    /// The line of /proc/stat whose CPUs must be idle.
    const fn cpus(self) -> &'static str {
        match self {
            Self::Cpu => "cpu0 ",
            Self::Disk => idle_wait::ALL,
        }
    }
}

/// Verdicts of all runs of one resource.
#[derive(Debug, Default)]
struct Count {
    runs: usize,
    /// Void: failed checks say nothing about the statistics.
    void: Vec<String>,
    /// Reasons of runs judged broken with their actual weights. These count as false here; whether
    /// they are, or the kernel did not obey in that run, only the numbers can show.
    broken: Vec<String>,
    honestly_undecided: usize,
    /// Kept although the weight differed.
    missed: usize,
    /// Runs whose record is wrong by more than the margin.
    biased: usize,
    biased_undecided: usize,
    /// Of the far ones, those not judged broken.
    far: usize,
    not_found: usize,
    seconds: Vec<f64>,
}

/// Makes `runs` runs, the same number on each resource.
pub(crate) fn measure(
    assay: &Assay,
    resources: &[Resource],
    runs: usize,
) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for resource in resources {
        let mut count = Count::default();
        let mut busiest = 0.0_f64;
        let each = runs.div_ceil(resources.len());
        progress(&format!("{each} runs with a hidden bias of {}", resource.knob()));
        for number in 0..each {
            busiest = busiest.max(idle_wait::wait_for(resource.cpus())?);
            one(assay, *resource, number, &mut count)?;
            progress(&format!("{} {} of {each}: {count:?}", resource.knob(), number + 1));
        }
        figures.extend(figures_of(*resource, &count, busiest)?);
    }
    Ok(figures)
}

fn one(assay: &Assay, resource: Resource, number: usize, count: &mut Count) -> Result<(), Failure> {
    let (group, factor) = (number * 5 % GROUPS, FACTORS[number % FACTORS.len()]);
    let name = format!("bias-{}-{number}", resource.knob());
    let (folder, _) = assay.run(&name, &study(resource, group, factor))?;
    let honest = Run::load(&folder)?;
    let _ = std::fs::remove_dir_all(folder);
    let mut biased = honest.manifest.clone();
    hide_bias(&mut biased, group, factor)?;
    count.runs += 1;
    let (honest_verdict, why) = verdict(&honest.manifest, &honest);
    if honest_verdict == Verdict::Void {
        count.void.push(why);
        return Ok(());
    }
    if honest_verdict == Verdict::Broken {
        count.broken.push(format!("run {number}: {why}"));
    }
    count.honestly_undecided += usize::from(honest_verdict == Verdict::Undecided);
    if (factor - 1.0).abs() > 1e-9 {
        let biased_verdict = verdict(&biased, &honest).0;
        count.biased += 1;
        count.missed += usize::from(biased_verdict == Verdict::Kept);
        count.biased_undecided += usize::from(biased_verdict == Verdict::Undecided);
        if (factor - 1.0).abs() > FAR {
            count.far += 1;
            count.not_found += usize::from(biased_verdict != Verdict::Broken);
        }
    }
    let repeats = honest.manifest.trials[0].repeats.iter();
    let ns = repeats.map(|repeat| repeat.stopped_ns.saturating_sub(repeat.all_released_ns));
    count.seconds.push(ns.sum::<u64>() as f64 / 1e9);
    Ok(())
}

fn verdict(manifest: &Manifest, run: &Run) -> (Verdict, String) {
    let judgement = judge(manifest, &run.samples);
    let promise = judgement.trials.first().and_then(|trial| trial.promises.first());
    promise
        .map_or((Verdict::Void, String::new()), |promise| (promise.verdict, promise.reason.clone()))
}

/// Replaces the recorded weight by the unbiased one, in the file's own units.
fn hide_bias(manifest: &mut Manifest, group: usize, factor: f64) -> Result<(), Failure> {
    let name = format!("task{}", group + 1);
    let honest = |text: &str| -> Result<String, Failure> {
        let word = text.split_whitespace().last().unwrap_or_default();
        let value: f64 =
            word.parse().map_err(|_| Failure::Failed(format!("a weight reads `{text}`")))?;
        Ok(text.replace(word, &format!("{:.0}", value / factor)))
    };
    for trial in &mut manifest.trials {
        for record in trial.groups.iter_mut().filter(|record| record.name == name) {
            for knob in record.knobs.iter_mut().filter(|knob| knob.knob.ends_with(".weight")) {
                knob.asked = honest(&knob.asked)?;
                knob.written = honest(&knob.written)?;
            }
        }
        for reading in trial.repeats.iter_mut().flat_map(|repeat| &mut repeat.knobs) {
            if reading.group != name || !reading.knob.ends_with(".weight") {
                continue;
            }
            for value in [&mut reading.at_start, &mut reading.at_end] {
                if let Available::Value(text) = value {
                    *text = honest(text)?;
                }
            }
        }
    }
    Ok(())
}

/// The study with the actual weights.
fn study(resource: Resource, group: usize, factor: f64) -> String {
    let mut weights: Vec<u32> = WEIGHTS.into_iter().cycle().take(GROUPS).collect();
    weights[group] = (f64::from(weights[group]) * factor).round() as u32;
    let knob = resource.knob();
    let (disk, knobs, workload, measure) = match resource {
        Resource::Cpu => (
            String::new(),
            format!("\"{knob}\" = {weights:?}, \"cpuset.cpus\" = \"0\""),
            "ioengine = \"cpuio\", cpuload = 100, numjobs = 2",
            "cpu.time",
        ),
        // The pool is large enough for the requests of all groups (C-TAG-CAP).
        Resource::Disk => (
            "[disks.scratch]\nuse = \"loop\"\nsize = \"256 MiB\"\nscheduler = \"bfq\"\nqueue = { \
             \"iosched/low_latency\" = 0, \"iosched/max_budget\" = 512, nr_requests = 2048 }\n"
                .to_owned(),
            format!("\"{knob}\" = {weights:?}"),
            "rw = \"randread\", bs = \"4k\", ioengine = \"libaio\", iodepth = 8, direct = 1, size = \
             \"1/16\"",
            "io.bytes",
        ),
    };
    format!(
        "title = \"One weight is not what the record says\"\n[design]\nrepeats = {REPEATS}\nat_most \
         = \"{AT_MOST} s\"\nstop = \"precise\"\n{disk}[[groups]]\nname = \"task\"\ncount = \
         {GROUPS}\nknobs = {{ {knobs} }}\nrun = \"load\"\n[workloads.load]\nuse = \"fio\"\nargs = \
         {{ {workload} }}\n[[promises]]\nmeasure = \"{measure}\"\nis = \"proportional\"\nto = \
         \"{knob}\"\nwithin = \"10 %\"\n"
    )
}

/// A rate `number` / `of`, with Wilson's interval (1927).
fn wilson_interval(number: usize, of: usize) -> Estimate {
    let (n, value) = (of.max(1) as f64, number as f64 / of.max(1) as f64);
    let z = NORMAL;
    let middle = (value + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (value * (1.0 - value) / n + z * z / (4.0 * n * n)).sqrt();
    // Rounding must not make the lower bound exceed zero for a count of zero.
    Estimate { value, low: (middle - half).max(0.0).min(value), high: (middle + half).min(1.0) }
}

fn figures_of(resource: Resource, count: &Count, busiest: f64) -> Result<Vec<Figure>, Failure> {
    let judged = count.runs - count.void.len();
    let knob = resource.knob();
    // Void runs give no answer and count as undecided.
    let counted = |name: &str, number: usize, of: usize, most: f64, remark: String| {
        let rate = wilson_interval(number, of);
        Figure {
            name: format!("{knob}: {name}"),
            measured: format!(
                "{number} of {of} ({:.1} to {:.1} %)",
                100.0 * rate.low,
                100.0 * rate.high
            ),
            target: format!("at most {:.0} %", 100.0 * most),
            of_target: None,
            reached: if of == 0 { Reached::Undecided } else { rate.at_most(most) },
            remarks: vec![remark],
        }
    };
    let undecided = |number: usize| {
        format!(
            "{number} undecided after {REPEATS} repeats of at most {AT_MOST} s; {} of {} void",
            count.void.len(),
            count.runs
        )
    };
    let open = undecided(count.honestly_undecided);
    let mut wrong = counted("false verdicts", count.broken.len(), judged, 0.01, open);
    wrong.remarks.extend(count.broken.iter().cloned());
    wrong.remarks.extend(count.void.first().map(|why| format!("the first void: {why}")));
    wrong.remarks.extend(idle_wait::remark(busiest));
    let open = undecided(count.biased_undecided);
    let missed = counted("bias called kept", count.missed, count.biased, 0.02, open.clone());
    let far = counted("0.5 or 2 times not found", count.not_found, count.far, 0.02, open);
    let voids = counted("void", count.void.len(), count.runs, 0.05, String::new());
    let mut figures = vec![wrong, missed, far, voids];
    if let Some(median) = Estimate::median(&count.seconds) {
        let name = format!("{knob}: time to a decision, {GROUPS} groups");
        // The target applies to the median, not to the worst run.
        let median = Estimate { value: median.value, low: median.value, high: median.value };
        figures.push(Figure::bound(&name, median, SECONDS, &TIME));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_studies_have_no_errors() {
        for resource in [Resource::Cpu, Resource::Disk] {
            let nothing = |_: &str| Err("no files here".to_owned());
            let (_, findings) = assay_study::parse("bias", &study(resource, 3, 2.0), &nothing);
            let messages: Vec<String> = findings.into_iter().map(|found| found.message).collect();
            assert_eq!(messages, Vec::<String>::new());
        }
    }

    #[test]
    fn few_runs_decide_a_target_only_if_it_is_clear() {
        let count = Count { runs: 50, missed: 0, biased: 40, far: 14, ..Count::default() };
        let figures = figures_of(Resource::Cpu, &count, 0.0).unwrap();
        // 0 of 50 may still be 7 %.
        assert_eq!(figures[0].reached, Reached::Undecided);
        let missed = Count { missed: 12, ..count };
        assert_eq!(figures_of(Resource::Cpu, &missed, 0.0).unwrap()[1].reached, Reached::No);
        let none = wilson_interval(0, 1000);
        assert!(none.low == 0.0 && (none.high - 0.0038).abs() < 1e-3, "{none:?}");
    }
}
