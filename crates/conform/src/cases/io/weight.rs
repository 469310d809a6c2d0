//! Weights of BFQ, alone, beside more requests than its pool holds, after pauses, and under other schedulers; weights of
//! iocost; and the I/O class of a group's requests.

use rustix::process::Signal;

use super::*;

const BFQ: Topic =
    IO.documented_in("Documentation/block/bfq-iosched.rst, 4. BFQ group scheduling").needing(&[
        Need::Controller("io"),
        Need::Root,
        Need::Loop,
        Need::FileBy("blkio.bfq.weight", "io.bfq.weight"),
    ]);
const PRIORITY: Topic =
    IO.documented_in("Documentation/admin-guide/cgroup-v2.rst, IO Priority").needing(&[
        Need::Controller("io"),
        Need::Root,
        Need::Loop,
        Need::FileBy("blkio.prio.class", "io.prio.class"),
    ]);

pub(crate) const CASES: &[Case] = &[
    BFQ.case(
        "bfq-weights-divide-a-saturated-disk",
        "Backlogged groups with BFQ weights 1:2:4 get disk time 1:2:4.",
        |fixture| {
            let mut probes = bfq(fixture, FAIR, &WEIGHTS, BACKLOG)?;
            decide(fixture, &mut probes, &WEIGHTS, &[0.4])
        },
    ),
    BFQ.case(
        "bfq-weights-do-nothing-on-a-disk-with-room",
        "BFQ weights take nothing from groups that together leave the disk partly idle.",
        |fixture| {
            // 30 blocks per second each.
            let mut probes = bfq(fixture, FAIR, &[100, 800], "block=4096 pace=30")?;
            fixture.pause(0.3)?;
            let windows = fixture.windows(6, 0.5, || probes.iter_mut().map(count).collect())?;
            Ok(judge_room(&windows))
        },
    ),
    BFQ.case(
        "bfq-weights-hold-beyond-their-part-of-its-pool",
        "Groups that want more requests than their weights' part of BFQ's pool, which has room for \
         all, get disk time by weight.",
        |fixture| deep(fixture, "200"),
    ),
    BFQ.case(
        "bfq-weights-hold-within-their-part-of-its-pool",
        "The same groups with a pool of which each weight's part is more than the group wants get \
         disk time by weight.",
        |fixture| deep(fixture, "1024"),
    ),
    BFQ.case(
        "bfq-weights-hold-after-pauses",
        "Groups get disk time by weight again after one of their readers was held up several times.",
        |fixture| after_pauses(fixture, &LADDER),
    ),
    BFQ.case(
        "bfq-equal-weights-hold-after-pauses",
        "The same with equal weights: each group gets as much as the others.",
        // A bond between groups of equal weight changes nothing.
        |fixture| after_pauses(fixture, &EQUAL),
    ),
    BFQ.case(
        "bfq-weights-do-nothing-under-none",
        "Without a scheduler, BFQ weights 1:8 do not divide the disk.",
        |fixture| ignores(fixture, "none"),
    ),
    BFQ.case(
        "bfq-weights-do-nothing-under-mq-deadline",
        "Under mq-deadline, BFQ weights 1:8 do not divide the disk.",
        |fixture| ignores(fixture, "mq-deadline"),
    ),
    BFQ.case(
        "bfq-weights-do-nothing-under-kyber",
        "Under kyber, BFQ weights 1:8 do not divide the disk.",
        |fixture| ignores(fixture, "kyber"),
    ),
    COST.case(
        "iocost-weights-divide-a-saturated-disk",
        "Backlogged groups with io.weight 1:2:4 get the capacity of the cost model 1:2:4.",
        |fixture| {
            // 320 blocks per second, regardless of the disk's real speed: a block of 16 pages takes
            // 0.6 ms by bytes and 2.5 ms by itself. On a slow machine the model is slower, too, so
            // that it is what limits and not the CPU.
            let disk = paced(fixture, "none", &[])?;
            let slower = |rate: f64| (rate / fixture.patience).round();
            let (bytes, requests) = (slower(104_857_600.0), slower(400.0));
            let model = format!(
                "rbps={bytes} rseqiops={requests} rrandiops={requests} wbps={bytes} \
                 wseqiops={requests} wrandiops={requests}"
            );
            cost::configure(fixture, &disk, true, &model)?;
            let mut probes = readers(fixture, &disk, "io.weight", &WEIGHTS, MODELLED)?;
            decide(fixture, &mut probes, &WEIGHTS, &[0.8])
        },
    ),
];

pub(crate) const CLASS: &[Case] = &[PRIORITY.case(
    "idle-class-yields",
    "On a saturated disk, a group of the class idle yields to one of the class best-effort.",
    |fixture| {
        let disk = paced(fixture, "bfq", &[("iosched/low_latency", "0")])?;
        let file = fixture.by_version("blkio.prio.class", "io.prio.class");
        let mut probes = Vec::new();
        for class in ["idle", "restrict-to-be"] {
            fixture.make(class)?;
            fixture.write(class, file, class)?;
            probes.push(reader(fixture, class, &disk, "block=4096 depth=8")?);
        }
        start_reading(&mut probes)?;
        watch(fixture, &mut probes, &[0.5], |windows, away| {
            judge_class(Interval::of_mean(&first_shares(windows)), away[1])
        })
    },
)];

const WEIGHTS: [u64; 3] = [100, 200, 400];
const LADDER: [u64; 4] = [100, 200, 400, 800];
const EQUAL: [u64; 4] = [100; 4];
/// Each light group has 11.1 % to expect, the heavy one 44.4 %: what it gets beyond that is seen soonest.
const STEEP: [u64; 6] = [200, 200, 200, 200, 200, 800];

/// Large blocks, so that the disk and not the CPU is the bottleneck, and more of them in flight
/// than BFQ serves in one time slice.
const BACKLOG: &str = "block=524288 depth=8";
/// 192 requests in all, for which both pools have room: of one of 200 the limit of BFQ leaves the light groups 22 each
/// (`bfq_limit_depth` of block/bfq-iosched.c, since Linux 5.17), and of one of 1024 more than they want.
const DEEP: &str = "block=16384 depth=32";
/// Small requests, so that a queue is often empty within its turn.
const SMALL: &str = "block=4096 depth=8";
/// Small enough to be one request, and few at once, since blocks are counted when iocost lets their thread go on.
const MODELLED: &str = "block=65536 depth=2";

/// Without low_latency, which raises new queues above their weights (bfq-iosched.rst, 3), and with
/// slices of 512 sectors, so that the lightest group gets many per window.
const FAIR: &[(&str, &str)] = &[("iosched/low_latency", "0"), ("iosched/max_budget", "512")];

/// A disk under BFQ with these attributes, and readers of these weights.
fn bfq(
    fixture: &mut Fixture,
    queue: &[(&str, &str)],
    weights: &[u64],
    words: &str,
) -> Result<Vec<Running>, Stop> {
    let disk = paced(fixture, "bfq", queue)?;
    Ok(readers(fixture, &disk, weight_file(fixture), weights, words)?)
}

fn weight_file(fixture: &Fixture) -> &'static str {
    fixture.by_version("blkio.bfq.weight", "io.bfq.weight")
}

/// Six groups that keep 32 requests outstanding each, with this number of requests in the pool.
fn deep(fixture: &mut Fixture, requests: &'static str) -> Result<Outcome, Stop> {
    let queue = [&[("nr_requests", requests)], FAIR].concat();
    let mut probes = bfq(fixture, &queue, &STEEP, DEEP)?;
    let pool = format!("32 requests outstanding in each group, {requests} in the pool");
    Ok(decide(fixture, &mut probes, &STEEP, &[0.5])?.with(pool))
}

/// A reader that was held up a few times may be taken for another's waker, whose requests are then served in that one's
/// turns (docs/findings/bfq-waker). The first is stopped 20 times, for 60 ms of every 200: longer than `slice_idle`,
/// for which BFQ would wait for it.
fn after_pauses(fixture: &mut Fixture, weights: &[u64]) -> Result<Outcome, Stop> {
    let mut probes = bfq(fixture, FAIR, weights, SMALL)?;
    for _ in 0..20 {
        // Not longer on a slow machine, since BFQ's own times are not either.
        fixture.pause(0.14 / fixture.patience)?;
        probes[0].signal(Signal::STOP)?;
        fixture.pause(0.06 / fixture.patience)?;
        probes[0].signal(Signal::CONT)?;
    }
    let outcome = decide(fixture, &mut probes, weights, &[0.5])?;
    Ok(outcome.with("before that the first reader was stopped 20 times"))
}

/// Two groups whose BFQ weights are 1:8, under a scheduler without weights.
fn ignores(fixture: &mut Fixture, scheduler: &'static str) -> Result<Outcome, Stop> {
    let disk = paced(fixture, scheduler, &[])?;
    let mut probes = readers(fixture, &disk, weight_file(fixture), &[100, 800], BACKLOG)?;
    fixture.pause(0.5)?;
    let counts = || probes.iter_mut().map(count).collect();
    fixture.settle(6, &[0.4], counts, |windows| judge_ignored(windows, scheduler))
}

fn judge_room(windows: &[Window]) -> Outcome {
    let rate = Interval::of_windows(windows, |window| window.grew[0] / window.seconds);
    let ratios: Vec<f64> =
        windows.iter().filter(|w| w.grew[1] > 0.0).map(|w| w.grew[0] / w.grew[1]).collect();
    let ratio = Interval::of_mean(&ratios);
    let evidence = format!(
        "weights 1:8, both want 30 blocks a second: the light one got {rate:.1}, {ratio} times \
         what the heavy one got"
    );
    let verdict = ratio.verdict_within(0.75, 1.33);
    // If neither gets its rate, the disk is saturated.
    let is_busy = verdict != Verdict::Kept && rate.mean < 20.0 && ratio.mean > 0.3;
    let broken = "weights took from a disk that was partly idle";
    Outcome::decided(verdict, evidence, broken, "their rates vary too much")
        .void_if(is_busy, "other work kept the disk busy")
}

/// Equal readers need not get equal parts without weights; only parts as by weight are broken.
fn judge_ignored(windows: &[Window], scheduler: &str) -> Outcome {
    let shares = first_shares(windows);
    if shares.is_empty() || shares.len() < windows.len() {
        return Outcome::void("nothing was read in some windows");
    }
    let share = Interval::of_mean(&shares);
    let evidence = format!(
        "BFQ weights 1:8 under {scheduler}: the light group got {share} of what both read (by \
         weight 0.11)"
    );
    let verdict = match share.verdict_within(0.3, 0.7) {
        Verdict::Kept => Verdict::Kept,
        _ if share.high < 0.2 => Verdict::Broken,
        _ => Verdict::Undecided,
    };
    let broken = "a scheduler without weights divided by them";
    Outcome::decided(verdict, evidence, broken, "the two readers are not equal here")
}

/// Without classes each of the two would get one half. While the other reader is away, the disk is the idle one's.
fn judge_class(share: Interval, away: f64) -> Outcome {
    let evidence = format!("the group of the class idle got {share} of what both read");
    let why = format!("the other reader ran or waited for a CPU {:.0} % of the time", away * 100.0);
    // A share cannot be negative, but the interval of a mean near zero can.
    let verdict = share.verdict_within(f64::NEG_INFINITY, 0.25);
    let undecided = "the shares vary too much between windows";
    Outcome::decided(verdict, evidence, "the class idle does not yield", undecided)
        .void_if(away > 0.1 && share.high > 0.25, &why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::of_counts;

    #[test]
    fn weights_that_act_on_a_partly_idle_disk_are_broken() {
        assert_eq!(judge_room(&of_counts(&[15.0, 15.0])).verdict, Verdict::Kept);
        assert_eq!(judge_room(&of_counts(&[2.0, 15.0])).verdict, Verdict::Broken);
        assert_eq!(judge_room(&of_counts(&[3.0, 5.0])).verdict, Verdict::Void);
    }

    #[test]
    fn weights_of_another_scheduler_that_act_are_broken() {
        assert_eq!(judge_ignored(&of_counts(&[100.0, 110.0]), "none").verdict, Verdict::Kept);
        assert_eq!(judge_ignored(&of_counts(&[100.0, 800.0]), "none").verdict, Verdict::Broken);
        assert_eq!(judge_ignored(&of_counts(&[100.0, 300.0]), "none").verdict, Verdict::Undecided);
        assert_eq!(judge_ignored(&of_counts(&[0.0, 0.0]), "none").verdict, Verdict::Void);
    }

    #[test]
    fn a_pool_that_caps_groups_is_broken() {
        let verdict = |grew: &[f64]| judge(&of_counts(grew), &STEEP, &[0.0; 6]).verdict;
        assert_eq!(verdict(&[200.0, 200.0, 200.0, 200.0, 200.0, 800.0]), Verdict::Kept);
        // Per mille, as measured on Linux 6.12.117 in a guest.
        assert_eq!(verdict(&[48.0, 94.0, 91.0, 97.0, 38.0, 632.0]), Verdict::Broken);
    }

    fn verdict(grew: [f64; 4], away: f64) -> Verdict {
        judge(&of_counts(&grew), &LADDER, &[away; 4]).verdict
    }

    #[test]
    fn a_bond_that_replaces_weights_is_broken() {
        assert_eq!(verdict([67.0, 133.0, 267.0, 533.0], 0.0), Verdict::Kept);
        // As measured on Linux 6.18.44 with a bond of the first and the last.
        let bonded = [364.0, 91.0, 182.0, 363.0];
        assert_eq!(verdict(bonded, 0.0), Verdict::Broken);
        // Readers that ran or waited for a CPU for a seventh of the time do not explain it, for half of it they do.
        assert_eq!(verdict(bonded, 0.14), Verdict::Broken);
        assert_eq!(verdict(bonded, 0.5), Verdict::Void);
        let equal = |grew: [f64; 4]| judge(&of_counts(&grew), &EQUAL, &[0.0; 4]).verdict;
        assert_eq!(equal([250.0; 4]), Verdict::Kept);
        assert_eq!(equal([364.0, 182.0, 182.0, 272.0]), Verdict::Broken);
    }

    #[test]
    fn equal_halves_mean_that_classes_are_ignored() {
        let of = |shares: &[f64], away| judge_class(Interval::of_mean(shares), away).verdict;
        assert_eq!(of(&[0.02, 0.03, 0.02], 0.3), Verdict::Kept);
        assert_eq!(of(&[0.50, 0.51, 0.49], 0.01), Verdict::Broken);
        assert_eq!(of(&[0.50, 0.51, 0.49], 0.3), Verdict::Void);
        assert_eq!(of(&[0.1, 0.5, 0.2], 0.01), Verdict::Undecided);
    }
}
