//! Services of a compose file, and what docker asks of the runtime for them.

use super::quantity::{docker_bytes, milli};
use super::subject::Subject;
use super::wanted::Wanted;
use super::{Asked, Request, Target};
use crate::conversion::runtime::{Formula, Swap, io_weight, swap_max};
use crate::host::Host;
use crate::yaml::Yaml;

/// A key: how the answer calls it, where it stands (the first place that is there counts), its controller, its files on cgroup2 and v1, and how
/// its value becomes theirs. A new key is one line.
type Key = (&'static str, &'static [&'static str], &'static str, &'static str, &'static str, Value);

/// How its value becomes that of the files.
#[derive(Debug, Clone, Copy)]
enum Value {
    Cpus,
    /// With `cpu_period`.
    Quota,
    Shares,
    Ids,
    Bytes,
    /// Memory and swap together; -1 is no limit.
    Swap,
    Count,
    DiskWeight,
}

const CPUS: &[&str] = &["deploy.resources.limits.cpus", "cpus"];
const MEMORY: &[&str] = &["deploy.resources.limits.memory", "mem_limit"];
const RESERVED: &[&str] = &["deploy.resources.reservations.memory", "mem_reservation"];
const SWAP: &[&str] = &["memswap_limit"];
const PIDS: &[&str] = &["deploy.resources.limits.pids", "pids_limit"];
const DISK: &[&str] = &["blkio_config.weight"];
const SOFT: &str = "memory.soft_limit_in_bytes";

static KEYS: [Key; 9] = [
    ("cpus", CPUS, "cpu", "cpu.max", "cpu.cfs_quota_us", Value::Cpus),
    ("cpu_quota", &["cpu_quota"], "cpu", "cpu.max", "cpu.cfs_quota_us", Value::Quota),
    ("cpu_shares", &["cpu_shares"], "cpu", "cpu.weight", "cpu.shares", Value::Shares),
    ("cpuset", &["cpuset"], "cpuset", "cpuset.cpus", "cpuset.cpus", Value::Ids),
    ("memory limit", MEMORY, "memory", "memory.max", "memory.limit_in_bytes", Value::Bytes),
    ("memory reservation", RESERVED, "memory", "memory.low", SOFT, Value::Bytes),
    (
        "memswap_limit",
        SWAP,
        "memory",
        "memory.swap.max",
        "memory.memsw.limit_in_bytes",
        Value::Swap,
    ),
    ("pids", PIDS, "pids", "pids.max", "pids.max", Value::Count),
    ("blkio_config.weight", DISK, "io", "io.bfq.weight", "blkio.bfq.weight", Value::DiskWeight),
];

/// A service of which all values are understood.
#[derive(Debug)]
pub(super) struct Service {
    name: String,
    yaml: Yaml,
}

/// The services of a document.
pub(super) fn read(document: &Yaml) -> Result<Vec<Service>, String> {
    let services = document.get("services").map(Yaml::entries).unwrap_or_default();
    let read = |(name, yaml): &(String, Yaml)| {
        let service = Service { name: name.clone(), yaml: yaml.clone() };
        // What it asks for depends on the host, and whether it is understood does not.
        service.asked(None).map_err(|why| format!("service {name}: {why}"))?;
        Ok(service)
    };
    services.iter().map(read).collect()
}

impl Service {
    pub(super) fn request(&self, host: &Host) -> Request {
        let reserved = self.yaml.text("deploy.resources.reservations.cpus");
        let only_places = |cpus: &str| {
            format!("reservations.cpus: {cpus}: only places the service; nothing is written for it")
        };
        let container = self.yaml.text("container_name").map(str::to_owned);
        Request {
            title: format!("service {}", self.name),
            subject: container
                .map_or_else(|| Subject::Service(self.name.clone()), Subject::Container),
            asked: self.asked(Some(host)).unwrap_or_default(),
            not_looked_at: reserved.map(only_places).into_iter().collect(),
        }
    }

    fn asked(&self, host: Option<&Host>) -> Result<Vec<Asked>, String> {
        let mut asked = Vec::new();
        for key in &KEYS {
            let Some((path, text)) = self.first(key.1) else { continue };
            let Some((shown, v2, v1)) = self.targets(key, path, text, host)? else { continue };
            asked.push(Asked { setting: format!("{}: {shown}", key.0), controller: key.2, v2, v1 });
        }
        Ok(asked)
    }

    fn first(&self, paths: &[&'static str]) -> Option<(&'static str, &str)> {
        paths.iter().find_map(|path| Some((*path, self.yaml.text(path)?)))
    }

    /// How a value is shown, and what should stand in the files; nothing for one that asks for nothing.
    fn targets(
        &self,
        &(_, _, _, v2, v1, value): &Key,
        path: &str,
        text: &str,
        host: Option<&Host>,
    ) -> Result<Option<(String, Target, Target)>, String> {
        let number = |path: &str, text: &str| {
            text.parse::<u64>().map_err(|_| format!("{path} `{text}` is no number"))
        };
        let both = |shown: String, on_v2: Wanted, how_v2: &str, on_v1: Wanted, how_v1: &str| {
            Ok(Some((shown, Target::file(v2, on_v2, how_v2), Target::file(v1, on_v1, how_v1))))
        };
        let quota = |shown: String, quota, period| {
            let wanted = |is_v2| Wanted::quota_of_container(quota, period, is_v2);
            both(shown, wanted(true), "", wanted(false), "")
        };
        match value {
            Value::Cpus => {
                let milli = milli(text).ok_or(format!("cpus `{text}` is no number of CPUs"))?;
                match milli {
                    0 => Ok(None),
                    milli => quota(text.to_owned(), milli.saturating_mul(100), 100_000),
                }
            }
            Value::Quota if self.first(CPUS).is_some() => Ok(None),
            Value::Quota => {
                let period = self.yaml.text("cpu_period");
                let period = period.map_or(Ok(100_000), |text| number("cpu_period", text))?;
                let microseconds = number(path, text)?;
                quota(microseconds.to_string(), microseconds, period)
            }
            Value::Shares => {
                let shares = number(path, text)?;
                let weights = Formula::ALL.map(|formula| Wanted::Weight(formula.weight(shares)));
                let how =
                    "by the linear formula (runc before 1.3.2, crun before 1.23) or the curve";
                let on_v2 = Wanted::any_of(weights);
                match shares {
                    0 => Ok(None),
                    _ => both(shares.to_string(), on_v2, how, Wanted::Weight(shares), ""),
                }
            }
            Value::Ids => {
                let list = Wanted::List(text.to_owned());
                both(text.to_owned(), list.clone(), "", list, "")
            }
            Value::Bytes => {
                let bytes = bytes(text)?;
                let how = if v1 == SOFT { "a hint on v1" } else { "" };
                both(bytes.to_string(), Wanted::Bytes(bytes), "", Wanted::Bytes(bytes), how)
            }
            Value::Swap => {
                let with_swap = if text == "-1" { -1 } else { signed(bytes(text)?) };
                let memory =
                    self.first(MEMORY).map_or(Ok(0), |(_, text)| bytes(text).map(signed))?;
                let how = "memory and swap together, less memory";
                let on_v2 = match swap_max(with_swap, memory) {
                    Swap::Bytes(bytes) => Target::file(v2, Wanted::Bytes(bytes), how),
                    Swap::Unlimited => Target::file(v2, Wanted::Unlimited, how),
                    Swap::Unset | Swap::Refused => Target::Unknown(
                        "the runtime refuses this together with the memory limit".to_owned(),
                    ),
                };
                let on_v1 = u64::try_from(with_swap).map_or(Wanted::Unlimited, Wanted::Bytes);
                Ok(Some((with_swap.to_string(), on_v2, Target::file(v1, on_v1, ""))))
            }
            Value::Count => match if text == "-1" { 0 } else { number(path, text)? } {
                0 => Ok(None),
                count => {
                    both(count.to_string(), Wanted::Number(count), "", Wanted::Number(count), "")
                }
            },
            Value::DiskWeight => {
                let weight = number(path, text)?;
                let raw = |name| Target::file(name, Wanted::Weight(weight), "unchanged");
                let on_v2 = match host.is_none_or(|host| host.has_io_file(v2)) {
                    true => raw(v2),
                    false => Target::file(
                        "io.weight",
                        Wanted::Weight(io_weight(weight)),
                        "1 + (weight - 10) * 9999 / 990",
                    ),
                };
                Ok(Some((weight.to_string(), on_v2, raw(v1))))
            }
        }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    docker_bytes(text).ok_or_else(|| format!("`{text}` is no amount of memory"))
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
