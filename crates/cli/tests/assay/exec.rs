//! `assay exec` on the real kernel: limits that are reached and limits that are not, streams, signals and
//! exit codes of the command, and a restored host.

use std::fs;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use assay_sys::kernel::Root;
use assay_test_support::{HostSnapshot, skip};
use rustix::process::Signal;
use serde_json::Value;

use crate::bench::Bench;
use crate::delegated::{NOBODY, as_nobody, delegated};
use crate::running::{Ended, Running};

/// Fills its memory with zeros, more than any limit here.
const HOG: &str = "head -c 100000000 /dev/zero | tail > /dev/null";

/// Keeps one CPU busy for a while. On a busy host it gets little CPU time, so that only a small quota is sure
/// to bind.
const SPIN: &str = "timeout 1 sh -c 'while :; do :; done'; true";

fn exec(bench: &Bench, arguments: &[&str]) -> Ended {
    let mut command = bench.program();
    command.arg("exec").args(arguments);
    bench.finish(command)
}

/// The document on the last line of stdout.
fn document(ended: &Ended) -> Value {
    let line = ended.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|wrong| panic!("{wrong}\n{}", ended.stdout))
}

fn binding<'d>(document: &'d Value, knob: &str) -> &'d str {
    let limits = document["limits"].as_array().unwrap();
    let limit = limits.iter().find(|limit| limit["knob"] == knob).unwrap();
    limit["binding"].as_str().unwrap()
}

#[test]
fn a_memory_limit_that_binds_beside_a_quota_that_does_not() {
    let Some(bench) = Bench::on_host("exec: memory binds") else { return };
    let limits = ["--set", "memory.max=16M", "--set", "cpu.max=max"];
    let ended = exec(&bench, &[&limits[..], &["-ojson", "--", "sh", "-c", HOG]].concat());
    let found = document(&ended);
    assert_eq!(binding(&found, "memory.max"), "bound", "{found:#}");
    assert_eq!(binding(&found, "cpu.max"), "did_not_bind", "{found:#}");
    assert!(found["used"]["oom_kills"]["value"].as_u64() >= Some(1), "{found:#}");
    assert!(found["used"]["memory_peak"]["value"]["value"].as_u64() <= Some(16 << 20));
    assert_eq!(found["restored"], true);
    bench.assert_host_is_as_before("exec with a memory limit");
}

/// Killed with a few megabytes of its own: the rest is in /dev/shm, which nothing frees.
#[test]
fn what_else_than_processes_filled_a_memory_limit_is_named() {
    let Some(bench) = Bench::on_host("exec: files in memory") else { return };
    let file = format!("/dev/shm/assay-test-{}", std::process::id());
    let script = format!("head -c 8M /dev/zero > {file}; {HOG}");
    let ended = exec(&bench, &["--set", "memory.max=16M", "--", "sh", "-c", &script]);
    fs::remove_file(&file).unwrap();
    let said = ended.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("left at the end: 8 MiB of files in memory (/dev/shm, tmpfs)"), "{said}");
    bench.assert_host_is_as_before("exec with files in memory");
}

#[test]
fn both_limits_bind_and_each_has_its_line() {
    let Some(bench) = Bench::on_host("exec: both bind") else { return };
    let script = format!("{HOG}; {SPIN}");
    let limits = ["--set", "memory.max=16M", "--set", "cpu.max=2000 100000"];
    let ended = exec(&bench, &[&limits[..], &["--", "sh", "-c", &script]].concat());
    ended.assert_code(0);
    for knob in ["memory.max 16 MiB", "cpu.max 2000 100000"] {
        let line = ended.stderr.lines().find(|line| line.starts_with(knob)).unwrap_or_default();
        assert!(line.contains("  bound: "), "{knob}:\n{}", ended.stderr);
    }
    assert_eq!(ended.stdout, "", "stdout belongs to the command");
    bench.assert_host_is_as_before("exec with both limits");
}

#[test]
fn a_placement_is_set_and_read_back() {
    let Some(bench) = Bench::on_host("exec: place") else { return };
    let script = "grep Cpus_allowed_list /proc/self/status";
    let ended = exec(&bench, &["--place", "cpus=0,memory=bind:0", "--", "sh", "-c", script]);
    ended.assert_code(0);
    assert_eq!(ended.stdout.split_whitespace().last(), Some("0"), "{}", ended.stdout);
    ended.assert_says(&["cpuset.cpus 0  ", "cpuset.mems 0  "]);
    bench.assert_host_is_as_before("exec with a place");
}

/// On v1 with CONFIG_RT_GROUP_SCHED the group takes away what root may do outside of it.
#[test]
fn that_the_group_forbids_real_time_is_said_beforehand() {
    let Some(bench) = Bench::on_host("exec: real-time") else { return };
    let has_budgets = fs::exists("/sys/fs/cgroup/cpu/cpu.rt_runtime_us").unwrap();
    const NOTE: &str = "cannot become real-time";
    let without = exec(&bench, &["--", "true"]);
    assert_eq!(without.stderr.contains(NOTE), has_budgets, "{}", without.stderr);
    if has_budgets {
        let with = exec(&bench, &["--set", "cpu.rt_runtime_us=100 ms", "--", "true"]);
        assert!(!with.stderr.contains(NOTE), "{}", with.stderr);
    }
}

#[test]
fn exit_codes_and_streams_of_the_command_are_passed_on() {
    let Some(bench) = Bench::on_host("exec: exit codes") else { return };
    let script = "read word; echo got $word; echo message >&2; exit 7";
    let input = bench.write("input", "hello\n");
    let mut command = bench.program();
    command.args(["exec", "--", "sh", "-c", script]).stdin(fs::File::open(input).unwrap());
    let ended = bench.finish(command);
    ended.assert_code(7);
    assert_eq!(ended.stdout, "got hello\n");
    assert!(ended.stderr.contains("message\n"), "{}", ended.stderr);
    for (script, code) in [("exit 0", 0), ("exit 255", 255), ("kill -9 $$", 137)] {
        exec(&bench, &["--", "sh", "-c", script]).assert_code(code);
    }
    let out = bench.path("report.json");
    let out_text = out.to_str().unwrap();
    exec(&bench, &["--out", out_text, "--", "sh", "-c", "kill -TERM $$"]).assert_code(143);
    assert_eq!(crate::running::json(&out)["ended"]["signal"], 15);
    bench.assert_host_is_as_before("exec with exit codes");
}

#[test]
fn a_program_that_cannot_run_is_reported_before_anything_is_changed() {
    let bench = Bench::aside();
    let text = bench.write("text", "no program\n");
    let text = text.to_str().unwrap();
    for (program, code) in [("no-such-program", 127), ("/no/such/program", 127), (text, 126)] {
        let ended = exec(&bench, &["--", program]);
        ended.assert_code(code);
        ended.assert_says(&["error: ", program]);
    }
    assert!(!bench.path("state").exists(), "not even a ledger was begun");
}

#[test]
fn a_value_refused_by_the_kernel_leaves_nothing_behind() {
    let Some(bench) = Bench::on_host("exec: refused by the kernel") else { return };
    let ended = exec(&bench, &["--set", "cpuset.cpus=4095", "--", "echo", "ran"]);
    ended.assert_code(4);
    ended.assert_says(&["cpuset.cpus", "4095", "hint: ", "the command was not run"]);
    assert_eq!(ended.stdout, "");
    bench.assert_host_is_as_before("exec refused by the kernel");
}

/// A command that creates a file when it is ready, then waits.
fn waiting(bench: &Bench, options: &[&str], script: &str) -> Running {
    // A shell starts background jobs with SIGINT and SIGQUIT ignored, and the program would pass that on to
    // the command; start with the default actions instead.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,QUIT,HUP,TERM,USR1").arg(bench.executable());
    bench.settle(&mut command);
    command.arg("exec").args(options).args(["--", "sh", "-c", script]);
    let mut run = Running::start(command, bench.folder(), bench.out());
    let ready = bench.path("ready");
    run.wait_until("the command to be ready", |_| ready.exists());
    run
}

#[test]
fn signals_are_passed_to_the_command_and_its_exit_code_is_returned() {
    let Some(bench) = Bench::on_host("exec: signals") else { return };
    for (signal, name) in [
        (Signal::INT, "INT"),
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::QUIT, "QUIT"),
        (Signal::USR1, "USR1"),
    ] {
        let script = format!(
            "trap 'echo {name}; exit 42' {name}; touch ready; while :; do sleep 0.05; done"
        );
        let run = waiting(&bench, &[], &script);
        run.signal(signal);
        let ended = run.end(Duration::from_secs(30));
        ended.assert_code(42);
        assert_eq!(ended.stdout, format!("{name}\n"));
        fs::remove_file(bench.path("ready")).unwrap();
    }
    bench.assert_host_is_as_before("exec with signals");
}

#[test]
fn a_ctrl_c_at_the_terminal_ends_the_command_and_restores() {
    let Some(bench) = Bench::on_host("exec: Ctrl-C") else { return };
    let run = waiting(&bench, &["--set", "pids.max=50"], "touch ready; exec sleep 60");
    run.signal_from_terminal(Signal::INT);
    run.end(Duration::from_secs(30)).assert_code(130);
    bench.assert_host_is_as_before("exec ended by Ctrl-C");
}

#[test]
fn leftover_processes_are_killed_on_request() {
    let Some(bench) = Bench::on_host("exec: leftovers killed") else { return };
    let ended =
        exec(&bench, &["--on-exit", "kill", "-ojson", "--", "sh", "-c", "sleep 60 & exit 3"]);
    ended.assert_code(3);
    ended.assert_says(&["1 process left by the command: killed"]);
    let left = &document(&ended)["left"];
    assert_eq!((&left["processes"], &left["killed"]), (&1.into(), &true.into()));
    bench.assert_host_is_as_before("exec that killed what was left");
}

#[test]
fn leftover_processes_are_waited_for_and_can_be_interrupted() {
    let Some(bench) = Bench::on_host("exec: leftovers waited for") else { return };
    let brief = exec(&bench, &["--", "sh", "-c", "sleep 1 & exit 3"]);
    brief.assert_code(3);
    brief.assert_says(&["waiting for them to end", "1 process outlived the command: waited for"]);

    let run = waiting(&bench, &[], "sleep 60 & touch ready; exit 3");
    std::thread::sleep(Duration::from_secs(1));
    run.signal(Signal::INT);
    let ended = run.end(Duration::from_secs(30));
    ended.assert_code(3);
    ended.assert_says(&["terminating the remaining processes"]);
    bench.assert_host_is_as_before("exec that waited for what was left");
}

#[test]
fn a_signal_that_is_ignored_stays_ignored_for_the_command() {
    let Some(bench) = Bench::on_host("exec: nohup") else { return };
    let mut command = Command::new("env");
    command.arg("--ignore-signal=HUP").arg(bench.executable()).args(["exec", "--", "sh", "-c"]);
    command.arg("kill -HUP $$; echo survived");
    bench.settle(&mut command);
    let ended = bench.finish(command);
    ended.assert_code(0);
    assert_eq!(ended.stdout, "survived\n");
    bench.assert_host_is_as_before("exec under nohup");
}

#[test]
fn a_user_runs_a_command_in_delegated_groups() {
    let controllers = ["cpu", "cpuacct", "memory", "pids"];
    let Some((bench, _groups)) = delegated("exec: delegated groups", &controllers) else { return };
    let mut command = as_nobody(&bench);
    let before = HostSnapshot::take();
    let limits = ["--set", "pids.max=3", "--set", "memory.max=64M", "-ojson"];
    let forks = "for i in 1 2 3 4 5 6; do sleep 0.3 & done; wait";
    command.arg("exec").args(limits).args(["--", "sh", "-c", forks]);
    let ended = bench.finish(command);
    let found = document(&ended);
    assert_eq!(binding(&found, "pids.max"), "bound", "{found:#}");
    assert_eq!(binding(&found, "memory.max"), "did_not_bind", "{found:#}");
    assert_eq!(found["restored"], true);
    // No group of cgroup2 was delegated, and only there is pressure counted.
    let why = found["used"]["cpu_pressure"]["not_available"].as_str().unwrap_or_default();
    assert!(why.contains("needs root, because") || why.contains("not mounted"), "{found:#}");
    HostSnapshot::assert_same(&before, "a user's exec");

    let mut command = as_nobody(&bench);
    command.args(["exec", "--set", "cpuset.cpus=0", "--", "echo", "ran"]);
    let ended = bench.finish(command);
    ended.assert_code(4);
    ended.assert_says(&["cpuset.cpus=0", "needs root, because no group of", "was not run"]);
    assert_eq!(ended.stdout, "");
    HostSnapshot::assert_same(&before, "a user's exec that was refused");
}

/// A group on cgroup2 owned by user nobody.
struct OnV2(PathBuf);

impl OnV2 {
    fn make() -> Option<Self> {
        let facts = assay_host::gather(&Root::real()).unwrap();
        let name = format!("assay-test-{}-v2", std::process::id());
        let group = facts.cgroup.v2_mount?.join(name);
        fs::create_dir(&group).unwrap();
        for name in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
            chown(group.join(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Some(Self(group))
    }
}

impl Drop for OnV2 {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn in_a_delegated_cgroup2_group_exec_moves_itself_into_a_subgroup() {
    const TEST: &str = "exec: delegated on cgroup2";
    let Some(bench) = Bench::on_host(TEST) else { return };
    let Some(group) = OnV2::make() else { return skip(TEST, "no cgroup2 is mounted") };
    let before = HostSnapshot::take();
    let user = as_nobody(&bench);
    let mut command = Command::new("sh");
    let script = "echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"";
    command.args(["-c", script, "sh"]).arg(&group.0).arg(user.get_program()).args(user.get_args());
    for (name, value) in user.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(bench.path("home")).stdin(Stdio::null());
    command.args(["exec", "-ojson", "--", "cat", "/proc/self/cgroup"]);
    let ended = bench.finish(command);
    ended.assert_code(0);
    let name = group.0.file_name().unwrap().to_str().unwrap();
    let inside = format!("0::/{name}/assay-exec-");
    assert!(ended.stdout.contains(&inside), "no `{inside}` in {}", ended.stdout);
    let report = ended.stdout.lines().last().unwrap();
    let found: Value = serde_json::from_str(report).unwrap();
    assert!(found["used"]["cpu_s"]["value"].is_number(), "{found:#}");
    assert_eq!(found["restored"], true);
    HostSnapshot::assert_same(&before, "an exec below a delegated group");
}
