//! What an earlier configuration of the kubelet has left.

use std::rc::Rc;

use assay_host::facts::Available;

use crate::finding::{Class, Reading};
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::rules::protection::amount;
use crate::rules::translated::{is_container_of_pod, is_pod};
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[Rule {
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
}];

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
