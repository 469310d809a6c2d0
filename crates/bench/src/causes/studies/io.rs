//! Studies of groups that read from one disk at random.

use super::on;
use crate::pairs::Pair;

const PROMISE: &str = "[[promises]]\nmeasure = \"io.bytes\"\nis = \"proportional\"\nto = \"io.weight\"\nwithin = \"10 %\"\n";

/// A loop disk under BFQ.
struct Disk {
    /// Places for requests.
    pool: u32,
    /// KiB of a request.
    block: u32,
    /// More attributes of its queue.
    queue: &'static str,
}

/// A pool with places for all requests (a loop device takes no more than twice this many), and requests so large that
/// they keep the disk busy and not the CPUs. Smaller ones make the CPUs a limit of their own on a host with two.
const DISK: Disk = Disk { pool: 1024, block: 16, queue: "" };

/// Groups that keep requests outstanding, one for each weight.
struct Readers {
    name: &'static str,
    weights: &'static [u32],
    /// Requests of each group.
    depth: u32,
    /// More options of fio.
    options: &'static str,
}

const READERS: Readers =
    Readers { name: "task", weights: &[100, 200, 400, 800], depth: 8, options: "" };

/// Requests of a turn. BFQ's own budget would give the lightest group one turn in two seconds.
const TURN: u32 = 64;

fn study(disk: &Disk, groups: &[Readers], cpus: Pair) -> String {
    let Disk { pool, block, queue } = disk;
    let sectors = TURN * block * 2;
    let disk = format!(
        "[disks.scratch]\nuse = \"loop\"\nsize = \"512 MiB\"\nscheduler = \"bfq\"\n\
         queue = {{ \"iosched/low_latency\" = 0, \"iosched/max_budget\" = {sectors}{queue}, nr_requests = {pool} }}\n"
    );
    let on = on(cpus);
    let readers = |Readers { name, weights, depth, options }: &Readers| {
        let count = weights.len();
        format!(
            "[[groups]]\nname = \"{name}\"\ncount = {count}\nknobs = {{ \"io.weight\" = {weights:?}, {on} }}\n\
             run = \"{name}\"\n[workloads.{name}]\nuse = \"fio\"\nargs = {{ rw = \"randread\", bs = \"{block}k\", \
             ioengine = \"libaio\", iodepth = {depth}, direct = 1, size = \"1/16\"{options} }}\n"
        )
    };
    let groups: String = groups.iter().map(readers).collect();
    disk + &groups + PROMISE
}

/// Small requests need the CPUs.
pub(super) fn many_requests(_: bool, cpus: Pair) -> String {
    study(&Disk { block: 4, ..DISK }, &[READERS], cpus)
}

/// Three groups read all the time, and the heaviest does not.
pub(super) fn demand(with: bool, cpus: Pair) -> String {
    let options = if with { ", rate_iops = 200" } else { "" };
    let lighter = Readers { weights: &[100, 200, 400], ..READERS };
    let other = Readers { name: "other", weights: &[800], options, ..READERS };
    study(&DISK, &[lighter, other], cpus)
}

/// By weight each light group may hold 11 of 256 requests, and 43 of 1024. The heavy ones keep fewer outstanding than they
/// may hold, so that the pool is never full: what waits for a place waits at a cap. It takes many such groups: of two none
/// lost anything.
pub(super) fn tag_cap(with: bool, cpus: Pair) -> String {
    let disk = Disk { pool: if with { 256 } else { DISK.pool }, ..DISK };
    let light = Readers { name: "light", weights: &[100; 12], depth: 32, options: "" };
    let heavy = Readers { name: "heavy", weights: &[300; 4], depth: 16, options: "" };
    study(&disk, &[light, heavy], cpus)
}

/// BFQ takes a queue for the waker of a process that comes back after pauses longer than `slice_idle`, which is 8 ms
/// (docs/findings/bfq-waker.md), mostly the heaviest, and a light one gains most by that. Such pauses come by themselves
/// where the hypervisor takes the CPUs away for as long: without the cause it is 100 ms.
pub(super) fn waker(with: bool, cpus: Pair) -> String {
    let (queue, options) = match with {
        true => ("", ", thinktime = 20000, thinktime_iotime = \"200ms\""),
        false => (", \"iosched/slice_idle\" = 100", ""),
    };
    let heavier = Readers { weights: &[200, 400, 800], ..READERS };
    let other = Readers { name: "other", weights: &[100], options, ..READERS };
    study(&Disk { queue, ..DISK }, &[heavier, other], cpus)
}

/// Without idling BFQ gives the device all that it takes, which is more than the groups keep outstanding. Only large
/// requests stay there for long enough.
pub(super) fn device_queue(with: bool, cpus: Pair) -> String {
    let queue = if with { ", \"iosched/slice_idle\" = 0" } else { "" };
    study(&Disk { queue, block: 64, ..DISK }, &[READERS], cpus)
}
