//! What the kubelet that runs was configured to, about memory: by its arguments and the files that they name.

use std::collections::BTreeMap;
use std::path::Path;

use assay_host::Owners;
use assay_host::facts::Available;
use assay_host::facts::owner::unit_of_system;
use assay_sys::files::{Dir, Error};
use assay_sys::kernel::Root;

use super::groups::directory;
use super::systemd::Systemd;
use super::threads::Tasks;
use crate::kubelet_settings;
use crate::snapshot::{Hierarchy, Kubelet, MAX_FILE, MAX_KUBELET_FILES};

/// Processes of its group that are looked at.
const MAX_PROCESSES: usize = 32;

/// Feature gates that are looked for among its arguments.
const GATES: [&str; 3] = ["MemoryQoS", "AllAlpha", "AllBeta"];

/// Bytes of a reason, and of the names of files.
const MOST: usize = 1000;

/// The configuration of the kubelet in the group of `kubelet.service` that systemd made; nothing if there is none.
pub(super) fn read(
    root: &Root,
    systemd: Systemd,
    owners: &Owners,
    hierarchies: &[Hierarchy],
) -> Option<Available<Kubelet>> {
    let (mount, path) = group(owners, hierarchies)?;
    let found = match systemd {
        Systemd::None => return None,
        Systemd::Elsewhere(why) => Err(why.to_owned()),
        Systemd::Here => {
            arguments(root, &directory(mount, path).join("cgroup.procs")).and_then(|arguments| {
                arguments.map_or(Ok(None), |all| configured(root, &all).map(Some))
            })
        }
    };
    match found {
        Ok(kubelet) => kubelet.map(Available::Value),
        Err(why) => {
            // The arguments of a process may have any signs.
            Some(Available::NotAvailable(
                assay_sys::escape::line(&why).chars().take(MOST).collect(),
            ))
        }
    }
}

/// The mount and path of its group. Where others than root may put processes, they may name any file in the arguments of one.
fn group<'h>(owners: &Owners, hierarchies: &'h [Hierarchy]) -> Option<(&'h Path, &'h str)> {
    let of_unit = |path: &str| unit_of_system(path) == Some("kubelet.service");
    let mut groups = hierarchies.iter().flat_map(|hierarchy| {
        let paths = hierarchy.groups.iter().map(|group| group.path.as_str());
        paths.map(move |path| (hierarchy.mount.as_path(), path))
    });
    groups.find(|(mount, path)| of_unit(path) && owners.claimant_below(mount, path).is_none())
}

/// The arguments of the first process in a list that is a kubelet.
fn arguments(root: &Root, list: &Path) -> Result<Option<Vec<String>>, String> {
    let tasks = Tasks::new(root);
    let line = |id: u32| {
        let root = root.clone();
        let read = move || root.read_at_most(format!("/proc/{id}/cmdline"), MAX_FILE);
        tasks.queries.borrow_mut().run(id, read).ok()?.ok()
    };
    let lines = tasks.ids(list)?.into_iter().take(MAX_PROCESSES).filter_map(line);
    let mut all = lines.map(|line| line.split('\0').map(str::to_owned).collect::<Vec<String>>());
    Ok(all
        .find(|words| words.first().is_some_and(|path| path.rsplit('/').next() == Some("kubelet"))))
}

/// What stands after each `--NAME=` or behind `--NAME`, in order.
fn given<'w>(words: &'w [String], name: &'w str) -> impl Iterator<Item = &'w str> {
    let options = words.iter().enumerate().take_while(|(_, word)| *word != "--");
    options.filter_map(move |(at, word)| match word.strip_prefix("--")?.strip_prefix(name)? {
        "" => words.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}

fn configured(root: &Root, words: &[String]) -> Result<Kubelet, String> {
    let mut kubelet = Kubelet { files: Vec::new(), settings: BTreeMap::new() };
    kubelet.files.extend(given(words, "config").last().map(str::to_owned));
    if let Some(folder) = given(words, "config-dir").last() {
        kubelet.files.extend(drop_ins(root, folder)?);
    }
    let files = &kubelet.files;
    if files.len() > MAX_KUBELET_FILES || files.iter().any(|file| file.len() > MOST) {
        return Err(format!(
            "it has more than {MAX_KUBELET_FILES} files, or too long names of them"
        ));
    }
    for file in files {
        let text = text(root, file)?;
        kubelet.settings.extend(kubelet_settings(&text).map_err(|why| format!("{file}: {why}"))?);
    }
    // Arguments count more than files, and each adds to those before it.
    let gates = given(words, "feature-gates").flat_map(|list| list.split(','));
    for (gate, value) in gates.filter_map(|pair| pair.split_once('=')) {
        let (gate, value) = (gate.trim(), value.trim());
        if GATES.contains(&gate) && value.len() <= MOST {
            kubelet.settings.insert(format!("featureGates.{gate}"), value.to_owned());
        }
    }
    Ok(kubelet)
}

/// The files of `--config-dir`, in the order in which they count.
fn drop_ins(root: &Root, path: &str) -> Result<Vec<String>, String> {
    let names = folder(root, path)?.names().map_err(|error| reason(&error))?;
    let names = names.iter().map(|name| name.to_string_lossy());
    Ok(names.filter(|name| name.ends_with(".conf")).map(|name| format!("{path}/{name}")).collect())
}

/// A regular file in a folder in which nobody but root, or this user, may put one: nothing is waited for, and no device is opened.
fn text(root: &Root, file: &str) -> Result<String, String> {
    let (above, name) = file.rsplit_once('/').unwrap_or(("", file));
    let folder = folder(root, if above.is_empty() && file.starts_with('/') { "/" } else { above })?;
    if !folder.has_file(name) {
        return Err(format!("{file} is not there, or no regular file"));
    }
    folder.text(name, MAX_FILE).map_err(|error| reason(&error))
}

/// A folder by its path on the host. Below another root no link is followed: it would lead out.
fn folder(root: &Root, path: &str) -> Result<Dir, String> {
    let Some(below) = path.strip_prefix('/') else {
        return Err(format!("where `{path}` is, is not known"));
    };
    let open = || -> Result<Dir, Error> {
        match root.is_real() {
            true => Dir::open_guarded(path.as_ref()),
            false => Dir::open(&root.resolve("/"))?.dir(below.trim_start_matches('/')),
        }
    };
    let folder = open().map_err(|error| reason(&error))?;
    match folder.is_guarded() {
        true => Ok(folder),
        false => Err(format!("others than root may write to {path}")),
    }
}

fn reason(error: &Error) -> String {
    format!("{}: {}", error.path.display(), error.cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::tests::host;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn later_files_count_more_and_arguments_most() {
        let (_folder, root) = host(&[
            (
                "a.yaml",
                "kind: KubeletConfiguration\nmemoryThrottlingFactor: 0.9\nfeatureGates: {MemoryQoS: false}\n",
            ),
            ("d/20-x.conf", "kind: KubeletConfiguration\nmemoryThrottlingFactor: 0.5\n"),
            ("d/README", "?"),
        ]);
        let line = "/usr/bin/kubelet --config=/a.yaml --config-dir /d --feature-gates=A=true,MemoryQoS=true";
        let kubelet = configured(&root, &words(line)).unwrap();
        assert_eq!(kubelet.files, ["/a.yaml", "/d/20-x.conf"]);
        assert_eq!(kubelet.settings["memoryThrottlingFactor"], "0.5");
        assert_eq!(kubelet.settings["featureGates.MemoryQoS"], "true");
        assert!(configured(&root, &words("kubelet --config=a.yaml")).is_err());
        assert!(configured(&root, &words("kubelet --config /none")).is_err());
        assert!(configured(&root, &words("kubelet")).unwrap().settings.is_empty());
        let words = words("kubelet config=/none --feature-gates=A=true -- --config=/none");
        assert!(configured(&root, &words).unwrap().files.is_empty());
    }

    #[test]
    fn gates_of_several_arguments_add_up() {
        let (_folder, root) = host(&[]);
        let line = "kubelet --feature-gates=MemoryQoS=T,AllBeta=1 --feature-gates AllBeta=0 feature-gates=AllAlpha=1";
        let settings = configured(&root, &words(line)).unwrap().settings;
        let settings: Vec<(&str, &str)> =
            settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(settings, [("featureGates.AllBeta", "0"), ("featureGates.MemoryQoS", "T")]);
    }

    /// Whether it comes to an end at all is in question.
    fn within_a_second(of: impl FnOnce() -> Result<Kubelet, String> + Send + 'static) -> String {
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || _ = send.send(of()));
        receive.recv_timeout(std::time::Duration::from_secs(1)).unwrap().unwrap_err()
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let (folder, root) = host(&[("etc/x", "kind: KubeletConfiguration\n")]);
        drop(Dir::open(folder.path()).unwrap().make_fifo("pipe").unwrap());
        std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
        for file in ["/pipe", "/link/x", "/link", "/etc", "/../etc/x", "etc/x", "/"] {
            let (root, words) = (root.clone(), words(&format!("kubelet --config={file}")));
            let why = within_a_second(move || configured(&root, &words));
            assert!(!why.is_empty(), "{file}");
        }
        assert!(configured(&root, &words("kubelet --config=/etc/x")).is_ok());
    }

    #[test]
    fn a_file_that_others_may_put_there_is_not_read() {
        let (folder, root) = host(&[("d/x", "kind: KubeletConfiguration\n")]);
        open_for_all(&folder.path().join("d"));
        assert!(configured(&root, &words("kubelet --config=/d/x")).is_err());
        assert!(configured(&root, &words("kubelet --config-dir=/d")).is_err());
    }

    fn open_for_all(folder: &Path) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    }

    #[test]
    fn the_kubelet_of_a_user_is_not_that_of_the_host() {
        let host = |others: &[(&str, &str)]| {
            let files = [
                ("proc/self/mountinfo", "30 20 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
                ("run/systemd/system/x", ""),
                ("cg/cgroup.controllers", "cpu memory\n"),
                ("cg/jobs.slice/kubelet.service/cgroup.procs", "41\n"),
                ("proc/41/cmdline", "kubelet\0--config=/no\nRISK\0"),
                ("a.yaml", "kind: KubeletConfiguration\nmemoryThrottlingFactor: 0.7\n"),
            ];
            let (folder, root) = host(&[&files[..], others].concat());
            open_for_all(&folder.path().join("cg/jobs.slice"));
            crate::collect::take_snapshot(&root).unwrap().kubelet
        };
        let systemd = ("proc/1/cgroup", "0::/init.scope\n");
        let own = ("cg/system.slice/kubelet.service/cgroup.procs", "42\n");
        let arguments = ("proc/42/cmdline", "kubelet\0--config=/a.yaml\0");
        assert_eq!(host(&[systemd]), None);
        let found = host(&[systemd, own, arguments]).unwrap();
        assert_eq!(found.value().unwrap().settings["memoryThrottlingFactor"], "0.7");
        let wrong = ("proc/42/cmdline", "kubelet\0--config=/no\nRISK\0");
        let found = host(&[systemd, own, wrong]).unwrap();
        assert!(found.reason().unwrap().contains("/no\\nRISK"), "{found:?}");
        assert_eq!(host(&[own, arguments]), None, "without systemd");
    }
}
