//! Placement on fake trees.

use super::*;

fn put(tree: &std::path::Path, path: &str, text: &str) {
    let path = tree.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn stat(pid: u32, parent: u32, cpu: u16) -> String {
    let between = vec!["0"; 39 - 5].join(" ");
    format!("{pid} (a b) S {parent} {between} {cpu} 0 0\n")
}

#[test]
fn only_threads_of_the_workloads_own_processes_count() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "cg/cgroup.procs", "10\n11\n20\n");
    for (pid, parent, cpus) in [(10, 5, vec![0]), (11, 10, vec![1, 3]), (20, 5, vec![2])] {
        put(tree.path(), &format!("proc/{pid}/status"), &format!("PPid:\t{parent}\n"));
        let maps = "7f01 bind:0 anon=5 N0=3 N1=2 kernelpagesize_kB=4\n\
                    7f02 bind:0 file=/data mapped=2 N1=2 kernelpagesize_kB=4\n\
                    7f03 bind:0 file=/bin/a mapped=9 N1=9 kernelpagesize_kB=4\n";
        put(tree.path(), &format!("proc/{pid}/numa_maps"), maps);
        let maps = "7f03000-7f0c000 r-xp 00000000 fe:00 1 /bin/a\n";
        put(tree.path(), &format!("proc/{pid}/maps"), maps);
        for (index, cpu) in cpus.into_iter().enumerate() {
            let folder = format!("proc/{pid}/task/{}", pid + index as u32);
            put(tree.path(), &format!("{folder}/stat"), &stat(pid, parent, cpu));
            let status = "Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n";
            put(tree.path(), &format!("{folder}/status"), status);
        }
    }
    let root = Root::at(tree.path());
    let mut workload = workload();
    let mut queries = BoundedQueries::with_limit(Duration::from_secs(20));
    workload.look(&root, &mut queries);
    workload.look(&root, &mut queries);
    workload.count_pages(&root, &mut queries);
    let reading = workload.reading;
    assert_eq!((reading.looks, reading.threads, reading.samples), (2, 3, 6));
    assert_eq!((reading.followed, reading.moved), (3, 0));
    assert_eq!(reading.on_cpus, 4, "CPU 3 is not requested: {:?}", reading.by_cpu);
    assert_eq!(reading.allowed_cpus, BTreeMap::from([("0-1".to_owned(), 3)]));
    let pages = BTreeMap::from([(0, 6 * 4096), (1, 4 * 4096)]);
    assert_eq!(reading.pages, Some(Available::Value(pages)));
    assert_eq!(reading.policies, BTreeMap::from([("bind:0".to_owned(), 10 * 4096)]));
    let files = BTreeMap::from([("/data".to_owned(), BTreeMap::from([(1, 4 * 4096)]))]);
    assert_eq!(reading.files, files, "programs are not data");
}

/// A FIFO without a writer acts as a memory map that is locked forever.
#[test]
fn a_locked_memory_map_does_not_block_and_leaves_the_pages_unknown() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "cg/cgroup.procs", "10\n11\n");
    for (pid, parent) in [(10, 5), (11, 10)] {
        put(tree.path(), &format!("proc/{pid}/status"), &format!("PPid:\t{parent}\n"));
    }
    let maps = "7f01 bind:0 anon=5 N0=5 kernelpagesize_kB=4\n";
    put(tree.path(), "proc/10/numa_maps", maps);
    drop(assay_sys::kernel::fifo::Fifo::make(&tree.path().join("proc/11"), "numa_maps").unwrap());
    let root = Root::at(tree.path());
    let mut workload = workload();
    let mut queries = BoundedQueries::with_limit(Duration::from_millis(100));
    let begun = std::time::Instant::now();
    for _ in 0..3 {
        workload.count_pages(&root, &mut queries);
        let pages = &workload.reading.pages;
        let Some(Available::NotAvailable(why)) = pages else { panic!("{pages:?}") };
        assert!(why.contains("its files in /proc are locked (process 11)"), "{why}");
        // The locked process has ended; where its pages were remains unknown.
        put(tree.path(), "cg/cgroup.procs", "10\n");
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// A workload bound to CPUs 0 and 1 that has not been examined yet.
fn workload() -> Workload {
    Workload {
        plan: plan("0-1"),
        pid: 10,
        processes: Some("/cg/cgroup.procs".into()),
        is_own: BTreeMap::new(),
        last_cpu: BTreeMap::new(),
        locked: None,
        reading: PlacementReading::default(),
    }
}

pub(crate) fn plan(cpus: &str) -> PlacementRecord {
    PlacementRecord {
        workload: "task.w".to_owned(),
        group: "task".to_owned(),
        asked_cpus: None,
        cpus: Some(cpus.parse().unwrap()),
        memory: None,
        huge_pages: None,
        pages: BTreeMap::new(),
    }
}

#[test]
fn a_thread_that_is_on_another_cpu_than_before_has_moved() {
    let tree = tempfile::tempdir().unwrap();
    put(tree.path(), "cg/cgroup.procs", "10\n");
    put(tree.path(), "proc/10/status", "PPid:\t5\n");
    let root = Root::at(tree.path());
    let (mut workload, mut queries) =
        (workload(), BoundedQueries::with_limit(Duration::from_secs(20)));
    for cpu in [0, 1, 1, 0, 0] {
        put(tree.path(), "proc/10/task/10/stat", &stat(10, 5, cpu));
        workload.look(&root, &mut queries);
    }
    assert_eq!((workload.reading.followed, workload.reading.moved), (4, 2));
    let result = |name: &str| WorkloadResult { workload: name.to_owned(), ..Default::default() };
    let mut results = [result(&workload.reading.workload), result("other")];
    add_metrics(&[workload.reading], &mut results);
    assert_eq!(results[0].metrics["thread_moves_percent"], 50.0);
    assert!(results[1].metrics.is_empty());
}
