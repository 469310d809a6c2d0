//! Units of systemd: their settings of resources (systemd.resource-control(5)).

mod device;
mod lines;
mod memory;

use std::collections::BTreeMap;

use super::quantity::percent;
use super::subject::Subject;
use super::wanted::Wanted;
use super::{Asked, Request, Target};
use crate::conversion::systemd;
use crate::rule::Host;
use crate::snapshot::UnitFile;
use lines::assignments;
pub use lines::unit_settings;

/// A unit of a file, with its drop-ins.
#[derive(Debug)]
pub(super) struct Unit {
    name: String,
    /// All assignments of a setting, in order. An empty one forgets those before it.
    settings: BTreeMap<String, Vec<String>>,
    /// Of a snapshot's units: the file that sets it last.
    origins: BTreeMap<String, String>,
}

/// What v1 has no file for, or systemd does not write there.
const V2_ONLY: &str = "systemd applies it on cgroup2 only, and this controller is on v1 here";

impl Unit {
    pub(super) fn new(name: &str, text: &str) -> Self {
        let mut unit = Self::empty(name);
        unit.add(text);
        unit
    }

    fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), settings: BTreeMap::new(), origins: BTreeMap::new() }
    }

    /// A unit of a snapshot. Which disk a file is on systemd asks the file system, which no snapshot can: limits of that are left out.
    pub(super) fn installed(name: &str, files: &[UnitFile]) -> Self {
        let mut unit = Self::empty(name);
        for file in files {
            let settings = file.settings.iter().filter_map(|line| line.split_once('='));
            for (key, value) in settings.filter(|(key, value)| !device::is_of_file(key, value)) {
                unit.set(key, value);
                unit.origins.insert(key.to_owned(), file.path.clone());
            }
        }
        unit
    }

    /// What holds while systemd starts or stops in place of others, by the names of those.
    pub(super) fn at_startup(&self) -> Self {
        let mut unit = Self::empty(&self.name);
        for (key, values) in &self.settings {
            if let Some(ordinary) = key.strip_prefix("Startup") {
                unit.settings.insert(ordinary.to_owned(), values.clone());
            }
        }
        unit
    }

    /// The file of a snapshot that sets it last.
    pub(super) fn origin(&self, key: &str) -> Option<&str> {
        self.origins.get(key).map(String::as_str)
    }

    /// Adds the settings of a file.
    pub(super) fn add(&mut self, text: &str) {
        for (key, value) in assignments(text) {
            self.set(&key, &value);
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let values = self.settings.entry(key.to_owned()).or_default();
        match value {
            "" => values.clear(),
            value => values.push(value.to_owned()),
        }
    }

    fn last(&self, key: &str) -> Option<&str> {
        self.settings.get(key)?.last().map(String::as_str)
    }

    pub(super) fn request(&self, host: &Host) -> Request {
        Request {
            title: format!("unit {}", self.name),
            subject: Subject::Unit(self.name.clone()),
            asked: self.asked(host),
            not_looked_at: self.left_out(),
        }
    }

    /// What it asks for, translated for a host.
    pub(super) fn asked(&self, host: &Host) -> Vec<Asked> {
        let asked =
            [self.cpu(), self.io(host), self.memory(host), self.others(), self.devices(host)];
        asked.into_iter().flatten().collect()
    }

    fn left_out(&self) -> Vec<String> {
        const STARTUP: &str = "applies only while systemd starts or stops";
        const LEFT_OUT: [(&str, &str); 6] = [
            ("StartupCPUWeight", STARTUP),
            ("StartupIOWeight", STARTUP),
            ("StartupAllowedCPUs", STARTUP),
            ("StartupMemoryMax", STARTUP),
            ("IODeviceWeight", "stored only if the scheduler of the disk obeys it"),
            ("IODeviceLatencyTargetSec", "not compared"),
        ];
        let mut lines: Vec<String> = LEFT_OUT
            .into_iter()
            .filter(|(key, _)| self.last(key).is_some())
            .map(|(key, why)| format!("{key}=: {why}"))
            .collect();
        lines.push("drop-ins that were not given; `systemctl cat` lists them".to_owned());
        lines
    }

    fn cpu(&self) -> Vec<Asked> {
        let mut asked = Vec::new();
        if let Some(text) = self.last("CPUWeight") {
            asked.push(weight(text));
        } else if let Some(shares) = self.last("CPUShares").and_then(|text| text.parse().ok()) {
            let v2 = Wanted::Weight(vec![systemd::weight(shares)]);
            asked.push(Asked {
                setting: format!("CPUShares={shares}"),
                controller: "cpu",
                v2: Target::file("cpu.weight", v2, "shares * 100 / 1024; v258 ignores it"),
                v1: Target::file("cpu.shares", Wanted::Weight(vec![shares]), ""),
            });
        }
        asked.extend(self.last("CPUQuota").map(|text| self.quota(text)));
        asked
    }

    fn quota(&self, text: &str) -> Asked {
        /// Microseconds in a second for each hundredth of a percent.
        const PER_HUNDREDTH: u64 = 100;
        let period = self.last("CPUQuotaPeriodSec").map_or(Some(100_000), |text| {
            u64::try_from(assay_units::parse_duration(text).ok()?.as_micros()).ok()
        });
        let known = percent(text).filter(|part| *part > 0).zip(period);
        let setting = format!("CPUQuota={text}");
        let Some((part, period)) = known else { return unknown(setting, "cpu") };
        let (quota, period) = systemd::quota(part.saturating_mul(PER_HUNDREDTH), period);
        let how = "the period is longer if the quota would be below 1 ms";
        Asked {
            setting,
            controller: "cpu",
            v2: Target::file("cpu.max", Wanted::Bandwidth(Some(quota), period), how),
            v1: Target::file("cpu.cfs_quota_us", Wanted::Number(quota), how),
        }
    }

    /// systemd writes both files of v2 where they exist.
    fn io(&self, host: &Host) -> Vec<Asked> {
        let Some(text) = self.last("IOWeight") else { return Vec::new() };
        let setting = format!("IOWeight={text}");
        let Some(weight) = text.parse().ok().filter(|one| (1..=10_000).contains(one)) else {
            return vec![unknown(setting, "io")];
        };
        let on_v1 = systemd::blkio_bfq_weight(weight);
        let one = |name: &'static str, number: u64, how: &str| Asked {
            setting: setting.clone(),
            controller: "io",
            v2: Target::file(name, Wanted::Weight(vec![number]), how),
            v1: Target::file(
                "blkio.bfq.weight",
                Wanted::Weight(vec![on_v1]),
                "times 5, then compressed for bfq: translated twice",
            ),
        };
        let is_v1 = host.v1_of("io").is_some();
        let mut asked = Vec::new();
        if is_v1 || host.has_io_file("io.bfq.weight") {
            let how = "above 100 what is beyond is divided by 11, for bfq";
            asked.push(one("io.bfq.weight", systemd::bfq_weight(weight), how));
        }
        if !is_v1 && (asked.is_empty() || host.has_io_file("io.weight")) {
            asked.push(one("io.weight", weight, "read by io.cost alone"));
        }
        asked
    }

    fn others(&self) -> Vec<Asked> {
        let mut asked = Vec::new();
        if let Some(text) = self.last("TasksMax") {
            let wanted = match text {
                "infinity" => Some(Wanted::Unlimited),
                number => number.parse().ok().map(Wanted::Number),
            };
            let setting = format!("TasksMax={text}");
            asked.push(wanted.map_or_else(
                || unknown(setting.clone(), "pids"),
                |wanted| {
                    let target = Target::file("pids.max", wanted, "");
                    Asked::alike(setting.clone(), "pids", target)
                },
            ));
        }
        for (key, name) in [("AllowedCPUs", "cpuset.cpus"), ("AllowedMemoryNodes", "cpuset.mems")] {
            let Some(values) = self.settings.get(key).filter(|values| !values.is_empty()) else {
                continue;
            };
            let list = values.join(",");
            let one = unknown(format!("{key}={list}"), "cpuset");
            let v2 = Wanted::list(&list).map_or(one.v2, |list| Target::file(name, list, ""));
            asked.push(Asked { v2, v1: Target::Nowhere(V2_ONLY), ..one });
        }
        asked
    }

    fn devices(&self, host: &Host) -> Vec<Asked> {
        let mut asked = Vec::new();
        for limit in &device::LIMITS {
            let lines = self.settings.get(limit.setting).map_or(&[][..], Vec::as_slice);
            asked.extend(device::last_of_each(lines).map(|text| limit.asked(host, text)));
        }
        asked
    }
}

fn weight(text: &str) -> Asked {
    let setting = format!("CPUWeight={text}");
    if text == "idle" {
        return Asked {
            setting,
            controller: "cpu",
            v2: Target::file("cpu.idle", Wanted::Number(1), ""),
            v1: Target::file("cpu.shares", Wanted::Weight(vec![crate::conversion::MIN_SHARES]), ""),
        };
    }
    let Some(weight) = text.parse().ok().filter(|one| (1..=10_000).contains(one)) else {
        return unknown(setting, "cpu");
    };
    let shares = Wanted::Weight(vec![systemd::shares(weight)]);
    Asked {
        setting,
        controller: "cpu",
        v2: Target::file("cpu.weight", Wanted::Weight(vec![weight]), ""),
        v1: Target::file("cpu.shares", shares, "weight * 1024 / 100"),
    }
}

/// A value with a specifier, or one that this version does not know.
fn unknown(setting: String, controller: &'static str) -> Asked {
    let target = Target::Unknown("this value is not understood".to_owned());
    Asked::alike(setting, controller, target)
}
