//! `assay fairness --for` against the kernel's own throttling of I/O, as blktests' throtl/001 and 002 test it: a limit of bytes, one
//! of requests, both at once, and one that is out of reach.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use assay_test_support::{Need, TestLoop, skip};
use serde_json::Value;

use crate::bench::Bench;

const MOUNT: &str = "/sys/fs/cgroup/blkio";

/// Groups with `blkio.throttle.*` and a reader or writer in each; all gone when it goes out of scope.
struct Throttled {
    top: PathBuf,
    loads: Vec<Child>,
}

impl Throttled {
    fn make() -> Self {
        let top = Path::new(MOUNT).join(format!("assay-throttled-{}", std::process::id()));
        fs::create_dir(&top).unwrap();
        Self { top, loads: Vec::new() }
    }

    /// A group with these limits of a device whose dd has these operands, again and again.
    fn group(&mut self, name: &str, limits: &[(&str, u64)], device: &str, operands: &str) {
        let group = self.top.join(name);
        fs::create_dir(&group).unwrap();
        for (kind, value) in limits {
            let file = group.join(format!("blkio.throttle.{kind}_device"));
            fs::write(file, format!("{device} {value}")).unwrap();
        }
        let script = format!(
            "echo 0 > {}/cgroup.procs; while :; do dd {operands} 2>/dev/null || exit; done",
            group.display()
        );
        let load = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap();
        self.loads.push(load);
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        for load in &mut self.loads {
            let _ = load.kill();
            let _ = load.wait();
        }
        for name in fs::read_dir(&self.top).unwrap().filter_map(Result::ok) {
            let group = name.path();
            // A dd that waits for its limit ends with its request.
            for _ in 0..100 {
                if !group.join("cgroup.procs").exists() || fs::remove_dir(&group).is_ok() {
                    break;
                }
                for id in fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().lines()
                {
                    let _ = Command::new("kill").args(["-9", id]).status();
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
        let _ = fs::remove_dir(&self.top);
    }
}

/// State and largest part of the limit in this file.
fn limit(answer: &Value, group: &str, file: &str) -> (String, f64) {
    let limits = answer["contended"]["limits"].as_array().unwrap();
    let is_it = |one: &&Value| {
        one["group"] == group && one["reading"]["file"].as_str().is_some_and(|at| at.contains(file))
    };
    let Some(found) = limits.iter().find(is_it) else { panic!("{file} of {group}: {answer:#}") };
    (found["state"].as_str().unwrap().to_owned(), found["most"].as_f64().unwrap_or(0.0))
}

#[test]
fn a_limit_of_io_that_the_kernel_enforces_is_bound_and_one_out_of_reach_is_not() {
    let test = "limits of I/O that the kernel enforces";
    let needs = [Need::Controller("io"), Need::Loop];
    let Some(bench) = Bench::measured(test, &needs) else { return };
    if !Path::new(MOUNT).join("blkio.throttle.write_bps_device").exists() {
        skip(test, "no group on v1 has blkio.throttle");
        return;
    }
    {
        let disk = TestLoop::attach(&bench.path("disk.img"), 64);
        let (node, name) = (disk.node(), disk.name());
        let device = fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap();
        let device = device.trim();
        let write = format!("if=/dev/zero of={} oflag=direct", node.display());
        let read = format!("if={} of=/dev/null iflag=direct", node.display());
        let mut groups = Throttled::make();
        // throtl/001: 1 MiB a second of 64 KiB each; 002: 256 requests a second of 4 KiB.
        groups.group(
            "bytes",
            &[("write_bps", 1 << 20)],
            device,
            &format!("{write} bs=64k count=64"),
        );
        groups.group(
            "requests",
            &[("read_iops", 256)],
            device,
            &format!("{read} bs=4k count=4096"),
        );
        let both = [("read_bps", 1 << 20), ("read_iops", 1 << 20)];
        groups.group("both", &both, device, &format!("{read} bs=64k count=64"));
        groups.group("none", &[("write_bps", 1 << 40)], device, &format!("{write} bs=4k count=64"));

        let ended = bench.assay(["fairness", "--for", "12s", "-ojson"]);
        ended.assert_code(0);
        let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
        let of = |group: &str, file: &str| {
            let top = groups.top.file_name().unwrap().to_str().unwrap();
            limit(&answer, &format!("/{top}/{group}"), file)
        };
        for (group, file) in
            [("bytes", "write_bps"), ("requests", "read_iops"), ("both", "read_bps")]
        {
            let (state, most) = of(group, file);
            assert_eq!(state, "bound", "{group}: {most}: {answer:#}");
            assert!((0.97..1.1).contains(&most), "{group}: {most}: {answer:#}");
        }
        assert_eq!(of("both", "read_iops").0, "never_near", "{answer:#}");
        assert_eq!(of("none", "write_bps").0, "never_near", "{answer:#}");
    }
    bench.assert_host_is_as_before(test);
}
