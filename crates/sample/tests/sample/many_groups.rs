//! Many groups on the real host: the kernel's iterator yields the values of the files, a removed group has
//! none, and nothing is left behind.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_kernel::Root;
use assay_kernel::parse::mountinfo;
use assay_run_folder::Table;
use assay_sample::{
    Choice, CpuFile, Depth, GroupTarget, MemoryFiles, Prepared, Rows, Source, Targets,
    prepare_chosen,
};
use assay_test_support::{HostSnapshot, host_alone, skip};

const GROUPS: usize = 20;

/// Groups made by this test in the hierarchies of cgroup v1 that count CPU time and memory.
struct Groups {
    homes: Vec<PathBuf>,
}

impl Groups {
    fn make() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mounts = mountinfo::parse(&text);
        let home = |controller: &str| {
            let serves = |mount: &&mountinfo::Mount| {
                mount.kind == "cgroup" && mount.options.iter().any(|option| option == controller)
            };
            let mount = mounts.iter().find(serves)?;
            Some(mount.target.join(format!("assay-test-many-{}", std::process::id())))
        };
        let groups = Self { homes: vec![home("cpuacct")?, home("memory")?] };
        for home in &groups.homes {
            std::fs::create_dir(home).ok()?;
            for index in 0..GROUPS {
                std::fs::create_dir(home.join(format!("g{index}"))).unwrap();
            }
        }
        Some(groups)
    }

    fn targets(&self) -> Targets {
        let group = |index: usize| {
            let name = format!("g{index}");
            GroupTarget {
                io: Err("not read here".to_owned()),
                cpu: Ok(CpuFile::Cpuacct(self.homes[0].join(&name).join("cpuacct.usage"))),
                pressure: None,
                memory: Ok(MemoryFiles { directory: self.homes[1].join(&name), is_v2: false }),
                name,
            }
        };
        Targets { groups: (0..GROUPS).map(group).collect(), ..Targets::default() }
    }

    /// Runs a shell in this group for a while, and waits until it has ended.
    fn work_in(&self, index: usize) {
        let enter = |home: &PathBuf| format!("echo 0 > {}/g{index}/tasks", home.display());
        let enter: Vec<String> = self.homes.iter().map(enter).collect();
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let script = format!("{}; {work}", enter.join("; "));
        assert!(Command::new("sh").arg("-c").arg(script).status().unwrap().success());
    }

    /// Writes a file, whose pages stay in the group.
    fn keep_memory_in(&self, index: usize, folder: &Path) {
        let file = folder.join("file");
        let tasks = self.homes[1].join(format!("g{index}/tasks"));
        let script =
            format!("echo 0 > {}; head -c 1000000 /dev/zero > {}", tasks.display(), file.display());
        assert!(Command::new("sh").arg("-c").arg(script).status().unwrap().success());
    }

    fn file(&self, home: usize, index: usize, name: &str) -> Option<u64> {
        let path = self.homes[home].join(format!("g{index}")).join(name);
        let text = std::fs::read_to_string(path).ok()?;
        let last = text.lines().last()?.rsplit(' ').next()?.to_owned();
        last.parse().ok()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for home in &self.homes {
            for index in 0..GROUPS {
                let _ = std::fs::remove_dir(home.join(format!("g{index}")));
            }
            let _ = std::fs::remove_dir(home);
        }
    }
}

fn source(prepared: &mut Prepared, name: &str) -> (Box<dyn Source>, Rows) {
    let at = prepared.sources.iter().position(|source| source.name() == name);
    let source = prepared.sources.swap_remove(at.unwrap());
    let rows = source.rows(|| 1);
    (source, rows)
}

fn value(table: &Table, index: usize, column: &str) -> Option<u64> {
    table.series(&format!("g{index}"), column).last().map(|(_, value)| value)
}

#[test]
fn the_iterator_yields_the_values_of_the_groups_files() {
    const NAME: &str = "the_iterator_yields_the_values_of_the_groups_files";
    let Some(_lock) = host_alone(NAME, &[]) else { return };
    let before = HostSnapshot::take();
    let Some(groups) = Groups::make() else {
        return skip(NAME, "no hierarchies of cgroup v1 for cpuacct and memory that take groups");
    };
    let choice = Choice::Usual;
    let mut prepared = prepare_chosen(&Root::real(), &groups.targets(), &choice);
    let (mut cpu, mut cpu_rows) = source(&mut prepared, "cpu");
    let (mut memory, mut memory_rows) = source(&mut prepared, "memory");
    let reasons = [cpu.reasons(), memory.reasons()].concat();
    if let Some((_, why)) = reasons.first() {
        drop(groups);
        return skip(NAME, why);
    }
    assert_eq!((cpu.files(), memory.files()), (1, 1));
    groups.work_in(3);
    groups.work_in(7);
    cpu.read(&mut cpu_rows, Depth::Full);
    memory.read(&mut memory_rows, Depth::Full);
    let (cpu_table, memory_table) = (cpu_rows.table(), memory_rows.table());
    for index in 0..GROUPS {
        assert_eq!(
            value(&cpu_table, index, "usage_ns"),
            groups.file(0, index, "cpuacct.usage"),
            "g{index}"
        );
        for (column, file) in [
            ("current_bytes", "memory.usage_in_bytes"),
            ("peak_bytes", "memory.max_usage_in_bytes"),
            ("max_events", "memory.failcnt"),
            ("oom_kills", "memory.oom_control"),
        ] {
            let sampled = value(&memory_table, index, column);
            assert_eq!(sampled, groups.file(1, index, file), "g{index} {column}");
        }
        assert!(value(&memory_table, index, "anon_bytes").is_some(), "g{index}");
    }
    assert!(value(&cpu_table, 3, "usage_ns") > Some(1_000_000));
    assert!(value(&memory_table, 7, "peak_bytes") > Some(0));

    // `memory.stat` is not read again as long as a group is empty, and is once it is not.
    memory_rows.clear();
    (0..10).for_each(|_| memory.read(&mut memory_rows, Depth::Whole));
    let folder = tempfile::tempdir().unwrap();
    groups.keep_memory_in(5, folder.path());
    (0..10).for_each(|_| memory.read(&mut memory_rows, Depth::Whole));
    let table = memory_rows.table();
    for index in 0..GROUPS {
        let rows = table.series(&format!("g{index}"), "file_bytes").count();
        assert_eq!(rows, 4, "g{index}: every fifth round");
    }
    assert_eq!(value(&table, 4, "file_bytes"), Some(0));
    assert!(value(&table, 5, "file_bytes") > Some(0));

    // A group that is removed while sampled has no values from then on; the others have.
    for home in &groups.homes {
        std::fs::remove_dir(home.join("g3")).unwrap();
    }
    cpu_rows.clear();
    memory_rows.clear();
    cpu.read(&mut cpu_rows, Depth::Full);
    memory.read(&mut memory_rows, Depth::Full);
    assert_eq!(value(&cpu_rows.table(), 3, "usage_ns"), None);
    assert_eq!(value(&memory_rows.table(), 3, "current_bytes"), None);
    assert_eq!(value(&cpu_rows.table(), 7, "usage_ns"), groups.file(0, 7, "cpuacct.usage"));
    drop(groups);
    HostSnapshot::assert_same(&before, "after sampling many groups");
}

#[test]
fn a_group_removed_while_its_files_are_read_has_no_values() {
    let tree = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let folder = tree.path().join("cg").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cpuacct.usage"), "5\n").unwrap();
    }
    let group = |name: &str| GroupTarget {
        name: name.to_owned(),
        io: Err("none".to_owned()),
        cpu: Ok(CpuFile::Cpuacct(Path::new("/cg").join(name).join("cpuacct.usage"))),
        pressure: None,
        memory: Err("none".to_owned()),
    };
    let targets = Targets { groups: vec![group("a"), group("b")], ..Targets::default() };
    let root = Root::at(tree.path());
    let mut prepared = prepare_chosen(&root, &targets, &Choice::Usual);
    let (mut cpu, mut rows) = source(&mut prepared, "cpu");
    // Reading a file of a removed group fails with ENODEV; in a fake tree it can only be emptied.
    std::fs::write(tree.path().join("cg/a/cpuacct.usage"), "").unwrap();
    std::fs::remove_dir_all(tree.path().join("cg/a")).unwrap();
    cpu.read(&mut rows, Depth::Whole);
    let table = rows.table();
    assert_eq!(table.column("usage_ns").unwrap().values, [None, Some(5)]);
}
