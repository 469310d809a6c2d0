//! Services of a compose file, and what docker asks of the runtime for them.

use super::quantity::{docker_bytes, milli};
use super::subject::Subject;
use super::unit::assignments;
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
    /// A number that is written on v1 alone.
    OfV1,
    /// `true`, on v1 alone.
    OomKill,
    /// The group in which the container is.
    Parent,
}

const CPUS: &[&str] = &["deploy.resources.limits.cpus", "cpus"];
const MEMORY: &[&str] = &["deploy.resources.limits.memory", "mem_limit"];
const RESERVED: &[&str] = &["deploy.resources.reservations.memory", "mem_reservation"];
const SWAP: &[&str] = &["memswap_limit"];
const PIDS: &[&str] = &["deploy.resources.limits.pids", "pids_limit"];
const DISK: &[&str] = &["blkio_config.weight"];
const SOFT: &str = "memory.soft_limit_in_bytes";

static KEYS: [Key; 13] = [
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
    ("mem_swappiness", &["mem_swappiness"], "memory", "", "memory.swappiness", Value::OfV1),
    ("oom_kill_disable", &["oom_kill_disable"], "memory", "", "memory.oom_control", Value::OomKill),
    ("cpu_rt_runtime", &["cpu_rt_runtime"], "cpu", "", "cpu.rt_runtime_us", Value::OfV1),
    ("cgroup_parent", &["cgroup_parent"], "cpu", "", "", Value::Parent),
];

/// Lists of `blkio_config` with a value for each device: the key of an entry, its files, the key in `io.max`.
static DEVICES: [(&str, &str, &str, &str, &str); 5] = [
    ("device_read_bps", "rate", "io.max", "blkio.throttle.read_bps_device", "rbps"),
    ("device_write_bps", "rate", "io.max", "blkio.throttle.write_bps_device", "wbps"),
    ("device_read_iops", "rate", "io.max", "blkio.throttle.read_iops_device", "riops"),
    ("device_write_iops", "rate", "io.max", "blkio.throttle.write_iops_device", "wiops"),
    ("weight_device", "weight", "io.bfq.weight", "blkio.bfq.weight_device", ""),
];

/// Keys that ask for something which no file of the group shows, with what it is.
static NOT_COMPARED: [(&str, &str); 15] = [
    ("cpu_count", "for Windows"),
    ("cpu_percent", "for Windows"),
    ("cpu_period", "compared with cpu_quota only"),
    ("cpu_rt_period", "not compared"),
    ("deploy.resources.reservations.cpus", "only places the service; nothing is written for it"),
    ("deploy.resources.reservations.devices", "given by the runtime, not by a limit"),
    ("deploy.resources.reservations.generic_resources", "only places the service"),
    ("device_cgroup_rules", "rules for devices are not compared"),
    ("devices", "rules for devices are not compared"),
    ("gpus", "given by the runtime, not by a limit"),
    ("oom_score_adj", "a setting of its processes"),
    ("shm_size", "the size of a mount"),
    ("storage_opt", "a limit of the storage driver"),
    ("tmpfs", "the size of a mount"),
    ("ulimits", "limits of its processes"),
];

/// Keys of a service that ask for no resource (compose-spec, schema/compose-spec.json).
const PLAIN: &str = "annotations attach blkio_config build cap_add cap_drop cgroup command configs container_name \
    credential_spec depends_on deploy develop dns dns_opt dns_search domainname entrypoint env_file \
    environment expose extends external_links extra_hosts group_add healthcheck hostname image init ipc \
    isolation label_file labels links logging mac_address models network_mode networks pid platform \
    ports post_start pre_stop privileged profiles provider pull_policy pull_refresh_after \
    read_only restart runtime scale secrets security_opt stdin_open stop_grace_period stop_signal \
    sysctls tty use_api_socket user userns_mode uts volumes volumes_from working_dir";

/// A service of which all values are understood.
#[derive(Debug)]
pub(super) struct Service {
    name: String,
    yaml: Yaml,
    /// Of a quadlet.
    unit: Option<String>,
}

/// The services of a document.
pub(super) fn read(document: &Yaml) -> Result<Vec<Service>, String> {
    let services = document.get("services").map(Yaml::entries).unwrap_or_default();
    let read = |(name, yaml): &(String, Yaml)| {
        let service = Service { name: name.clone(), yaml: yaml.clone(), unit: None };
        // What it asks for depends on the host, and whether it is understood does not.
        service.asked(None).map_err(|why| format!("service {name}: {why}"))?;
        Ok(service)
    };
    services.iter().map(read).collect()
}

/// Keys of a quadlet, and options of its `PodmanArgs=`, with those of a service that mean the same.
const OF_PODMAN: [(&str, &str); 13] = [
    ("Memory", "mem_limit"),
    ("PidsLimit", "pids_limit"),
    ("ShmSize", "shm_size"),
    ("Ulimit", "ulimits"),
    ("ContainerName", "container_name"),
    ("--memory", "mem_limit"),
    ("-m", "mem_limit"),
    ("--memory-reservation", "mem_reservation"),
    ("--memory-swap", "memswap_limit"),
    ("--cpus", "cpus"),
    ("--cpu-shares", "cpu_shares"),
    ("--cpuset-cpus", "cpuset"),
    ("--pids-limit", "pids_limit"),
];

impl Service {
    /// The container of a quadlet, whose `[Service]` is the unit's.
    pub(super) fn quadlet(base: &str, text: &str) -> Result<Self, String> {
        let mut keys = vec![("container_name".to_owned(), Yaml::Scalar(format!("systemd-{base}")))];
        let mut add = |key: &str, value: &str| {
            let of = OF_PODMAN.iter().find(|(own, _)| *own == key).map_or(key, |(_, same)| same);
            keys.retain(|(own, _)| own != of);
            keys.push((of.to_owned(), Yaml::Scalar(value.to_owned())));
        };
        for (key, value) in assignments(text, &["Container"]) {
            if key != "PodmanArgs" {
                let is_known = OF_PODMAN.iter().any(|(own, _)| *own == key);
                if is_known {
                    add(&key, &value);
                }
                continue;
            }
            let mut words = value.split_whitespace();
            while let Some(word) = words.next().filter(|word| word.starts_with('-')) {
                match word.split_once('=') {
                    Some((option, value)) => add(option, value),
                    None => add(word, words.next().unwrap_or_default()),
                }
            }
        }
        let name = format!("{base}.container");
        let unit = Some(format!("{base}.service"));
        let service = Self { name, yaml: Yaml::Mapping(keys), unit };
        service.asked(None).map_err(|why| format!("{base}.container: {why}"))?;
        Ok(service)
    }

    pub(super) fn request(&self, host: &Host) -> Request {
        let container = self.yaml.text("container_name").map(str::to_owned);
        let subject = match (container, self.unit.clone()) {
            (Some(name), Some(unit)) => Subject::Quadlet { name, unit },
            (Some(name), None) => Subject::Container(name),
            (None, _) => Subject::Service(self.name.clone()),
        };
        Request {
            title: format!("service {}", self.name),
            subject,
            asked: self.asked(Some(host)).unwrap_or_default(),
            not_looked_at: Vec::new(),
        }
    }

    fn asked(&self, host: Option<&Host>) -> Result<Vec<Asked>, String> {
        let mut asked = Vec::new();
        for key in &KEYS {
            let Some((path, text)) = self.first(key.1) else { continue };
            let Some((shown, v2, v1)) = self.targets(key, path, text, host)? else { continue };
            asked.push(Asked { setting: format!("{}: {shown}", key.0), controller: key.2, v2, v1 });
        }
        for device in &DEVICES {
            let entries = self.yaml.get("blkio_config").map(|all| all.list(device.0));
            for entry in entries.unwrap_or_default() {
                asked.push(of_device(device, entry, host)?);
            }
        }
        asked.extend(self.not_compared());
        Ok(asked)
    }

    /// What is asked for and not compared, and what nobody knows: named, so that silence means that nothing was asked.
    fn not_compared(&self) -> Vec<Asked> {
        let below = |path: &str| {
            let at = path.split('.').try_fold(&self.yaml, |value, key| value.get(key));
            let keys = at.map(Yaml::keys).unwrap_or_default();
            keys.into_iter().map(|key| format!("{path}.{key}")).collect::<Vec<String>>()
        };
        let own = self.yaml.keys().into_iter().map(str::to_owned);
        let lists = ["blkio_config", "deploy.resources.limits", "deploy.resources.reservations"];
        let all = own.chain(lists.into_iter().flat_map(below));
        let is_compared = |path: &str| {
            KEYS.iter().any(|key| key.1.contains(&path))
                || DEVICES.iter().any(|one| path.strip_prefix("blkio_config.") == Some(one.0))
                || path == "cpu_period" && self.yaml.get("cpu_quota").is_some()
        };
        let is_plain = |path: &str| PLAIN.split_whitespace().any(|key| key == path);
        let left = all
            .filter(move |path| !is_compared(path) && !is_plain(path) && !path.starts_with("x-"));
        left.map(|path| {
            let known = NOT_COMPARED.iter().find(|(key, _)| *key == path);
            let why = known.map_or("this key is not known", |(_, why)| why);
            Asked::not_compared(path, why)
        })
        .collect()
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
                let period = period.map_or(Ok(100_000), |text| count("cpu_period", text))?;
                let microseconds = count(path, text)?;
                quota(microseconds.to_string(), microseconds, period)
            }
            Value::Shares => {
                let shares = count(path, text)?;
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
            Value::Count => match if text == "-1" { 0 } else { count(path, text)? } {
                0 => Ok(None),
                count => {
                    both(count.to_string(), Wanted::Number(count), "", Wanted::Number(count), "")
                }
            },
            Value::DiskWeight => {
                let weight = count(path, text)?;
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
            Value::OfV1 => {
                let wanted = Wanted::Number(count(path, text)?);
                let on_v2 = Target::Nowhere("cgroup2 has no such setting; the runtime drops it");
                Ok(Some((text.to_owned(), on_v2, Target::file(v1, wanted, ""))))
            }
            Value::OomKill if text != "true" => Ok(None),
            Value::OomKill => {
                let wanted = Wanted::Line("oom_kill_disable 1".to_owned());
                let on_v2 = Target::Nowhere("cgroup2 has no such setting; the runtime drops it");
                Ok(Some((text.to_owned(), on_v2, Target::file(v1, wanted, ""))))
            }
            Value::Parent => {
                let above = Target::Below(text.to_owned());
                Ok(Some((text.to_owned(), above.clone(), above)))
            }
        }
    }
}

/// `path: /dev/sda` with its `rate` or `weight`.
fn of_device(
    &(key, of, v2, v1, field): &(&str, &str, &'static str, &'static str, &'static str),
    entry: &Yaml,
    host: Option<&Host>,
) -> Result<Asked, String> {
    let (Some(path), Some(text)) = (entry.text("path"), entry.text(of)) else {
        return Err(format!("blkio_config.{key}: an entry without path or {of}"));
    };
    let value = if field.ends_with("bps") { bytes(text)? } else { count(of, text)? };
    let setting = format!("blkio_config.{key}: {path} {text}");
    let Some(host) = host else { return Ok(Asked::not_compared(setting, "")) };
    let name = path.strip_prefix("/dev/").unwrap_or(path);
    let Some(disk) = host.disk_named(name) else {
        return Ok(Asked::not_compared(setting, format!("which disk {path} is, is not known")));
    };
    let target = |name| {
        let device = disk.device.clone();
        Target::file(name, Wanted::Device { device, key: field, value }, "")
    };
    let (v2, v1) = if disk.name != name {
        let never = Target::Nowhere("a partition, and the kernel takes whole disks (ENODEV)");
        (never.clone(), never)
    } else if field.is_empty() && !host.has_io_file(v2) {
        (Target::Nowhere("the runtime writes weights of devices for bfq only"), target(v1))
    } else {
        (target(v2), target(v1))
    };
    Ok(Asked { setting, controller: "io", v2, v1 })
}

fn count(path: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{path} `{text}` is no number"))
}

fn bytes(text: &str) -> Result<u64, String> {
    docker_bytes(text).ok_or_else(|| format!("`{text}` is no amount of memory"))
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
