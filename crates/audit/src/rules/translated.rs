//! Numbers that a manager has translated before it wrote them.

use assay_host::facts::owner::{Owner, Runtime, owner};
use assay_host::knob::weight;

use crate::conversion::runtime::Formula;
use crate::conversion::systemd;
use crate::finding::Class;
use crate::rule::{Find, Found, Host, Rule, Scope};
use crate::tree::Node;

pub(super) static RULES: &[Rule] = &[
    Rule {
        code: "A-TRANSLATED",
        class: Class::MeansElse,
        condition: "a group of the kubelet or of a container has a `cpu.weight` that one of the runtimes' formulas gives, or \
                    `io.weight` and `io.bfq.weight` stand to each other as systemd translates them",
        versions: "v2",
        meaning: "the number was computed from another; ratios between groups are not those that were asked for",
        remedy: "compare only groups of one level that one program wrote; write weights in the kernel's own units",
        source: "opencontainers/cgroups utils.go; kubernetes pkg/kubelet/cm; hashicorp/nomad executor_linux.go; systemd src/core/cgroup.c",
        find: Find::Host(translated),
    },
    Rule {
        code: "A-TWO-FORMULAS",
        class: Class::MeansElse,
        condition: "a pod's `cpu.weight` is the linear formula's and its only container's is the curve's for the same shares",
        versions: "v2; runc 1.3.2, crun 1.23",
        meaning: "the kubelet writes pods by the linear formula, and the runtime containers by the curve",
        remedy: "compare only within one level",
        source: "opencontainers/cgroups fd95216; crun 4998c928; kubernetes pkg/kubelet/cm/cgroup_manager_linux.go",
        find: Find::Each(Scope::V2Of("cpu"), two_formulas),
    },
];

/// Which program has written a group's weight, by its path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// The kubelet: a pod, a class of service, all pods.
    Kubelet,
    /// A runtime, of which the version decides.
    Runtime,
    /// Nomad, with the library of a runtime: shares are the MHz of the task's `cpu`.
    Nomad,
}

/// All pods and the classes of service, by both drivers of the kubelet.
const OF_ALL_PODS: [&str; 6] = [
    "/kubepods",
    "/kubepods/besteffort",
    "/kubepods/burstable",
    "/kubepods.slice",
    "/kubepods.slice/kubepods-besteffort.slice",
    "/kubepods.slice/kubepods-burstable.slice",
];

fn writer(node: Node) -> Option<Writer> {
    if OF_ALL_PODS.contains(&node.path()) {
        return Some(Writer::Kubelet);
    }
    let own = owner(node.path())?;
    // A group inside of a pod or a container has the same owner, and who has written there is unknown.
    if node.parent().and_then(|above| owner(above.path())).as_ref() == Some(&own) {
        return None;
    }
    match own {
        Owner::Container(one) if one.runtime == Some(Runtime::Nomad) => Some(Writer::Nomad),
        Owner::Container(_) => Some(Writer::Runtime),
        Owner::Pod(_) => Some(Writer::Kubelet),
        _ => None,
    }
}

/// Whether the group is that of a container in a pod. Most have the pod to themselves, and a weight that the runtime
/// has derived from the pod's.
pub(super) fn is_container_of_pod(node: Node) -> bool {
    let is_pod = |above: Node| writer(above) == Some(Writer::Kubelet);
    writer(node) == Some(Writer::Runtime) && node.parent().is_some_and(is_pod)
}

/// Whether the group is that of a pod.
pub(super) fn is_pod(node: Node) -> bool {
    writer(node) == Some(Writer::Kubelet) && !OF_ALL_PODS.contains(&node.path())
}

fn translated(host: &Host) -> Vec<Found> {
    let cpu = host.groups(Scope::V2Of("cpu")).filter_map(shares);
    cpu.chain(host.groups(Scope::V2Of("io")).filter_map(compressed)).collect()
}

fn shares(node: Node) -> Option<Found> {
    let writer = writer(node)?;
    let weight = node.number("cpu.weight")?;
    // A container outside of a pod has the default when nothing was asked for; one in a pod has 1.
    if !node.is_set("cpu.weight") && !is_container_of_pod(node) {
        return None;
    }
    let range =
        |formula: Formula| formula.shares(weight).map(|(low, high)| (low, high, cores(high)));
    let sentence = match (writer, range(Formula::Linear), range(Formula::Curve)) {
        (Writer::Kubelet, Some((low, high, cores)), _) => {
            format!(
                "cpu.weight {weight} is {low} to {high} shares by the kubelet's linear formula, a request of at most {cores}"
            )
        }
        (Writer::Runtime, Some((low, high, cores)), Some((from, to, or))) => format!(
            "cpu.weight {weight} is {low} to {high} shares (at most {cores}) if runc before 1.3.2 or crun before 1.23 \
             wrote it, and {from} to {to} (at most {or}) since"
        ),
        (Writer::Nomad, Some((low, high, _)), Some((from, to, _))) => format!(
            "cpu.weight {weight} is cpu = {low} to {high} MHz by the linear formula of runc's library before 1.3.2, and {from} to {to} by its \
             curve since"
        ),
        (Writer::Runtime, Some((low, high, cores)), None) => format!(
            "cpu.weight {weight} is {low} to {high} shares (at most {cores}) by the formula of runc before 1.3.2 and crun before 1.23"
        ),
        _ => return None,
    };
    Some(Found::new(node, &["cpu.weight"], sentence))
}

/// Shares as a request of CPU.
fn cores(shares: u64) -> String {
    let milli = (shares * 1000).div_ceil(1024);
    if milli.is_multiple_of(1000) { format!("{} CPU", milli / 1000) } else { format!("{milli}m") }
}

fn compressed(node: Node) -> Option<Found> {
    let (asked, written) = (weight(node.text("io.weight")?)?, weight(node.text("io.bfq.weight")?)?);
    let sentence = format!(
        "IOWeight {asked} stands as {written} under bfq: above 100 systemd divides what is beyond by 11"
    );
    (asked > 100 && systemd::bfq_weight(asked) == written)
        .then(|| Found::new(node, &["io.bfq.weight", "io.weight"], sentence))
}

fn two_formulas(_: &Host, node: Node) -> Option<Found> {
    let pod = node.parent().filter(|pod| writer(*pod) == Some(Writer::Kubelet))?;
    if writer(node)? != Writer::Runtime || node.has_populated_sibling() {
        return None;
    }
    let (above, own) = (pod.number("cpu.weight")?, node.number("cpu.weight")?);
    let (low, high) = Formula::Linear.shares(above)?;
    let (from, to) = Formula::Curve.shares(own)?;
    let sentence = format!(
        "one request is weight {above} at the pod and {own} at the container; compare only within one level"
    );
    (own != above && from.max(low) <= to.min(high))
        .then(|| Found::new(node, &["cpu.weight"], sentence).and(pod.reading("cpu.weight")))
}

#[cfg(test)]
mod tests {
    use crate::fake::Fake;

    const POD: &str = "/kubepods.slice/kubepods-pod6c1a.slice";

    fn pod(pod: &str, container: &str) -> Fake {
        let scope = format!("{POD}/cri-containerd-0a1b0a1b0a1b.scope");
        Fake::v2()
            .group_of("/kubepods.slice", 0, &[("cpu.weight", "100")])
            .group_of(POD, 0, &[("cpu.weight", pod)])
            .group(&scope, &[("cpu.weight", container)])
    }

    #[test]
    fn a_weight_of_the_kubelet_is_a_range_of_shares() {
        let found = pod("39", "100").change(|snapshot| {
            let groups = &mut snapshot.hierarchies[0].groups;
            groups.pop();
        });
        let sentence = found.only("A-TRANSLATED").sentence;
        assert!(
            sentence.contains("999 to 1024 shares") && sentence.ends_with("at most 1 CPU"),
            "{sentence}"
        );
        Fake::v2().group("/system.slice", &[("cpu.weight", "39")]).silent("A-TRANSLATED");
    }

    #[test]
    fn a_weight_of_a_runtime_has_two_readings() {
        let docker = |path: &str| {
            Fake::v2().group("/system.slice", &[]).group(path, &[("cpu.weight", "39")])
        };
        let sentence =
            docker("/system.slice/docker-0a1b0a1b0a1b.scope").only("A-TRANSLATED").sentence;
        assert!(sentence.contains("999 to 1024") && sentence.contains("295 to 305"), "{sentence}");
        // hashicorp/nomad#26398.
        let task = "/share.slice/6c1a4e95-1f2d-4b6c-9c0f-0a1b2c3d4e5f.busy.scope";
        let nomad = Fake::v2().group("/share.slice", &[]).group(task, &[("cpu.weight", "20")]);
        let sentence = nomad.only("A-TRANSLATED").sentence;
        assert!(sentence.starts_with("cpu.weight 20 is cpu = 501 to 526 MHz"), "{sentence}");
        docker("/system.slice/libpod-conmon-0a1b0a1b0a1b.scope").silent("A-TRANSLATED");
        let default = [("cpu.weight", "100")];
        Fake::v2().group("/docker-0a1b0a1b0a1b.scope", &default).silent("A-TRANSLATED");
    }

    #[test]
    fn a_weight_of_io_that_systemd_has_compressed_is_named() {
        let host = |bfq: &str| {
            Fake::v2().group("/a.service", &[("io.weight", "default 200"), ("io.bfq.weight", bfq)])
        };
        assert!(
            host("109").only("A-TRANSLATED").sentence.starts_with("IOWeight 200 stands as 109")
        );
        host("200").silent("A-TRANSLATED");
    }

    #[test]
    fn a_pod_and_its_container_are_written_by_two_formulas() {
        let found = pod("39", "100").only("A-TWO-FORMULAS");
        assert!(
            found.sentence.starts_with("one request is weight 39 at the pod and 100"),
            "{found:?}"
        );
        pod("39", "39").silent("A-TWO-FORMULAS");
        pod("79", "100").silent("A-TWO-FORMULAS");
    }
}
