//! Who a control group belongs to, from its path: the rules by which service managers and container runtimes
//! name groups (docs/blame.md).
//!
//! The path is that below the mount of a hierarchy. Whatever nests inside of something else, the innermost
//! container, machine or job counts: a systemd unit within a container belongs to the container.
//!
//! A user to whom groups are delegated may call one there anything, `docker-ID.scope` as well, and so may root of a
//! container below its own group: such an owner is [`Owner::Claimed`], whatever it says it is.

mod delegated;
mod slurm;
mod unit;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use delegated::{Claimant, Delegated, Ranks, WrittenClaimant};
use slurm::Slurm;
pub use unit::{is_unit, unit_of_system};

use unit::unescape;

/// The owner of a control group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Owner {
    /// A systemd unit: slice, service, scope, or another one with processes.
    Unit {
        /// `nginx.service`.
        name: String,
    },
    /// A container.
    Container(Container),
    /// All containers of a Kubernetes pod.
    Pod(Pod),
    /// An LXC container.
    Lxc {
        /// Its name; on Proxmox its number.
        name: String,
    },
    /// A virtual machine, or a container of libvirt.
    Machine {
        /// Its name; on Proxmox its number.
        name: String,
    },
    /// A Slurm job.
    SlurmJob {
        /// Its number, or its SLUID (the default since 26.05) with the `s`.
        job: String,
        /// `0`, `batch`, `extern` or `interactive`.
        step: Option<String>,
    },
    /// Whatever the name says that another than root of the host may have given to a group.
    Claimed {
        /// Who may have.
        // Formerly the number of a user stood in `uid`.
        #[serde(alias = "uid", deserialize_with = "delegated::claimant")]
        by: Claimant,
        /// What the name says.
        owner: Box<Owner>,
    },
}

impl Owner {
    /// What the name says, no matter who gave it, and whether it is a claim.
    #[must_use]
    pub fn said(&self) -> (&Self, bool) {
        match self {
            Self::Claimed { owner, .. } => (owner, true),
            own => (own, false),
        }
    }
}

/// A container of an OCI runtime.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Container {
    /// The runtime, where the path names it.
    pub runtime: Option<Runtime>,
    /// Its id.
    pub id: String,
    /// The name that its user has given it. Not in the path: to be read from the runtime's files.
    pub name: Option<String>,
    /// Its pod.
    pub pod: Option<Pod>,
}

/// A Kubernetes pod.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pod {
    /// Its uid, with dashes.
    pub uid: String,
    /// Its class.
    pub qos: Qos,
    /// `NAMESPACE/NAME`. Not in the path either.
    pub name: Option<String>,
}

/// The class of a pod (`kubelet`, pkg/kubelet/cm).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Qos {
    /// It has no level of its own in the path.
    Guaranteed,
    /// `burstable`.
    Burstable,
    /// `besteffort`.
    BestEffort,
}

/// A container runtime or its front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// Docker.
    Docker,
    /// Podman, or anything else that uses libpod.
    Podman,
    /// containerd, for Kubernetes.
    Containerd,
    /// CRI-O.
    Crio,
    /// nerdctl, a front end of containerd.
    Nerdctl,
    /// Nomad: a task of an allocation, by whose names it is known.
    Nomad,
}

impl Runtime {
    /// What the names of its groups begin with, before `-ID`.
    const PREFIXES: [(&str, Self); 6] = [
        ("docker", Self::Docker),
        ("libpod", Self::Podman),
        // In the group of the unit that runs podman: `--cgroups=split`, as quadlets have it.
        ("libpod-payload", Self::Podman),
        ("cri-containerd", Self::Containerd),
        ("crio", Self::Crio),
        ("nerdctl", Self::Nerdctl),
    ];

    const fn words(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Containerd => "containerd",
            Self::Crio => "CRI-O",
            Self::Nerdctl => "nerdctl",
            Self::Nomad => "nomad",
        }
    }
}

/// Digits of a container's id that are shown, as the runtimes do.
const SHOWN: usize = 12;

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit { name } => write!(f, "unit {name}"),
            Self::Container(container) => container.fmt(f),
            Self::Pod(pod) => pod.fmt(f),
            Self::Lxc { name } => write!(f, "LXC container {name}"),
            Self::Machine { name } => write!(f, "machine {name}"),
            Self::SlurmJob { job, step: None } => write!(f, "Slurm job {job}"),
            Self::SlurmJob { job, step: Some(step) } => write!(f, "Slurm job {job} step {step}"),
            Self::Claimed { by, owner } => write!(f, "{owner}, claimed by {by}"),
        }
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.get(..SHOWN).unwrap_or(&self.id);
        let runtime =
            self.runtime.map(|runtime| format!("{} ", runtime.words())).unwrap_or_default();
        match &self.name {
            Some(name) => write!(f, "container {name} ({runtime}{id})")?,
            None => write!(f, "container {runtime}{id}")?,
        }
        self.pod.as_ref().map_or(Ok(()), |pod| write!(f, " of {pod}"))
    }
}

impl fmt::Display for Pod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "pod {name}"),
            None => write!(f, "pod {}", self.uid),
        }
    }
}

/// A group as lines show it: its owner, where there is one, and its path. Whatever they are called, it is one line.
#[must_use]
pub fn shown(owner: Option<&Owner>, path: &str) -> String {
    let text = owner.map_or_else(|| path.to_owned(), |owner| format!("{owner}  {path}"));
    assay_sys::escape::line(&text).into_owned()
}

/// The owner of the group with this path, if its names tell: `/system.slice/nginx.service` is the unit
/// nginx.service, and of `/batch/7` nothing is known.
#[must_use]
pub fn owner(path: &str) -> Option<Owner> {
    owner_in(path, None)
}

/// The same where groups of the path are known to be delegated; those that logind delegates, and those within containers, are
/// known by the path.
#[must_use]
pub fn owner_in(path: &str, delegated: Option<Delegated>) -> Option<Owner> {
    read(path, delegated).0
}

/// Who may have named the group with this path, if not root of the host.
#[must_use]
pub fn claimant(path: &str, delegated: Option<Delegated>) -> Option<Claimant> {
    read(path, delegated).1
}

fn read(path: &str, delegated: Option<Delegated>) -> (Option<Owner>, Option<Claimant>) {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut delegated = Delegated::topmost(Delegated::by_path(&parts).into_iter().chain(delegated));
    let (mut found, mut pod, mut slurm) = (None, None, Slurm::default());
    let mut pods = PodPath::default();
    for (index, part) in parts.iter().enumerate() {
        let above = parts.get(..index).unwrap_or_default();
        let one = if let Some(one) = pods.next(part) {
            pod = Some(one.clone());
            Some(Owner::Pod(one))
        } else if let Some((runtime, id)) = parse_container(above, part, pod.is_some()) {
            let container = Container { runtime, id: id.to_owned(), name: None, pod: pod.clone() };
            Some(Owner::Container(container))
        } else if let Some(one) = parse_nomad(above, part) {
            Some(Owner::Container(one))
        } else if let Some(one) = parse_machine(above, part).or_else(|| slurm.next(part)) {
            Some(one)
        } else {
            let may_be_unit = found.as_ref().is_none_or(is_said_to_be_unit) && is_unit(part);
            may_be_unit.then(|| Owner::Unit { name: unescape(part) })
        };
        let Some(one) = one else { continue };
        found = Some(match delegated.as_ref().filter(|claim| index >= claim.levels) {
            Some(Delegated { by, .. }) => Owner::Claimed { by: by.clone(), owner: Box::new(one) },
            None => {
                // What is below was made in the container, also where its directory belongs to a user.
                delegated = Delegated::inside(&one, index + 1).or(delegated);
                one
            }
        });
    }
    let claim = delegated.filter(|claim| parts.len() > claim.levels);
    (found, claim.map(|claim| claim.by))
}

fn is_said_to_be_unit(owner: &Owner) -> bool {
    matches!(owner.said().0, Owner::Unit { .. })
}

/// What the names so far say of a pod. Each is looked at once: a path may have as many levels as its user likes.
#[derive(Default)]
struct PodPath {
    is_below: bool,
    has_burstable: bool,
    has_besteffort: bool,
}

impl PodPath {
    fn next(&mut self, part: &str) -> Option<Pod> {
        self.has_burstable |= part.contains("burstable");
        self.has_besteffort |= part.contains("besteffort");
        let qos = match (self.has_burstable, self.has_besteffort) {
            (true, _) => Qos::Burstable,
            (_, true) => Qos::BestEffort,
            _ => Qos::Guaranteed,
        };
        let pod = parse_pod(self.is_below, part).map(|uid| Pod { uid, qos, name: None });
        self.is_below |= part.starts_with("kubepods");
        pod
    }
}

/// The uid by both drivers of the kubelet: `kubepods-burstable-pod<uid with _>.slice`, and `pod<uid>` below `kubepods`.
fn parse_pod(is_below: bool, part: &str) -> Option<String> {
    let uid = match part.strip_suffix(".slice") {
        Some(name) => {
            let name = name.strip_prefix("kubepods").filter(|_| is_below)?;
            let classless =
                ["-burstable", "-besteffort"].iter().find_map(|qos| name.strip_prefix(qos));
            classless.unwrap_or(name).strip_prefix("-pod")?.replace('_', "-")
        }
        None => part.strip_prefix("pod").filter(|_| is_below)?.to_owned(),
    };
    let is_uid =
        !uid.is_empty() && uid.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '-');
    is_uid.then_some(uid)
}

/// `<prefix>-<id>.scope` of the systemd drivers; `docker/<id>`, `<prefix>-<id>` and a bare `<id>` of the others.
fn parse_container<'p>(
    above: &[&str],
    part: &'p str,
    in_pod: bool,
) -> Option<(Option<Runtime>, &'p str)> {
    let name = part.strip_suffix(".scope").unwrap_or(part);
    let named = Runtime::PREFIXES.iter().find_map(|(prefix, runtime)| {
        let id = name.strip_prefix(prefix)?.strip_prefix('-')?;
        is_id(id).then_some((Some(*runtime), id))
    });
    if named.is_some() {
        return named;
    }
    let is_docker = above.last().is_some_and(|name| *name == "docker");
    let runtime = is_docker.then_some(Runtime::Docker);
    // Podman's pods, in which its containers are `libpod-<id>`.
    let is_pod = above.last().is_some_and(|name| *name == "libpod_parent");
    // In a pod and below `docker` nothing else has such names; elsewhere only the full length is one.
    // The virtual machine of Kata that holds all containers of a pod.
    let id = part.strip_prefix("kata_").unwrap_or(part);
    let is_bare = is_id(id) && (in_pod || is_docker || id.len() == 64 && !is_pod);
    is_bare.then_some((runtime, id))
}

/// Ids are 64 hexadecimal digits; nerdctl and tests also use shorter ones.
fn is_id(text: &str) -> bool {
    (SHOWN..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// `<allocation>.<task>.scope` of Nomad in one of its two partitions, without `.scope` on v1 (client/lib/cgroupslib/editor.go).
fn parse_nomad(above: &[&str], part: &str) -> Option<Container> {
    let id = match *above.last()? {
        "share.slice" | "reserve.slice" => part.strip_suffix(".scope")?,
        "share" | "reserve" | "nomad" => part,
        _ => return None,
    };
    let (allocation, task) = id.split_once('.')?;
    let is_uuid = allocation.len() == 36
        && allocation.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_uuid.then(|| Container {
        runtime: Some(Runtime::Nomad),
        id: id.to_owned(),
        name: Some(task.to_owned()),
        pod: None,
    })
}

/// LXC, libvirt, both on Proxmox, and Firecracker's jailer.
fn parse_machine(above: &[&str], part: &str) -> Option<Owner> {
    let last = above.last().copied();
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(Owner::Lxc { name: name.to_owned() });
    }
    // Before LXC 4 and on Proxmox; `lxc/monitor/<n>` is the monitor, which is no container.
    let is_lxc = last == Some("lxc") && part != "monitor" || above.ends_with(&["lxc", "payload"]);
    if is_lxc && part != "payload" {
        return Some(Owner::Lxc { name: part.to_owned() });
    }
    // The jailer's parent has the name of the program, if no other is given.
    if last == Some("firecracker") {
        return Some(Owner::Machine { name: part.to_owned() });
    }
    let scope = part.strip_suffix(".scope");
    if let Some(number) = scope.filter(|_| last == Some("qemu.slice")) {
        return Some(Owner::Machine { name: number.to_owned() });
    }
    let registered = scope.map(unescape).and_then(|name| {
        // `machine-<driver>-<number>-<name>`, where systemd-nspawn has only a name.
        name_of_libvirt(name.strip_prefix("machine-")?).map(str::to_owned)
    });
    let without_systemd = || {
        let name =
            part.strip_suffix(".libvirt-qemu").or_else(|| part.strip_suffix(".libvirt-lxc"))?;
        // Escaped only where the name has a dot or begins with an underscore. Formerly it was the name alone.
        (last == Some("machine")).then(|| name_of_libvirt(name).unwrap_or(name).to_owned())
    };
    registered.or_else(without_systemd).map(|name| Owner::Machine { name })
}

/// The name in `<driver>-<number>-<name>`.
fn name_of_libvirt(text: &str) -> Option<&str> {
    let mut fields = text.splitn(3, '-');
    let (driver, number, name) = (fields.next()?, fields.next()?, fields.next()?);
    let is_libvirt = ["qemu", "lxc", "ch", "xen"].contains(&driver)
        && number.bytes().all(|byte| byte.is_ascii_digit());
    is_libvirt.then_some(name)
}

#[cfg(test)]
mod tests;
