//! Studies of groups that only compute.

use super::on;
use crate::pairs::Pair;

const PROMISE: &str = "[[promises]]\nmeasure = \"cpu.time\"\nis = \"proportional\"\nto = \"cpu.weight\"\nwithin = \"10 %\"\n";

/// Three groups of two threads, the last two with a quota.
pub(super) fn quota(with: bool, cpus: Pair) -> String {
    let on = on(cpus);
    let group = |name: &str, count: usize, knobs: &str| {
        format!(
            "[[groups]]\nname = \"{name}\"\ncount = {count}\nknobs = {{ \"cpu.weight\" = 100, \
             {on}{knobs} }}\nrun = \"spin\"\n"
        )
    };
    let quota = if with { ", \"cpu.max\" = \"20000 100000\"" } else { "" };
    format!(
        "{}{}[workloads.spin]\nuse = \"spin\"\nargs = {{ threads = 2 }}\n{PROMISE}",
        group("task", 1, ""),
        group("other", 2, quota)
    )
}

/// Threads that could leave a CPU would not wait for others there: the kernel moves them away.
pub(super) fn a_thread_on_each(_: bool, cpus: Pair) -> String {
    bound(100, [1, 1], cpus)
}

/// Groups that are bound to different CPUs are void by a check, so each has a thread on either CPU. A group's weight is
/// divided among the CPUs by its threads there: with 7 and 1 of 300, beside 50 and 50 of each of the others, it gets
/// 262.5 / 362.5 of one CPU and 37.5 / 137.5 of the other, half of both in place of 60 %.
pub(super) fn uneven_threads(with: bool, cpus: Pair) -> String {
    bound(300, if with { [7, 1] } else { [4, 4] }, cpus)
}

/// A group with this weight and as many threads bound to each CPU, and two groups of weight 100 with a thread on each.
fn bound(weight: u32, threads: [u32; 2], cpus: Pair) -> String {
    let on = on(cpus);
    let group = |name: &str, count: usize, weight: u32| {
        format!(
            "[[groups]]\nname = \"{name}\"\ncount = {count}\nknobs = {{ \"cpu.weight\" = {weight}, {on} }}\n\
             run = [\"{name}-0\", \"{name}-1\"]\n"
        )
    };
    let spin = |name: &str, at: usize, threads: u32| {
        format!(
            "[workloads.{name}-{at}]\nuse = \"spin\"\nargs = {{ threads = {threads} }}\nplace = {{ cpus = \"{}\" }}\n",
            cpus[at]
        )
    };
    let spins =
        |name: &str, threads: [u32; 2]| spin(name, 0, threads[0]) + &spin(name, 1, threads[1]);
    [
        group("task", 1, weight),
        group("other", 2, 100),
        spins("task", threads),
        spins("other", [1, 1]),
        PROMISE.to_owned(),
    ]
    .concat()
}
