//! The knob table agrees with the running kernel: which files a new group and the root have in every mounted hierarchy, their
//! mode bits, and what a new group reads.

#![allow(clippy::unwrap_used, reason = "what cannot be prepared fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use assay_host::cgroup::Tree;
use assay_host::facts::{CORE, HostFacts, UsedHierarchy};
use assay_host::knob::{File, GroupScope, KernelVersion, Mode, Version, all, matches_written};
use assay_host::{Ledger, gather};
use assay_sys::kernel::Root;
use assay_test_support::{HostSnapshot, host_lock};

/// Files of some kernels that the table omits on purpose, by their prefixes.
const OMITTED: [&str; 5] = [
    // An addition of one cloud provider.
    "memory.shown_ram_in_bytes",
    // For developers of control groups, and of bfq.
    "debug.",
    "cgroup.__DEBUG__.",
    "cpuset.__DEBUG__.",
    "blkio.bfq.",
];

#[test]
fn the_table_agrees_with_every_mounted_hierarchy() {
    let Some(_lock) = host_lock("the_table_agrees_with_every_mounted_hierarchy", &[]) else {
        return;
    };
    let before = HostSnapshot::take();
    let state = tempfile::tempdir().unwrap();
    let root = Root::real();
    let facts = gather(&root).unwrap();
    let mut ledger = Ledger::begin(state.path(), "knobs").unwrap();
    let mut check = Check::new(&root, &facts);
    let top = format!("assay-knobs-test-{}", std::process::id());
    let controllers = facts.cgroup.controllers.keys().map(String::as_str).chain([CORE]);
    for hierarchy in facts.cgroup.hierarchies_with(controllers).0 {
        let mark = ledger.mark();
        match Tree::create(&root, &mut ledger, std::slice::from_ref(&hierarchy), &top) {
            Ok(_) => check.new_group(&hierarchy, &hierarchy.base.join(&top).join("fresh")),
            Err(error) => println!("only the root is compared: {error}"),
        }
        check.root_group(&hierarchy);
        assert!(ledger.restore_to(&root, mark).is_empty());
    }
    ledger.finish().unwrap();
    HostSnapshot::assert_same(&before, "after a comparison of the table");
    let lines = &check.differences;
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines.join("\n"));
    assert!(check.compared > 20, "{} compared", check.compared);
}

struct Check<'r> {
    root: &'r Root,
    kernel: KernelVersion,
    /// Its configuration, if readable.
    config: Option<String>,
    /// Its huge page sizes as spelt in file names, such as `2MB`.
    sizes: Vec<String>,
    compared: usize,
    differences: Vec<String>,
}

impl<'r> Check<'r> {
    fn new(root: &'r Root, facts: &HostFacts) -> Self {
        let config = std::fs::read_to_string(format!("/boot/config-{}", facts.kernel)).ok();
        let packed = || Command::new("gzip").args(["-dc", "/proc/config.gz"]).output().ok();
        let unpacked = || packed().filter(|output| output.status.success());
        let config = config.or_else(|| String::from_utf8(unpacked()?.stdout).ok());
        let sizes = root.list("/sys/kernel/mm/hugepages").unwrap_or_default();
        Self {
            root,
            kernel: KernelVersion::parse(&facts.kernel).unwrap(),
            config,
            sizes: sizes.iter().filter_map(|name| size_name(name)).collect(),
            compared: 0,
            differences: Vec::new(),
        }
    }

    fn new_group(&mut self, hierarchy: &UsedHierarchy, group: &Path) {
        self.root.make_dir(group).unwrap();
        let expected = self.expected(hierarchy, false);
        self.compare(group, &expected);
        for (name, file) in expected {
            let path = group.join(&name);
            let Some(default) = file.default.filter(|_| self.root.exists(&path)) else { continue };
            match self.root.read_trimmed(&path) {
                Ok(text) if text == default || matches_written(&name, default, &text) => {}
                other => self.differs(&path, &format!("reads {other:?}, not `{default}`")),
            }
        }
    }

    fn root_group(&mut self, hierarchy: &UsedHierarchy) {
        if hierarchy.base == hierarchy.mount {
            let expected = self.expected(hierarchy, true);
            self.compare(&hierarchy.mount, &expected);
        }
    }

    /// The files that the root, or another group, should have by the table if the kernel has them at all.
    fn expected(
        &self,
        hierarchy: &UsedHierarchy,
        in_root: bool,
    ) -> BTreeMap<String, &'static File> {
        let version = if hierarchy.is_v2 { Version::V2 } else { Version::V1 };
        let mut expected = BTreeMap::new();
        for knob in all() {
            let Some(file) = knob.file(version) else { continue };
            let is_shown = match file.scope {
                GroupScope::Everywhere => {
                    !in_root || file.in_root_since.is_none_or(|since| self.kernel >= since)
                }
                GroupScope::Inside => !in_root,
                GroupScope::RootOnly => in_root,
            };
            // The root of v2 shows files of every controller, enabled for its children or not.
            if is_shown && (file.is_core || hierarchy.controllers.contains(knob.controller)) {
                let names: Vec<String> = match knob.is_pattern() {
                    true => self.sizes.iter().map(|size| knob.name_for(size)).collect(),
                    false => vec![knob.name.to_owned()],
                };
                expected.extend(names.into_iter().map(|name| (name, file)));
            }
        }
        expected
    }

    /// Compares which files exist, and their mode bits.
    fn compare(&mut self, group: &Path, expected: &BTreeMap<String, &File>) {
        let shown: BTreeSet<String> = self.root.list(group).unwrap().into_iter().collect();
        for name in shown.iter().filter(|name| !expected.contains_key(*name)) {
            let is_omitted = OMITTED.iter().any(|prefix| name.starts_with(prefix));
            if !is_omitted && !self.root.is_directory(group.join(name)) {
                self.differs(&group.join(name), "exists; the table has no such file here");
            }
        }
        for (name, file) in expected {
            self.compared += 1;
            let path = group.join(name);
            match (shown.contains(name), self.why_not(file)) {
                (true, None) => self.mode(&path, file),
                (true, Some(why)) => self.differs(&path, &format!("exists; by the table {why}")),
                // Whether an option is set may be unknown.
                (false, None)
                    if file.needs.is_none() && (file.config.is_none() || self.config.is_some()) =>
                {
                    self.differs(&path, "is absent; the table has it");
                }
                (false, _) => {}
            }
        }
    }

    /// Why this kernel has no such file by the table.
    fn why_not(&self, file: &File) -> Option<String> {
        let is_set = |option: &str, config: &str| {
            let rest = |line: &str| line.strip_prefix(option).map(str::to_owned);
            config.lines().filter_map(rest).any(|rest| rest == "=y" || rest == "=m")
        };
        let lacking = file
            .config
            .filter(|option| self.config.as_ref().is_some_and(|config| !is_set(option, config)));
        let built = lacking.map(|option| format!("the kernel is built without {option}"));
        file.why_not_in(self.kernel).or(built)
    }

    fn mode(&mut self, path: &Path, file: &File) {
        let is_writable = file.writable_since.is_some_and(|since| self.kernel >= since);
        let expected = if is_writable { Mode::ReadWrite } else { file.mode }.bits();
        let mode = self.root.access(path).unwrap().mode;
        if !file.mode_varies && mode != expected {
            self.differs(path, &format!("has the mode {mode:03o}, not {expected:03o}"));
        }
    }

    fn differs(&mut self, path: &Path, how: &str) {
        self.differences.push(format!("{} {how}", path.display()));
    }
}

/// The kernel's spelling of a size in file names (mm/hugetlb_cgroup.c: mem_fmt), from the spelling in
/// sysfs, `hugepages-2048kB`.
fn size_name(directory: &str) -> Option<String> {
    let kilobytes: u64 = directory.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
    Some(match kilobytes {
        size if size >= 1 << 20 => format!("{}GB", size >> 20),
        size if size >= 1 << 10 => format!("{}MB", size >> 10),
        size => format!("{size}KB"),
    })
}
