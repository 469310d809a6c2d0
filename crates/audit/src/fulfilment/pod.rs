//! Pods of Kubernetes: what the kubelet writes for requests and limits (pkg/kubelet/cm/helpers_linux.go of 1.37), and
//! for MemoryQoS by its configuration (KEP-2570).

mod config;
mod resources;

use super::subject::{PodName, Subject};
use super::wanted::Wanted;
use super::{Asked, Request, Target};
use crate::conversion::runtime::Formula;
use crate::conversion::{MIN_SHARES, kubelet};
use crate::yaml::Yaml;

pub(super) use config::KubeletConfig;
use config::Reservation;
use resources::{Amounts, PodAmounts, Qos};

/// A pod of a manifest.
#[derive(Debug)]
pub(super) struct Pod {
    title: String,
    name: PodName,
    containers: Vec<Container>,
    amounts: PodAmounts,
}

#[derive(Debug)]
struct Container {
    name: String,
    /// From the status, without the scheme.
    id: Option<String>,
    amounts: Amounts,
}

impl Pod {
    /// Reads a pod, or the template of one in a Deployment, a Job and the like; nothing if it is neither.
    pub(super) fn read(document: &Yaml) -> Result<Option<Self>, String> {
        let is_pod = document.text(&["kind"]) == Some("Pod");
        let template = document.at(&["spec", "template"]);
        let Some(pod) = template.or(is_pod.then_some(document)) else { return Ok(None) };
        let Some(spec) = pod.get("spec") else { return Ok(None) };
        let name = match is_pod {
            true => {
                let space = pod.text(&["metadata", "namespace"]).unwrap_or("default");
                let name = pod.text(&["metadata", "name"]);
                PodName {
                    uid: pod.text(&["metadata", "uid"]).map(str::to_owned),
                    name: name.map(|name| format!("{space}/{name}")),
                    path: None,
                }
            }
            false => PodName::default(),
        };
        let title = name.name.clone().unwrap_or_else(|| {
            let kind = document.text(&["kind"]).unwrap_or("template");
            let name = document.text(&["metadata", "name"]).unwrap_or("without a name");
            format!("of {kind} {name}")
        });
        let mut containers = Vec::new();
        for container in spec.get("containers").map(Yaml::items).unwrap_or_default() {
            let name = container.text(&["name"]).ok_or("a container without a name")?;
            containers.push(Container {
                name: name.to_owned(),
                id: id_of(pod, name),
                amounts: Amounts::read(container.get("resources"))
                    .map_err(|why| format!("container {name}: {why}"))?,
            });
        }
        let amounts = PodAmounts::read(spec)?;
        Ok(Some(Self { title, name, containers, amounts }))
    }
}

/// `containerd://ID` of the status.
fn id_of(pod: &Yaml, name: &str) -> Option<String> {
    let all = pod.at(&["status", "containerStatuses"])?.items();
    let own = all.iter().find(|one| one.text(&["name"]) == Some(name))?;
    let id = own.text(&["containerID"])?;
    Some(id.rsplit('/').next()?.to_owned())
}

/// One request for the pod and one for each of its containers.
pub(super) fn requests(pod: &Pod, config: Option<&KubeletConfig>) -> Vec<Request> {
    let mut requests = vec![Request {
        title: format!("pod {}", pod.title),
        subject: Subject::Pod(pod.name.clone()),
        asked: of_pod(&pod.amounts, config),
        not_looked_at: not_known(&pod.amounts, config),
    }];
    let containers = pod.containers.iter().map(|container| Request {
        title: format!("container {} of pod {}", container.name, pod.title),
        subject: Subject::ContainerOf {
            pod: pod.name.clone(),
            name: container.name.clone(),
            id: container.id.clone(),
        },
        asked: of_container(&container.amounts, &pod.amounts, config),
        not_looked_at: Vec::new(),
    });
    requests.extend(containers);
    requests
}

fn not_known(amounts: &PodAmounts, config: Option<&KubeletConfig>) -> Vec<String> {
    let mut lines = Vec::new();
    if config.is_none() && amounts.qos != Qos::BestEffort {
        let what = "memory.min, memory.low and memory.high depend on the kubelet's MemoryQoS: give its configuration \
                    by another --manifest";
        lines.push(what.to_owned());
    }
    lines
}

fn of_pod(pod: &PodAmounts, config: Option<&KubeletConfig>) -> Vec<Asked> {
    let sum = &pod.sum;
    let milli = sum.cpu_request.unwrap_or(0);
    let mut asked =
        vec![shares(&format!("requests.cpu: {milli}m in all"), milli, &[Formula::Linear])];
    if let Some(limit) = sum.cpu_limit.filter(|_| pod.all_limit_cpu) {
        asked.extend(quota(limit, "in all", pod.is_exclusive(config), config));
    }
    if let Some(limit) = sum.memory_limit.filter(|_| pod.all_limit_memory) {
        asked.push(most_memory(limit, " in all"));
    }
    if let Some(config) = config {
        asked.extend(protection(sum.memory_request.unwrap_or(0), pod.qos, config, " in all"));
        asked.push(memory(
            "memory.high",
            Wanted::Unlimited,
            "pods have none of their own",
            String::new(),
        ));
    }
    asked
}

fn of_container(own: &Amounts, pod: &PodAmounts, config: Option<&KubeletConfig>) -> Vec<Asked> {
    let milli = own.cpu_request.unwrap_or(0);
    let mut asked = vec![shares(&format!("requests.cpu: {milli}m"), milli, &Formula::ALL)];
    if let Some(limit) = own.cpu_limit {
        let is_exclusive = pod.is_exclusive(config) && own.has_whole_cpus();
        asked.extend(quota(limit, "", is_exclusive, config));
    }
    if let Some(limit) = own.memory_limit {
        asked.push(most_memory(limit, ""));
    }
    if let Some(config) = config {
        asked.extend(protection(own.memory_request.unwrap_or(0), pod.qos, config, ""));
        asked.extend(throttling(own, pod.qos, config));
    }
    asked
}

/// The runtime may use either formula for its containers, by its version.
fn shares(setting: &str, milli: u64, formulas: &[Formula]) -> Asked {
    let shares = kubelet::shares(milli).max(MIN_SHARES);
    let mut weights: Vec<u64> = formulas.iter().map(|formula| formula.weight(shares)).collect();
    weights.dedup();
    let how = match weights.len() {
        1 => format!("{shares} shares, by the linear formula"),
        _ => format!(
            "{shares} shares, by the linear formula (runc before 1.3.2, crun before 1.23) or the curve"
        ),
    };
    Asked {
        setting: setting.to_owned(),
        controller: "cpu",
        v2: Target::file("cpu.weight", Wanted::Weight(weights), how),
        v1: Target::file("cpu.shares", Wanted::Weight(vec![shares]), "milli-CPUs * 1024 / 1000"),
    }
}

fn quota(
    milli: u64,
    whose: &str,
    is_exclusive: bool,
    config: Option<&KubeletConfig>,
) -> Option<Asked> {
    let period = config.map_or(100_000, |config| config.period);
    let is_off = config.is_some_and(|config| !config.has_quota);
    let quota = kubelet::quota(milli, period).filter(|_| !is_exclusive && !is_off);
    let how = match quota {
        Some(_) => "milli-CPUs * period / 1000; none if the CPU manager gives CPUs of its own",
        None if is_off => "cpuCFSQuota is false",
        None => "the CPU manager gives it CPUs of its own",
    };
    let wanted = |is_v2| match quota {
        Some(quota) => Wanted::quota_of_container(quota, period, is_v2),
        None if is_v2 => Wanted::Bandwidth(None, period),
        None => Wanted::Unlimited,
    };
    Some(Asked {
        setting: format!("limits.cpu: {milli}m {whose}").trim_end().to_owned(),
        controller: "cpu",
        v2: Target::file("cpu.max", wanted(true), how),
        v1: Target::file("cpu.cfs_quota_us", wanted(false), how),
    })
    .filter(|_| milli > 0)
}

fn most_memory(bytes: u64, whose: &str) -> Asked {
    Asked {
        setting: format!("limits.memory: {bytes}{whose}"),
        controller: "memory",
        v2: Target::file("memory.max", Wanted::Bytes(bytes), ""),
        v1: Target::file("memory.limit_in_bytes", Wanted::Bytes(bytes), ""),
    }
}

fn memory(name: &'static str, wanted: Wanted, how: &str, setting: String) -> Asked {
    let setting = if setting.is_empty() { format!("MemoryQoS, {name}") } else { setting };
    Asked {
        setting,
        controller: "memory",
        v2: Target::file(name, wanted, how),
        v1: Target::Unknown("MemoryQoS is for cgroup2 only".to_owned()),
    }
}

/// `memory.min` of guaranteed and `memory.low` of burstable groups.
fn protection(request: u64, qos: Qos, config: &KubeletConfig, whose: &str) -> Vec<Asked> {
    let setting = format!("requests.memory: {request}{whose}");
    let one = |name: &'static str, of: Qos| {
        let bytes = if qos == of && config.reserves() { request } else { 0 };
        let how = match config.reservation {
            Reservation::None => "memoryReservationPolicy is None",
            Reservation::Tiered => {
                "TieredReservation: memory.min if guaranteed, memory.low if burstable"
            }
        };
        let how = if config.has_memory_qos { how } else { "the feature gate MemoryQoS is off" };
        memory(name, Wanted::Bytes(bytes), how, setting.clone())
    };
    vec![one("memory.min", Qos::Guaranteed), one("memory.low", Qos::Burstable)]
}

/// `memory.high` between the request and the limit.
fn throttling(own: &Amounts, qos: Qos, config: &KubeletConfig) -> Option<Asked> {
    const PAGE: u64 = 4096;
    let setting = "memoryThrottlingFactor".to_owned();
    let (Some(factor), true) = (config.factor, config.has_memory_qos) else {
        return Some(memory(
            "memory.high",
            Wanted::Unlimited,
            "no memoryThrottlingFactor",
            setting,
        ));
    };
    let request = own.memory_request.unwrap_or(0);
    let setting = format!("memoryThrottlingFactor: {factor}");
    let Some(limit) = own.memory_limit else {
        let why = "without a limit it depends on what the node can allocate".to_owned();
        return Some(Asked::alike(setting, "memory", Target::Unknown(why)));
    };
    let high =
        kubelet::memory_high(request, limit, factor, PAGE).filter(|_| qos != Qos::Guaranteed);
    let wanted = high.map_or(Wanted::Unlimited, Wanted::Bytes);
    Some(memory("memory.high", wanted, "request + factor * (limit - request), in pages", setting))
}
