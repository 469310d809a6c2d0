//! What is seen of groups that contend, on the real kernel, where some switches of threads are hidden from the programs.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use assay_audit::{Reading, WeightSetting};
use assay_blame::watch::waits::CpuHierarchy;
use assay_host::facts::Hierarchy;
use assay_host::gather;
use assay_live::fairness::watch::ContentionWatch;
use assay_live::fairness::{Changes, LevelAnswer, Levels, Switches, judge};
use assay_sys::kernel::Root;
use assay_sys::kernel::affinity::{allowed_cpus, bind_self};
use assay_test_support::{Need, host_alone};
use rustix::process::{Pid, Signal, kill_process};

/// A group with two children, in each of which one thread computes on CPU 0. All of it goes with this value.
struct Level {
    hierarchy: CpuHierarchy,
    top: PathBuf,
    loads: Vec<Child>,
}

impl Level {
    fn make(test: &str) -> Self {
        let facts = gather(&Root::real()).unwrap();
        let controller = &facts.cgroup.controllers["cpu"].hierarchy;
        let (Hierarchy::V1(mount) | Hierarchy::V2(mount)) = controller else {
            panic!("no groups of the controller cpu");
        };
        let top = mount.join(format!("assay-test-{test}-{}", std::process::id()));
        fs::create_dir(&top).unwrap();
        // On v2 a group has the controller only if the one above hands it down.
        let _ = fs::write(top.join("cgroup.subtree_control"), "+cpu");
        let hierarchy = CpuHierarchy::new(&facts).unwrap();
        // The switches of CPU 0 are those of the loads, as far as the host lets them.
        let mut others = allowed_cpus(std::process::id()).unwrap();
        others.retain(|cpu| *cpu != 0);
        if !others.is_empty() {
            bind_self(&others).unwrap();
        }
        let mut level = Self { hierarchy, top, loads: Vec::new() };
        for name in ["a", "b"] {
            let group = level.top.join(name);
            fs::create_dir(&group).unwrap();
            let script = format!(
                "echo $$ > {}/cgroup.procs; exec taskset -c 0 sh -c 'while :; do :; done'",
                group.display()
            );
            level.loads.push(Command::new("sh").args(["-c", &script]).spawn().unwrap());
        }
        std::thread::sleep(Duration::from_millis(300));
        level
    }

    fn paths(&self) -> Vec<String> {
        let top = format!("/{}", self.top.file_name().unwrap().to_str().unwrap());
        vec![top.clone(), format!("{top}/a"), format!("{top}/b")]
    }

    fn watch(&self) -> ContentionWatch {
        ContentionWatch::on_groups(&Root::real(), &self.hierarchy, &self.paths()).unwrap()
    }

    fn levels(&self) -> Levels {
        let setting = |group: String| WeightSetting {
            reading: Reading { file: format!("{group}/cpu.shares"), value: "1024".to_owned() },
            group,
            owner: None,
            weight: 1024.0,
        };
        let paths = self.paths();
        Levels::new(&paths, &paths.iter().cloned().map(setting).collect::<Vec<_>>())
    }

    /// How long each load ran so far, as the kernel counts (`sum_exec_runtime`), in seconds.
    fn ran(&self) -> Vec<f64> {
        let of = |load: &Child| {
            let path = format!("/proc/{}/schedstat", load.id());
            let text = fs::read_to_string(Path::new(&path)).unwrap();
            text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
        };
        self.loads.iter().map(of).collect()
    }

    fn signal(&self, load: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.loads[load]), signal).unwrap();
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        for load in &mut self.loads {
            let _ = load.kill();
            let _ = load.wait();
        }
        let begun = Instant::now();
        for group in ["a", "b", ""] {
            let group = self.top.join(group);
            while group.exists() && fs::remove_dir(&group).is_err() {
                if begun.elapsed() > Duration::from_secs(5) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn sleep(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// The level of the test after so many looks, 50 ms apart.
fn seen(level: &Level, watch: &mut ContentionWatch, cells: usize) -> LevelAnswer {
    let mut levels = level.levels();
    let mut last = watch.look().unwrap();
    for _ in 0..cells {
        sleep(50);
        let look = watch.look().unwrap();
        levels.add(&last, &look);
        last = look;
    }
    // Both ran: else the level would be left out.
    judge(&levels, &Changes::new()).pop().unwrap_or_else(|| panic!("only one group ran"))
}

/// Time in which a switch was hidden goes to who ran, or is counted as unknown; never to somebody else.
#[test]
fn time_around_hidden_switches_goes_to_who_ran() {
    let Some(_lock) = host_alone("hidden switches", &[Need::Controller("cpu")]) else { return };
    let level = Level::make("hidden");
    let mut watch = level.watch();
    let (first, before) = (watch.look().unwrap(), level.ran());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        sleep(23);
        watch.show(false).unwrap();
        sleep(2);
        watch.show(true).unwrap();
    }
    // The looks on both sides are between two switches, so that they are off by less than a turn.
    sleep(50);
    let (last, after) = (watch.look().unwrap(), level.ran());
    let seen = Switches::until(&last);
    assert!(seen.hidden > 50, "{seen:?}");
    let mut levels = level.levels();
    levels.add(&first, &last);
    let rows = judge(&levels, &Changes::new()).pop().unwrap().rows;
    let truths: Vec<f64> =
        after.iter().zip(&before).map(|(after, before)| after - before).collect();
    for (row, truth) in rows.iter().zip(&truths) {
        let missed = truth - row.used;
        assert!(missed > -0.03, "{}: {} of {truth} s", row.group, row.used);
        assert!(missed < seen.unknown_s + 0.03, "{row:?}: {truth} s, {seen:?}");
    }
    let all: f64 = truths.iter().sum();
    // Many hidden switches are the only one while nothing is shown.
    assert!(seen.unknown_s < 0.4 * all, "{seen:?}, {all} s");
}

/// A group that goes to sleep unseen does not seem to wait for a CPU for ever after.
#[test]
fn a_group_that_went_unseen_is_not_taken_for_one_that_waits() {
    let Some(_lock) = host_alone("groups that go unseen", &[Need::Controller("cpu")]) else {
        return;
    };
    let level = Level::make("unseen");
    for hidden_ms in [1, 60] {
        let mut watch = level.watch();
        // A host that hides switches, as is then known.
        watch.show(false).unwrap();
        sleep(30);
        watch.show(true).unwrap();
        sleep(30);
        let control = seen(&level, &mut watch, 12);
        assert!(control.contended_s > 0.2, "{control:?}");
        watch.show(false).unwrap();
        level.signal(0, Signal::STOP);
        sleep(hidden_ms);
        watch.show(true).unwrap();
        sleep(20);
        let mut levels = level.levels();
        let mut last = watch.look().unwrap();
        for _ in 0..10 {
            sleep(50);
            let look = watch.look().unwrap();
            levels.add(&last, &look);
            last = look;
        }
        level.signal(0, Signal::CONT);
        // Now both run again, so that the level is shown.
        sleep(100);
        let end = watch.look().unwrap();
        levels.add(&last, &end);
        let after = judge(&levels, &Changes::new()).pop().unwrap();
        assert!(after.contended_s < 0.15, "{hidden_ms} ms: {after:?}");
        assert!(seen(&level, &mut watch, 12).contended_s > 0.2, "it is seen again");
    }
}
