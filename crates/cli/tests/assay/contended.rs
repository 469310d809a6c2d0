//! `assay fairness --for` against truths by construction: groups of known weights and loads, made by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use assay_test_support::{Need, skip};
use serde_json::Value;

use crate::bench::Bench;
use crate::delegated::as_nobody;

const MOUNT: &str = "/sys/fs/cgroup/cpu";

/// A group of groups, with loads in them; all gone when it goes out of scope.
struct Level {
    top: PathBuf,
    loads: Vec<Child>,
}

impl Level {
    fn make() -> Self {
        let top = Path::new(MOUNT).join(format!("assay-contended-{}", std::process::id()));
        fs::create_dir(&top).unwrap();
        Self { top, loads: Vec::new() }
    }

    fn name(&self) -> String {
        format!("/{}", self.top.file_name().unwrap().to_str().unwrap())
    }

    fn set(&self, group: &str, file: &str, value: &str) {
        fs::write(self.top.join(group).join(file), value).unwrap();
    }

    /// A group with these shares and a shell script that runs in it on CPU 0.
    fn group(&mut self, name: &str, shares: u32, script: &str) {
        fs::create_dir(self.top.join(name)).unwrap();
        self.set(name, "cpu.shares", &shares.to_string());
        let mut command = Command::new("taskset");
        command.args(["-c", "0", "sh", "-c", script]).stdin(Stdio::null());
        let load = command.spawn().unwrap();
        self.set(name, "cgroup.procs", &load.id().to_string());
        self.loads.push(load);
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        for load in &mut self.loads {
            let _ = load.kill();
            let _ = load.wait();
        }
        // What a script has started ends by itself.
        std::thread::sleep(Duration::from_millis(300));
        for group in fs::read_dir(&self.top).unwrap().filter_map(Result::ok) {
            let _ = fs::remove_dir(group.path());
        }
        let _ = fs::remove_dir(&self.top);
    }
}

/// The same groups where v1 has this controller, if that is another hierarchy.
struct Elsewhere(PathBuf);

impl Elsewhere {
    fn make(controller: &str) -> Self {
        let name = format!("assay-contended-{}", std::process::id());
        Self(Path::new("/sys/fs/cgroup").join(controller).join(name))
    }

    /// On CPU 0, where it is the controller of CPUs.
    fn hold(&self, level: &Level) {
        if self.0.exists() {
            return;
        }
        let make = |group: &Path| {
            fs::create_dir(group).unwrap();
            for file in ["cpuset.cpus", "cpuset.mems"].map(|file| group.join(file)) {
                if file.exists() {
                    fs::write(file, "0").unwrap();
                }
            }
        };
        make(&self.0);
        for (name, load) in ["a", "b"].iter().zip(&level.loads) {
            make(&self.0.join(name));
            fs::write(self.0.join(name).join("cgroup.procs"), load.id().to_string()).unwrap();
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        for name in ["a", "b", ""] {
            let _ = fs::remove_dir(self.0.join(name));
        }
    }
}

const HOG: &str = "while :; do :; done";

/// The environment, if this host has groups of v1's `cpu` with their own mount.
fn bench(test: &str) -> Option<Bench> {
    let bench = Bench::measured(test, &[Need::Controller("cpu")])?;
    if Path::new(MOUNT).join("cgroup.procs").exists() {
        return Some(bench);
    }
    skip(test, "cpu is not on a v1 hierarchy of its own");
    None
}

#[test]
fn a_user_without_programs_sees_what_was_used_and_no_verdict() {
    let test = "fairness without eBPF";
    let Some(bench) = bench(test) else { return };
    {
        // Gone after the loads.
        let counted = Elsewhere::make("cpuacct");
        let mut level = Level::make();
        level.group("a", 1024, HOG);
        level.group("b", 3072, HOG);
        counted.hold(&level);
        let mut command = as_nobody(&bench);
        command.args(["fairness", "--for", "2s", "-ojson"]);
        let ended = bench.finish(command);
        ended.assert_code(0);
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
        let contended = &answer["contended"];
        assert!(contended["cpu"]["not_available"].is_string(), "{contended:#}");
        assert!(contended["switches"]["not_available"].is_string(), "{contended:#}");
        let levels = contended["usage"].as_array().unwrap();
        let own = levels.iter().find(|one| one["parent"] == level.name());
        let rows = own.unwrap_or_else(|| panic!("{answer:#}"))["rows"].as_array().unwrap();
        let numbers =
            |key: &str| -> Vec<f64> { rows.iter().map(|row| row[key].as_f64().unwrap()).collect() };
        assert_eq!(numbers("by_weights"), [0.25, 0.75], "{rows:#?}");
        let parts = numbers("part");
        assert!((parts.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{rows:#?}");
        assert!(parts[0] < parts[1], "both always wanted the same CPU: {rows:#?}");
        assert!(rows.iter().all(|row| row.get("verdict").is_none()), "{rows:#?}");
    }
    bench.assert_host_is_as_before(test);
}

/// They have their own processes and settings, which a run leaves alone.
#[test]
fn a_study_judges_groups_that_exist_by_their_own_weights() {
    let test = "a study of groups that exist";
    let Some(bench) = bench(test) else { return };
    let study = |more: &str| {
        let group = |name: &str| {
            let of = format!("/assay-contended-{}/{name}", std::process::id());
            format!("[[groups]]\nname = \"{name}\"\nexisting = \"{of}\"\n{more}")
        };
        let promise = "[[promises]]\nmeasure = \"cpu.time\"\nwithin = \"10 %\"\n";
        let text = format!(
            "title = \"Both\"\n[design]\nrepeats = 8\nat_most = \"1500 ms\"\n{}{}{promise}is = \"proportional\"\nto = \
             \"cpu.weight\"\n{promise}is = \"equal\"\n",
            group("a"),
            group("b"),
        );
        bench.write("mine.toml", &text)
    };
    let absent = bench.run(&study(""), &[]);
    absent.assert_code(4);
    assert!(
        absent.stderr.contains("group `a`: no group has the path /assay-contended-"),
        "{}",
        absent.stderr
    );
    let refused = bench.run(&study("knobs = { \"cpu.weight\" = 100 }\n"), &[]);
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("`knobs` has no meaning in the group `a`"),
        "{}",
        refused.stderr
    );
    {
        // They go after the loads.
        let elsewhere = ["cpuacct", "cpuset"].map(Elsewhere::make);
        let mut level = Level::make();
        level.group("a", 1024, HOG);
        level.group("b", 3072, HOG);
        elsewhere.iter().for_each(|one| one.hold(&level));
        let ended = bench.run(&study(""), &[]);
        ended.assert_code(1);
        let read = |file: &str| -> Value {
            serde_json::from_str(&fs::read_to_string(bench.out().join(file)).unwrap()).unwrap()
        };
        let (manifest, verdict) = (read("manifest.json"), read("verdict.json"));
        let promises = &verdict["trials"][0]["promises"];
        // Beside other tests eight starts may scatter too much for a decision about a quarter, but not about a half.
        assert_ne!(promises[0]["verdict"], "broken", "{}", ended.stdout);
        assert_eq!(promises[1]["verdict"], "broken", "{}", ended.stdout);
        let share = promises[0]["groups"][0]["share"].as_f64().unwrap();
        assert!((share - 0.25).abs() < 0.03, "{}", ended.stdout);
        let knob = &manifest["trials"][0]["groups"][1]["knobs"][0];
        assert_eq!((&knob["file"], &knob["written"]), (&"cpu.shares".into(), &"3072".into()));
        assert_eq!(manifest["changes"], Value::Array(vec![]), "nothing was changed");
        let shares = fs::read_to_string(level.top.join("b/cpu.shares")).unwrap();
        assert!(shares.trim() == "3072" && level.loads[1].try_wait().unwrap().is_none());
    }
    bench.assert_host_is_as_before(test);
}
