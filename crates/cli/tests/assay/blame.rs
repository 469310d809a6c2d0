//! `assay blame`: its targets, its document, and programs that end with it.

use std::os::unix::process::CommandExt;
use std::time::Duration;

use assay_test_support::Need;
use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::evidence::links;
use crate::running::Running;

/// Processes that begin and end meanwhile, each of which waits for something else most of the time.
#[test]
fn the_whole_time_of_threads_is_told_by_what_they_waited_for() {
    let Some(bench) = Bench::measured("blame: thread time", &[Need::Controller("cpu")]) else {
        return;
    };
    let script = "timeout 2 sh -c 'while sleep 0.05; do echo; done | cat >/dev/null' &
        timeout 2 sh -c 'while :; do :; done' &
        flock lock sleep 1 & sleep 0.2
        flock lock true
        wait";
    let mut command = bench.program();
    command.args(["blame", "-ojson", "--", "sh", "-c", script]);
    let ended = bench.finish(command);
    ended.assert_code(0);
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    let time = &answer["thread_time"];
    assert_eq!(time["reason"], Value::Null, "{time:#}");
    assert!(time["difference_percent"].as_f64().unwrap().abs() < 1.0, "{time:#}");
    assert!(time["could_run_ns"].as_u64() >= answer["waited_ns"].as_u64(), "{time:#}");
    let seconds = |on: &str| {
        let parts = time["blocked"].as_array().unwrap();
        parts
            .iter()
            .find(|part| part["on"] == on)
            .map_or(0.0, |part| part["ns"].as_f64().unwrap() * 1e-9)
    };
    // Of 2 s each, and of 0.8 s for the lock; where the machine is busy they wait for a CPU as well.
    for (on, least) in
        [("child", 1.0), ("events", 1.0), ("time", 1.0), ("read", 0.8), ("file_lock", 0.3)]
    {
        assert!(seconds(on) > least, "{on}: {time:#}");
    }
    bench.assert_host_is_as_before("thread time");
}

/// Threads that had no event from the beginning to the end.
#[test]
fn what_a_thread_waits_for_that_never_ran_meanwhile_is_told() {
    let needs = [Need::Controller("cpu")];
    let Some(bench) = Bench::with("blame: threads without events", &needs) else { return };
    // The child is made by vfork and waits before it runs its program. Its parent has the mark of frozen threads.
    let vfork = r#"exec python3 -c "import os
os.mkfifo('fifo')
os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, 'fifo', os.O_RDONLY, 0)])""#;
    for (script, on) in [
        (vfork, "child"),
        ("exec sleep 600", "time"),
        ("sleep 600; true", "child"),
        ("kill -STOP $$", "stopped"),
        ("mkfifo pipe; read line < pipe", "other"),
        ("sleep 600 | cat", "child"),
    ] {
        let mut sleeper = std::process::Command::new("sh");
        sleeper.args(["-c", script]).current_dir(bench.folder());
        let mut sleeper = sleeper.process_group(0).spawn().unwrap();
        settle(sleeper.id());
        let mut command = bench.program();
        command.args(["blame", "-ojson", "--for", "1s", "--pid", &sleeper.id().to_string()]);
        let ended = bench.finish(command);
        let group = rustix::process::Pid::from_child(&sleeper);
        rustix::process::kill_process_group(group, Signal::KILL).unwrap();
        sleeper.wait().unwrap();
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
        ended.assert_code(0);
        let time = &answer["thread_time"];
        assert_eq!((&time["reason"], &time["threads"]), (&Value::Null, &1.into()), "{time:#}");
        let [part] = &time["blocked"].as_array().unwrap()[..] else { panic!("{time:#}") };
        assert_eq!(part["on"], on, "{script}: {time:#}");
        assert!(part["percent"].as_f64().unwrap() > 99.0, "{script}: {time:#}");
    }
}

/// Waits until a process has slept for a while.
fn settle(process: u32) {
    let mut asleep = 0;
    let began = std::time::Instant::now();
    while asleep < 10 && began.elapsed() < Duration::from_secs(30) {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        asleep = if stat.contains(") R ") { 0 } else { asleep + 1 };
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_interrupted_watch_still_answers() {
    let Some(bench) = Bench::with("blame: interrupted", &[Need::Controller("cpu")]) else {
        return;
    };
    let own = std::process::id().to_string();
    let mut command = bench.program();
    command.args(["blame", "--for", "600s", "--pid", &own]);
    let mut run = Running::start(command, bench.folder(), bench.out());
    run.wait_until("the watch", |run| {
        let pid = run.pid().as_raw_nonzero().get();
        let waits = std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        links(pid) > 0 && waits.contains("nanosleep")
    });
    run.signal(Signal::INT);
    let ended = run.end(Duration::from_secs(60));
    ended.assert_code(130);
    assert!(ended.stdout.contains("for a CPU in"), "{}", ended.stdout);
}

/// Guests of other kernels do the same.
#[test]
fn stalls_for_memory_go_to_the_limit_and_the_group_that_made_them() {
    let needs = [Need::Controller("cpu"), Need::Controller("memory")];
    let Some(bench) = Bench::with("blame: stalls for memory", &needs) else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../blame/tests/guest/stalls.sh");
    let mut command = std::process::Command::new("sh");
    command.arg(script).arg(bench.executable()).arg(env!("CARGO_TARGET_TMPDIR"));
    let ended = bench.finish(command);
    ended.assert_code(0);
    bench.assert_host_is_as_before("stalls");
}

#[test]
fn the_whole_host_is_watched_with_metrics() {
    let Some(bench) = Bench::with("blame: the whole host", &[Need::Controller("cpu")]) else {
        return;
    };
    let file = bench.path("blame.prom");
    // A command that waits for its own quota; its group is one of those that are watched.
    let folder = bench.path("limited");
    std::fs::create_dir(&folder).unwrap();
    let begun = folder.join("begun");
    let script = format!("touch {0}; while [ -e {0} ]; do :; done", begun.display());
    let mut limited = bench.program();
    // So little that it is used up on a busy machine, too.
    limited.args(["exec", "--set", "cpu.max=2000 100000", "--", "sh", "-c", &script]);
    let mut running = Running::start(limited, &folder, folder.join("out"));
    running.wait_until("it has begun", |_| begun.exists());
    let mut command = bench.program();
    command.args(["blame", "--watch", "--for", "3s", "--interval", "1s", "-ojson", "--textfile"]);
    command.arg(&file);
    let ended = bench.finish(command);
    ended.assert_code(0);
    let looks: Vec<Value> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(looks.len() >= 2, "{looks:#?}");
    let groups = looks.iter().flat_map(|look| look["groups"].as_array().unwrap());
    let waits_for_its_quota = |group: &&Value| {
        let parts = group["parts"].as_array().unwrap();
        group["group"].as_str().unwrap().contains("assay-exec")
            && parts.iter().any(|part| part["culprit"] == "own_quota")
    };
    assert!(groups.clone().any(|group| waits_for_its_quota(&group)), "{looks:#?}");
    let metrics = std::fs::read_to_string(&file).unwrap();
    assert!(metrics.contains("assay_blame_waited_seconds_total{group=\"/"), "{metrics}");
    assert!(metrics.contains("by=\"own quota\""), "{metrics}");
    std::fs::remove_file(&begun).unwrap();
    running.end(Duration::from_secs(30)).assert_code(0);
    bench.assert_host_is_as_before("watched");
}
