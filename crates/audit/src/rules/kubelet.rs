//! What an earlier configuration of the kubelet has left, and CPUs that it gives to a container alone.

use std::collections::HashSet;
use std::rc::Rc;

use assay_host::facts::Available;

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::rules::protection::amount;
use crate::rules::translated::{is_container_of_pod, is_pod};
use crate::settings::CPU_STATE;
use crate::tree::{Node, Tree, cpu_ranges};

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-STALE",
        class: Class::MeansElse,
        condition: "`memory.high`, `memory.min` or `memory.low` of a pod or its container is set, and the configuration of the \
                    kubelet that runs asks for none: the feature gate MemoryQoS is false; or neither it nor AllAlpha or AllBeta \
                    is true, and `memoryThrottlingFactor` is not set, or `memoryReservationPolicy` is None or not set",
        versions: "v2, Kubernetes with MemoryQoS",
        meaning: "the kubelet writes these files when a container starts and does not take them back when its configuration changes: such a \
                  limit still acts",
        remedy: "start the pod anew, or resize it; if the value comes back, something else than the kubelet writes it \
                 (`assay audit watch`)",
        source: "kubernetes pkg/kubelet/cm (KEP-2570), test/e2e_node/memory_qos_test.go",
        find: Find::Host(stale),
    },
    Rule {
        code: "A-CPUS-SHARED",
        class: Class::Risk,
        condition: "`cpu_manager_state` gives a container CPUs alone that are not isolated, and a group outside of kubepods that has threads \
                    may run on them",
        versions: "all, Kubernetes with the static CPU manager",
        meaning: "only other pods are kept off these CPUs: any process runs there that its own affinity does not keep away",
        remedy: "AllowedCPUs= of system.slice and the like (CPUAffinity= in system.conf), with reservedSystemCPUs of the kubelet",
        source: "kubernetes pkg/kubelet/cm/cpumanager; kubernetes#85764, #104147",
        find: Find::Host(shared),
    },
];

/// The gate, and two that turn on others.
const GATES: [&str; 3] =
    ["featureGates.MemoryQoS", "featureGates.AllAlpha", "featureGates.AllBeta"];
const FACTOR: &str = "memoryThrottlingFactor";
const POLICY: &str = "memoryReservationPolicy";

fn stale(host: &Host) -> Vec<Found> {
    let kubelet = host.snapshot.kubelet.as_ref().and_then(Available::value);
    let Some(kubelet) = kubelet else { return Vec::new() };
    let said = |key: &str| kubelet.settings.get(key).map(String::as_str);
    // Before 1.37 the kubelet has other defaults where the gate is on.
    let Some([own, alpha, beta]) = gates(&said) else { return Vec::new() };
    let all_on = own.is_none() && (alpha == Some(true) || beta == Some(true));
    if own == Some(true) || all_on {
        return Vec::new();
    }
    let is_off = own == Some(false);
    let file = kubelet.files.last().cloned().unwrap_or_default();
    let because = |key: &str| -> Rc<[Reading]> {
        let key = if is_off { GATES[0] } else { key };
        let value = format!("{key}: {}", said(key).unwrap_or("not set"));
        Rc::new([Reading::new(file.clone(), value)])
    };
    let mut asks_not = Vec::new();
    if is_off || said(FACTOR).is_none() {
        asks_not.push(("memory.high", because(FACTOR)));
    }
    if is_off || said(POLICY).is_none_or(|policy| policy == "None") {
        let why = because(POLICY);
        asks_not.extend(["memory.min", "memory.low"].map(|file| (file, Rc::clone(&why))));
    }
    let nodes = host.groups(Scope::V2Of("memory"));
    let pods = nodes.filter(|node| is_pod(*node) || is_container_of_pod(*node));
    pods.flat_map(|node| asks_not.iter().filter_map(move |(file, why)| left_over(node, file, why)))
        .collect()
}

fn shared(host: &Host) -> Vec<Found> {
    const ISOLATED: &str = "/sys/devices/system/cpu/isolated";
    /// More CPUs than any machine has, in a made-up snapshot.
    const MOST: usize = 8192;
    let alone = host.file(CPU_STATE).map(given).unwrap_or_default();
    let isolated = host.file(ISOLATED).and_then(cpu_ranges).unwrap_or_default();
    let has = |ranges: &[(u64, u64)], cpu: u64| {
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&cpu))
    };
    let cpus = alone.iter().flat_map(|(first, last)| *first..=*last).take(MOST);
    let cpus: Vec<u64> = cpus.filter(|cpu| !has(&isolated, *cpu)).collect();
    let Some(top) = host.tree_of("cpuset").and_then(Tree::top).filter(|_| !cpus.is_empty()) else {
        return Vec::new();
    };
    let may = |node: &Node| {
        let mut own = node.with_ancestors().chain([top]);
        own.find_map(Node::allowed_cpus).and_then(|(_, reading)| {
            let ranges = cpu_ranges(&reading.value)?;
            cpus.iter().any(|cpu| has(&ranges, *cpu)).then_some(reading)
        })
    };
    // Pods may be deeper, as in /kubelet.slice/kubelet-kubepods.slice.
    let first = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    let paths = top.tree.nodes().map(Node::path).filter(|path| path.contains("kubepods"));
    let of_pods: HashSet<String> = paths.map(first).collect();
    let others = top.children().filter(|node| {
        !of_pods.contains(&first(node.path())) && node.threads_below().is_some_and(|all| all > 0)
    });
    let others: Vec<(Node, Reading)> =
        others.filter_map(|node| Some((node, may(&node)?))).collect();
    let number = others.len();
    let largest = others.into_iter().max_by_key(|(node, _)| node.threads_below());
    let Some((largest, reading)) = largest else { return Vec::new() };
    let sentence = format!(
        "{} CPUs that the kubelet gives to containers alone are those of {number} groups outside of pods too, {} has the most threads",
        cpus.len(),
        largest.path()
    );
    let state = Reading::new(CPU_STATE, host.file(CPU_STATE).unwrap_or_default()).cut();
    vec![Found::new(largest, &[], sentence).and_all([state, reading])]
}

/// The CPUs of all containers that have some alone.
fn given(state: &str) -> Vec<(u64, u64)> {
    let state: serde_json::Value = serde_json::from_str(state).unwrap_or_default();
    let pods = state.get("entries").and_then(|pods| pods.as_object());
    let containers =
        pods.into_iter().flat_map(|pods| pods.values()).filter_map(|pod| pod.as_object());
    let lists = containers.flat_map(|all| all.values()).filter_map(|list| list.as_str());
    lists.filter_map(cpu_ranges).flatten().filter(|(first, last)| first <= last).collect()
}

/// What each gate is set to, if to anything; nothing if one is set to what is no boolean to the kubelet (strconv.ParseBool).
fn gates<'s>(said: &impl Fn(&str) -> Option<&'s str>) -> Option<[Option<bool>; 3]> {
    let mut gates = [None; 3];
    for (gate, key) in gates.iter_mut().zip(GATES) {
        *gate = match said(key) {
            None => None,
            Some("1" | "t" | "T" | "TRUE" | "true" | "True") => Some(true),
            Some("0" | "f" | "F" | "FALSE" | "false" | "False") => Some(false),
            Some(_) => return None,
        };
    }
    Some(gates)
}

fn left_over(node: Node, file: &str, why: &Rc<[Reading]>) -> Option<Found> {
    if !node.is_set(file) {
        return None;
    }
    let sentence = format!(
        "{file} {} stands where the kubelet's configuration asks for none, and still acts",
        node.number(file).map_or_else(|| "max".to_owned(), amount)
    );
    Some(Found::new(node, &[file], sentence).and_shared(why))
}

#[cfg(test)]
mod tests {
    use super::CPU_STATE;
    use crate::fake::Fake;
    use crate::snapshot::Kubelet;
    use assay_host::facts::Available;

    const SCOPE: &str = "/kubepods.slice/kubepods-pod6c1a.slice/cri-containerd-0a1b0a1b0a1b.scope";

    fn host(settings: &[(&str, &str)]) -> Fake {
        let settings =
            settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let kubelet = Kubelet { files: vec!["/var/lib/kubelet/config.yaml".to_owned()], settings };
        Fake::v2()
            .group_of("/kubepods.slice", 0, &[("memory.low", "0")])
            .group_of("/kubepods.slice/kubepods-pod6c1a.slice", 0, &[("memory.high", "max")])
            .group(SCOPE, &[("memory.high", "489893888"), ("memory.low", "0")])
            .group("/docker-0a1b0a1b0a1b.scope", &[("memory.high", "489893888")])
            .change(|snapshot| snapshot.kubelet = Some(Available::Value(kubelet)))
    }

    #[test]
    fn what_the_configuration_no_longer_asks_for_is_left_over() {
        let found = host(&[]).only("A-STALE");
        assert_eq!(found.group, SCOPE);
        assert_eq!(found.readings[1].value, "memoryThrottlingFactor: not set");
        let found = host(&[("featureGates.MemoryQoS", "false"), ("memoryThrottlingFactor", "0.9")]);
        assert_eq!(found.only("A-STALE").readings[1].value, "featureGates.MemoryQoS: false");
        host(&[("memoryThrottlingFactor", "0.9")]).silent("A-STALE");
        host(&[("featureGates.MemoryQoS", "true")]).silent("A-STALE");
        host(&[("featureGates.AllAlpha", "true")]).silent("A-STALE");
        host(&[("featureGates.MemoryQoS", "T")]).silent("A-STALE");
        host(&[("featureGates.MemoryQoS", "0"), ("memoryThrottlingFactor", "0.9")]).only("A-STALE");
        host(&[("featureGates.AllBeta", "False")]).only("A-STALE");
        host(&[("featureGates.AllBeta", "yes")]).silent("A-STALE");
        host(&[]).change(|host| host.kubelet = None).silent("A-STALE");
    }

    /// kubernetes#85764.
    #[test]
    fn cpus_that_pods_have_alone_are_not_kept_from_other_processes() {
        let state = r#"{"policyName":"static","entries":{"6c1a":{"worker":"2-3"}},"checksum":1}"#;
        let host = |cpus: &str, isolated: &str| {
            Fake::v2()
                .top("cpuset.cpus.effective", "0-7")
                .host_file("/var/lib/kubelet/cpu_manager_state", state)
                .host_file("/sys/devices/system/cpu/isolated", isolated)
                .group_of("/kubepods.slice", 0, &[])
                .group("/kubepods.slice/kubepods-pod6c1a.slice", &[])
                .group("/system.slice", &[("cpuset.cpus.effective", cpus)])
        };
        let found = host("0-2", "").only("A-CPUS-SHARED");
        assert_eq!(found.group, "/system.slice");
        assert!(found.sentence.starts_with("2 CPUs that the kubelet gives"), "{}", found.sentence);
        host("0-1,4-7", "").silent("A-CPUS-SHARED");
        host("0-7", "2-3").silent("A-CPUS-SHARED");
        let none = |host: &mut crate::Snapshot| _ = host.machine.files.remove(CPU_STATE);
        host("0-7", "").change(none).silent("A-CPUS-SHARED");
        host("0-1", "").group("/user.slice", &[]).only("A-CPUS-SHARED");
        let nested = host("0-1", "").group_of("/kubelet.slice", 0, &[]);
        nested.group("/kubelet.slice/kubelet-kubepods.slice", &[]).silent("A-CPUS-SHARED");
    }

    #[test]
    fn protection_is_left_over_where_no_policy_reserves() {
        let low = |settings: &[(&str, &str)]| {
            host(settings).change(|host| {
                let files = &mut host.hierarchies[0].groups[3].files;
                files.insert("memory.high".to_owned(), Available::Value("max".to_owned()));
                files.insert("memory.low".to_owned(), Available::Value("268435456".to_owned()));
            })
        };
        assert!(low(&[]).only("A-STALE").sentence.starts_with("memory.low 256 MiB stands where"));
        low(&[("memoryReservationPolicy", "None")]).only("A-STALE");
        low(&[("memoryReservationPolicy", "TieredReservation")]).silent("A-STALE");
    }
}
