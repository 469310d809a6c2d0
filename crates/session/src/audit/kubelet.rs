//! What the kubelet that runs was configured to, about memory: by its arguments and the files that they name.

use std::collections::BTreeMap;

use assay_audit::kubelet_settings;
use assay_audit::snapshot::{Hierarchy, Kubelet, MAX_FILE};
use assay_facts::Available;
use assay_kernel::Root;

use super::groups::directory;
use super::threads::Tasks;

/// Processes of its group that are looked at.
const MAX_PROCESSES: usize = 32;

/// Files of `--config-dir` that are read at most.
const MAX_FILES: usize = 32;

/// Feature gates that are looked for among its arguments.
const GATES: [&str; 3] = ["MemoryQoS", "AllAlpha", "AllBeta"];

/// Bytes of a reason, and of the names of files.
const MOST: usize = 1000;

/// The configuration of the kubelet in the group of `kubelet.service`; nothing if there is none.
pub(super) fn read(root: &Root, hierarchies: &[Hierarchy]) -> Option<Available<Kubelet>> {
    let of_unit = |path: &str| {
        let above = path.strip_suffix("/kubelet.service");
        above.is_some_and(|above| above.split('/').skip(1).all(|part| part.ends_with(".slice")))
    };
    let mut groups = hierarchies.iter().flat_map(|hierarchy| {
        hierarchy.groups.iter().map(move |group| (&hierarchy.mount, group.path.as_str()))
    });
    let (mount, path) = groups.find(|(_, path)| of_unit(path))?;
    let found = arguments(root, &directory(mount, path).join("cgroup.procs"))
        .and_then(|arguments| arguments.map_or(Ok(None), |all| configured(root, &all).map(Some)));
    match found {
        Ok(kubelet) => kubelet.map(Available::Value),
        Err(why) => Some(Available::NotAvailable(why.chars().take(MOST).collect())),
    }
}

/// The arguments of the first process in a list that is a kubelet.
fn arguments(root: &Root, list: &std::path::Path) -> Result<Option<Vec<String>>, String> {
    let processes = Tasks::new(root).ids(list)?;
    let line = |id: u32| root.read_at_most(format!("/proc/{id}/cmdline"), MAX_FILE).ok();
    let lines = processes.into_iter().take(MAX_PROCESSES).filter_map(line);
    let mut all = lines.map(|line| line.split('\0').map(str::to_owned).collect::<Vec<String>>());
    Ok(all
        .find(|words| words.first().is_some_and(|path| path.rsplit('/').next() == Some("kubelet"))))
}

/// What stands after `--NAME=` or behind `--NAME`.
fn argument<'w>(words: &'w [String], name: &str) -> Option<&'w str> {
    let of = |at: usize, word: &'w str| match word.trim_start_matches('-').strip_prefix(name)? {
        "" => words.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    };
    words.iter().enumerate().rev().find_map(|(at, word)| of(at, word.as_str()))
}

fn configured(root: &Root, words: &[String]) -> Result<Kubelet, String> {
    let mut kubelet = Kubelet { files: Vec::new(), settings: BTreeMap::new() };
    kubelet.files.extend(argument(words, "config").map(str::to_owned));
    if let Some(folder) = argument(words, "config-dir") {
        let names = root.list(folder).map_err(|error| error.to_string())?;
        let files = names.iter().filter(|name| name.ends_with(".conf"));
        kubelet.files.extend(files.map(|name| format!("{folder}/{name}")));
    }
    if kubelet.files.len() > MAX_FILES || kubelet.files.iter().any(|file| file.len() > MOST) {
        return Err(format!("it has more than {MAX_FILES} files, or too long names of them"));
    }
    for file in &kubelet.files {
        let text = read_at(root, file)?;
        kubelet.settings.extend(kubelet_settings(&text).map_err(|why| format!("{file}: {why}"))?);
    }
    // Arguments count more than files.
    let gates = argument(words, "feature-gates").unwrap_or_default().split(',');
    for (gate, value) in gates.filter_map(|pair| pair.trim().split_once('=')) {
        if GATES.contains(&gate) && value.len() <= MOST {
            kubelet.settings.insert(format!("featureGates.{gate}"), value.to_owned());
        }
    }
    Ok(kubelet)
}

fn read_at(root: &Root, file: &str) -> Result<String, String> {
    if !file.starts_with('/') {
        return Err(format!("where {file} is, is not known"));
    }
    root.read_at_most(file, MAX_FILE).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn host(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
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
    }
}
