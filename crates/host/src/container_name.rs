//! The names that users have given to containers and pods, from the files in which runtimes keep them. No
//! runtime is asked: it may not answer, and asking it is a program and a socket.

mod folders;

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::Path;

use crate::facts::owner::{Claimant, Container, Owner, Pod, Runtime};
use assay_sys::kernel::Root;
use assay_sys::kernel::parse::keyed;
use serde::Deserialize;
use serde_json::Value;

use folders::Folders;

/// No runtime writes longer files about a container.
const LIMIT: u64 = 1 << 20;

/// A list of all containers may be as long: some ten thousand of them.
const LONGEST_LIST: u64 = 16 << 20;

/// Of a name this much is kept: it may be anyone's.
const LONGEST: usize = 128;

/// The folder of Docker.
const DOCKER: &str = "/var/lib/docker/containers";
/// Folders of containers/storage, which Podman and CRI-O use.
const STORAGE: [&str; 2] = ["/var/lib/containers/storage", "/run/containers/storage"];
/// In each of them `DRIVER-containers` is what one of its drivers for file systems keeps.
const DRIVERS: [&str; 4] = ["overlay", "vfs", "btrfs", "zfs"];
/// Bundles of containerd, in a folder for each of its namespaces: its own, and where k3s (RKE2 as well) and k0s start it.
const CONTAINERD: [&str; 3] = [
    "/run/containerd/io.containerd.runtime.v2.task",
    "/run/k3s/containerd/io.containerd.runtime.v2.task",
    "/run/k0s/containerd/io.containerd.runtime.v2.task",
];
/// Logs of pods: `NAMESPACE_NAME_UID`.
const PODS: &str = "/var/log/pods";

/// The annotation in which each of these keeps the name of a container. Of others none counts: it may come from an image.
const CRIO_NAME: &str = "io.kubernetes.container.name";
const CRI_NAME: &str = "io.kubernetes.cri.container-name";
const NERDCTL_NAME: &str = "nerdctl/name";

/// Lists of all containers of containers/storage; the second one of those that need not survive a crash.
const LISTS: [&str; 2] = ["containers.json", "volatile-containers.json"];

/// Where users keep the same, below their homes.
const OF_USER: &str = ".local/share/containers/storage";

/// Names by id or uid.
type ById = HashMap<String, String>;

/// The names found on this host. A file or folder about all containers is read once, however many ask.
pub(crate) struct Names<'r> {
    root: &'r Root,
    folders: Folders<'r>,
    /// Names of Podman's containers, which it keeps only in the list of all of them.
    stored: OnceCell<ById>,
    /// The same of the user of this process, with the user.
    own: OnceCell<Option<(u32, ById)>>,
    /// Folders of containerd's namespaces.
    namespaces: OnceCell<Vec<(&'static str, OsString)>>,
    pods: OnceCell<ById>,
}

impl<'r> Names<'r> {
    pub(crate) fn new(root: &'r Root) -> Self {
        Self {
            root,
            folders: Folders::new(root),
            stored: OnceCell::new(),
            own: OnceCell::new(),
            namespaces: OnceCell::new(),
            pods: OnceCell::new(),
        }
    }

    /// What was there and was not read, with the reason.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.folders.left_out()
    }

    /// The same owner with its names. Whatever cannot be read leaves it as it is.
    pub(crate) fn name(&self, owner: Owner) -> Owner {
        match owner {
            Owner::Container(container) => {
                let name = container.name.clone().or_else(|| self.of_container(&container));
                let pod = container.pod.map(|pod| self.name_pod(pod));
                Owner::Container(Container { name, pod, ..container })
            }
            Owner::Pod(pod) => Owner::Pod(self.name_pod(pod)),
            // The files of the host's runtimes say nothing of what is claimed.
            Owner::Claimed { by: Claimant::Uid(uid), owner } => {
                let owner = Box::new(self.name_claimed(uid, *owner));
                Owner::Claimed { by: Claimant::Uid(uid), owner }
            }
            Owner::Claimed { by: Claimant::Container(outer), owner } => {
                let by = Claimant::Container(Box::new(self.name(*outer)));
                Owner::Claimed { by, owner }
            }
            other => other,
        }
    }

    /// Podman's containers of the user who asks: no file of another user is read.
    fn name_claimed(&self, uid: u32, owner: Owner) -> Owner {
        let own = self.own.get_or_init(|| self.own_stored());
        let Some((_, names)) = own.as_ref().filter(|(user, _)| *user == uid) else { return owner };
        match owner {
            Owner::Container(one) if one.runtime == Some(Runtime::Podman) => {
                let name = names.get(&one.id).and_then(|name| shown(name));
                Owner::Container(Container { name, ..one })
            }
            other => other,
        }
    }

    fn own_stored(&self) -> Option<(u32, ById)> {
        let status = self.root.read_at_most("/proc/self/status", LIMIT).ok()?;
        let own = keyed::colon(&status, "Uid")?.split_whitespace().nth(1)?.to_owned();
        let accounts = self.root.read_at_most("/etc/passwd", LIMIT).ok()?;
        let home = accounts.lines().find_map(|line| {
            let mut fields = line.split(':').skip(2);
            (fields.next()? == own).then(|| fields.nth(2))?
        })?;
        let folder = Path::new(home).join(OF_USER);
        let uid = own.parse().ok().filter(|uid| *uid != 0)?;
        Some((uid, self.stored_in(folder.to_str()?)))
    }

    fn of_container(&self, container: &Container) -> Option<String> {
        let id = container.id.as_str();
        let name = match container.runtime {
            Some(Runtime::Docker) => self.docker(id),
            Some(Runtime::Podman) => self.podman(id),
            Some(Runtime::Crio) => self.crio(id),
            Some(Runtime::Containerd) => self.containerd(id, CRI_NAME),
            Some(Runtime::Nerdctl) => self.containerd(id, NERDCTL_NAME),
            // The path has its name.
            Some(Runtime::Nomad) => None,
            // A bare id in a pod is the kubelet's, and so of a runtime for it.
            None => {
                let key = if container.pod.is_some() { CRI_NAME } else { NERDCTL_NAME };
                let other = || self.docker(id).or_else(|| self.podman(id));
                self.containerd(id, key).or_else(other)
            }
        };
        name.and_then(|name| shown(&name))
    }

    fn docker(&self, id: &str) -> Option<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Config {
            name: String,
        }
        let config: Config = self.folders.document(DOCKER, id, "config.v2.json", LIMIT)?;
        Some(config.name.trim_start_matches('/').to_owned())
    }

    fn crio(&self, id: &str) -> Option<String> {
        let bundle = format!("{id}/userdata");
        let mut folders = STORAGE.into_iter().flat_map(of_drivers);
        folders.find_map(|folder| self.bundle(&folder, &bundle)?.name(CRIO_NAME))
    }

    fn podman(&self, id: &str) -> Option<String> {
        let all = || STORAGE.iter().flat_map(|storage| self.stored_in(storage)).collect();
        self.stored.get_or_init(all).get(id).cloned()
    }

    fn stored_in(&self, storage: &str) -> ById {
        #[derive(Deserialize)]
        struct Stored {
            id: String,
            #[serde(default)]
            names: Vec<String>,
        }
        let read = |folder: &str, file| {
            self.folders.document::<Vec<Stored>>(folder, "", file, LONGEST_LIST)
        };
        let lists_in =
            |folder: String| LISTS.into_iter().filter_map(move |file| read(&folder, file));
        let named = |one: Stored| Some((one.id, one.names.into_iter().next()?));
        of_drivers(storage).flat_map(lists_in).flatten().filter_map(named).collect()
    }

    fn containerd(&self, id: &str, key: &str) -> Option<String> {
        self.namespaces().iter().find_map(|(top, namespace)| {
            self.bundle(top, Path::new(namespace).join(id).to_str()?)?.name(key)
        })
    }

    fn namespaces(&self) -> &[(&'static str, OsString)] {
        self.namespaces.get_or_init(|| {
            let of = |top| self.folders.names_in(top).into_iter().map(move |name| (top, name));
            CONTAINERD.into_iter().flat_map(of).collect()
        })
    }

    fn bundle(&self, top: &str, folder: &str) -> Option<Bundle> {
        self.folders.document(top, folder, "config.json", LIMIT)
    }

    /// What the runtime was asked for: the file of the container's OCI bundle (`config.json`), and its content.
    pub(crate) fn bundle_of(&self, id: &str) -> Option<(String, Value)> {
        let stored = STORAGE.into_iter().flat_map(of_drivers).find_map(|top| {
            let bundle =
                self.folders.document(&top, &format!("{id}/userdata"), "config.json", LIMIT)?;
            Some((format!("{top}/{id}/userdata/config.json"), bundle))
        });
        stored.or_else(|| {
            self.namespaces().iter().find_map(|(top, namespace)| {
                let folder = Path::new(namespace).join(id);
                let bundle = self.folders.document(top, folder.to_str()?, "config.json", LIMIT)?;
                Some((format!("{top}/{}/config.json", folder.display()), bundle))
            })
        })
    }

    fn name_pod(&self, pod: Pod) -> Pod {
        let find = || {
            let pods = self.pods.get_or_init(|| {
                let logs = self.folders.names_in(PODS).into_iter();
                logs.filter_map(|log| {
                    let (name, uid) = log.to_str()?.rsplit_once('_')?;
                    Some((uid.to_owned(), shown(&name.replacen('_', "/", 1))?))
                })
                .collect()
            });
            pods.get(&pod.uid).cloned()
        };
        Pod { name: pod.name.clone().or_else(find), ..pod }
    }
}

/// The folders of the drivers in a folder of containers/storage.
fn of_drivers(storage: &str) -> impl Iterator<Item = String> {
    DRIVERS.into_iter().map(move |driver| format!("{storage}/{driver}-containers"))
}

/// The annotations of an OCI bundle (`config.json`).
#[derive(Deserialize)]
struct Bundle {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Bundle {
    fn name(&self, key: &str) -> Option<String> {
        self.annotations.get(key).cloned()
    }
}

/// A name as one line; none if it is empty.
fn shown(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|sign| !sign.is_control()).take(LONGEST).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests;
