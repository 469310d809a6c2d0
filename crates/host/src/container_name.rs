//! The names that users have given to containers and pods, from the files in which runtimes keep them. No
//! runtime is asked: it may not answer, and asking it is a program and a socket.

use std::collections::BTreeMap;
use std::path::Path;

use assay_facts::owner::{Container, Owner, Pod, Runtime};
use assay_files::Dir;
use assay_kernel::Root;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// No runtime writes longer files about a container.
const LIMIT: u64 = 1 << 20;

/// Of a name this much is kept: it may be anyone's.
const LONGEST: usize = 128;

/// The folder of Docker.
const DOCKER: &str = "/var/lib/docker/containers";
/// Folders of containers/storage, which Podman and CRI-O use.
const STORAGE: [&str; 2] = [
    "/var/lib/containers/storage/overlay-containers",
    "/run/containers/storage/overlay-containers",
];
/// Bundles of containerd, in a folder for each of its namespaces.
const CONTAINERD: &str = "/run/containerd/io.containerd.runtime.v2.task";
/// Logs of pods: `NAMESPACE_NAME_UID`.
const PODS: &str = "/var/log/pods";

/// Annotations with the name of a container, the most specific first.
const NAMES: [&str; 5] = [
    "io.kubernetes.container.name",
    "io.kubernetes.cri.container-name",
    "io.kubernetes.cri-o.ContainerName",
    "io.podman.annotations.container-name",
    "nerdctl/name",
];

/// The same owner with the names found on this host. Whatever cannot be read leaves it as it is.
#[must_use]
pub fn name_owner(root: &Root, owner: Owner) -> Owner {
    match owner {
        Owner::Container(container) => {
            let name = container.name.clone().or_else(|| container_name(root, &container));
            let pod = container.pod.map(|pod| name_pod(root, pod));
            Owner::Container(Container { name, pod, ..container })
        }
        Owner::Pod(pod) => Owner::Pod(name_pod(root, pod)),
        other => other,
    }
}

fn container_name(root: &Root, container: &Container) -> Option<String> {
    let id = container.id.as_str();
    let name = match container.runtime {
        Some(Runtime::Docker) => docker_name(root, id),
        Some(Runtime::Podman | Runtime::Crio) => storage_name(root, id),
        Some(Runtime::Containerd | Runtime::Nerdctl) => containerd_name(root, id),
        None => containerd_name(root, id)
            .or_else(|| docker_name(root, id))
            .or_else(|| storage_name(root, id)),
    };
    name.and_then(|name| shown(&name))
}

fn docker_name(root: &Root, id: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Config {
        name: String,
    }
    let config: Config = document(root, DOCKER, id, "config.v2.json")?;
    Some(config.name.trim_start_matches('/').to_owned())
}

/// The annotations of an OCI bundle (`config.json`).
#[derive(Deserialize)]
struct Bundle {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Bundle {
    fn name(&self) -> Option<String> {
        NAMES.iter().find_map(|key| self.annotations.get(*key)).cloned()
    }
}

fn storage_name(root: &Root, id: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Stored {
        id: String,
        #[serde(default)]
        names: Vec<String>,
    }
    let annotated = STORAGE.iter().find_map(|storage| {
        let bundle: Bundle = document(root, storage, &format!("{id}/userdata"), "config.json")?;
        bundle.name()
    });
    annotated.or_else(|| {
        // Podman keeps names only in the list of all containers.
        let all: Vec<Stored> =
            STORAGE.iter().find_map(|storage| document(root, storage, "", "containers.json"))?;
        all.into_iter().find(|one| one.id == id)?.names.into_iter().next()
    })
}

fn containerd_name(root: &Root, id: &str) -> Option<String> {
    let namespaces = Dir::open(&root.resolve(CONTAINERD)).ok()?.names().ok()?;
    namespaces.iter().find_map(|namespace| {
        let folder = Path::new(namespace).join(id);
        let bundle: Bundle = document(root, CONTAINERD, folder.to_str()?, "config.json")?;
        bundle.name()
    })
}

fn name_pod(root: &Root, pod: Pod) -> Pod {
    let find = || {
        let logs = Dir::open(&root.resolve(PODS)).ok()?.names().ok()?;
        logs.iter().find_map(|log| {
            let name = log.to_str()?.strip_suffix(&pod.uid)?.strip_suffix('_')?;
            shown(&name.replacen('_', "/", 1))
        })
    };
    Pod { name: pod.name.clone().or_else(find), ..pod }
}

/// A JSON document of `folder` below `top`. No link below `top` is followed, and no pipe is opened.
fn document<T: DeserializeOwned>(root: &Root, top: &str, folder: &str, file: &str) -> Option<T> {
    let top = Dir::open(&root.resolve(top)).ok()?;
    let text = top.bytes(Path::new(folder).join(file), LIMIT).ok()?;
    serde_json::from_slice(&text).ok()
}

/// A name as one line; none if it is empty.
fn shown(name: &str) -> Option<String> {
    let name: String = name.chars().filter(|sign| !sign.is_control()).take(LONGEST).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use assay_facts::owner::owner;

    use super::*;

    const ID: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";

    /// The words for the owner of `path`, on a host with one file.
    fn words(path: &str, file: &str, text: &str) -> String {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join(file.replace("ID", ID));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text.replace("ID", ID)).unwrap();
        let owner = owner(&path.replace("ID", ID)).unwrap();
        name_owner(&Root::at(top.path()), owner).to_string()
    }

    #[test]
    fn each_runtime_keeps_names_in_files_of_its_own() {
        for (path, file, text, expected) in [
            (
                "/system.slice/docker-ID.scope",
                "var/lib/docker/containers/ID/config.v2.json",
                r#"{"ID":"ID","Name":"/web","State":{}}"#,
                "container web (docker 1a2b3c4d5e6f)",
            ),
            (
                "/machine.slice/libpod-ID.scope",
                "var/lib/containers/storage/overlay-containers/containers.json",
                r#"[{"id":"other","names":["no"]},{"id":"ID","names":["web"]}]"#,
                "container web (podman 1a2b3c4d5e6f)",
            ),
            (
                "/kubepods/podUID/crio-ID",
                "run/containers/storage/overlay-containers/ID/userdata/config.json",
                r#"{"annotations":{"io.kubernetes.container.name":"web"}}"#,
                "container web (CRI-O 1a2b3c4d5e6f) of pod UID",
            ),
            (
                "/b.slice/cri-containerd-ID.scope",
                "run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json",
                r#"{"annotations":{"io.kubernetes.cri.container-name":"web"}}"#,
                "container web (containerd 1a2b3c4d5e6f)",
            ),
            ("/kubepods/pod12-ab", "var/log/pods/shop_web-0_12-ab/web/0.log", "", "pod shop/web-0"),
            (
                "/docker/ID",
                "var/lib/docker/containers/ID/config.v2.json",
                "no JSON",
                "container docker 1a2b3c4d5e6f",
            ),
        ] {
            let path = path.replace("UID", "uid");
            assert_eq!(words(&path, file, text).replace("uid", "UID"), expected, "{path}");
        }
    }

    #[test]
    fn a_name_from_outside_is_one_short_line() {
        let text = format!(r#"{{"Name":"/a\nb\u001b[2J{}"}}"#, "x".repeat(1000));
        let shown = words("/docker/ID", "var/lib/docker/containers/ID/config.v2.json", &text);
        assert!(shown.starts_with("container ab[2Jxxx") && shown.len() < 200, "{shown}");
    }

    #[test]
    fn links_pipes_and_long_files_are_not_read() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("var/lib/docker/containers");
        fs::create_dir_all(&folder).unwrap();
        let elsewhere = top.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("config.v2.json"), r#"{"Name":"/web"}"#).unwrap();
        symlink(&elsewhere, folder.join(ID)).unwrap();
        let name = || docker_name(&Root::at(top.path()), ID);
        assert_eq!(name(), None, "a link");
        fs::remove_file(folder.join(ID)).unwrap();
        fs::create_dir(folder.join(ID)).unwrap();
        let file = folder.join(ID).join("config.v2.json");
        let dir = Dir::open(&folder.join(ID)).unwrap();
        drop(dir.make_fifo("config.v2.json"));
        assert_eq!(name(), None, "a pipe");
        fs::remove_file(&file).unwrap();
        let long = format!(r#"{{"Name":"/web","Args":"{}"}}"#, "x".repeat(LIMIT as usize));
        fs::write(&file, long).unwrap();
        assert_eq!(name(), None, "a long file");
        fs::write(&file, r#"{"Name":"/web"}"#).unwrap();
        assert_eq!(name().as_deref(), Some("web"));
    }
}
