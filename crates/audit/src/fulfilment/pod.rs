//! Pods of Kubernetes: what the kubelet writes for requests and limits (pkg/kubelet/cm/helpers_linux.go of 1.37), and
//! for MemoryQoS by its configuration (KEP-2570).

mod config;
mod resources;

use std::collections::BTreeMap;

use super::subject::{PodName, Subject};
use super::wanted::Wanted;
use super::{Asked, Request, Target};
use crate::conversion::runtime::Formula;
use crate::conversion::{MIN_SHARES, kubelet};
use crate::host::Host;
use crate::settings::CPU_STATE;
use crate::yaml::Yaml;

pub(super) use config::KubeletConfig;
use config::{Reservation, Reserved, SwapBehavior};
use resources::{CPU, HUGE, MEMORY, PodResources, Qos, Resources, name, others};

/// A pod of a manifest.
#[derive(Debug)]
pub(super) struct Pod {
    title: String,
    name: PodName,
    containers: Vec<Container>,
    amounts: PodResources,
}

#[derive(Debug)]
struct Container {
    name: String,
    /// From the status, without the scheme.
    id: Option<String>,
    amounts: Resources,
    /// What else it asks for.
    others: Vec<String>,
}

impl Pod {
    /// Reads a pod, or the template of one in a Deployment, a Job and the like; nothing if it is neither.
    pub(super) fn read(document: &Yaml) -> Result<Option<Self>, String> {
        let is_pod = document.text("kind") == Some("Pod");
        let template = document.get("spec").and_then(|spec| spec.get("template"));
        let Some(pod) = template.or(is_pod.then_some(document)) else { return Ok(None) };
        let Some(spec) = pod.get("spec") else { return Ok(None) };
        let space = pod.text("metadata.namespace").unwrap_or("default");
        let own = |key: &str| pod.text(key).filter(|_| is_pod);
        let name = PodName {
            uid: own("metadata.uid").map(str::to_owned),
            name: own("metadata.name").map(|name| format!("{space}/{name}")),
            path: None,
        };
        let title = name.name.clone().unwrap_or_else(|| {
            let kind = document.text("kind").unwrap_or("template");
            let name = document.text("metadata.name").unwrap_or("without a name");
            format!("of {kind} {name}")
        });
        let mut containers = Vec::new();
        let goes_on = |one: &&Yaml| one.text("restartPolicy") == Some("Always");
        let sidecars = spec.list("initContainers").iter().filter(goes_on);
        for container in spec.list("containers").iter().chain(sidecars) {
            let name = container.text("name").ok_or("a container without a name")?;
            containers.push(Container {
                name: name.to_owned(),
                id: id_of(pod, name),
                amounts: Resources::read(container.get("resources"))
                    .map_err(|why| format!("container {name}: {why}"))?,
                others: others(container.get("resources")),
            });
        }
        let amounts = PodResources::read(spec)?;
        Ok(Some(Self { title, name, containers, amounts }))
    }
}

/// `containerd://ID` of the status.
fn id_of(pod: &Yaml, name: &str) -> Option<String> {
    let status = pod.get("status")?;
    let all = ["containerStatuses", "initContainerStatuses"].map(|key| status.list(key));
    let own = all.into_iter().flatten().find(|one| one.text("name") == Some(name))?;
    let id = own.text("containerID")?;
    Some(id.rsplit('/').next()?.to_owned())
}

/// One request for the pod and one for each of its containers.
pub(super) fn requests(pod: &Pod, config: Option<&KubeletConfig>, host: &Host) -> Vec<Request> {
    let unknown = (config.is_none() && pod.amounts.qos != Qos::BestEffort).then(|| {
        "memory.min, memory.low and memory.high depend on the kubelet's MemoryQoS: give its configuration \
         by another --manifest"
            .to_owned()
    });
    let mut requests = vec![Request {
        title: format!("pod {}", pod.title),
        subject: Subject::Pod(pod.name.clone()),
        asked: of_pod(&pod.amounts, config),
        not_looked_at: unknown.into_iter().collect(),
    }];
    let given = given(&pod.name, host);
    let containers = pod.containers.iter().map(|container| Request {
        title: format!("container {} of pod {}", container.name, pod.title),
        subject: Subject::ContainerOf {
            pod: pod.name.clone(),
            name: container.name.clone(),
            id: container.id.clone(),
        },
        asked: of_container(container, &pod.amounts, config, host, &given),
        not_looked_at: Vec::new(),
    });
    requests.extend(containers);
    requests
}

fn of_pod(pod: &PodResources, config: Option<&KubeletConfig>) -> Vec<Asked> {
    let is_exclusive = pod.is_exclusive(config);
    let mut asked = divided(&pod.sum, " in all", &[Formula::Linear], is_exclusive, config);
    asked.extend(huge_pages(&pod.sum.requests, " in all"));
    if let Some(config) = config {
        let pids = config.pids.map(|number| (number, "podPidsLimit"));
        asked.extend(pids.map(|(number, key)| tasks(format!("{key}: {number}"), number)));
        asked.extend(protection(&pod.sum, pod.qos, config, " in all"));
        let setting = "MemoryQoS, memory.high".to_owned();
        asked.push(memory(
            setting,
            "memory.high",
            Wanted::Unlimited,
            "pods have none of their own",
        ));
    }
    asked
}

/// The runtime may use either formula for its containers, by its version.
fn of_container(
    container: &Container,
    pod: &PodResources,
    config: Option<&KubeletConfig>,
    host: &Host,
    given: &BTreeMap<String, String>,
) -> Vec<Asked> {
    let own = &container.amounts;
    let is_exclusive = pod.is_exclusive(config) && own.has_whole_cpus();
    let mut asked = Vec::new();
    if let Some(milli) = own.limits[CPU].filter(|_| is_exclusive) {
        asked.push(own_cpus(milli, given.get(&container.name)));
    }
    asked.extend(divided(own, "", &Formula::ALL, is_exclusive, config));
    asked.extend(huge_pages(&own.limits, ""));
    if let Some(config) = config {
        asked.extend(protection(own, pod.qos, config, ""));
        asked.push(throttling(own, pod.qos, config));
        asked.extend(config.kills_one.map(|one| {
            let wanted = Wanted::Number(u64::from(!one));
            memory(
                format!("singleProcessOOMKill: {one}"),
                "memory.oom.group",
                wanted,
                "1 for false",
            )
        }));
        asked.extend(config.swap.map(|behavior| swap(behavior, own, pod.qos, host)));
    }
    let why = "not compared: it stands in no file of the group";
    asked.extend(container.others.iter().map(|key| Asked::not_compared(key.clone(), why)));
    asked
}

/// The CPUs that the CPU manager has given to each container of a pod alone, by its state.
fn given(pod: &PodName, host: &Host) -> BTreeMap<String, String> {
    let state = || -> Option<BTreeMap<String, String>> {
        let state: serde_json::Value = serde_json::from_str(host.file(CPU_STATE)?).ok()?;
        let own = state.get("entries")?.get(pod.uid.as_ref()?)?;
        serde_json::from_value(own.clone()).ok()
    };
    state().unwrap_or_default()
}

/// Only the list of its CPUs holds such a container: `cpu.max` has no quota for it since 1.33.
fn own_cpus(milli: u64, given: Option<&String>) -> Asked {
    let (wanted, how) = match given {
        Some(list) => (Wanted::List(list.clone()), CPU_STATE),
        None => (Wanted::Cpus(milli / 1000), "the CPU manager gives it CPUs of its own"),
    };
    let file = Target::file("cpuset.cpus", wanted, how);
    Asked::alike(format!("limits.cpu: {milli}m"), "cpuset", file)
}

fn huge_pages(amounts: &[Option<u64>], whose: &str) -> Vec<Asked> {
    let sizes = HUGE.iter().filter_map(|(at, v2, v1)| Some((*at, *v2, *v1, (*amounts.get(*at)?)?)));
    sizes
        .map(|(at, v2, v1, bytes)| Asked {
            setting: format!("limits.{}: {bytes}{whose}", name(at)),
            controller: "hugetlb",
            v2: Target::file(v2, Wanted::Bytes(bytes), ""),
            v1: Target::file(v1, Wanted::Bytes(bytes), ""),
        })
        .collect()
}

fn tasks(setting: String, number: u64) -> Asked {
    Asked::alike(setting, "pids", Target::file("pids.max", Wanted::Number(number), ""))
}

/// (configureContainerSwapResources, pkg/kubelet/kuberuntime/kuberuntime_container_linux.go)
fn swap(behavior: SwapBehavior, own: &Resources, qos: Qos, host: &Host) -> Asked {
    const FILE: &str = "memory.swap.max";
    let (request, limit) = (own.requests[MEMORY], own.limits[MEMORY]);
    let may_swap = behavior == SwapBehavior::Limited && qos == Qos::Burstable && request != limit;
    let machine = &host.snapshot.machine;
    let (key, request) = ("memorySwap.swapBehavior", request.filter(|_| may_swap).unwrap_or(0));
    if request == 0 {
        let how = "none of its own: only burstable containers below their limit swap";
        return memory(format!("{key}: {behavior:?}Swap"), FILE, Wanted::Bytes(0), how);
    }
    let setting = format!("{key}: LimitedSwap");
    let (Some(all), Some(swap)) = (machine.memory.value(), machine.swap.value()) else {
        return Asked::not_compared(setting, "the memory or swap of the machine is unknown");
    };
    let part = request as f64 / *all as f64 * *swap as f64;
    memory(setting, FILE, Wanted::Bytes(part as u64), "request / MemTotal * SwapTotal")
}

/// What a KubeletConfiguration asks for by itself.
pub(super) fn of_node(config: &KubeletConfig) -> Vec<Request> {
    let rest = config.not_compared.iter();
    let rest: Vec<String> = rest.map(|key| format!("{key}: depends on all of the node")).collect();
    let one = |reserved: &Reserved| {
        let key = reserved.key;
        let cpu = reserved
            .cpu
            .map(|milli| shares(format!("{key}.cpu: {milli}m"), milli, &[Formula::Linear]));
        let limit = |bytes: u64| {
            let file = |name| Target::file(name, Wanted::Bytes(bytes), "");
            let (v2, v1) = (file("memory.max"), file("memory.limit_in_bytes"));
            Asked { setting: format!("{key}.memory: {bytes}"), controller: "memory", v2, v1 }
        };
        let pids = reserved.pids.map(|number| tasks(format!("{key}.pid: {number}"), number));
        let asked = cpu.into_iter().chain(reserved.memory.map(limit)).chain(pids);
        Request {
            title: format!("kubelet, {key}"),
            subject: Subject::Group(reserved.group.clone()),
            asked: asked.collect(),
            not_looked_at: rest.clone(),
        }
    };
    config.reserved.iter().map(one).collect()
}

/// What does not depend on MemoryQoS.
fn divided(
    own: &Resources,
    whose: &str,
    formulas: &[Formula],
    is_exclusive: bool,
    config: Option<&KubeletConfig>,
) -> Vec<Asked> {
    let milli = own.requests[CPU].unwrap_or(0);
    let mut asked = vec![shares(format!("requests.cpu: {milli}m{whose}"), milli, formulas)];
    let limit = own.limits[CPU].filter(|milli| *milli > 0);
    asked.extend(limit.map(|milli| quota(milli, whose, is_exclusive, config)));
    if let Some(bytes) = own.limits[MEMORY] {
        let most = |name| Target::file(name, Wanted::Bytes(bytes), "");
        asked.push(Asked {
            setting: format!("limits.memory: {bytes}{whose}"),
            controller: "memory",
            v2: most("memory.max"),
            v1: most("memory.limit_in_bytes"),
        });
    }
    asked
}

fn shares(setting: String, milli: u64, formulas: &[Formula]) -> Asked {
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
        setting,
        controller: "cpu",
        v2: Target::file(
            "cpu.weight",
            Wanted::any_of(weights.into_iter().map(Wanted::Weight)),
            how,
        ),
        v1: Target::file("cpu.shares", Wanted::Weight(shares), "milli-CPUs * 1024 / 1000"),
    }
}

fn quota(milli: u64, whose: &str, is_exclusive: bool, config: Option<&KubeletConfig>) -> Asked {
    let period = config.map_or(100_000, |config| config.period);
    let is_off = config.is_some_and(|config| !config.has_quota);
    let quota = kubelet::quota(milli, period).filter(|_| !is_off);
    let how = match quota {
        Some(_) if is_exclusive => "none since 1.33 where the CPU manager gives CPUs of its own",
        Some(_) => "milli-CPUs * period / 1000",
        None => "cpuCFSQuota is false",
    };
    let wanted = |is_v2| {
        let none = || if is_v2 { Wanted::Bandwidth(None, period) } else { Wanted::Unlimited };
        match quota.map(|quota| Wanted::quota_of_container(quota, period, is_v2)) {
            Some(quota) if is_exclusive => Wanted::any_of([none(), quota]),
            Some(quota) => quota,
            None => none(),
        }
    };
    let setting = if is_exclusive { "quota of limits.cpu" } else { "limits.cpu" };
    Asked {
        setting: format!("{setting}: {milli}m{whose}"),
        controller: "cpu",
        v2: Target::file("cpu.max", wanted(true), how),
        v1: Target::file("cpu.cfs_quota_us", wanted(false), how),
    }
}

fn memory(setting: String, name: &'static str, wanted: Wanted, how: &str) -> Asked {
    let v1 = Target::Unknown("MemoryQoS is for cgroup2 only".to_owned());
    Asked { setting, controller: "memory", v2: Target::file(name, wanted, how), v1 }
}

/// `memory.min` of guaranteed and `memory.low` of burstable groups.
fn protection(own: &Resources, qos: Qos, config: &KubeletConfig, whose: &str) -> [Asked; 2] {
    let request = own.requests[MEMORY].unwrap_or(0);
    let how = match config.reservation {
        _ if !config.has_memory_qos => "the feature gate MemoryQoS is off",
        Reservation::None => "memoryReservationPolicy is None",
        Reservation::Tiered => {
            "TieredReservation: memory.min if guaranteed, memory.low if burstable"
        }
    };
    [("memory.min", Qos::Guaranteed), ("memory.low", Qos::Burstable)].map(|(name, of)| {
        let bytes = if qos == of && config.reserves() { request } else { 0 };
        memory(format!("requests.memory: {request}{whose}"), name, Wanted::Bytes(bytes), how)
    })
}

/// `memory.high` between the request and the limit.
fn throttling(own: &Resources, qos: Qos, config: &KubeletConfig) -> Asked {
    const PAGE: u64 = 4096;
    const FILE: &str = "memory.high";
    let Some(factor) = config.factor.filter(|_| config.has_memory_qos) else {
        let setting = "memoryThrottlingFactor".to_owned();
        return memory(setting, FILE, Wanted::Unlimited, "no memoryThrottlingFactor");
    };
    let request = own.requests[MEMORY].unwrap_or(0);
    let setting = format!("memoryThrottlingFactor: {factor}");
    let Some(limit) = own.limits[MEMORY] else {
        let why = "without a limit it depends on what the node can allocate".to_owned();
        return Asked::alike(setting, "memory", Target::Unknown(why));
    };
    let high =
        kubelet::memory_high(request, limit, factor, PAGE).filter(|_| qos != Qos::Guaranteed);
    let wanted = high.map_or(Wanted::Unlimited, Wanted::Bytes);
    memory(setting, FILE, wanted, "request + factor * (limit - request), in pages")
}
