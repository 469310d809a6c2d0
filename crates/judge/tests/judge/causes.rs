//! One test for each cause.

use assay_host::facts::Available;
use assay_judge::verdict::{Cause, Strength, Verdict};

use crate::synthetic::{Run, Scenario};

const LADDER: [u32; 4] = [100, 200, 400, 800];

fn collapsed() -> Scenario {
    Scenario::new(&LADDER).shares(&[0.25; 4])
}

fn causes(run: &Run) -> Vec<Cause> {
    run.promise().causes
}

fn codes(run: &Run) -> Vec<String> {
    causes(run).into_iter().map(|cause| cause.code).collect()
}

#[test]
fn an_exhausted_pool_is_suspected_with_its_fingerprint() {
    let scenario = Scenario { outstanding: Some(128), mean_queue: 250.0, ..collapsed() };
    let run = scenario.run();
    let found = causes(&run);
    assert_eq!(run.promise().verdict, Verdict::Broken);
    assert_eq!(found[0].code, "C-REQUEST-POOL");
    assert!(found[0].summary.starts_with("suspected: "));
    let evidence = found[0].evidence.join("\n");
    assert!(evidence.contains("keep 512 requests outstanding, the pool of loop0 holds 256"));
    assert!(evidence.contains("heaviest groups got 0.47 times and the lightest 3.7"), "{evidence}");
    assert!(evidence.contains("as this cause predicts"), "{evidence}");
    assert!(evidence.contains("17.1 requests for the lightest group"), "{evidence}");
}

fn low_latency(mut run: Run) -> Run {
    run.trial().disks[0].queue.clear();
    let queue = &mut run.repeat().queues[0];
    queue.at_start.insert("iosched/low_latency".to_owned(), "1\n".to_owned());
    run
}

/// One group is raised above all others, which keep their proportions.
#[test]
fn low_latency_is_suspected_where_it_is_on_and_a_group_was_raised() {
    let run = low_latency(injected());
    let found = causes(&run);
    assert_eq!(found[0].code, "C-LOW-LATENCY");
    assert!(found[0].summary.starts_with("suspected: "));
    assert_eq!(found[0].strength, Some(Strength::Fair));
}

#[test]
fn a_setting_that_does_not_explain_the_shares_is_not_a_cause() {
    let mut run = low_latency(collapsed().run());
    with(&mut run, "iosched/strict_guarantees", "1");
    with(&mut run, "rotational", "1");
    let found = causes(&run);
    assert_eq!(found[0].code, "C-UNKNOWN");
    let evidence = found[0].evidence.join("\n");
    assert!(evidence.contains("not ruled out C-LOW-LATENCY"), "{evidence}");
    assert!(evidence.contains("ruled out C-SEEKY"), "{evidence}");
}

#[test]
fn a_scheduler_that_does_not_idle_is_suspected() {
    let mut run = collapsed().run();
    let queue = &mut run.repeat().queues[0];
    queue.at_start.insert("iosched/slice_idle".to_owned(), "0".to_owned());
    assert_eq!(codes(&run)[0], "C-SLICE-IDLE");
}

#[test]
fn an_unknown_cause_lists_what_was_ruled_out_and_not_examined() {
    let mut run = collapsed().run();
    let queue = &mut run.repeat().queues[0].at_start;
    queue.remove("iosched/slice_idle");
    queue.insert("iosched/strict_guarantees".to_owned(), "1".to_owned());
    let found = causes(&run);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].code, "C-UNKNOWN");
    let evidence = found[0].evidence.join("\n");
    for said in [
        "ruled out C-CPU: the CPUs were idle 60.0 %",
        "ruled out C-KNOB-DRIFT",
        "ruled out C-REQUEST-POOL: the workloads keep 32 requests",
        "ruled out C-LOW-LATENCY: `iosched/low_latency` reads 0",
        "not examined C-SLICE-IDLE: `iosched/slice_idle` was not recorded",
    ] {
        assert!(evidence.contains(said), "{said}\n{evidence}");
    }
}

#[test]
fn a_failed_check_proves_its_cause() {
    let mut drifted = collapsed().run();
    drifted.repeat().knobs[0].at_end = Available::Value("1".to_owned());
    let mut other = collapsed().run();
    other.repeat().queues[0].scheduler_at_start = "none".to_owned();
    let mut buffered = collapsed().run();
    let io = &mut buffered.trial().groups[0].workloads[0].io;
    (io.direct, io.writes) = (false, true);
    let mut failed = collapsed().run();
    failed.repeat().workloads[0].failure = Some("killed".to_owned());
    let mut cached = collapsed().run();
    *cached.repeat().workloads[0].metrics.get_mut("read_bytes").unwrap() *= 3.0;
    for (run, code) in [
        (Scenario { idle: 0.01, ..collapsed() }.run(), "C-CPU"),
        (Scenario { mean_queue: 1.0, ..collapsed() }.run(), "C-NOT-BACKLOGGED"),
        (drifted, "C-KNOB-DRIFT"),
        (other, "C-SCHEDULER"),
        (buffered, "C-BUFFERED"),
        (failed, "C-WORKLOAD"),
        (cached, "C-PAGE-CACHE"),
    ] {
        let found = causes(&run);
        assert_eq!(run.promise().verdict, Verdict::Void);
        assert_eq!(codes(&run), [code]);
        assert!(!found[0].summary.contains("suspected") && !found[0].evidence.is_empty());
    }
}

/// One group far above its promise, the others in proportion among themselves.
fn injected() -> Run {
    let rest = 0.75 / 14.0;
    let mut run = Scenario::new(&LADDER).shares(&[0.25, 2.0 * rest, 4.0 * rest, 8.0 * rest]).run();
    let queue = &mut run.repeat().queues[0];
    queue.at_start.insert("iosched/strict_guarantees".to_owned(), "0".to_owned());
    run
}

#[test]
fn injection_is_suspected_when_one_group_gains_and_the_others_keep_their_proportions() {
    let found = causes(&injected());
    assert_eq!(found[0].code, "C-INJECTION");
    assert!(found[0].summary.starts_with("suspected: "));
    let evidence = found[0].evidence.join("\n");
    assert!(evidence.contains("`task1` got 3.7 times its promise"), "{evidence}");
    assert!(evidence.contains("strict_guarantees\" = 1"), "{evidence}");
}

#[test]
fn injection_is_ruled_out_by_strict_guarantees_and_by_a_general_collapse() {
    let mut strict = injected();
    let queue = &mut strict.repeat().queues[0];
    queue.at_start.insert("iosched/strict_guarantees".to_owned(), "1".to_owned());
    assert!(!codes(&strict).contains(&"C-INJECTION".to_owned()));

    let mut equal = collapsed().run();
    let queue = &mut equal.repeat().queues[0];
    queue.at_start.insert("iosched/strict_guarantees".to_owned(), "0".to_owned());
    assert!(!codes(&equal).contains(&"C-INJECTION".to_owned()));
}

fn with(run: &mut Run, attribute: &str, value: &str) {
    let queue = &mut run.repeat().queues[0];
    queue.at_start.insert(attribute.to_owned(), value.to_owned());
}

#[test]
fn rounded_caps_are_suspected_where_they_explain_the_shares() {
    let weights: Vec<u32> = LADDER.repeat(8);
    // P = 64: caps of 1, 1, 2 and 4 requests for 32 groups.
    let caps = [1.0, 1.0, 2.0, 4.0].repeat(8);
    let shares: Vec<f64> = caps.iter().map(|cap| cap / 64.0).collect();
    let mut run = Scenario::new(&weights).shares(&shares).run();
    with(&mut run, "nr_requests", "64");
    assert!(codes(&run).contains(&"C-TAG-CAP".to_owned()), "{:?}", codes(&run));
    with(&mut run, "nr_requests", "4096");
    assert!(!codes(&run).contains(&"C-TAG-CAP".to_owned()), "{:?}", codes(&run));
}

#[test]
fn a_deep_device_queue_is_suspected_unless_limited_to_one_request() {
    let mut run = collapsed().run();
    assert!(codes(&run).contains(&"C-DEVICE-QUEUE".to_owned()));
    with(&mut run, "iosched/strict_guarantees", "1");
    assert!(!codes(&run).contains(&"C-DEVICE-QUEUE".to_owned()));
}

/// The two light groups read sequentially, the two heavy ones at random.
#[test]
fn a_rotational_disk_is_suspected_where_random_readers_lost() {
    let mut run = Scenario::new(&LADDER).shares(&[0.2, 0.3, 0.2, 0.3]).run();
    with(&mut run, "rotational", "1");
    let seeky = |run: &Run| causes(run).into_iter().find(|cause| cause.code == "C-SEEKY");
    assert_eq!(seeky(&run), None, "all groups have the same I/O pattern");
    for group in [0, 1] {
        run.trial().groups[group].workloads[0].io.sequential = true;
    }
    assert_eq!(seeky(&run).unwrap().strength, Some(Strength::Weak));
    assert_eq!(codes(&run)[0], "C-DEVICE-QUEUE", "the better explanation comes first");
}

/// Shares of a recorded state in which the light groups were served together with two heavy ones
/// (weights 1:2:4:8, all with the same number of requests outstanding).
#[test]
fn bonds_that_explain_every_share_are_suspected_first() {
    let mut run = Scenario::new(&LADDER).shares(&[0.326, 0.173, 0.179, 0.322]).run();
    with(&mut run, "rotational", "1");
    let found = causes(&run);
    assert_eq!((found[0].code.as_str(), found[0].strength), ("C-WAKER", Some(Strength::Strong)));
    let evidence = found[0].evidence.join("\n");
    assert!(evidence.contains("bonds of `task1` with `task4`, `task2` with `task3`"), "{evidence}");
    let codes = codes(&run);
    assert!(!codes.contains(&"C-SHORT-RUN".to_owned()) && !codes.contains(&"C-SEEKY".to_owned()));
    run.manifest.host.kernel = "5.10.0".to_owned();
    assert_ne!(causes(&run)[0].code, "C-WAKER", "wakers are injected since 5.12");
}

/// A single group with the share that a bond with the heaviest would give it.
#[test]
fn one_bond_alone_is_a_weak_sign_unless_every_repeat_shows_it() {
    let waker = |run: &Run| {
        let found = causes(run);
        found
            .iter()
            .find(|cause| cause.code == "C-WAKER")
            .unwrap_or_else(|| panic!("{found:?}"))
            .clone()
    };
    let scenario = Scenario::new(&LADDER).shares(&[0.048, 0.381, 0.19, 0.381]);
    let one = Scenario { alone: true, ..scenario.clone() }.run();
    assert_eq!(waker(&one).strength, Some(Strength::Weak));
    let mut three = Scenario { repeats: 8, ..scenario }.run();
    assert_eq!(waker(&three).strength, Some(Strength::Strong));
    // In one of them the group has more than any bond gives; over all repeats it still fits.
    let other = Scenario::new(&LADDER).shares(&[0.046, 0.42, 0.181, 0.363]).run();
    three.samples[0][2] = other.samples[0][0].clone();
    three.trial().repeats[2].workloads = other.manifest.trials[0].repeats[0].workloads.clone();
    assert_eq!(waker(&three).strength, Some(Strength::Weak));
}

#[test]
fn weak_suspicions_leave_the_cause_unknown() {
    let mut wild = Scenario::new(&LADDER).shares(&[0.02, 0.28, 0.10, 0.60]).run();
    with(&mut wild, "iosched/strict_guarantees", "0");
    let found = causes(&wild);
    assert_eq!(found[0].code, "C-UNKNOWN", "{found:?}");
    assert!(found[1..].iter().all(|cause| cause.strength == Some(Strength::Weak)), "{found:?}");
}

#[test]
fn the_catalogue_has_exactly_the_codes_used() {
    let mut named = std::collections::BTreeSet::new();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = ["src", "../cause/src/causes"].map(|path| here.join(path)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !["cause_docs.rs", "proven.rs", "tests.rs"]
                .iter()
                .any(|name| path.ends_with(name))
            {
                let text = std::fs::read_to_string(&path).unwrap();
                for word in text.split('"').filter(|word| word.starts_with("C-")) {
                    named.insert(word.to_owned());
                }
            }
        }
    }
    let listed: std::collections::BTreeSet<String> =
        assay_cause::causes::catalogue().map(|entry| entry.code.to_owned()).collect();
    assert_eq!(named, listed);
}

#[test]
fn the_page_of_causes_is_the_catalogue() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/causes.md");
    let page = assay_cause::cause_docs::causes_page();
    if std::env::var_os("ASSAY_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "run `ASSAY_BLESS=1 cargo test -p assay-judge` to write {}",
        path.display()
    );
}
