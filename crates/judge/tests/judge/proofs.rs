//! Causes that the kernel's own events prove or exclude, from the documents of a run.

use std::sync::Arc;

use assay_blame::{
    Answer, Bfq, BfqGroup, Bond, Cost, Counted, Culprit, DISK_SCHEMA, DiskAnswer, DiskEvents,
    DiskGroup, EVIDENCE_SCHEMA, Evidence, Injected, Names, Part, PlaceWait, Stage,
    Verdict as Valid, Waits,
};
use assay_host::facts::Available;
use assay_judge::verdict::{Cause, PromiseJudgement, ProofState, Verdict};
use assay_record::run_folder::{Column, EvidenceRecord, RelationRecord, Table, WarmUpRecord};

use crate::synthetic::{RELEASED_NS, Run, Scenario, table};

const LADDER: [u32; 4] = [100, 200, 400, 800];

/// Shares of a state in which the second group is the partner of the fourth.
const BONDED: [f64; 4] = [0.048, 0.381, 0.19, 0.381];

/// Seconds of a scenario.
const SECONDS: f64 = 20.0;

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn lengths() -> Waits {
    Waits { count: 0, p50_below_ns: 0, p99_below_ns: 0, histogram: Vec::new() }
}

/// A group that waited for a CPU while another ran.
fn answer(name: &str, waited_s: f64) -> Answer {
    let nothing = Counted { cpus: Vec::new() };
    let part = Part {
        culprit: Culprit::Group,
        group: Some("/hog".to_owned()),
        owner: None,
        ns: ns(waited_s),
        percent: 100.0,
    };
    let waited_ns = ns(waited_s);
    let empty = Answer::new(name, SECONDS, &nothing, &Names::default());
    Answer { waited_ns, parts: vec![part], ..empty }
}

/// A group with eight requests, most of them in the scheduler.
fn disk_group(name: &str, share: f64) -> DiskGroup {
    let stage = |requests: f64| Stage { ns: ns(requests * SECONDS), lengths: lengths() };
    DiskGroup {
        group: name.to_owned(),
        watched: true,
        requests: (share * 1e6) as u64,
        bytes: (share * 4e9) as u64,
        merged: 0,
        requeued: 0,
        place: PlaceWait {
            ns: 0,
            pool_full_ns: 0,
            own_cap_ns: 0,
            other_ns: 0,
            held_mean: None,
            lengths: lengths(),
        },
        plugged: stage(0.0),
        scheduler: stage(6.0),
        device: stage(2.0),
        served: Vec::new(),
        mean_allocated: 8.0,
        mean_queued: 6.0,
        mean_in_device: 2.0,
    }
}

fn turns(name: &str, percent: f64) -> BfqGroup {
    BfqGroup {
        group: name.to_owned(),
        in_service_percent: percent,
        idling_percent: 0.0,
        timer_percent: 0.0,
        weight: None,
        inject_limit_mean: 0.0,
        inject_limit_max: 0,
        in_driver_mean: 0.0,
        budget_mean: 0.0,
        lead_sectors: None,
        drained_inserts: 0,
        long_think_inserts: 0,
        inserts: 0,
        think_time_max_ns: 0,
        issued: 0,
        issued_in_own_turn: 0,
    }
}

/// What BFQ did in a run with these shares: turns, and with a bond the second group in those of the fourth.
fn disk(shares: &[f64], bonded: bool) -> DiskAnswer {
    let names: Vec<String> = (1..=shares.len()).map(|number| format!("task{number}")).collect();
    let in_service = |number: usize| match (bonded, number) {
        (true, 1) => 0.0,
        (true, 3) => shares[1] + shares[3],
        _ => shares[number],
    };
    let each = || names.iter().enumerate();
    let mut bfq = Bfq {
        samples: 20_000,
        groups: each().map(|(at, name)| turns(name, 100.0 * in_service(at))).collect(),
        ..Bfq::default()
    };
    if bonded {
        let samples = (in_service(3) * 20_000.0) as u64;
        let (holder, partner) = ("task4".to_owned(), "task2".to_owned());
        bfq.bonds = vec![Bond {
            group: holder.clone(),
            partner: partner.clone(),
            waker_samples: samples,
            woken_samples: 0,
            set: 2,
        }];
        bfq.injected = vec![Injected {
            by_limit: None,
            in_service: holder,
            group: partner,
            as_waker: (shares[1] * 1e6) as u64,
            as_woken: 0,
            other: 0,
        }];
    }
    DiskAnswer {
        schema: DISK_SCHEMA,
        disk: "loop0".to_owned(),
        scheduler: "bfq".to_owned(),
        nr_requests: 256,
        seconds: SECONDS,
        verdict: Valid::Valid,
        reason: None,
        start_to_complete_ns: 0,
        diskstats_ns: 0,
        difference_percent: None,
        pool_full_ns: 0,
        device_idle_ns: 0,
        groups: each().map(|(at, name)| disk_group(name, shares[at])).collect(),
        dirtied: None,
        bfq: Available::Value(bfq),
        events: DiskEvents {
            issued: 0,
            unknown_completions: 0,
            unseen_completions: 0,
            unknown_places: 0,
            dropped: 0,
            contended: 0,
            missed: None,
        },
        cost: Cost { ns_per_event: None, percent_of_cpus: None },
    }
}

fn evidence(waited_s: f64, disk: DiskAnswer) -> Evidence {
    let answers = (1..=4).map(|number| answer(&format!("task{number}"), waited_s)).collect();
    Evidence {
        schema: EVIDENCE_SCHEMA,
        seconds: SECONDS,
        cpu: Available::Value(answers),
        disks: Available::Value(vec![disk]),
    }
}

fn with(run: &Run, evidence: &Evidence) -> Run {
    let mut run = run.clone();
    for repeat in &mut run.trial().repeats {
        let document = Some(Arc::new(evidence.clone()));
        repeat.evidence = Some(EvidenceRecord { cpu_s: None, document });
    }
    run
}

fn broken() -> Run {
    Scenario::new(&LADDER).shares(&BONDED).run()
}

fn promise(run: &Run) -> PromiseJudgement {
    run.judge().trials[0].promises[0].clone()
}

fn cause<'c>(promise: &'c PromiseJudgement, code: &str) -> Option<&'c Cause> {
    promise.causes.iter().find(|cause| cause.code == code)
}

fn state(promise: &PromiseJudgement, code: &str) -> Option<ProofState> {
    promise.proofs.iter().find(|proof| proof.code == code).map(|proof| proof.state)
}

#[test]
fn a_proven_cause_is_first_and_no_suspicion() {
    let judged = promise(&with(&broken(), &evidence(0.01, disk(&BONDED, true))));
    assert_eq!(judged.verdict, Verdict::Broken);
    let first = &judged.causes[0];
    assert_eq!((first.code.as_str(), first.strength), ("C-WAKER", None), "{:#?}", judged.causes);
    assert!(first.summary.starts_with("proven: BFQ took queues"), "{first:?}");
    let text = "the kernel's events: proven in 8 of 8 repeats: by 20000 samples `task2` got 38.1 %";
    assert!(first.evidence[0].starts_with(text), "{first:?}");
    assert_eq!(state(&judged, "C-WAKER"), Some(ProofState::Proven));
    assert_eq!(state(&judged, "C-CPU"), Some(ProofState::Excluded));
    assert!(judged.proofs.iter().all(|proof| proof.of == 8), "{:#?}", judged.proofs);
}

#[test]
fn an_excluded_cause_is_no_suspicion_any_more() {
    let suspected = promise(&broken());
    assert!(cause(&suspected, "C-WAKER").is_some(), "{:#?}", suspected.causes);
    let judged = promise(&with(&broken(), &evidence(0.01, disk(&BONDED, false))));
    assert_eq!(cause(&judged, "C-WAKER"), None, "{:#?}", judged.causes);
    assert_eq!(state(&judged, "C-WAKER"), Some(ProofState::Excluded));
    let unknown = cause(&judged, "C-UNKNOWN").expect("nothing else fits");
    let ruled_out =
        |line: &String| line.starts_with("ruled out C-WAKER: the kernel's events: excluded");
    assert!(unknown.evidence.iter().any(ruled_out), "{unknown:#?}");
}

#[test]
fn without_figures_the_suspicion_remains() {
    let suspected = promise(&broken());
    let same = |name: &str, evidence: &Evidence| {
        let judged = promise(&with(&broken(), evidence));
        assert_eq!(judged, suspected, "{name}");
    };
    let mut void = evidence(0.01, disk(&BONDED, true));
    let Available::Value(disks) = &mut void.disks else { panic!() };
    disks[0].verdict = Valid::Void;
    void.cpu = Available::NotAvailable("refused".to_owned());
    same("void", &void);
    let short = Evidence { seconds: 5.0, ..evidence(0.01, disk(&BONDED, true)) };
    same("short", &short);
    let mut elsewhere = disk(&BONDED, true);
    elsewhere.disk = "vda".to_owned();
    let elsewhere = Evidence { cpu: void.cpu, ..evidence(0.01, elsewhere) };
    same("another disk", &elsewhere);
    assert!(suspected.proofs.is_empty());
    let text = serde_json::to_string(&suspected).unwrap();
    assert!(!text.contains("proofs"), "a run without evidence has the verdict that it had");
}

#[test]
fn what_a_check_proved_has_the_figures_of_the_events() {
    let busy = Scenario { idle: 0.01, ..Scenario::new(&LADDER) }.run();
    let evidence_of = |waited_s: f64| {
        let shares: Vec<f64> = LADDER.iter().map(|weight| f64::from(*weight) / 1500.0).collect();
        promise(&with(&busy, &evidence(waited_s, disk(&shares, false))))
    };
    let judged = evidence_of(12.4);
    assert_eq!((judged.verdict, judged.causes[0].code.as_str()), (Verdict::Void, "C-CPU"));
    assert_eq!(state(&judged, "C-CPU"), Some(ProofState::Proven), "{:#?}", judged.proofs);
    let figures = judged.causes[0].evidence.last().unwrap();
    assert!(figures.contains("waited 12.40 s for a CPU"), "{figures}");
    assert!(figures.contains("100 % of it while /hog ran"), "{figures}");
    let idle = evidence_of(0.01);
    assert_eq!(idle.causes[0].code, "C-CPU", "the check still says why it is void");
    assert_eq!(state(&idle, "C-CPU"), None, "no group waits while the kernel keeps a CPU busy");
}

#[test]
fn events_of_a_long_warm_up_say_nothing_of_the_shares_after_it() {
    let after = |seconds: f64| {
        let warm_up = WarmUpRecord::Seconds(seconds);
        let run = Scenario { warm_up, ..Scenario::new(&LADDER).shares(&BONDED) }.run();
        let judged = promise(&with(&run, &evidence(0.01, disk(&BONDED, true))));
        assert_eq!(judged.verdict, Verdict::Broken);
        state(&judged, "C-WAKER")
    };
    assert_eq!(after(4.0), Some(ProofState::Proven));
    assert_eq!(after(10.0), None);
}

/// Of each mebibyte the disk makes eight requests, so that 16 of these are 2 of 8.
#[test]
fn a_group_of_large_requests_asks_for_as_many_as_the_disk_makes_of_them() {
    const SHARES: [f64; 4] = [0.1, 0.2, 0.4, 0.3];
    let of_size = |block_size: Option<u64>| {
        let mut run = Scenario::new(&LADDER).shares(&SHARES).run();
        for io in run.trial().groups.iter_mut().map(|group| &mut group.workloads[0].io) {
            io.block_size = block_size;
        }
        for repeat in &mut run.trial().repeats {
            let heaviest = repeat.workloads.last_mut().unwrap();
            heaviest.latency.values_mut().for_each(|latency| latency.mean_ns /= 4.0);
        }
        let mut disk = disk(&SHARES, false);
        for (number, group) in disk.groups.iter_mut().enumerate() {
            group.bytes = group.requests * (128 << 10);
            group.mean_queued = if number == 3 { 14.0 } else { 62.0 };
        }
        let judged = promise(&with(&run, &evidence(0.01, disk)));
        assert!(cause(&judged, "C-DEMAND").is_some(), "{:#?}", judged.causes);
        state(&judged, "C-DEMAND")
    };
    assert_eq!(of_size(Some(1 << 20)), Some(ProofState::Proven));
    assert_eq!(of_size(None), None, "how many of them are one is not known");
}

#[test]
fn several_hardware_queues_do_not_exclude_a_full_pool() {
    let pool = |nr_requests: u64| {
        let mut disk = disk(&BONDED, false);
        disk.nr_requests = nr_requests;
        disk.groups.iter_mut().for_each(|group| group.place.own_cap_ns = ns(0.9 * SECONDS));
        state(&promise(&with(&broken(), &evidence(0.01, disk))), "C-REQUEST-POOL")
    };
    assert_eq!(pool(256), Some(ProofState::Excluded));
    assert_eq!(pool(512), Some(ProofState::Contributes));
}

#[test]
fn requests_beyond_the_end_of_a_turn_are_no_injection_where_bfq_was_to_inject_none() {
    let served = [3.0, 2.0, 4.0, 8.0].map(|part| part / 17.0);
    let with_limit = |limit: u64| {
        let mut disk = disk(&served, false);
        let requests = disk.groups[0].requests;
        let Available::Value(bfq) = &mut disk.bfq else { panic!() };
        bfq.injected = vec![Injected {
            by_limit: None,
            in_service: "task4".to_owned(),
            group: "task1".to_owned(),
            as_waker: 0,
            as_woken: 0,
            other: requests * 7 / 10,
        }];
        bfq.groups[0].in_service_percent *= 0.3;
        bfq.groups[3].inject_limit_max = limit;
        let run = Scenario::new(&LADDER).shares(&served).run();
        state(&promise(&with(&run, &evidence(0.01, disk))), "C-INJECTION")
    };
    assert_eq!(with_limit(1), Some(ProofState::Proven));
    assert_eq!(with_limit(0), Some(ProofState::Excluded));
}

#[test]
fn most_repeats_must_agree() {
    let mut run = Scenario { repeats: 8, ..Scenario::new(&LADDER).shares(&BONDED) }.run();
    for (number, repeat) in run.trial().repeats.iter_mut().enumerate() {
        let disk = disk(&BONDED, number % 3 != 1);
        let document = Some(Arc::new(evidence(0.01, disk)));
        repeat.evidence = Some(EvidenceRecord { cpu_s: None, document });
    }
    let judged = promise(&run);
    assert_eq!(state(&judged, "C-WAKER"), Some(ProofState::Contributes));
    let waker = cause(&judged, "C-WAKER").unwrap();
    assert!(waker.summary.starts_with("suspected: ") && waker.strength.is_some(), "{waker:?}");
    let last = waker.evidence.last().unwrap();
    assert!(last.starts_with("the kernel's events: contributes in 5 of 8 repeats: "), "{last}");
}

/// Evidence of a real repeat (Linux 6.18, a busy host), without its histograms and lists.
fn recorded(text: &str, weights: &[u32], outstanding: u32) -> PromiseJudgement {
    let evidence: Evidence = serde_json::from_str(text).unwrap();
    let Available::Value(disks) = &evidence.disks else { panic!("{:?}", evidence.disks) };
    let bytes: Vec<f64> = disks[0].groups.iter().map(|group| group.bytes as f64).collect();
    let all: f64 = bytes.iter().sum();
    let shares: Vec<f64> = bytes.iter().map(|bytes| bytes / all).collect();
    let scenario = Scenario {
        seconds: evidence.seconds,
        outstanding: Some(outstanding),
        ..Scenario::new(weights).shares(&shares)
    };
    promise(&with(&scenario.run(), &evidence))
}

#[test]
fn a_recorded_bond_is_proven() {
    let judged = recorded(include_str!("../evidence/waker.json"), &LADDER, 8);
    let proven = judged.proofs.iter().filter(|proof| proof.state == ProofState::Proven);
    let codes: Vec<&str> = proven.map(|proof| proof.code.as_str()).collect();
    assert_eq!(codes, ["C-WAKER"], "{:#?}", judged.proofs);
}

#[test]
fn a_recorded_cap_is_proven() {
    let weights = LADDER.repeat(2);
    let judged = recorded(include_str!("../evidence/tag-cap.json"), &weights, 32);
    let proven = judged.proofs.iter().filter(|proof| proof.state == ProofState::Proven);
    let codes: Vec<&str> = proven.map(|proof| proof.code.as_str()).collect();
    assert_eq!(codes, ["C-TAG-CAP"], "{:#?}", judged.proofs);
}

/// A run in which BFQ holds every group at a few requests, so that latencies show no more and the queue is short.
fn at_their_caps(shares: [f64; 4]) -> Run {
    let scenario = Scenario { outstanding: Some(64), mean_queue: 20.0, ..Scenario::new(&LADDER) };
    let mut run = scenario.shares(&shares).run();
    for repeat in &mut run.trial().repeats {
        for latency in repeat.workloads.iter_mut().flat_map(|result| result.latency.values_mut()) {
            latency.mean_ns /= 12.0;
        }
    }
    run
}

#[test]
fn a_queue_is_not_short_of_demand_while_every_group_waits_for_a_place() {
    let judged = promise(&at_their_caps([0.2, 0.2, 0.3, 0.3]));
    assert_eq!(judged.verdict, Verdict::Void);
    assert_eq!(judged.causes[0].code, "C-NOT-BACKLOGGED");
    let judged = |threads: u32, of_cap: f64, of_other: f64| {
        let mut disk = disk(&[0.2, 0.2, 0.3, 0.3], false);
        for place in disk.groups.iter_mut().map(|group| &mut group.place) {
            (place.own_cap_ns, place.other_ns) = (ns(of_cap * SECONDS), ns(of_other * SECONDS));
            place.ns = place.own_cap_ns + place.other_ns;
        }
        let mut run = at_their_caps([0.2, 0.2, 0.3, 0.3]);
        for group in &mut run.trial().groups {
            group.workloads[0].threads = Some(threads);
        }
        promise(&with(&run, &evidence(0.01, disk)))
    };
    let always = judged(1, 0.97, 0.0);
    assert_eq!(always.verdict, Verdict::Broken, "{always:#?}");
    let half = judged(1, 0.5, 0.0);
    assert_eq!(half.verdict, Verdict::Void, "its programs may have had nothing to submit");
    let few_of_many = judged(32, 0.97, 0.0);
    assert_eq!(few_of_many.verdict, Verdict::Void, "each thread waited for 3 % of the time");
    let other = judged(1, 0.0, 0.97);
    assert_eq!(other.verdict, Verdict::Void, "nothing shows that the scheduler held them back");
}

/// These rows of a table.
fn kept(table: &Table, rows: &[usize]) -> Table {
    let column = |of: &Column| Column {
        name: of.name.clone(),
        values: rows.iter().map(|row| of.values[*row]).collect(),
    };
    Table {
        time_ns: rows.iter().map(|row| table.time_ns[*row]).collect(),
        subject: rows.iter().map(|row| table.subject[*row]).collect(),
        columns: table.columns.iter().map(column).collect(),
        ..table.clone()
    }
}

/// A workload that does nothing but keep its requests outstanding waits for these, or for a place, while it needs no CPU.
#[test]
fn a_queue_is_not_short_of_demand_while_no_thread_of_a_closed_loop_needs_a_cpu() {
    let of = |shares, busy: [f64; 4], closed_loop: Option<bool>, state: u8, requests: f64| {
        let mut run = at_their_caps(shares);
        for group in &mut run.trial().groups {
            group.workloads[0].io.closed_loop = closed_loop;
        }
        run.column("cpu", "usage_ns").iter_mut().flatten().for_each(|used| *used = 0);
        // One thread of each group runs and waits, and the other has slept all the time.
        let threads: Vec<String> =
            (0..8).map(|at| format!("task{}:fio:9:{at}", at / 2 + 1)).collect();
        let names: Vec<&str> = threads.iter().map(String::as_str).collect();
        let columns = ["state", "run_ns", "wait_ns"];
        let table = table("threads", &names, &columns, 200, |thread, passed| {
            let each = (passed as f64 * busy[thread / 2] / 2.0) as u64;
            let each = if thread % 2 == 0 { each } else { 5 };
            // The shell that started one of them has ended before.
            let state = if thread == 7 { b'X' } else { state };
            vec![state.into(), each, each]
        });
        let ended = |row: &usize| table.subject[*row] == 7 && table.time_ns[*row] > RELEASED_NS;
        let rows: Vec<usize> = (0..table.time_ns.len()).filter(|row| !ended(row)).collect();
        let table = kept(&table, &rows);
        run.samples[0].iter_mut().for_each(|repeat| repeat.push(table.clone()));
        let mut disk = disk(&shares, false);
        disk.groups.iter_mut().for_each(|group| group.mean_queued = requests);
        disk.groups.iter_mut().for_each(|group| group.mean_in_device = 0.0);
        let evidence = Evidence {
            cpu: Available::NotAvailable("too many groups".to_owned()),
            ..evidence(0.01, disk)
        };
        promise(&with(&run, &evidence)).verdict
    };
    let judged = |busy, closed_loop, state, requests| {
        of([0.2, 0.2, 0.3, 0.3], busy, closed_loop, state, requests)
    };
    let rarely = [0.04; 4];
    assert_eq!(judged(rarely, Some(true), b'S', 1.0), Verdict::Broken);
    let lost = judged([0.04, 0.04, 0.04, 0.2], Some(true), b'S', 1.0);
    assert_eq!(lost, Verdict::Void, "the one that lost had no requests outstanding for long");
    let gained = judged([0.2, 0.2, 0.2, 0.04], Some(true), b'S', 1.0);
    assert_eq!(gained, Verdict::Broken, "those that gained lost nothing for lack of demand");
    assert_eq!(judged(rarely, None, b'S', 1.0), Verdict::Void, "it may pause by itself");
    let ended = judged(rarely, Some(true), b'X', 1.0);
    assert_eq!(ended, Verdict::Void, "threads that have ended wait for nothing");
    let elsewhere = judged(rarely, Some(true), b'D', 0.3);
    assert_eq!(elsewhere, Verdict::Void, "it waits for something else than this disk");
    // The lightest lacks 70 % of its promise, and the next one 2, 10 or 50 %.
    let of = |second, busy| of([0.02, second, 0.42 - second, 0.56], busy, Some(true), b'S', 1.0);
    let pauses = [0.04, 0.2, 0.04, 0.04];
    assert_eq!(of(0.131, pauses), Verdict::Broken, "what the pauses may explain is less by far");
    assert_eq!(of(0.12, pauses), Verdict::Void, "it is a third of what is missing");
    assert_eq!(of(0.066, pauses), Verdict::Void, "pauses may explain most of it");
    assert_eq!(of(0.131, [0.04, 0.6, 0.04, 0.04]), Verdict::Void, "it hardly asked");
    assert_eq!(of(0.131, [0.2, 0.04, 0.04, 0.04]), Verdict::Void, "the one that lost most paused");
}

/// All groups may get more than a promised amount at once, whether or not they compete.
#[test]
fn an_amount_that_all_groups_exceed_shows_no_demand() {
    let mut run = at_their_caps([0.2, 0.2, 0.3, 0.3]);
    run.trial().promises[0].is = RelationRecord::AtLeast(1.0);
    assert_eq!(promise(&run).verdict, Verdict::Void);
}

/// A group that lacks nothing, or little, of its promise says something only beside others that lack more of the disk.
#[test]
fn what_groups_with_pauses_lack_is_small_beside_what_the_others_lack() {
    // By latency times rate the first wants the disk all the time and the second for 60 % of it.
    let judged = |weights: &[u32], shares: &[f64], parts: &[f64]| {
        let scenario =
            Scenario { outstanding: Some(32), mean_queue: 20.0, ..Scenario::new(weights) };
        let mut run = scenario.shares(shares).run();
        for repeat in &mut run.trial().repeats {
            for (result, part) in repeat.workloads.iter_mut().zip(parts) {
                result.latency.values_mut().for_each(|latency| latency.mean_ns *= part);
            }
        }
        promise(&run).verdict
    };
    let all = [1.0; 3];
    assert_eq!(judged(&[10, 400, 90], &[0.012, 0.64, 0.348], &all), Verdict::Broken);
    // The one with pauses lacks 0.16 of the disk, and the small one without 0.008.
    let paused = judged(&[10, 400, 90], &[0.012, 0.64, 0.348], &[1.0, 0.6, 1.0]);
    assert_eq!(paused, Verdict::Void);
    // Here it lacks 0.005, and the other one 0.2.
    let little = judged(&[90, 400, 10], &[0.05, 0.795, 0.155], &[0.6, 1.0, 1.0]);
    assert_eq!(little, Verdict::Void, "the one with pauses lost most of its promise");
    let nobody = judged(&[100, 100, 100], &[0.32, 0.35, 0.33], &[1.0, 0.6, 1.0]);
    assert_eq!(nobody, Verdict::Void, "nobody lacks anything");
}
