//! Studies with and without a cause: a pair for each, which differ in one thing, or the same study with and without
//! busy processes beside it.
//!
//! All but the last take hold on two quiet CPUs and a loop disk. C-CPU-IMBALANCE is not among them: groups that are
//! bound to different CPUs are void by a check, and the kernel spreads others evenly.

use super::sign::Sign;
use crate::pairs::Pair;

/// A cause that can be put into a run.
pub(super) struct Injected {
    pub(super) code: &'static str,
    /// What differs in runs with it.
    pub(super) what: &'static str,
    /// Body of the study with and without it.
    study: fn(bool, Pair) -> String,
    /// CPUs of the pair that each have a busy process beside runs with it.
    pub(super) hogs: &'static [usize],
    /// What shows, without the events that the rule uses, that it took hold.
    pub(super) sign: Sign,
}

pub(super) const ALL: [Injected; 7] = [
    Injected {
        code: "C-CPU-QUOTA",
        what: "a quota of 0.2 CPUs",
        study: quota,
        hogs: &[],
        sign: Sign::Fails("quota"),
    },
    Injected {
        code: "C-CPU-OTHERS",
        what: "two busy processes on the second CPU",
        study: spinners,
        hogs: &[1, 1],
        sign: Sign::Fails("others"),
    },
    Injected {
        code: "C-CPU",
        what: "two busy processes on each CPU",
        study: readers,
        hogs: &[0, 0, 1, 1],
        sign: Sign::Fails("cpu"),
    },
    Injected {
        code: "C-DEMAND",
        what: "the heaviest group limits itself",
        study: demand,
        hogs: &[],
        sign: Sign::Fails("demand"),
    },
    Injected {
        code: "C-TAG-CAP",
        what: "a pool of 256 instead of 1024",
        study: tag_cap,
        hogs: &[],
        sign: Sign::Loses("task1", 0.85),
    },
    Injected {
        code: "C-WAKER",
        what: "the heaviest reader pauses for 20 ms",
        study: waker,
        hogs: &[],
        sign: Sign::Gains("task", 1.3),
    },
    Injected {
        code: "C-DEVICE-QUEUE",
        what: "a scheduler that holds nothing back",
        study: device_queue,
        hogs: &[],
        sign: Sign::Gains("task1", 1.5),
    },
];

/// The study with or without a cause, on a pair of CPUs, with one repeat of this length.
pub(super) fn study(cause: &Injected, with: bool, cpus: Pair, seconds: u64) -> String {
    format!(
        "title = \"{} {}\"\n[design]\nrepeats = 1\nat_most = \"{seconds} s\"\n[sampling]\nevidence = true\n{}",
        if with { "With" } else { "Without" },
        cause.code,
        (cause.study)(with, cpus)
    )
}

const BFQ: &str = "\"iosched/low_latency\" = 0, \"iosched/max_budget\" = 512";

/// Enough places for all requests. A loop device takes no more than twice this many.
const POOL: u32 = 1024;

const IO_PROMISE: &str = "[[promises]]\nmeasure = \"io.bytes\"\nis = \"proportional\"\nto = \"io.weight\"\nwithin = \"10 %\"\n";

fn disk(more: &str, pool: u32) -> String {
    format!(
        "[disks.scratch]\nuse = \"loop\"\nsize = \"512 MiB\"\nscheduler = \"bfq\"\n\
         queue = {{ {BFQ}{more}, nr_requests = {pool} }}\n"
    )
}

/// The knob that gives a group a pair of CPUs.
fn on(cpus: Pair) -> String {
    format!("\"cpuset.cpus\" = \"{},{}\"", cpus[0], cpus[1])
}

/// Groups that keep so many requests outstanding.
fn readers_of(count: usize, disk: &str, depth: u32, cpus: Pair) -> String {
    format!(
        "{disk}[[groups]]\nname = \"task\"\ncount = {count}\nknobs = {{ \"io.weight\" = [100, 200, 400, 800], {} }}\n\
         run = \"reader\"\n{}{IO_PROMISE}",
        on(cpus),
        reader("reader", depth, "")
    )
}

fn reader(name: &str, depth: u32, more: &str) -> String {
    format!(
        "[workloads.{name}]\nuse = \"fio\"\nargs = {{ rw = \"randread\", bs = \"4k\", ioengine = \"libaio\", \
         iodepth = {depth}, direct = 1, size = \"1/8\"{more} }}\n"
    )
}

fn readers(_: bool, cpus: Pair) -> String {
    readers_of(4, &disk("", POOL), 8, cpus)
}

/// By weight the groups may hold 9, 17, 34 and 68 of 256 requests, and four times as many of 1024. With four groups
/// instead of eight other mechanisms may give a light one more (docs/results/io-weight-scaling.md).
fn tag_cap(with: bool, cpus: Pair) -> String {
    readers_of(8, &disk("", if with { 256 } else { POOL }), 32, cpus)
}

/// Without idling BFQ gives the device all that it takes, which is more than the groups keep outstanding.
fn device_queue(with: bool, cpus: Pair) -> String {
    readers_of(4, &disk(if with { ", \"iosched/slice_idle\" = 0" } else { "" }, POOL), 8, cpus)
}

/// Three groups read all the time, and one of another weight otherwise.
fn one_otherwise(weights: [u32; 3], weight: u32, otherwise: &str, cpus: Pair) -> String {
    let on = on(cpus);
    format!(
        "{}[[groups]]\nname = \"task\"\ncount = 3\nknobs = {{ \"io.weight\" = {weights:?}, {on} }}\nrun = \"reader\"\n\
         [[groups]]\nname = \"other\"\nknobs = {{ \"io.weight\" = {weight}, {on} }}\nrun = \"other\"\n{}{}{IO_PROMISE}",
        disk("", POOL),
        reader("reader", 8, ""),
        reader("other", 8, otherwise)
    )
}

/// BFQ takes a queue for the waker of a process that comes back after pauses longer than `slice_idle`, which is 8 ms
/// (docs/findings/bfq-waker.md, L8).
fn waker(with: bool, cpus: Pair) -> String {
    let pauses = if with { ", thinktime = 20000, thinktime_iotime = 200000" } else { "" };
    one_otherwise([100, 200, 400], 800, pauses, cpus)
}

fn demand(with: bool, cpus: Pair) -> String {
    one_otherwise([100, 200, 400], 800, if with { ", rate_iops = 200" } else { "" }, cpus)
}

/// Groups of two threads, the last two with these knobs.
fn spinning(cpus: Pair, knobs: &str) -> String {
    let on = on(cpus);
    let group = |name: &str, count: usize, knobs: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\ncount = {count}\nknobs = {{ \"cpu.weight\" = 100, \
             {on}{knobs} }}\nrun = \"spin\"\n"
        )
    };
    format!(
        "{}{}[workloads.spin]\nuse = \"spin\"\nargs = {{ threads = 2 }}\n[[promises]]\nmeasure = \"cpu.time\"\n\
         is = \"proportional\"\nto = \"cpu.weight\"\nwithin = \"10 %\"\n",
        group("task", 1, ""),
        group("other", 2, knobs)
    )
}

fn spinners(_: bool, cpus: Pair) -> String {
    spinning(cpus, "")
}

fn quota(with: bool, cpus: Pair) -> String {
    spinning(cpus, if with { ", \"cpu.max\" = \"20000 100000\"" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_studies_have_no_errors_and_the_causes_have_rules() {
        for cause in &ALL {
            assert!(assay_judge::cause_entry(cause.code).is_some(), "{}", cause.code);
            for with in [true, false] {
                let nothing = |_: &str| Err("no files here".to_owned());
                let study = study(cause, with, [2, 3], 4);
                let (_, findings) = assay_study::parse("cause", &study, &nothing);
                let errors: Vec<String> = findings
                    .into_iter()
                    .map(|found| format!("{}: {}", cause.code, found.message))
                    .collect();
                assert_eq!(errors, Vec::<String>::new());
            }
        }
    }
}
