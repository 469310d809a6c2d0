//! Services of a compose file, and what docker asks of the runtime for them.

use super::quantity::{docker_bytes, milli};
use super::subject::Subject;
use super::wanted::Wanted;
use super::{Asked, Request, Target};
use crate::conversion::runtime::{Formula, Swap, io_weight, swap_max};
use crate::rule::Host;
use crate::yaml::Yaml;

/// A service that asks for something.
#[derive(Debug)]
pub(super) struct Service {
    name: String,
    container: Option<String>,
    settings: Settings,
}

/// What it asks for. Of two spellings the later one of compose counts.
#[derive(Debug, Default)]
struct Settings {
    /// Quota and period in microseconds.
    quota: Option<(String, u64, u64)>,
    shares: Option<u64>,
    cpus: Option<String>,
    memory: Option<u64>,
    reservation: Option<u64>,
    /// Of memory and swap together; -1 is no limit.
    with_swap: Option<i64>,
    processes: Option<u64>,
    blkio_weight: Option<u64>,
    reserved_cpus: Option<String>,
}

/// The services of a document.
pub(super) fn read(document: &Yaml) -> Result<Vec<Service>, String> {
    let services = document.get("services").map(Yaml::entries).unwrap_or_default();
    let read = |(name, service): &(String, Yaml)| {
        let settings = settings(service).map_err(|why| format!("service {name}: {why}"))?;
        let container = service.text(&["container_name"]).map(str::to_owned);
        Ok(Service { name: name.clone(), container, settings })
    };
    services.iter().map(read).collect()
}

fn settings(service: &Yaml) -> Result<Settings, String> {
    const LIMITS: [&str; 3] = ["deploy", "resources", "limits"];
    const RESERVED: [&str; 3] = ["deploy", "resources", "reservations"];
    let below = |keys: [&str; 3], key: &str| service.text(&[keys[0], keys[1], keys[2], key]);
    let number = |keys: &[&str]| {
        let wrong = |text: &str| format!("{} `{text}` is no number", keys.join("."));
        service.text(keys).map(|text| text.parse::<u64>().map_err(|_| wrong(text))).transpose()
    };
    let amount = |text: Option<&str>| {
        text.map(|text| docker_bytes(text).ok_or(format!("`{text}` is no amount of memory")))
            .transpose()
    };
    let period = number(&["cpu_period"])?.unwrap_or(100_000);
    let quota = match (
        below(LIMITS, "cpus").or_else(|| service.text(&["cpus"])),
        number(&["cpu_quota"])?,
    ) {
        (Some(text), _) => {
            let milli = milli(text).ok_or(format!("cpus `{text}` is no number of CPUs"))?;
            (milli > 0).then(|| (format!("cpus: {text}"), milli.saturating_mul(100), 100_000))
        }
        (None, Some(quota)) => Some((format!("cpu_quota: {quota}"), quota, period)),
        (None, None) => None,
    };
    let with_swap = match service.text(&["memswap_limit"]) {
        Some("-1") => Some(-1),
        text => amount(text)?.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX)),
    };
    let processes = match number(&["deploy", "resources", "limits", "pids"])? {
        None if service.text(&["pids_limit"]) == Some("-1") => None,
        None => number(&["pids_limit"])?,
        of_deploy => of_deploy,
    };
    Ok(Settings {
        quota,
        shares: number(&["cpu_shares"])?.filter(|shares| *shares > 0),
        cpus: service.text(&["cpuset"]).map(str::to_owned),
        memory: amount(below(LIMITS, "memory").or_else(|| service.text(&["mem_limit"])))?,
        reservation: amount(
            below(RESERVED, "memory").or_else(|| service.text(&["mem_reservation"])),
        )?,
        with_swap,
        processes: processes.filter(|number| *number > 0),
        blkio_weight: number(&["blkio_config", "weight"])?,
        reserved_cpus: below(RESERVED, "cpus").map(str::to_owned),
    })
}

impl Service {
    pub(super) fn request(&self, host: &Host) -> Request {
        let settings = &self.settings;
        let asked = [settings.cpu(), settings.memory(), settings.others(host)];
        let reserved = settings.reserved_cpus.as_ref();
        let subject = match &self.container {
            Some(name) => Subject::Container(name.clone()),
            None => Subject::Service(self.name.clone()),
        };
        Request {
            title: format!("service {}", self.name),
            subject,
            asked: asked.into_iter().flatten().collect(),
            not_looked_at: reserved
                .map(|cpus| format!("reservations.cpus: {cpus}: only places the service; nothing is written for it"))
                .into_iter()
                .collect(),
        }
    }
}

impl Settings {
    fn cpu(&self) -> Vec<Asked> {
        let mut asked = Vec::new();
        if let Some((setting, quota, period)) = &self.quota {
            let wanted = |is_v2| Wanted::quota_of_container(*quota, *period, is_v2);
            asked.push(Asked {
                setting: setting.clone(),
                controller: "cpu",
                v2: Target::file("cpu.max", wanted(true), ""),
                v1: Target::file("cpu.cfs_quota_us", wanted(false), ""),
            });
        }
        if let Some(shares) = self.shares {
            let weights = Formula::ALL.iter().map(|formula| formula.weight(shares)).collect();
            let how = "by the linear formula (runc before 1.3.2, crun before 1.23) or the curve";
            asked.push(Asked {
                setting: format!("cpu_shares: {shares}"),
                controller: "cpu",
                v2: Target::file("cpu.weight", Wanted::Weight(weights), how),
                v1: Target::file("cpu.shares", Wanted::Weight(vec![shares]), ""),
            });
        }
        if let Some(list) = &self.cpus {
            let target = Target::file("cpuset.cpus", Wanted::List(list.clone()), "");
            asked.push(Asked::alike(format!("cpuset: {list}"), "cpuset", target));
        }
        asked
    }

    fn memory(&self) -> Vec<Asked> {
        let one = |setting: String, v2: Target, v1: Target| Asked {
            setting,
            controller: "memory",
            v2,
            v1,
        };
        let mut asked = Vec::new();
        if let Some(bytes) = self.memory {
            asked.push(one(
                format!("memory limit: {bytes}"),
                Target::file("memory.max", Wanted::Bytes(bytes), ""),
                Target::file("memory.limit_in_bytes", Wanted::Bytes(bytes), ""),
            ));
        }
        if let Some(bytes) = self.reservation {
            asked.push(one(
                format!("memory reservation: {bytes}"),
                Target::file("memory.low", Wanted::Bytes(bytes), ""),
                Target::file("memory.soft_limit_in_bytes", Wanted::Bytes(bytes), "a hint on v1"),
            ));
        }
        if let Some(both) = self.with_swap {
            let memory = self.memory.map_or(0, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
            let v2 = match swap_max(both, memory) {
                Swap::Bytes(bytes) => Some(Wanted::Bytes(bytes)),
                Swap::Unlimited => Some(Wanted::Unlimited),
                Swap::Unset | Swap::Refused => None,
            };
            let refused = || {
                Target::Unknown(
                    "the runtime refuses this together with the memory limit".to_owned(),
                )
            };
            let v1 = u64::try_from(both).map_or(Wanted::Unlimited, Wanted::Bytes);
            asked.push(one(
                format!("memswap_limit: {both}"),
                v2.map_or_else(refused, |wanted| {
                    Target::file("memory.swap.max", wanted, "memory and swap together, less memory")
                }),
                Target::file("memory.memsw.limit_in_bytes", v1, ""),
            ));
        }
        asked
    }

    fn others(&self, host: &Host) -> Vec<Asked> {
        let mut asked = Vec::new();
        if let Some(number) = self.processes {
            let target = Target::file("pids.max", Wanted::Number(number), "");
            asked.push(Asked::alike(format!("pids: {number}"), "pids", target));
        }
        if let Some(weight) = self.blkio_weight {
            let raw = |name| Target::file(name, Wanted::Weight(vec![weight]), "unchanged");
            let v2 = match host.has_io_file("io.bfq.weight") {
                true => raw("io.bfq.weight"),
                false => Target::file(
                    "io.weight",
                    Wanted::Weight(vec![io_weight(weight)]),
                    "1 + (weight - 10) * 9999 / 990",
                ),
            };
            let v1 = raw("blkio.bfq.weight");
            asked.push(Asked {
                setting: format!("blkio_config.weight: {weight}"),
                controller: "io",
                v2,
                v1,
            });
        }
        asked
    }
}
