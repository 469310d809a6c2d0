//! `assay blame` against truths by construction, on the real kernel: what a thread waited for is known from
//! how the groups beside it were made.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::time::Duration;

use assay_blame::collect::{BlameTarget, CommandOptions, blame};
use assay_blame::{Answer, Culprit, Verdict};
use assay_host::gather;
use assay_run::blamed_command::blame_command;
use assay_run::context::Context;
use assay_run::exec::{ResourceUsage, exec};
use assay_sys::kernel::Root;

use common::{HEAVY, lock, request, script};

/// What the class that is known may be away from the truth, in percentage points.
const MARGIN: f64 = 2.0;

/// How long a group is watched.
const LENGTH: Duration = Duration::from_secs(3);

/// Threads that compute for as long, on one CPU.
fn spin(threads: usize, cpu: &str) -> String {
    let one =
        format!("timeout {} taskset -c {cpu} sh -c 'while :; do :; done' &", LENGTH.as_secs());
    format!("{} wait", vec![one; threads].join(" "))
}

/// Where the waiting of `threads` threads on one CPU went, beside groups that compute on CPU 0; and what the
/// kernel says that the own group used.
fn watched(
    settings: &[&str],
    (threads, cpu): (usize, &str),
    hogs: &[(&str, &[&str])],
) -> (Answer, ResourceUsage) {
    let folder = tempfile::tempdir().unwrap();
    let context = Context::of_this_host(Vec::new());
    let facts = gather(&context.root).unwrap();
    std::thread::scope(|scope| {
        let running = tempfile::NamedTempFile::new().unwrap();
        for (name, settings) in hogs {
            let script = script(&["0"], running.path());
            let request = request(folder.path(), name, settings, &script);
            let facts = &facts;
            scope.spawn(move || exec(&request, facts, &mut |_| ()).unwrap());
        }
        std::thread::sleep(Duration::from_secs(1));
        let request = request(folder.path(), "own", settings, &spin(threads, cpu));
        let watched =
            blame_command(&context, &request, &CommandOptions::default(), &mut |_| ()).unwrap();
        assert!(watched.outcome.not_restored.is_empty());
        let answer = watched.answer;
        assert_eq!(answer.verdict, Verdict::Valid, "{}", assay_blame::text(&answer));
        (answer, watched.outcome.report.used)
    })
}

/// The part of the waiting that this many seconds are, in percent.
fn percent_of(answer: &Answer, seconds: f64) -> f64 {
    seconds * 1e11 / answer.waited_ns as f64
}

/// The time charged to a group of the test, in nanoseconds.
fn charged(answer: &Answer, name: &str) -> f64 {
    let path = format!("/assay-test-{name}-{}", std::process::id());
    let part = answer.parts.iter().find(|part| part.group.as_deref() == Some(&path));
    part.map_or(0.0, |part| part.ns as f64)
}

#[track_caller]
fn assert_percent(answer: &Answer, found: f64, truth: f64) {
    let text = assay_blame::text(answer);
    assert!((found - truth).abs() <= MARGIN, "{found} % instead of {truth} %:\n{text}");
}

#[test]
fn a_hog_of_known_duty_is_charged_with_its_duty() {
    let Some(_lock) = lock("blame: duty") else { return };
    // The hog runs 30 of every 100 ms, and first, since its weight is a hundred times that of the own group.
    let hog: &[&str] = &["cpu.max=30000 100000", HEAVY];
    let (answer, _) = watched(&["cpu.weight=100"], (1, "0"), &[("hog", hog)]);
    let of_window = charged(&answer, "hog") / 1e9 / LENGTH.as_secs_f64() * 100.0;
    assert_percent(&answer, of_window, 30.0);
    assert_percent(&answer, answer.percent(Culprit::OwnQuota), 0.0);
    assert_percent(&answer, answer.percent(Culprit::OwnThreads), 0.0);
}

/// The thread wants the CPU all the time, and waits for its quota whenever its group is throttled. Others that
/// run on this CPU do not matter: the kernel counts the throttled time in `cpu.stat`.
#[test]
fn a_quota_alone_is_charged_to_the_quota() {
    let Some(_lock) = lock("blame: quota") else { return };
    let (answer, used) = watched(&["cpu.max=30000 100000", HEAVY], (1, "0"), &[]);
    let throttled = percent_of(&answer, used.throttling.value().unwrap().time_s);
    assert!(throttled > 50.0, "{}", assay_blame::text(&answer));
    // It counts at the end of a period, of which the watch may have less.
    let period = percent_of(&answer, 0.07);
    assert!(
        (answer.percent(Culprit::OwnQuota) - throttled).abs() <= MARGIN + period,
        "{throttled} %"
    );
    assert_percent(&answer, answer.percent(Culprit::OwnThreads), 0.0);
}

/// Of three threads two wait for the third whenever it runs, whatever else runs on this CPU.
#[test]
fn own_threads_alone_are_charged_to_own_threads() {
    let Some(_lock) = lock("blame: own threads") else { return };
    let (answer, used) = watched(&[HEAVY], (3, "0"), &[]);
    let truth = percent_of(&answer, 2.0 * used.cpu_s.value().unwrap());
    assert!(truth > 50.0, "{}", assay_blame::text(&answer));
    assert_percent(&answer, answer.percent(Culprit::OwnThreads), truth);
    assert_percent(&answer, answer.percent(Culprit::OwnQuota), 0.0);
}

/// The threads may not use the other CPU: that it is idle is no reason for their waiting.
#[test]
fn threads_pinned_beside_an_idle_cpu_wait_for_each_other() {
    let Some(_lock) = lock("blame: pinned") else { return };
    let (answer, used) = watched(&[HEAVY], (2, "1"), &[]);
    let truth = percent_of(&answer, *used.cpu_s.value().unwrap());
    assert!(truth > 50.0, "{}", assay_blame::text(&answer));
    assert_percent(&answer, answer.percent(Culprit::OwnThreads), truth);
    assert_percent(&answer, answer.percent(Culprit::IdleCpu), 0.0);
}

#[test]
fn two_culprits_are_charged_as_they_shared_the_cpu() {
    let Some(_lock) = lock("blame: two culprits") else { return };
    let three: &[&str] = &["cpu.weight=7500"];
    let one: &[&str] = &["cpu.weight=2500"];
    let (answer, _) = watched(&["cpu.weight=100"], (1, "0"), &[("three", three), ("one", one)]);
    let (three, one) = (charged(&answer, "three"), charged(&answer, "one"));
    assert_percent(&answer, three / (three + one) * 100.0, 75.0);
}

/// The sum is also that of the files of the threads, read by this process.
#[test]
fn a_process_is_watched_thread_by_thread_as_in_its_schedstat() {
    let Some(_lock) = lock("blame: process") else { return };
    let spin = ["-c", "0", "sh", "-c", "while :; do :; done"];
    let start = || std::process::Command::new("taskset").args(spin).spawn().unwrap();
    let (mut child, mut beside) = (start(), start());
    std::thread::sleep(Duration::from_millis(500));
    let root = Root::real();
    let waited = || -> u64 {
        let text = root.read(format!("/proc/{}/schedstat", child.id())).unwrap();
        assay_sys::kernel::task::schedstat(text.as_bytes()).unwrap().wait_ns
    };
    let before = waited();
    let target = BlameTarget::Process(child.id());
    let answer = blame(&Root::real(), &target, LENGTH).unwrap();
    let counted = waited() - before;
    for process in [&mut child, &mut beside] {
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert_eq!(answer.verdict, Verdict::Valid, "{}", assay_blame::text(&answer));
    assert!(
        answer.run_delay_ns > 0 && answer.run_delay_ns <= counted,
        "{}",
        assay_blame::text(&answer)
    );
}
