//! Studies with and without a cause: a pair for each, which differ in one thing, or the same study with and without
//! busy processes beside it.

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
}

pub(super) const ALL: [Injected; 8] = [
    Injected {
        code: "C-TAG-CAP",
        what: "a pool of 256 instead of 4096",
        study: tag_cap,
        hogs: &[],
    },
    Injected { code: "C-WAKER", what: "pauses of 6 ms instead of 3", study: waker, hogs: &[] },
    Injected { code: "C-DEVICE-QUEUE", what: "no scheduler", study: device_queue, hogs: &[] },
    Injected {
        code: "C-DEMAND",
        what: "the heaviest group limits itself",
        study: demand,
        hogs: &[],
    },
    Injected {
        code: "C-CPU",
        what: "two busy processes on each CPU",
        study: readers,
        hogs: &[0, 0, 1, 1],
    },
    Injected {
        code: "C-CPU-OTHERS",
        what: "a busy process on the second CPU",
        study: spinners,
        hogs: &[1],
    },
    Injected { code: "C-CPU-QUOTA", what: "a quota of 0.4 CPUs", study: quota, hogs: &[] },
    Injected {
        code: "C-CPU-IMBALANCE",
        what: "two groups bound to the first CPU",
        study: bound,
        hogs: &[],
    },
];

/// The study with or without a cause, on a pair of CPUs, with repeats of this length.
pub(super) fn study(cause: &Injected, with: bool, cpus: Pair, seconds: u64) -> String {
    format!(
        "title = \"{} {}\"\n[design]\nrepeats = 2\nat_most = \"{seconds} s\"\n[sampling]\nevidence = true\n{}",
        if with { "With" } else { "Without" },
        cause.code,
        (cause.study)(with, cpus)
    )
}

const BFQ: &str = "\"iosched/low_latency\" = 0, \"iosched/max_budget\" = 512";

const IO_PROMISE: &str = "[[promises]]\nmeasure = \"io.bytes\"\nis = \"proportional\"\nto = \"io.weight\"\nwithin = \"10 %\"\n";

fn disk(scheduler: &str, queue: &str) -> String {
    let queue = if queue.is_empty() { String::new() } else { format!("queue = {{ {queue} }}\n") };
    format!(
        "[disks.scratch]\nuse = \"loop\"\nsize = \"512 MiB\"\nscheduler = \"{scheduler}\"\n{queue}"
    )
}

/// The knob that gives a group a pair of CPUs.
fn on(cpus: Pair) -> String {
    format!("\"cpuset.cpus\" = \"{},{}\"", cpus[0], cpus[1])
}

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

fn tag_cap(with: bool, cpus: Pair) -> String {
    let pool = if with { 256 } else { 4096 };
    readers_of(8, &disk("bfq", &format!("{BFQ}, nr_requests = {pool}")), 32, cpus)
}

fn device_queue(with: bool, cpus: Pair) -> String {
    if with { readers_of(4, &disk("none", ""), 8, cpus) } else { readers(false, cpus) }
}

fn readers(_: bool, cpus: Pair) -> String {
    readers_of(4, &disk("bfq", &format!("{BFQ}, nr_requests = 1024")), 8, cpus)
}

/// Three groups read all the time, and the heaviest otherwise.
fn one_otherwise(heaviest: &str, cpus: Pair) -> String {
    let on = on(cpus);
    format!(
        "{}[[groups]]\nname = \"task\"\ncount = 3\nknobs = {{ \"io.weight\" = [100, 200, 400], {on} }}\nrun = \"reader\"\n\
         [[groups]]\nname = \"heaviest\"\nknobs = {{ \"io.weight\" = 800, {on} }}\nrun = \"other\"\n{}{}{IO_PROMISE}",
        disk("bfq", &format!("{BFQ}, \"iosched/slice_idle\" = 8, nr_requests = 1024")),
        reader("reader", 8, ""),
        reader("other", 8, heaviest)
    )
}

/// BFQ takes a queue for another's waker if that one's process thinks for more than half of `slice_idle`.
fn waker(with: bool, cpus: Pair) -> String {
    let pause = if with { 6000 } else { 3000 };
    one_otherwise(&format!(", thinktime = {pause}, thinktime_iotime = 200000"), cpus)
}

fn demand(with: bool, cpus: Pair) -> String {
    one_otherwise(if with { ", rate_iops = 200" } else { "" }, cpus)
}

/// Groups of two threads, the last two with these knobs and place.
fn spinning(cpus: Pair, knobs: &str, place: &str) -> String {
    let on = on(cpus);
    let group = |name: &str, count: usize, knobs: &str, run: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\ncount = {count}\nknobs = {{ \"cpu.weight\" = 100, \
             {on}{knobs} }}\nrun = \"{run}\"\n"
        )
    };
    let spin = "use = \"spin\"\nargs = { threads = 2 }\n";
    format!(
        "{}{}[workloads.spin]\n{spin}[workloads.other]\n{spin}{place}[[promises]]\nmeasure = \"cpu.time\"\n\
         is = \"proportional\"\nto = \"cpu.weight\"\nwithin = \"10 %\"\n",
        group("task", 1, "", "spin"),
        group("other", 2, knobs, "other")
    )
}

fn spinners(_: bool, cpus: Pair) -> String {
    spinning(cpus, "", "")
}

fn quota(with: bool, cpus: Pair) -> String {
    spinning(cpus, if with { ", \"cpu.max\" = \"40000 100000\"" } else { "" }, "")
}

fn bound(with: bool, cpus: Pair) -> String {
    let place = format!("place = {{ cpus = \"{}\" }}\n", cpus[0]);
    spinning(cpus, "", if with { &place } else { "" })
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
