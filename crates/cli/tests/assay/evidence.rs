//! Runs with evidence: what the kernel's events say of the waiting of groups whose waiting is known, in the run folder, in
//! the report and in the text; and programs that end with the run.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assay_blame::{Culprit, Evidence, Verdict};
use assay_record::run_folder::{RepeatRecord, Run};
use assay_test_support::{Need, skip};
use rustix::process::Signal;

use crate::bench::Bench;
use crate::running::json;
use crate::study::Weights;

/// Two groups that compute on one CPU, the second with three times the weight.
const CPUS: &str = r#"
title = "CPU weights with evidence"
[design]
repeats = 1
at_most = "2 s"
[sampling]
evidence = true
[[groups]]
name  = "task"
count = 2
knobs = { "cpu.weight" = [100, 300], "cpuset.cpus" = "0" }
run   = "compute"
[workloads.compute]
use     = "command"
command = ["sh", "-c", "while :; do :; done"]
[[promises]]
measure = "cpu.time"
is      = "proportional"
to      = "cpu.weight"
within  = "50 %"
"#;

const CPU_NEEDS: [Need; 2] = [Need::Controller("cpu"), Need::Controller("cpuset")];

/// The only repeat of the run; `None`, counted as skipped, where this kernel refuses the programs.
fn repeat(bench: &Bench, test: &str, part: &str) -> Option<RepeatRecord> {
    let run = Run::load(&bench.out()).unwrap();
    let repeat = run.manifest.trials[0].repeats[0].clone();
    if let Some(why) = repeat.not_available.get(&format!("evidence.{part}")) {
        skip(test, why);
        return None;
    }
    Some(repeat)
}

fn evidence(repeat: &RepeatRecord) -> &Evidence {
    repeat.evidence().unwrap_or_else(|| panic!("no evidence: {:?}", repeat.not_available))
}

/// A run is judged again with its evidence, to the same bytes.
fn assert_judged_again(bench: &Bench) {
    let verdict = bench.out().join("verdict.json");
    let before = fs::read(&verdict).unwrap();
    fs::remove_file(&verdict).unwrap();
    bench.assay([Path::new("judge"), &bench.out()]).assert_verdict();
    assert!(fs::read(&verdict).unwrap() == before, "another verdict");
}

#[test]
fn a_group_that_computes_beside_another_waits_for_it_by_name() {
    const TEST: &str = "evidence of CPUs";
    let Some(bench) = Bench::with(TEST, &CPU_NEEDS) else { return };
    let ended = bench.run(&bench.write("study.toml", CPUS), &[]);
    ended.assert_verdict();
    bench.assert_host_is_as_before("a run with evidence of CPUs");
    let Some(repeat) = repeat(&bench, TEST, "cpu") else { return };
    let evidence = evidence(&repeat);
    let answers = evidence.cpu.value().unwrap();
    let targets: Vec<&str> = answers.iter().map(|answer| answer.target.as_str()).collect();
    assert_eq!(targets, ["task1", "task2"]);
    let first = &answers[0];
    assert_eq!(first.verdict, Verdict::Valid, "{:?}", first.reason);
    assert_eq!(first.parts.iter().map(|part| part.ns).sum::<u64>(), first.waited_ns);
    // A single thread cannot have waited longer than the window; counting began and ended with it.
    assert!(first.waited_ns as f64 <= first.seconds * 1.01e9, "{first:#?}");
    let window = (repeat.stopped_ns - repeat.released_ns) as f64 * 1e-9;
    assert!((evidence.seconds - window).abs() < 0.25, "{} s of {window} s", evidence.seconds);
    let other = first.parts.iter().find(|part| part.group.as_deref() == Some("task2"));
    let other = other.unwrap_or_else(|| panic!("{:#?}", first.parts));
    assert!(other.culprit == Culprit::Group && other.ns > 0);
    let sampled = repeat.sampler.cpu_s / repeat.sampler.wall_s;
    let verdict = json(&bench.out().join("verdict.json"));
    let observer = verdict["trials"][0]["observer_cpu"].as_f64().unwrap();
    let programs = repeat.evidence.as_ref().unwrap().cpu_s.unwrap();
    assert!(programs > 0.0 && observer > sampled, "{observer} of {sampled} and {programs} s");
    let time = first.thread_time.as_ref().unwrap();
    assert_eq!((time.reason.as_deref(), time.threads > 0), (None, true), "{time:?}");
    let title = "Where the time of each group's threads went";
    assert!(ended.stdout.contains(title), "{}", ended.stdout);
    let page = fs::read_to_string(bench.out().join("report.html")).unwrap();
    for part in ["id=\"trial-1-waiting-cpus-spec\"", "running"] {
        assert!(page.contains(part), "the page lacks {part}");
    }
    assert_judged_again(&bench);
}

#[test]
fn requests_are_followed_from_the_pool_to_the_device() {
    const TEST: &str = "evidence of a disk";
    let Some(bench) = Bench::on_host(TEST) else { return };
    let ended = bench.run(&bench.write("study.toml", &Weights::small().text()), &["--evidence"]);
    ended.assert_verdict();
    bench.assert_host_is_as_before("a run with evidence of a disk");
    let Some(repeat) = repeat(&bench, TEST, "disks") else { return };
    let disks = evidence(&repeat).disks.value().unwrap();
    let [disk] = &disks[..] else { panic!("{} disks", disks.len()) };
    assert_eq!((disk.scheduler.as_str(), &disk.disk), ("bfq", &repeat.queues[0].device));
    assert_eq!(disk.verdict, Verdict::Valid, "{:?}", disk.reason);
    for name in ["task1", "task2", "task3", "task4"] {
        let group = disk.group(name).unwrap_or_else(|| panic!("{name} is not in {disk:#?}"));
        assert!(group.watched && group.requests > 0 && group.device.ns > 0, "{group:#?}");
    }
    assert!(ended.stdout.contains("spent their time"), "{}", ended.stdout);
    let manifest = json(&bench.out().join("manifest.json"));
    assert_eq!(manifest["study_choice"]["evidence"], true);
    assert_judged_again(&bench);
}

/// Programs and their links are held by descriptors of the process alone, so that they end with it.
#[test]
fn an_interrupted_run_keeps_what_was_counted_and_leaves_nothing_attached() {
    const TEST: &str = "interrupted evidence";
    let Some(bench) = Bench::with(TEST, &CPU_NEEDS) else { return };
    let text = CPUS.replace("\"2 s\"", "\"60 s\"");
    let mut run = bench.start(&bench.write("study.toml", &text), &[]);
    run.wait_until("the window", |run| run.says("run"));
    std::thread::sleep(Duration::from_millis(700));
    let attached = links(run.pid().as_raw_nonzero().get());
    run.signal(Signal::INT);
    run.end(Duration::from_secs(60)).assert_code(130);
    bench.assert_host_is_as_before("an interrupted run with evidence");
    let Some(repeat) = repeat(&bench, TEST, "cpu") else { return };
    assert!(attached > 0, "no program was attached during the window");
    let seconds = evidence(&repeat).seconds;
    assert!(seconds > 0.0 && seconds < 30.0, "{seconds}");
}

/// BFQ takes its own budgets for the first queues after it was switched on; each other pool switches it on anew.
#[test]
fn no_turn_is_longer_than_the_budget_that_a_study_sets() {
    const TEST: &str = "the budget of a study";
    let Some(bench) = Bench::on_host(TEST) else { return };
    let text = Weights { groups: 8, ..Weights::small() }.text();
    let queue = "\"iosched/low_latency\" = 0";
    let more = format!("{queue}, \"iosched/max_budget\" = 512, nr_requests = \"{{requests}}\"");
    let text = text.replace(queue, &more);
    let text = text.replace("[disks", "[factors]\nrequests = [256, 512]\n[disks");
    let study = bench.write("study.toml", &text);
    bench.run(&study, &["--evidence", "--repeats", "2"]).assert_verdict();
    bench.assert_host_is_as_before("a run with budgets");
    let run = Run::load(&bench.out()).unwrap();
    let mut seen = 0;
    for repeat in run.manifest.trials.iter().flat_map(|trial| &trial.repeats) {
        let disks = repeat.evidence().and_then(|evidence| evidence.disks.value());
        let Some(bfq) = disks.and_then(|disks| disks[0].bfq.value()) else { continue };
        for group in bfq.groups.iter().filter(|group| group.group.starts_with("task")) {
            assert!(group.budget_mean <= 512.0, "{group:?}");
            seen += usize::from(group.budget_mean > 0.0);
        }
    }
    if seen == 0 {
        skip(TEST, "BFQ's turns are not known here");
    }
}

/// How many programs a process keeps attached (`link_type` in the descriptors' fdinfo, since 5.8).
pub(crate) fn links(process: i32) -> usize {
    let infos = fs::read_dir(format!("/proc/{process}/fdinfo")).unwrap().flatten();
    let texts = infos.filter_map(|info| fs::read_to_string(info.path()).ok());
    texts.filter(|text| text.contains("link_type:")).count()
}
