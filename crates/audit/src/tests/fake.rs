//! Made-up snapshots for tests of the rules.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_host::facts::Available;

use crate::snapshot::{Disk, Group, Hierarchy, Machine, SCHEMA, Snapshot, UnitFile};

/// A host of 8 CPUs and 16 GiB with one hierarchy, to be extended.
pub(crate) struct Fake(Snapshot);

fn value<T>(of: T) -> Available<T> {
    Available::Value(of)
}

fn group(path: &str, threads: u64, files: &[(&str, &str)]) -> Group {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), value((*text).to_owned())));
    Group {
        path: path.to_owned(),
        threads: value(threads),
        files: files.collect(),
        open_on: None,
        real_time: None,
    }
}

impl Fake {
    pub(crate) fn v2() -> Self {
        Self::with("v2", true, &["cpuset", "cpu", "io", "memory", "pids"])
    }

    pub(crate) fn v1(controller: &str) -> Self {
        Self::with(if controller == "io" { "blkio" } else { controller }, false, &[controller])
    }

    fn with(name: &str, is_v2: bool, controllers: &[&str]) -> Self {
        let controllers: Vec<String> = controllers.iter().map(|one| (*one).to_owned()).collect();
        let enabled = controllers.join(" ");
        let top: &[(&str, &str)] = if is_v2 {
            &[("cgroup.controllers", &enabled), ("cgroup.subtree_control", &enabled)]
        } else {
            &[]
        };
        let top = group("/", 2, top);
        Self(Snapshot {
            schema: SCHEMA,
            taken_at: "2026-11-24T00:00:00Z".to_owned(),
            machine: Machine {
                name: value("fake".to_owned()),
                kernel: value("6.12.0".to_owned()),
                cpus: value("0-7".to_owned()),
                memory: value(16 << 30),
                swap: value(1 << 30),
                files: BTreeMap::new(),
                signs: BTreeMap::new(),
                weight_mode: None,
                user: value(0),
            },
            hierarchies: vec![Hierarchy {
                name: name.to_owned(),
                is_v2,
                mount: PathBuf::from("/sys/fs/cgroup"),
                options: vec!["rw".to_owned()],
                controllers,
                is_whole: true,
                groups: vec![top],
                loose: None,
                left_out: None,
            }],
            disks: Vec::new(),
            names: BTreeMap::new(),
            names_left_out: Vec::new(),
            delegated: BTreeMap::new(),
            units: BTreeMap::new(),
            units_left_out: None,
            kubelet: None,
        })
    }

    /// A group with one thread.
    pub(crate) fn group(self, path: &str, files: &[(&str, &str)]) -> Self {
        self.group_of(path, 1, files)
    }

    pub(crate) fn group_of(mut self, path: &str, threads: u64, files: &[(&str, &str)]) -> Self {
        self.0.hierarchies[0].groups.push(group(path, threads, files));
        self
    }

    /// Replaces or adds a file of the group that was added last.
    pub(crate) fn also(mut self, name: &str, text: &str) -> Self {
        let group = self.0.hierarchies[0].groups.last_mut().unwrap();
        group.files.insert(name.to_owned(), value(text.to_owned()));
        self
    }

    /// Adds a file of the top.
    pub(crate) fn top(mut self, name: &str, text: &str) -> Self {
        let top = &mut self.0.hierarchies[0].groups[0];
        top.files.insert(name.to_owned(), value(text.to_owned()));
        self
    }

    pub(crate) fn host_file(mut self, path: &str, text: &str) -> Self {
        self.0.machine.files.insert(path.to_owned(), value(text.to_owned()));
        self
    }

    /// A kernel of 7.3 that divides weights of CPU by this mode.
    pub(crate) fn weight_mode(mut self, mode: &str) -> Self {
        self.0.machine.kernel = value("7.3.4".to_owned());
        self.0.machine.weight_mode = Some(value(mode.to_owned()));
        self
    }

    pub(crate) fn option(mut self, name: &str) -> Self {
        self.0.hierarchies[0].options.push(name.to_owned());
        self
    }

    pub(crate) fn disk(mut self, name: &str, device: &str, scheduler: &str) -> Self {
        self.0.disks.push(Disk {
            name: name.to_owned(),
            device: device.to_owned(),
            size: 1 << 30,
            scheduler: value(scheduler.to_owned()),
            partitions: BTreeMap::new(),
            slaves: Vec::new(),
            holders: Vec::new(),
            image_on: None,
            nr_requests: None,
            stack: None,
            file_systems: Vec::new(),
            mounted: Vec::new(),
        });
        self
    }

    /// A device made of others.
    pub(crate) fn stacked(mut self, name: &str, device: &str, slaves: &[&str]) -> Self {
        self = self.disk(name, device, "");
        let disk = self.0.disks.last_mut().unwrap();
        disk.scheduler = Available::NotAvailable("no such file".to_owned());
        disk.slaves = slaves.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// A unit with these settings in its file.
    pub(crate) fn unit(mut self, name: &str, settings: &[&str]) -> Self {
        let file = UnitFile {
            path: format!("/etc/systemd/system/{name}"),
            settings: settings.iter().map(|line| (*line).to_owned()).collect(),
        };
        self.0.units.entry(name.to_owned()).or_default().push(file);
        self
    }

    pub(crate) fn change(mut self, how: impl FnOnce(&mut Snapshot)) -> Self {
        how(&mut self.0);
        self
    }

    pub(crate) fn snapshot(self) -> Snapshot {
        self.0
    }

    /// The codes that fire, with the path of the group, sorted.
    #[track_caller]
    pub(crate) fn codes(self) -> Vec<(&'static str, String)> {
        let audit = crate::audit(&self.0);
        let mut codes: Vec<_> =
            audit.findings.iter().map(|finding| (finding.code, finding.group.clone())).collect();
        codes.sort();
        codes
    }

    /// The finding of a code; fails if there is none or there are several.
    #[track_caller]
    pub(crate) fn only(self, code: &str) -> crate::Finding {
        let audit = crate::audit(&self.0);
        let mut found = audit.findings.iter().filter(|finding| finding.code == code);
        let one = found.next().unwrap_or_else(|| panic!("no {code} in {:#?}", audit.findings));
        assert!(found.next().is_none(), "{code} fires twice: {:#?}", audit.findings);
        one.clone()
    }

    /// Asserts that a code does not fire.
    #[track_caller]
    pub(crate) fn silent(self, code: &str) {
        let codes = self.codes();
        assert!(codes.iter().all(|(fired, _)| *fired != code), "{codes:?}");
    }
}
