//! The cost of observation, since a number is only worth something next to the cost of getting it:
//! the sampler's own account per repeat, and per source over all repeats.

use std::collections::BTreeMap;

use assay_record::run_folder::RepeatRecord;
use assay_sys::escape::page::{Rows, Section};

use crate::number::{self, NONE};
use crate::trial::Trial;
use crate::wording;

/// Totals of one source over all repeats.
#[derive(Default)]
struct Sum {
    /// Reads and rows; 0 for other activities, and in older records that do not count them.
    reads: u64,
    rows: u64,
    cpu_s: f64,
}

/// The cost of sampling over the whole run.
pub(crate) fn section(trials: &[Trial<'_>]) -> Section {
    let mut repeats = Vec::new();
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for trial in trials {
        for (index, repeat) in trial.record.repeats.iter().enumerate() {
            repeats.push((wording::factors(&trial.record.factors), index + 1, repeat));
            add(&mut sums, repeat);
        }
    }
    let total: f64 = sums.values().map(|sum| sum.cpu_s).sum();
    let sums: Vec<(&str, Sum)> = sums.into_iter().collect();
    let section = Section::new("cost", "Cost of observation", |page| {
        page.on_page(|page| {
            if repeats.is_empty() {
                return page.missing("no repeat took place");
            }
            page.table(of_repeats(&repeats));
            if !sums.is_empty() {
                page.fold("By source", false, |page| page.table(of_sources(&sums, total)));
            }
        });
    });
    section
        .listed("Cost")
        .folded(format!("{} ms of CPU time in all", number::fixed(total * 1e3, 0)))
}

type Row<'r> = (String, usize, &'r RepeatRecord);

fn of_repeats<'r>(repeats: &'r [Row<'r>]) -> Rows<'r, Row<'r>> {
    let cpu = |(.., repeat): &Row<'_>| match repeat.sampler.wall_s > 0.0 {
        true => number::percent(repeat.sampler.cpu_s / repeat.sampler.wall_s, 2),
        false => NONE.to_owned(),
    };
    // Older records do not count them.
    let wakeups = |(.., repeat): &Row<'_>| {
        number::or_none(Some(repeat.sampler.wakeups).filter(|count| *count > 0), |count| {
            count.to_string()
        })
    };
    Rows::new(repeats)
        .left("trial", 0, |(trial, ..)| trial.clone())
        .right("repeat", 0, |(_, number, _)| number.to_string())
        .right(("interval", "ms"), 0, |(.., repeat)| number::fixed(repeat.sampler.interval_s * 1e3, 0))
        .right("rounds", 0, |(.., repeat)| repeat.sampler.rounds.to_string())
        .right("skipped", 0, |(.., repeat)| repeat.sampler.missed.to_string())
        .right("late", 0, |(.., repeat)| repeat.sampler.late.to_string())
        .right(("latest", "ms"), 0, |(.., repeat)| number::fixed(repeat.sampler.latest_s * 1e3, 1))
        .right("wakeups", 0, wakeups)
        .right(("CPU", "% of one"), 0, cpu)
        .prose("CPU and group of the sampler", |(.., repeat)| affinity(repeat))
        .caption(
            "Sampling: skipped rounds are lost; a round is late if it began more than a tenth of the interval after \
             its time",
        )
}

/// CPU and group of the sampling thread, or why it had no dedicated ones.
fn affinity(repeat: &RepeatRecord) -> String {
    let why = |what: &str, key: &str| match repeat.not_available.get(key) {
        Some(reason) => format!("no dedicated {what}: {reason}"),
        None => format!("no dedicated {what} is recorded"),
    };
    let sampler = &repeat.sampler;
    let cpu = match sampler.cpu {
        Some(cpu) => format!("CPU {cpu}"),
        None => why("CPU", "sampler.cpu"),
    };
    let group = sampler.group.clone().unwrap_or_else(|| why("group", "sampler.group"));
    format!("{cpu}; {group}")
}

fn add<'r>(sums: &mut BTreeMap<&'r str, Sum>, repeat: &'r RepeatRecord) {
    for (source, seconds) in &repeat.sampler.by_source_s {
        sums.entry(source).or_default().cpu_s += seconds;
    }
    for (source, cost) in &repeat.sampler.sources {
        let sum = sums.entry(source).or_default();
        sum.reads += cost.rounds;
        sum.rows += cost.rows;
    }
    let others = [
        ("re-reading knobs and queues", repeat.watch.as_ref().map(|watch| watch.cpu_s)),
        ("interim results and display", repeat.shown_cpu_s),
        (
            "eBPF programs of the evidence",
            repeat.evidence.as_ref().and_then(|evidence| evidence.cpu_s),
        ),
    ];
    for (what, cpu_s) in others {
        if let Some(cpu_s) = cpu_s {
            sums.entry(what).or_default().cpu_s += cpu_s;
        }
    }
}

fn of_sources<'r>(sums: &'r [(&'r str, Sum)], total: f64) -> Rows<'r, (&'r str, Sum)> {
    let counted =
        |sum: &Sum, count: u64| if sum.reads == 0 { NONE.to_owned() } else { count.to_string() };
    Rows::new(sums)
        .left("source", 0, |(name, _)| format!("`{name}`"))
        .right("reads", 0, move |(_, sum)| counted(sum, sum.reads))
        .right("rows", 0, move |(_, sum)| counted(sum, sum.rows))
        .right(("CPU", "ms"), 0, |(_, sum)| number::fixed(sum.cpu_s * 1e3, 1))
        .right(("CPU per read", "us"), 0, |(_, sum)| match sum.reads {
            0 => NONE.to_owned(),
            reads => number::fixed(sum.cpu_s * 1e6 / reads as f64, 1),
        })
        .right(("share", "%"), 0, move |(_, sum)| {
            number::percent(if total > 0.0 { sum.cpu_s / total } else { 0.0 }, 1)
        })
}
