//! Units of systemd: their settings of resources (systemd.resource-control(5)).

mod device;
mod lines;

use std::collections::BTreeMap;

use super::quantity::{percent, systemd_bytes};
use super::subject::Subject;
use super::wanted::Wanted;
use super::{Asked, Request, Target};
use crate::conversion::{MIN_SHARES, systemd};
use crate::host::Host;
use crate::snapshot::UnitFile;
use lines::SECTIONS;
pub(super) use lines::assignments;
pub use lines::unit_settings;

/// A key: its name, its controller, its files on cgroup2 and, if systemd writes there, on v1, and how its value becomes theirs. A new key is one
/// line.
type Key = (&'static str, &'static str, &'static str, Option<&'static str>, Value);

/// How its value becomes that of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    CpuWeight,
    CpuShares,
    Quota,
    /// For the scheduler bfq.
    BfqWeight,
    /// For io.cost.
    IoWeight,
    Bytes,
    Tasks,
    /// Lists of CPUs or nodes, which add up.
    Ids,
    /// Numbers of devices: the key in `io.max`.
    Rate(&'static str),
    Switch,
    /// Whether all processes are killed at once.
    OomPolicy,
    /// The group in which that of the unit is.
    Slice,
}

const READ: Option<&str> = Some("blkio.throttle.read_bps_device");
const WRITE: Option<&str> = Some("blkio.throttle.write_bps_device");

static KEYS: [Key; 23] = [
    ("CPUWeight", "cpu", "cpu.weight", Some("cpu.shares"), Value::CpuWeight),
    ("CPUShares", "cpu", "cpu.weight", Some("cpu.shares"), Value::CpuShares),
    ("CPUQuota", "cpu", "cpu.max", Some("cpu.cfs_quota_us"), Value::Quota),
    ("IOWeight", "io", "io.bfq.weight", Some("blkio.bfq.weight"), Value::BfqWeight),
    ("IOWeight", "io", "io.weight", None, Value::IoWeight),
    ("MemoryMin", "memory", "memory.min", None, Value::Bytes),
    ("MemoryLow", "memory", "memory.low", None, Value::Bytes),
    ("MemoryHigh", "memory", "memory.high", None, Value::Bytes),
    ("MemoryMax", "memory", "memory.max", Some("memory.limit_in_bytes"), Value::Bytes),
    ("MemoryLimit", "memory", "memory.max", Some("memory.limit_in_bytes"), Value::Bytes),
    ("MemorySwapMax", "memory", "memory.swap.max", None, Value::Bytes),
    ("MemoryZSwapMax", "memory", "memory.zswap.max", None, Value::Bytes),
    ("TasksMax", "pids", "pids.max", Some("pids.max"), Value::Tasks),
    ("AllowedCPUs", "cpuset", "cpuset.cpus", None, Value::Ids),
    ("AllowedMemoryNodes", "cpuset", "cpuset.mems", None, Value::Ids),
    ("IOReadBandwidthMax", "io", "io.max", READ, Value::Rate("rbps")),
    ("IOWriteBandwidthMax", "io", "io.max", WRITE, Value::Rate("wbps")),
    ("IOReadIOPSMax", "io", "io.max", None, Value::Rate("riops")),
    ("IOWriteIOPSMax", "io", "io.max", None, Value::Rate("wiops")),
    (DEVICE_WEIGHT, "io", "io.weight", Some("blkio.bfq.weight_device"), Value::Rate("")),
    ("MemoryZSwapWriteback", "memory", "memory.zswap.writeback", None, Value::Switch),
    ("OOMPolicy", "memory", "memory.oom.group", None, Value::OomPolicy),
    ("Slice", "cpu", "", Some(""), Value::Slice),
];

/// The kernel stores it only where the scheduler of the disk, or io.cost, obeys it: that it is missing is no drift.
const DEVICE_WEIGHT: &str = "IODeviceWeight";

/// It is read with the quota.
const PERIOD: &str = "CPUQuotaPeriodSec";

/// Former names, which count only without the present ones, and which systemd since v258, on cgroup2 only, does not apply.
pub(super) const FORMER: [(&str, &str); 2] =
    [("CPUShares", "CPUWeight"), ("MemoryLimit", "MemoryMax")];

const STARTUP: &str = "applies only while systemd starts or stops";

/// Keys that are not compared, by how they begin; the first that fits counts.
const NOT_COMPARED: [(&str, &str); 30] = [
    ("Startup", STARTUP),
    ("DefaultStartup", STARTUP),
    ("IOScheduling", OF_PROCESSES),
    ("CPUScheduling", OF_PROCESSES),
    ("CPUAffinity", OF_PROCESSES),
    ("NUMA", OF_PROCESSES),
    ("Limit", OF_PROCESSES),
    ("Nice", OF_PROCESSES),
    ("OOMScoreAdjust", OF_PROCESSES),
    ("ManagedOOM", "read by systemd-oomd; it stands in no file"),
    ("MemoryPressure", "for the service itself; it stands in no file"),
    ("Delegate", "who may change groups below"),
    ("DisableControllers", "not compared"),
    ("Device", "rules for devices are not compared"),
    ("IPAddress", BY_BPF),
    ("IPIngress", BY_BPF),
    ("IPEgress", BY_BPF),
    ("SocketBind", BY_BPF),
    ("RestrictNetworkInterfaces", BY_BPF),
    ("BPFProgram", BY_BPF),
    ("NFTSet", BY_BPF),
    ("DefaultMemory", "of the groups below"),
    ("BlockIO", "a former name, not compared"),
    ("CPU", UNKNOWN),
    ("Memory", UNKNOWN),
    ("IO", UNKNOWN),
    ("Tasks", UNKNOWN),
    ("Allowed", UNKNOWN),
    ("OOM", UNKNOWN),
    ("RuntimeMaxSec", "a limit of time"),
];

const OF_PROCESSES: &str = "a setting of its processes";
const BY_BPF: &str = "a program of the kernel does it; it stands in no file";
const UNKNOWN: &str = "not compared";

/// Keys that begin like these and ask for nothing.
fn is_plain(key: &str) -> bool {
    key.ends_with("Accounting") || key == "MemoryDenyWriteExecute" || key == "MemoryKSM"
}

/// Settings that a snapshot has beside those that are compared: rules need them.
const KEPT: [&str; 5] = [
    "CPUSchedulingPolicy",
    "DisableControllers",
    "IOSchedulingClass",
    "ManagedOOMMemoryPressure",
    "ManagedOOMSwap",
];

/// Whether a key of a unit, or its variant for the start, sets something that is understood.
fn is_understood(name: &str) -> bool {
    let name = name.strip_prefix("Startup").unwrap_or(name);
    name == PERIOD || KEPT.contains(&name) || KEYS.iter().any(|key| key.0 == name)
}

/// A unit of a file, with its drop-ins.
#[derive(Debug, Default)]
pub(super) struct Unit {
    name: String,
    /// All assignments of a setting, in order. An empty one forgets those before it.
    settings: BTreeMap<String, Vec<String>>,
    /// Of a snapshot's units: the file that sets it last.
    origins: BTreeMap<String, String>,
}

impl Unit {
    pub(super) fn new(name: &str, text: &str) -> Self {
        let mut unit = Self { name: name.to_owned(), ..Self::default() };
        unit.add(text);
        unit
    }

    /// A unit of a snapshot. Which disk a file is on systemd asks the file system, which no snapshot can: limits of that are left out.
    pub(super) fn installed(name: &str, files: &[UnitFile]) -> Self {
        let mut unit = Self::new(name, "");
        for file in files {
            let settings = file.settings.iter().filter_map(|line| line.split_once('='));
            let counts = |(key, value): &(&str, &str)| {
                *key != DEVICE_WEIGHT && !device::is_of_file(key, value)
            };
            for (key, value) in settings.filter(counts) {
                unit.set(key, value);
                unit.origins.insert(key.to_owned(), file.path.clone());
            }
        }
        unit
    }

    /// What holds while systemd starts or stops in place of others, by the names of those.
    pub(super) fn at_startup(&self) -> Self {
        let settings = self.settings.iter();
        let startup = settings.filter_map(|(key, values)| {
            Some((key.strip_prefix("Startup")?.to_owned(), values.clone()))
        });
        Self { settings: startup.collect(), ..Self::new(&self.name, "") }
    }

    /// The file of a snapshot that sets it last.
    pub(super) fn origin(&self, key: &str) -> Option<&str> {
        self.origins.get(key).map(String::as_str)
    }

    /// Adds the settings of a file.
    pub(super) fn add(&mut self, text: &str) {
        for (key, value) in assignments(text, &SECTIONS) {
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

    fn all(&self, key: &str) -> &[String] {
        self.settings.get(key).map_or(&[], Vec::as_slice)
    }

    fn last(&self, key: &str) -> Option<&str> {
        self.all(key).last().map(String::as_str)
    }

    pub(super) fn request(&self, host: &Host) -> Request {
        let drop_ins = "drop-ins that were not given; `systemctl cat` lists them".to_owned();
        Request {
            title: format!("unit {}", self.name),
            subject: Subject::Unit(self.name.clone()),
            asked: self.asked(host).into_iter().chain(self.not_compared()).collect(),
            not_looked_at: vec![drop_ins],
        }
    }

    fn not_compared(&self) -> impl Iterator<Item = Asked> {
        let is_compared = |key: &str| key == PERIOD || KEYS.iter().any(|known| known.0 == key);
        let left = self.settings.iter().filter(move |(key, _)| !is_compared(key) && !is_plain(key));
        left.filter_map(|(key, values)| {
            let (_, why) = NOT_COMPARED.iter().find(|(begin, _)| key.starts_with(begin))?;
            Some(Asked::not_compared(format!("{key}={}", values.last()?), *why))
        })
    }

    /// What it asks for, translated for a host.
    pub(super) fn asked(&self, host: &Host) -> Vec<Asked> {
        let is_replaced = |key: &Key| {
            FORMER.iter().any(|(former, now)| *former == key.0 && self.last(now).is_some())
        };
        let counts = |key: &&Key| !is_replaced(key) && is_written(key.4, host);
        let keys = KEYS.iter().filter(counts);
        let one = |key| move |text: String| self.one(key, &text, host);
        let mut asked: Vec<Asked> =
            keys.flat_map(|key| self.values(key).into_iter().map(one(key))).collect();
        // Of both files for a weight of I/O nothing is said twice.
        let is_unknown = |asked: &Asked| matches!(asked.v2, Target::Unknown(_));
        asked.dedup_by(|next, one| is_unknown(next) && next.setting == one.setting);
        asked
    }

    /// The values of a key that count.
    fn values(&self, key: &Key) -> Vec<String> {
        let all = self.all(key.0);
        match key.4 {
            _ if all.is_empty() => Vec::new(),
            Value::Ids => vec![all.join(",")],
            Value::Rate(_) => device::last_of_each(all),
            _ => all.last().into_iter().cloned().collect(),
        }
    }

    fn one(&self, key: &Key, text: &str, host: &Host) -> Asked {
        let [v2, v1] = self.targets(key, text, host).unwrap_or_else(|| {
            let target = Target::Unknown("this value is not understood".to_owned());
            [target.clone(), target]
        });
        Asked { setting: format!("{}={text}", key.0), controller: key.1, v2, v1 }
    }

    /// What should stand in the files of both versions; nothing for a value with a specifier, or one that this version does not know.
    fn targets(
        &self,
        &(_, _, v2, v1, value): &Key,
        text: &str,
        host: &Host,
    ) -> Option<[Target; 2]> {
        const V2_ONLY: &str =
            "systemd applies it on cgroup2 only, and this controller is on v1 here";
        let on_v1 = |wanted: Wanted, how: &str| {
            v1.map_or(Target::Nowhere(V2_ONLY), |name| Target::file(name, wanted, how))
        };
        let both =
            |wanted: Wanted, how: &str| [Target::file(v2, wanted.clone(), how), on_v1(wanted, how)];
        let weight = || text.parse().ok().filter(|one| (1..=10_000).contains(one));
        let apart = |number: u64, how: &str, former: u64, how_v1: &str| {
            [Target::file(v2, Wanted::Weight(number), how), on_v1(Wanted::Weight(former), how_v1)]
        };
        Some(match value {
            Value::CpuWeight if text == "idle" => {
                let idle = Target::file("cpu.idle", Wanted::Number(1), "");
                [idle, on_v1(Wanted::Weight(MIN_SHARES), "")]
            }
            Value::CpuWeight => {
                let weight = weight()?;
                apart(weight, "", systemd::shares(weight), "weight * 1024 / 100")
            }
            Value::CpuShares => {
                let shares = text.parse().ok()?;
                apart(systemd::weight(shares), "shares * 100 / 1024; v258 ignores it", shares, "")
            }
            Value::Quota => self.quota(v2, v1, text)?,
            Value::BfqWeight => {
                let weight = weight()?;
                apart(
                    systemd::bfq_weight(weight),
                    "above 100 what is beyond is divided by 11, for bfq",
                    systemd::blkio_bfq_weight(weight),
                    "times 5, then compressed for bfq: translated twice",
                )
            }
            Value::IoWeight => both(Wanted::Weight(weight()?), "read by io.cost alone"),
            Value::Bytes => {
                let (wanted, how) = bytes(text, host)?;
                both(wanted, how)
            }
            Value::Tasks if text == "infinity" => both(Wanted::Unlimited, ""),
            Value::Tasks => both(Wanted::Number(text.parse().ok()?), ""),
            // A list with a specifier is not written on v1 either.
            Value::Ids => match Wanted::list(text) {
                Some(list) => both(list, ""),
                None => [
                    Target::Unknown("this value is not understood".to_owned()),
                    Target::Nowhere(V2_ONLY),
                ],
            },
            Value::Rate("") => {
                let v2 = if host.has_io_file("io.bfq.weight") { "io.bfq.weight" } else { v2 };
                device::targets(v2, v1, "", text, host)?
            }
            Value::Rate(rate) => device::targets(v2, v1, rate, text, host)?,
            Value::Switch => both(Wanted::Number(u64::from(truth(text)?)), ""),
            Value::OomPolicy => [
                Target::file(v2, Wanted::Number(u64::from(text == "kill")), "1 for kill"),
                Target::Unknown("on v1 systemd kills the others itself".to_owned()),
            ],
            Value::Slice => [(); 2].map(|()| Target::Below(text.to_owned())),
        })
    }

    fn quota(&self, v2: &'static str, v1: Option<&'static str>, text: &str) -> Option<[Target; 2]> {
        /// Microseconds in a second for each hundredth of a percent.
        const PER_HUNDREDTH: u64 = 100;
        const HOW: &str = "the period is longer if the quota would be below 1 ms";
        let period = match self.last(PERIOD) {
            Some(text) => {
                u64::try_from(assay_sys::units::parse_duration(text).ok()?.as_micros()).ok()?
            }
            None => 100_000,
        };
        let part = percent(text).filter(|part| *part > 0)?;
        let (quota, period) = systemd::quota(part.saturating_mul(PER_HUNDREDTH), period);
        let v1 = v1.map(|name| Target::file(name, Wanted::Number(quota), HOW));
        Some([Target::file(v2, Wanted::Bandwidth(Some(quota), period), HOW), v1?])
    }
}

/// A boolean of systemd.
fn truth(text: &str) -> Option<bool> {
    let is = |words: [&str; 5]| words.contains(&text.to_ascii_lowercase().as_str());
    let (yes, no) = (is(["1", "yes", "y", "true", "on"]), is(["0", "no", "n", "false", "off"]));
    (yes || no).then_some(yes)
}

/// systemd writes both weights of I/O where the files exist.
fn is_written(value: Value, host: &Host) -> bool {
    let is_v1 = host.v1_of("io").is_some();
    match value {
        Value::BfqWeight => is_v1 || host.has_io_file("io.bfq.weight"),
        Value::IoWeight => {
            !is_v1 && (!host.has_io_file("io.bfq.weight") || host.has_io_file("io.weight"))
        }
        _ => true,
    }
}

/// Bytes, a part of the machine's memory, or no limit.
fn bytes(text: &str, host: &Host) -> Option<(Wanted, &'static str)> {
    const WHOLE: u128 = 10_000;
    if text == "infinity" {
        return Some((Wanted::Unlimited, ""));
    }
    if let Some(part) = percent(text) {
        let machine = *host.snapshot.machine.memory.value()?;
        let bytes = u128::from(machine) * u128::from(part) / WHOLE;
        return Some((Wanted::Bytes(u64::try_from(bytes).ok()?), "of MemTotal"));
    }
    systemd_bytes(text).map(|bytes| (Wanted::Bytes(bytes), ""))
}
