//! Runs every shipped study that no other test runs, with its smallest sizes. The verdict and the load of
//! the host do not matter; the run must be complete.

use std::path::Path;

use serde_json::Value;

use crate::bench::Bench;
use crate::notebook::recomputed;
use crate::running::{Ended, json};
use crate::study::shipped_with;
use assay_test_support::{Need, entries, skip};

/// A study with its smallest sizes.
struct Smallest {
    study: &'static str,
    /// Sizes that are not factors: text in the file and its replacement.
    sizes: &'static [(&'static str, &'static str)],
    /// More of the command line.
    options: &'static str,
    needs: &'static [Need],
    /// Metrics of its workloads, each with the end of the workload's name.
    metrics: &'static [(&'static str, &'static str)],
    /// Sources that it must have sampled.
    samples: &'static [&'static str],
}

const DISK: [Need; 3] = [Need::Loop, Need::Tool("mkfs.ext4"), Need::Tool("fio")];
const WEIGHTS: [Need; 5] =
    [Need::Loop, Need::Bfq, Need::Tool("fio"), Need::Tool("mkfs.ext4"), Need::Controller("io")];

/// Runs the study; returns its manifest and its verdict.
fn whole(smallest: &Smallest) -> Option<(Value, Value)> {
    let beside = Path::new(env!("CARGO_BIN_EXE_assay")).with_file_name("assay-load");
    let bench = Bench::with(smallest.study, smallest.needs)?;
    if !beside.is_file() {
        skip(smallest.study, "assay-load was not built: cd loadgen && cargo build");
        return None;
    }
    let more = smallest.options.split(' ').chain(["--repeats", "1", "-ojson"]);
    let more: Vec<&str> = more.collect();
    let study = shipped_with(&bench, &format!("{}.toml", smallest.study), smallest.sizes);
    let ended = bench.run(&study, &more);
    ended.assert_verdict();
    bench.assert_host_is_as_before(smallest.study);
    let manifest = json(&bench.out().join("manifest.json"));
    assert_eq!(manifest["restored"], true, "{manifest:#}");
    assert_eq!(manifest["ended_early"], Value::Null, "{manifest:#}");
    for trial in manifest["trials"].as_array().unwrap() {
        let repeats = trial["repeats"].as_array().unwrap();
        assert_eq!(repeats.len(), 1, "{trial:#}");
        assert_whole(&repeats[0], &bench.out(), smallest, &ended);
    }
    // Many promise no means.
    recomputed(&bench);
    let verdict = serde_json::from_str(&ended.stdout).unwrap();
    Some((manifest, verdict))
}

/// Asserts that a repeat has its window, its metrics and its samples.
fn assert_whole(repeat: &Value, out: &Path, smallest: &Smallest, ended: &Ended) {
    assert_eq!(repeat["fault"], Value::Null, "{repeat:#}\n{}", ended.stderr);
    let ns = |key: &str| repeat[key].as_u64().unwrap();
    assert!(ns("stopped_ns") > ns("all_released_ns"), "{repeat:#}");
    let workloads = repeat["workloads"].as_array().unwrap();
    for workload in workloads {
        assert_eq!(workload["failure"], Value::Null, "{workload:#}");
    }
    for (name, metric) in smallest.metrics {
        let of = |one: &&Value| one["workload"].as_str().is_some_and(|whole| whole.ends_with(name));
        let workload = workloads.iter().find(of).unwrap_or_else(|| panic!("no {name}: {repeat:#}"));
        let value = workload["metrics"][metric].as_f64();
        assert!(value.is_some_and(|value| value > 0.0), "{metric} in {workload:#}");
    }
    let samples = out.join("samples").join(repeat["samples"].as_str().unwrap());
    for source in smallest.samples {
        let table = samples.join(source).with_extension("parquet");
        assert!(table.is_file(), "no {source} in {:?}", entries(&samples));
    }
}

#[test]
fn the_cache_ladder() {
    whole(&Smallest {
        study: "cache-ladder",
        sizes: &[("points = 3, samples = 2, sample-ms = 5", "points = 1, sample-ms = 1")],
        options: "--duration 60s",
        needs: &[],
        metrics: &[("chase", "random_l1_ns"), ("chase", "random_least_rise")],
        samples: &["host_cpu"],
    });
}

#[test]
fn the_page_cache() {
    whole(&Smallest {
        study: "page-cache",
        sizes: &[
            ("size   = \"auto\"\nformat", "size   = \"96 MiB\"\nformat"),
            ("pause = 0.3", "pause = 0"),
        ],
        options: "--set size=16MiB",
        needs: &DISK,
        metrics: &[("file", "first_read_disk_part"), ("file", "write_direct_bytes_per_s")],
        samples: &["vmstat", "meminfo", "disk"],
    });
}

#[test]
fn what_was_dropped_comes_back_from_the_disk() {
    let run = whole(&Smallest {
        study: "cache-drop",
        sizes: &[
            ("size   = \"1 GiB\"", "size   = \"64 MiB\""),
            ("\"count=64\"", "\"count=16\""),
            ("creates = \"64 MiB\"", "creates = \"16 MiB\""),
            ("value      = 67108864", "value      = 16777216"),
        ],
        options: "--set drop=3",
        needs: &DISK,
        metrics: &[("file", "from_disk_bytes")],
        samples: &["meminfo", "disk"],
    });
    let Some((manifest, _)) = run else { return };
    let workloads = &manifest["trials"][0]["repeats"][0]["workloads"];
    let bytes = workloads[0]["metrics"]["from_disk_bytes"].as_f64().unwrap();
    assert!(bytes >= f64::from(16 << 20), "{workloads:#}");
}

#[test]
fn writeback_restores_the_settings_of_the_study() {
    let run = whole(&Smallest {
        study: "writeback",
        sizes: &[
            ("1280 MiB", "128 MiB"),
            ("768 MiB", "48 MiB"),
            ("size = \"16 MiB\"", "size = \"4 MiB\""),
            ("warm_up = \"2 s\"", "warm_up = \"0.5 s\""),
        ],
        options: "--set dirty_background_bytes=8MiB --set dirty_bytes=16MiB --duration 2s",
        needs: &DISK,
        metrics: &[("update", "write_iops"), ("note", "write_iops")],
        samples: &["meminfo", "vmstat", "disk"],
    });
    let Some((manifest, _)) = run else { return };
    let settings = manifest["trials"][0]["repeats"][0]["settings"].to_string();
    assert!(settings.contains("vm.dirty_bytes") && settings.contains("16777216"), "{settings}");
}

#[test]
fn siblings_on_one_core_or_why_there_are_none() {
    let smt = std::fs::read_to_string("/sys/devices/system/cpu/smt/active").unwrap_or_default();
    if smt.trim() == "1" {
        whole(&Smallest {
            study: "smt",
            sizes: &[("\"512 MiB\"", "\"64 MiB\"")],
            options: "--duration 2s --set program=compute",
            needs: &[Need::Controller("cpu"), Need::Loop, Need::Tool("mkfs.ext4")],
            metrics: &[("compute", "steps_per_s")],
            samples: &["threads", "cpus"],
        });
        return;
    }
    refused("smt", &["siblings", "SMT", "nothing was touched"]);
}

#[test]
fn a_mix_on_two_nodes_or_why_there_are_none() {
    let nodes = entries(Path::new("/sys/devices/system/node"));
    let count = nodes.iter().filter(|path| path.join("cpulist").is_file()).count();
    if count < 2 {
        refused("numa-mix", &["NUMA node", "nothing was touched"]);
        return;
    }
    whole(&Smallest {
        study: "numa-mix",
        sizes: &[],
        options: "--set first=streamcluster --duration 2s",
        needs: &[Need::Controller("cpu")],
        metrics: &[("first.streamcluster", "distances_per_s")],
        samples: &["threads", "pages"],
    });
}

/// Asserts that the study is refused with these messages, before anything is made.
fn refused(study: &str, says: &[&str]) {
    let bench = Bench::aside();
    let ended = bench.run(Path::new(study), &[]);
    ended.assert_code(4);
    ended.assert_says(says);
    assert!(!bench.out().exists() && !bench.path("state").exists());
}

#[test]
fn a_memory_limit_on_two_programs() {
    whole(&Smallest {
        study: "memory-limit",
        sizes: &[
            ("size   = \"auto\"", "size   = \"160 MiB\""),
            ("\"1500 ms\"", "\"500 ms\""),
            ("warm_up = \"1 s\"", "warm_up = \"200 ms\""),
            ("\"count=64\"", "\"count=8\""),
            ("creates = \"64 MiB\"", "creates = \"8 MiB\""),
        ],
        options: "--set limit=1.2 --set scale=12 --set files=300",
        needs: &[Need::Loop, Need::Tool("mkfs.ext4"), Need::Controller("memory")],
        metrics: &[("graph", "bfs_harmonic_mean_teps"), ("files", "ops_per_s")],
        samples: &["memory", "pagetypeinfo"],
    });
}

#[test]
fn io_weights_beside_a_key_value_store() {
    whole(&Smallest {
        study: "io-weight-ycsb",
        sizes: &[
            ("size      = \"auto\"", "size      = \"256 MiB\""),
            ("\"128M\"", "\"16M\""),
            ("operationcount = 100000,", "operationcount = 20000,"),
        ],
        options: "--set run=update --set records=1000 --duration 2s",
        needs: &WEIGHTS,
        metrics: &[("update", "throughput_ops_s"), ("task4.reader", "read_iops")],
        samples: &["io", "disk"],
    });
}

#[test]
fn io_weights_and_requests() {
    whole(&Smallest {
        study: "io-weight-requests",
        sizes: &[("\"1 GiB\"", "\"64 MiB\"")],
        options: "--set groups=8 --set iodepth=8 --set requests=256 --duration 2s",
        needs: &WEIGHTS,
        metrics: &[("task8.reader", "read_iops")],
        samples: &["io", "disk"],
    });
}

#[test]
fn io_weights_of_the_fewest_groups() {
    whole(&Smallest {
        study: "io-weight-scaling",
        sizes: &[("\"3 GiB\"", "\"96 MiB\"")],
        options: "--set groups=4 --duration 2s",
        needs: &WEIGHTS,
        metrics: &[],
        samples: &["io", "disk"],
    });
}

#[test]
fn cpu_weights_of_two_groups() {
    whole(&Smallest {
        study: "cpu-weight-scaling",
        sizes: &[],
        options: "--set groups=2 --set threads=1 --set cpus=0 --duration 2s",
        needs: &[Need::Controller("cpu"), Need::Controller("cpuset")],
        metrics: &[("compute", "steps_per_s")],
        samples: &["cpu", "host_cpu"],
    });
}

#[test]
fn cpu_weights_of_one_thread_beside_four() {
    whole(&Smallest {
        study: "cpu-weight-threads",
        sizes: &[],
        options: "--duration 2s",
        needs: &[Need::Controller("cpu"), Need::Controller("cpuset"), Need::Tool("fio")],
        metrics: &[],
        samples: &["cpu", "host_cpu"],
    });
}

#[test]
fn the_longest_wait_of_each_group() {
    let run = whole(&Smallest {
        study: "cpu-wait",
        sizes: &[],
        options: "--duration 2s",
        needs: &[Need::Controller("cpu"), Need::Controller("cpuset")],
        metrics: &[("compute", "steps_per_s")],
        samples: &["cpu", "host_cpu"],
    });
    let Some((_, verdict)) = run else { return };
    let promise = &verdict["trials"][0]["promises"][0];
    assert_eq!(promise["groups"].as_array().unwrap().len(), 3, "{promise:#}");
}

/// The test files of shipped studies that are not run here.
const ELSEWHERE: [(&str, &str); 9] = [
    ("cpu-quota", "cpu.rs"),
    ("cpu-weight", "cpu.rs"),
    ("io-weight", "run.rs"),
    ("io-weight-job", "job_file.rs"),
    ("memory-protection", "protection.rs"),
    // Only planned there: it needs cgroup v2 and swap, so a guest with both.
    ("memory-swap", "published.rs"),
    ("numa-local-remote", "lab/guest.rs"),
    ("numa-misplaced", "lab/guest.rs"),
    ("numa-placement", "lab/guest.rs"),
];

#[test]
fn every_shipped_study_is_run_by_a_test() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assay");
    let here = include_str!("smallest.rs");
    for path in entries(&tests.join("../../../../studies")) {
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".toml") else {
            continue;
        };
        let elsewhere = ELSEWHERE.iter().find(|(study, _)| *study == name);
        let run = match elsewhere {
            Some((_, file)) => {
                let text = std::fs::read_to_string(tests.join(file)).unwrap();
                let names =
                    [format!("\"{name}\""), format!("\"{name}.toml\""), format!(" {name} ")];
                names.iter().any(|name| text.contains(name))
            }
            None => here.contains(&format!("study: \"{name}\"")),
        };
        assert!(run, "{name} is run by no test");
    }
}
