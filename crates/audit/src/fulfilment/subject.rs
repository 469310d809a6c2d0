//! Whose group a manifest means, and where it is on a host.

use assay_host::facts::owner::{Container, Owner, Pod};

use super::Request;
use crate::host::Host;
use crate::owner::Owned;

/// A group that the user names, where a manifest cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A path below the mounts.
    Group(String),
    /// A systemd unit.
    Unit(String),
    /// A container, by its name or the beginning of its id.
    Container(String),
    /// A pod, by its uid or name.
    Pod(String),
}

/// Who a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Group(String),
    Unit(String),
    /// A container by a name or id that its user gave.
    Container(String),
    /// The container of a quadlet: by its name, which only root may read, or as what is in the group of its unit.
    Quadlet {
        name: String,
        unit: String,
    },
    /// Containers of a service of compose, by the name of the service.
    Service(String),
    Pod(PodName),
    /// A container of a pod; its id if the manifest has the status.
    ContainerOf {
        pod: PodName,
        name: String,
        id: Option<String>,
    },
}

/// How a manifest names its pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PodName {
    pub(super) uid: Option<String>,
    /// `NAMESPACE/NAME`, `NAME`, or what the user gave.
    pub(super) name: Option<String>,
    /// The path of its group, if the user gave that.
    pub(super) path: Option<String>,
}

/// Why somebody has no group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoGroup {
    /// This is not there.
    NotFound(String),
    /// The pod around it is not there.
    PodNotFound,
    /// Which of several it is cannot be told.
    Unknown(String),
}

/// The requests, with a place that the user named in place of what the manifest says.
pub(super) fn placed(
    mut requests: Vec<Request>,
    place: Option<&Place>,
) -> Result<Vec<Request>, String> {
    let Some(place) = place else { return Ok(requests) };
    let is_pod =
        |one: &Request| matches!(one.subject, Subject::Pod(_) | Subject::ContainerOf { .. });
    if requests.iter().any(is_pod) {
        let new = match place {
            Place::Pod(name) => {
                PodName { uid: Some(name.clone()), name: Some(name.clone()), path: None }
            }
            Place::Group(path) => PodName { path: Some(whole(path)), ..PodName::default() },
            _ => return Err("this manifest is of a pod: name it by --pod or --group".to_owned()),
        };
        for request in &mut requests {
            if let Subject::Pod(pod) | Subject::ContainerOf { pod, .. } = &mut request.subject {
                pod.clone_from(&new);
            }
        }
        return Ok(requests);
    }
    let [request] = requests.as_mut_slice() else {
        return Err(format!("the manifest asks for {} groups, and one is named", requests.len()));
    };
    request.subject = match place {
        Place::Group(path) => Subject::Group(whole(path)),
        Place::Unit(name) => Subject::Unit(name.clone()),
        Place::Container(name) => Subject::Container(name.clone()),
        Place::Pod(_) => return Err("this manifest is not of a pod".to_owned()),
    };
    Ok(requests)
}

/// Refuses a place that is not there: with a slip in a name nothing would be compared.
pub(super) fn check_place(host: &Host, requests: &[Request]) -> Result<(), String> {
    match requests.first().map(|request| request.subject.groups(host)) {
        Some(Err(NoGroup::NotFound(what))) => Err(format!(
            "{what} was not found\n  hint: only what runs has a group; `assay audit --groups` lists them, with \
             whose they are"
        )),
        _ => Ok(()),
    }
}

fn whole(path: &str) -> String {
    format!("/{}", path.trim_matches('/'))
}

impl Subject {
    /// The paths of its groups; the reason if there are none.
    pub(super) fn groups(&self, host: &Host) -> Result<Vec<String>, NoGroup> {
        let found = match self {
            Self::Group(path) => at(host, path),
            Self::Unit(name) => {
                outermost(host, |owner| matches!(owner, Owner::Unit { name: own } if own == name))
            }
            Self::Container(name) => outermost(host, |owner| is_container(owner, name)),
            Self::Quadlet { name, unit } => {
                let named = Self::Container(name.clone()).groups(host);
                named.unwrap_or_else(|_| in_unit(host, unit))
            }
            Self::Service(name) => outermost(host, |owner| is_of_service(owner, name)),
            Self::Pod(pod) => pod.groups(host),
            Self::ContainerOf { pod, name, id } => container_of(host, pod, name, id.as_deref())?,
        };
        if found.is_empty() { Err(NoGroup::NotFound(self.words())) } else { Ok(found) }
    }

    fn words(&self) -> String {
        match self {
            Self::Group(path) => format!("group {path}"),
            Self::Unit(name) => format!("a group of unit {name}"),
            Self::Container(name) | Self::Quadlet { name, .. } => format!("container {name}"),
            Self::Service(name) => {
                format!("a container of service {name} (--container NAME names another one)")
            }
            Self::Pod(pod) => pod.words(),
            Self::ContainerOf { name, .. } => format!("container {name} of the pod"),
        }
    }
}

impl PodName {
    fn groups(&self, host: &Host) -> Vec<String> {
        if let Some(path) = &self.path {
            return at(host, path);
        }
        outermost(host, |owner| matches!(owner, Owner::Pod(pod) if self.is(pod)))
    }

    fn words(&self) -> String {
        match (&self.path, self.name.as_ref().or(self.uid.as_ref())) {
            (Some(path), _) => format!("group {path}"),
            (None, Some(name)) => {
                format!(
                    "pod {name} (names of pods are read only by root; --pod UID or --group names it)"
                )
            }
            (None, None) => "a pod of this template (--pod or --group names it)".to_owned(),
        }
    }

    fn is(&self, pod: &Pod) -> bool {
        let is_name = |own: &str| {
            let short = own.rsplit('/').next().unwrap_or_default();
            self.name.as_deref().is_some_and(|name| name == own || name == short)
        };
        self.uid.as_ref() == Some(&pod.uid) || pod.name.as_deref().is_some_and(is_name)
    }
}

/// By its id, else by the name that the runtime's files give, else the only one in the pod.
fn container_of(
    host: &Host,
    pod: &PodName,
    name: &str,
    id: Option<&str>,
) -> Result<Vec<String>, NoGroup> {
    let pods = pod.groups(host);
    if pods.is_empty() {
        return Err(NoGroup::PodNotFound);
    }
    let all = containers_below(host, &pods);
    let by = |is: &dyn Fn(&Container) -> bool| -> Vec<String> {
        let named = all.iter().filter(|(_, container)| is(container));
        named.map(|(path, _)| (*path).to_owned()).collect()
    };
    let mut found = by(&|container| id.is_some_and(|id| container.id == id));
    if found.is_empty() {
        found = by(&|container| container.name.as_deref() == Some(name));
    }
    if found.is_empty() && all.len() == 1 {
        found = by(&|_| true);
    }
    if found.is_empty() && !all.is_empty() {
        return Err(NoGroup::Unknown(format!(
            "which of the {} groups below the pod is container {name} is not known: \
             `kubectl get pod -o yaml` has its id",
            all.len()
        )));
    }
    Ok(found)
}

/// Containers in groups below others.
fn containers_below<'h>(host: &'h Host, tops: &[String]) -> Vec<(&'h str, &'h Container)> {
    let is_below = |path: &str| {
        let rest = |top: &String| path.strip_prefix(top.as_str());
        tops.iter().filter_map(rest).any(|rest| rest.starts_with('/'))
    };
    let below = host.owned().iter().filter(|one| is_below(&one.path));
    let container = |one: &'h Owned| match one.owner.said().0 {
        Owner::Container(container) => Some((one.path.as_str(), container)),
        _ => None,
    };
    of_host_first(below).into_iter().filter_map(container).collect()
}

/// The containers in the group of a unit.
fn in_unit(host: &Host, unit: &str) -> Vec<String> {
    let units = Subject::Unit(unit.to_owned()).groups(host).unwrap_or_default();
    let all = containers_below(host, &units);
    all.into_iter().map(|(path, _)| path.to_owned()).collect()
}

fn is_container(owner: &Owner, name: &str) -> bool {
    const SHORTEST: usize = 4;
    match owner {
        Owner::Container(own) => {
            own.name.as_deref() == Some(name) || name.len() >= SHORTEST && own.id.starts_with(name)
        }
        Owner::Lxc { name: own } | Owner::Machine { name: own } => own == name,
        _ => false,
    }
}

/// `service`, or compose's own `project-service-1`, `project_service_1`.
fn is_of_service(owner: &Owner, service: &str) -> bool {
    let Owner::Container(Container { name: Some(name), .. }) = owner else { return false };
    let without_number = |sign: char| {
        let (rest, number) = name.rsplit_once(sign)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(rest.strip_suffix(service)?.ends_with(sign))
    };
    name == service || ['-', '_'].into_iter().any(|sign| without_number(sign) == Some(true))
}

/// The path, if any hierarchy has a group there.
fn at(host: &Host, path: &str) -> Vec<String> {
    let is_there = host.trees.iter().any(|tree| tree.node(path).is_some());
    is_there.then(|| path.to_owned()).into_iter().collect()
}

/// Groups with such an owner that are not inside of another group of the same one.
fn outermost(host: &Host, is: impl Fn(&Owner) -> bool) -> Vec<String> {
    let all = host.owned().iter().filter(|one| is(one.owner.said().0));
    of_host_first(all).into_iter().map(|one| one.path.clone()).collect()
}

/// What a user calls his groups, or a container those in it, counts only if there are none of the host's.
fn of_host_first<'o>(all: impl Iterator<Item = &'o Owned>) -> Vec<&'o Owned> {
    let (claimed, of_host): (Vec<&Owned>, Vec<&Owned>) = all.partition(|one| one.owner.said().1);
    if of_host.is_empty() { claimed } else { of_host }
}
