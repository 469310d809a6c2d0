//! Verdicts on real runs whose truth is known: one group's weight is secretly half or double of
//! what the record says.
//!
//! Each run is made with the biased weight and judged twice. Against what was really set, its
//! promise holds if the kernel obeys, and a verdict of broken counts as false. Against a record in
//! which the group has the weight of its place it does not hold, and a verdict of kept is false: the
//! bias was missed.

use assay_facts::Available;
use assay_judge::{Verdict, judge};
use assay_record::{Manifest, Run};

use crate::assay::Assay;
use crate::figure::{Figure, Shown};
use crate::quiet;
use crate::say;
use crate::statistics::{Estimate, Reached};
use crate::trouble::Trouble;

/// Groups of every run.
const GROUPS: usize = 16;

/// The weights without a bias, handed out in turn. Half and double of each is a weight of BFQ.
const WEIGHTS: [u32; 4] = [50, 100, 200, 400];

/// Half of the runs are to be decided within so many seconds.
const SECONDS: f64 = 20.0;

/// A run that nothing decides ends here, seconds.
const AT_MOST: u32 = 45;

const TIME: Shown = Shown { factor: 1.0, unit: "s", decimals: 1 };

/// What is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resource {
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
}

/// How the runs of one resource were judged.
#[derive(Debug, Default)]
struct Count {
    runs: usize,
    /// Void: gates that failed say nothing of the statistics.
    void: Vec<String>,
    /// What was said of runs that are broken by their real weights. Such a verdict counts as false
    /// here; whether it was, or the kernel did not obey in that run, only its numbers can tell.
    broken: Vec<String>,
    honestly_undecided: usize,
    missed: usize,
    biased_undecided: usize,
    seconds: Vec<f64>,
}

/// `runs` runs, half of them on a CPU and half on a disk.
pub(crate) fn measure(assay: &Assay, runs: usize) -> Result<Vec<Figure>, Trouble> {
    let mut figures = Vec::new();
    for resource in [Resource::Cpu, Resource::Disk] {
        let mut count = Count::default();
        let mut busiest = 0.0_f64;
        let each = runs.div_ceil(2);
        for number in 0..each {
            busiest = busiest.max(quiet::wait()?);
            one(assay, resource, number, &mut count)?;
            say(&format!("{} {} of {each}: {count:?}", resource.knob(), number + 1));
        }
        figures.extend(figures_of(resource, &count, busiest)?);
    }
    Ok(figures)
}

fn one(assay: &Assay, resource: Resource, number: usize, count: &mut Count) -> Result<(), Trouble> {
    let (group, factor) = (number * 5 % GROUPS, if number.is_multiple_of(2) { 0.5 } else { 2.0 });
    let name = format!("bias-{}-{number}", resource.knob());
    let (folder, _) = assay.run(&name, &study(resource, group, factor))?;
    let honest = Run::load(&folder)?;
    let _ = std::fs::remove_dir_all(folder);
    let mut biased = honest.manifest.clone();
    conceal(&mut biased, group, factor)?;
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
    match verdict(&biased, &honest).0 {
        Verdict::Kept => count.missed += 1,
        Verdict::Undecided | Verdict::Void => count.biased_undecided += 1,
        Verdict::Broken => {}
    }
    if let Some(repeat) = honest.manifest.trials[0].repeats.first() {
        let ns = repeat.stopped_ns.saturating_sub(repeat.all_released_ns);
        count.seconds.push(ns as f64 * 1e-9);
    }
    Ok(())
}

fn verdict(manifest: &Manifest, run: &Run) -> (Verdict, String) {
    let judgement = judge(manifest, &run.samples);
    let promise = judgement.trials.first().and_then(|trial| trial.promises.first());
    promise
        .map_or((Verdict::Void, String::new()), |promise| (promise.verdict, promise.reason.clone()))
}

/// Writes the weight of the group's place into the record, in the file's own units.
fn conceal(manifest: &mut Manifest, group: usize, factor: f64) -> Result<(), Trouble> {
    let name = format!("task{}", group + 1);
    let honest = |text: &str| -> Result<String, Trouble> {
        let word = text.split_whitespace().last().unwrap_or_default();
        let value: f64 =
            word.parse().map_err(|_| Trouble::Failed(format!("a weight reads `{text}`")))?;
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

/// The study with the real weights.
fn study(resource: Resource, group: usize, factor: f64) -> String {
    let mut weights: Vec<u32> = WEIGHTS.into_iter().cycle().take(GROUPS).collect();
    weights[group] = (f64::from(weights[group]) * factor) as u32;
    let knob = resource.knob();
    let (disk, knobs, workload, measure) = match resource {
        Resource::Cpu => (
            String::new(),
            format!("\"{knob}\" = {weights:?}, \"cpuset.cpus\" = \"0\""),
            "ioengine = \"cpuio\", cpuload = 100, numjobs = 2",
            "cpu.time",
        ),
        // The pool is large enough for every group to have all that it wants (C-TAG-CAP).
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
        "title = \"One weight is not what the record says\"\n[design]\nrepeats = 1\nat_most = \
         \"{AT_MOST} s\"\nstop = \"decided\"\n{disk}[[groups]]\nname = \"task\"\ncount = \
         {GROUPS}\nknobs = {{ {knobs} }}\nrun = \"load\"\n[workloads.load]\nuse = \"fio\"\nargs = \
         {{ {workload} }}\n[[promises]]\nmeasure = \"{measure}\"\nis = \"proportional\"\nto = \
         \"{knob}\"\nwithin = \"10 %\"\n"
    )
}

fn figures_of(resource: Resource, count: &Count, busiest: f64) -> Result<Vec<Figure>, Trouble> {
    let judged = count.runs - count.void.len();
    let knob = resource.knob();
    let counted = |name: &str, number: usize, most: usize, undecided: usize| Figure {
        name: format!("{knob}: {name}"),
        measured: format!("{number} of {judged}"),
        target: if most == 0 { "none".to_owned() } else { format!("at most {most}") },
        of_target: None,
        reached: match number {
            number if number > most => Reached::No,
            _ if judged == 0 => Reached::Undecided,
            _ => Reached::Yes,
        },
        remarks: vec![format!(
            "{undecided} undecided after {AT_MOST} s; {} void",
            count.void.len()
        )],
    };
    let mut wrong = counted("false verdicts", count.broken.len(), 1, count.honestly_undecided);
    wrong.remarks.extend(count.broken.iter().cloned());
    wrong.remarks.extend(count.void.first().map(|why| format!("the first void: {why}")));
    wrong.remarks.extend(quiet::remark(busiest));
    let missed = counted("bias missed", count.missed, 0, count.biased_undecided);
    let mut figures = vec![wrong, missed];
    if let Some(median) = Estimate::median(&count.seconds) {
        let name = format!("{knob}: time to a decision, {GROUPS} groups");
        // The median is what is promised, and not the worst run.
        let median = Estimate { value: median.value, low: median.value, high: median.value };
        figures.push(Figure::bound(&name, median, SECONDS, &TIME));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_studies_have_no_mistakes() {
        for resource in [Resource::Cpu, Resource::Disk] {
            let nothing = |_: &str| Err("no files here".to_owned());
            let (_, findings) = assay_study::parse("bias", &study(resource, 3, 2.0), &nothing);
            let messages: Vec<String> = findings.into_iter().map(|found| found.message).collect();
            assert_eq!(messages, Vec::<String>::new());
        }
    }

    #[test]
    fn one_missed_bias_misses_the_target_and_one_false_verdict_does_not() {
        let mut count =
            Count { runs: 50, missed: 1, broken: vec![String::new()], ..Count::default() };
        count.seconds = vec![10.0, 12.0, 30.0];
        let figures = figures_of(Resource::Cpu, &count, 0.0).unwrap();
        assert_eq!(figures[0].reached, Reached::Yes);
        assert_eq!(figures[1].reached, Reached::No);
        assert_eq!(figures[2].reached, Reached::Yes);
    }
}
