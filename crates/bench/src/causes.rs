//! Runs with and without a cause that is put into them: how often the kernel's events prove it, and how often
//! they prove it where it is not.
//!
//! Each cause is a pair of studies that differ in one thing, or the same study with and without busy processes
//! beside it. The runs alternate, so that what happens on the host meets both alike.

use std::process::{Child, Command, Stdio};

use assay_judge::judge;
use assay_run_folder::Run;
use assay_verdict::{ProofState, Verdict};

use crate::assay::Assay;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::progress;
use crate::statistics::Reached;

/// Runs of each kind, unless requested otherwise.
pub(crate) const RUNS: u32 = 20;

/// Of 20 runs with a cause, so many must prove it, and none of 20 runs without it.
const TARGET: f64 = 0.95;

/// A cause that can be put into a run.
struct Injected {
    code: &'static str,
    /// What differs in runs with it.
    what: &'static str,
    /// Body of the study with and without it.
    study: fn(bool) -> String,
    /// CPUs that each have a busy process beside runs with it.
    hogs: &'static [usize],
}

const ALL: [Injected; 8] = [
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
        what: "a busy process on each CPU",
        study: readers,
        hogs: &[0, 0, 1, 1],
    },
    Injected { code: "C-CPU-OTHERS", what: "a busy process on CPU 1", study: spinners, hogs: &[1] },
    Injected { code: "C-CPU-QUOTA", what: "a quota of 0.4 CPUs", study: quota, hogs: &[] },
    Injected {
        code: "C-CPU-IMBALANCE",
        what: "two groups bound to CPU 0",
        study: bound,
        hogs: &[],
    },
];

/// What the runs of one cause said.
#[derive(Debug, Default)]
struct Count {
    runs: usize,
    proven: usize,
    /// What each run said that did not prove it.
    others: Vec<String>,
}

/// Makes `runs` runs with each cause and as many without it; of one cause if its code is given.
pub(crate) fn measure(
    assay: &Assay,
    runs: usize,
    only: Option<&str>,
) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for cause in ALL.iter().filter(|cause| only.is_none_or(|code| code == cause.code)) {
        progress(&format!("{runs} runs with and without {}: {}", cause.code, cause.what));
        let (mut with, mut without, mut busiest) = (Count::default(), Count::default(), 0.0_f64);
        for number in 0..runs {
            busiest = busiest.max(idle_wait::wait()?);
            one(assay, cause, number, true, &mut with)?;
            one(assay, cause, number, false, &mut without)?;
            progress(&format!(
                "{} {} of {runs}: proven in {} with it, in {} without",
                cause.code,
                number + 1,
                with.proven,
                without.proven
            ));
        }
        figures.extend(figures_of(cause, with, without, busiest));
    }
    Ok(figures)
}

fn one(
    assay: &Assay,
    cause: &Injected,
    number: usize,
    with: bool,
    count: &mut Count,
) -> Result<(), Failure> {
    let name = format!("cause-{}-{number}-{with}", cause.code);
    let hogs = if with { Hog::start(cause.hogs)? } else { Vec::new() };
    let (folder, _) = assay.run(&name, &study(cause, with))?;
    drop(hogs);
    let run = Run::load(&folder)?;
    let _ = std::fs::remove_dir_all(folder);
    let judgement = judge(&run.manifest, &run.samples);
    let promise = judgement.trials.first().and_then(|trial| trial.promises.first());
    let Some(promise) = promise else { return Ok(()) };
    let proofs = promise.proofs.iter();
    let said = |state| -> Vec<&str> {
        let of = proofs.clone().filter(|proof| proof.state == state);
        of.map(|proof| proof.code.as_str()).collect()
    };
    let proven = said(ProofState::Proven);
    count.runs += 1;
    count.proven += usize::from(proven.contains(&cause.code));
    if proven.contains(&cause.code) != with || proven.len() > 1 {
        let own = proofs.clone().find(|proof| proof.code == cause.code);
        count.others.push(format!(
            "run {number} {} it, {}: proven {}; contributes {}; {}",
            if with { "with" } else { "without" },
            promise.verdict.word(),
            listed(&proven),
            listed(&said(ProofState::Contributes)),
            own.map_or("no figures of it", |proof| &proof.evidence)
        ));
    }
    if !with && promise.verdict == Verdict::Void {
        count.others.push(format!("run {number} without it was void: {}", promise.reason));
    }
    Ok(())
}

fn listed(codes: &[&str]) -> String {
    if codes.is_empty() { "nothing".to_owned() } else { codes.join(", ") }
}

fn figures_of(cause: &Injected, with: Count, without: Count, busiest: f64) -> [Figure; 2] {
    let needed = (TARGET * with.runs as f64).ceil() as usize;
    let figure = |words: &str, count: &Count, target: String, reached: bool| Figure {
        name: format!("{} {words} ({})", cause.code, cause.what),
        measured: format!("proven in {} of {}", count.proven, count.runs),
        target,
        of_target: None,
        reached: if reached { Reached::Yes } else { Reached::No },
        remarks: Vec::new(),
    };
    let (found, wrong) = (with.proven >= needed, without.proven == 0);
    let at_least = format!("at least {needed}");
    let mut figures = [
        figure("put in", &with, at_least, found),
        figure("not put in", &without, "0".to_owned(), wrong),
    ];
    figures[0].remarks = with.others;
    figures[0].remarks.extend(idle_wait::remark(busiest));
    figures[1].remarks = without.others;
    figures
}

/// A busy process bound to a CPU, which ends with this value.
struct Hog(Child);

impl Hog {
    fn start(cpus: &[usize]) -> Result<Vec<Self>, Failure> {
        let one = |cpu: &usize| {
            let mut command = Command::new("taskset");
            command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
            let child = command.stdin(Stdio::null()).spawn();
            let failed = |cause| Failure::Failed(format!("cannot start {command:?}: {cause}"));
            child.map(Self).map_err(failed)
        };
        cpus.iter().map(one).collect()
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        // It may have been killed by hand.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn study(cause: &Injected, with: bool) -> String {
    format!(
        "title = \"{} {}\"\n[design]\nrepeats = 3\nat_most = \"6 s\"\n[sampling]\nevidence = true\n{}",
        if with { "With" } else { "Without" },
        cause.code,
        (cause.study)(with)
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

fn readers_of(count: usize, disk: &str, depth: u32) -> String {
    format!(
        "{disk}[[groups]]\nname = \"task\"\ncount = {count}\nknobs = {{ \"io.weight\" = [100, 200, 400, 800] }}\n\
         run = \"reader\"\n{}{IO_PROMISE}",
        reader("reader", depth, "")
    )
}

fn reader(name: &str, depth: u32, more: &str) -> String {
    format!(
        "[workloads.{name}]\nuse = \"fio\"\nargs = {{ rw = \"randread\", bs = \"4k\", ioengine = \"libaio\", \
         iodepth = {depth}, direct = 1, size = \"1/8\"{more} }}\n"
    )
}

fn tag_cap(with: bool) -> String {
    let pool = if with { 256 } else { 4096 };
    readers_of(8, &disk("bfq", &format!("{BFQ}, nr_requests = {pool}")), 32)
}

fn device_queue(with: bool) -> String {
    if with { readers_of(4, &disk("none", ""), 8) } else { readers(false) }
}

fn readers(_: bool) -> String {
    readers_of(4, &disk("bfq", &format!("{BFQ}, nr_requests = 1024")), 8)
}

/// Three groups read all the time, and the heaviest otherwise.
fn one_otherwise(heaviest: &str) -> String {
    format!(
        "{}[[groups]]\nname = \"task\"\ncount = 3\nknobs = {{ \"io.weight\" = [100, 200, 400] }}\nrun = \"reader\"\n\
         [[groups]]\nname = \"heaviest\"\nknobs = {{ \"io.weight\" = 800 }}\nrun = \"other\"\n{}{}{IO_PROMISE}",
        disk("bfq", &format!("{BFQ}, \"iosched/slice_idle\" = 8, nr_requests = 1024")),
        reader("reader", 8, ""),
        reader("other", 8, heaviest)
    )
}

/// BFQ takes a queue for another's waker if that one's process thinks for more than half of `slice_idle`.
fn waker(with: bool) -> String {
    let pause = if with { 6000 } else { 3000 };
    one_otherwise(&format!(", thinktime = {pause}, thinktime_iotime = 200000"))
}

fn demand(with: bool) -> String {
    one_otherwise(if with { ", rate_iops = 200" } else { "" })
}

/// Groups of two threads on the CPUs 0 and 1, the last two with these knobs and place.
fn on_cpus(knobs: &str, place: &str) -> String {
    let group = |name: &str, count: usize, knobs: &str, run: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\ncount = {count}\nknobs = {{ \"cpu.weight\" = 100, \
             \"cpuset.cpus\" = \"0-1\"{knobs} }}\nrun = \"{run}\"\n"
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

fn spinners(_: bool) -> String {
    on_cpus("", "")
}

fn quota(with: bool) -> String {
    on_cpus(if with { ", \"cpu.max\" = \"40000 100000\"" } else { "" }, "")
}

fn bound(with: bool) -> String {
    on_cpus("", if with { "place = { cpus = \"0\" }\n" } else { "" })
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
                let (_, findings) = assay_study::parse("cause", &study(cause, with), &nothing);
                let errors: Vec<String> = findings
                    .into_iter()
                    .map(|found| format!("{}: {}", cause.code, found.message))
                    .collect();
                assert_eq!(errors, Vec::<String>::new());
            }
        }
    }

    #[test]
    fn one_miss_of_twenty_is_allowed_and_no_wrong_proof() {
        let counts = |proven| Count { runs: 20, proven, others: Vec::new() };
        let reached = |with, without| {
            figures_of(&ALL[0], counts(with), counts(without), 0.0).map(|figure| figure.reached)
        };
        assert_eq!(reached(19, 0), [Reached::Yes, Reached::Yes]);
        assert_eq!(reached(18, 1), [Reached::No, Reached::No]);
    }
}
