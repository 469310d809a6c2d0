//! The parsers of the hot path against procfs-core: the same numbers from what this kernel writes,
//! and from such texts with their bytes changed.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
use assay_kernel::{Root, counters, keyed_lines, parse, task};
use procfs_core::process::{MMPermissions, MemoryMaps, Schedstat, Stat, StatM};
use procfs_core::{CpuPressure, FromRead, Meminfo, VmStat};
use proptest::prelude::*;

fn captured(path: &str) -> Vec<u8> {
    Root::real().read(path).unwrap().into_bytes()
}

/// All values of a file of keys, as the sources read them.
fn keyed(text: &[u8], keys: &[&str]) -> Vec<Option<u64>> {
    let mut values = vec![None; keys.len()];
    keyed_lines::read(text, keys, &keyed_lines::order(text, keys), &mut values);
    values
}

#[test]
fn vmstat_is_read_as_by_procfs_core() {
    let text = captured("/proc/vmstat");
    let theirs = VmStat::from_read(text.as_slice()).unwrap().0;
    let keys: Vec<&str> = theirs.keys().map(String::as_str).collect();
    assert!(keys.len() > 50, "{}", keys.len());
    for (key, ours) in keys.iter().zip(keyed(&text, &keys)) {
        assert_eq!(ours.map(|value| value as i64), Some(theirs[*key]), "{key}");
    }
}

/// The fields of /proc/meminfo that both know, in bytes.
fn meminfo(theirs: &Meminfo) -> [(&'static str, Option<u64>); 12] {
    [
        ("MemTotal", Some(theirs.mem_total)),
        ("MemFree", Some(theirs.mem_free)),
        ("MemAvailable", theirs.mem_available),
        ("Buffers", Some(theirs.buffers)),
        ("Cached", Some(theirs.cached)),
        ("Active", Some(theirs.active)),
        ("Dirty", Some(theirs.dirty)),
        ("Writeback", Some(theirs.writeback)),
        ("AnonPages", theirs.anon_pages),
        ("Slab", Some(theirs.slab)),
        ("AnonHugePages", theirs.anon_hugepages),
        ("SwapFree", Some(theirs.swap_free)),
    ]
}

fn compare_meminfo(text: &[u8]) {
    let Ok(theirs) = Meminfo::from_read(text) else { return };
    let fields = meminfo(&theirs);
    let keys = fields.map(|(key, _)| key);
    for ((key, wanted), ours) in fields.into_iter().zip(keyed(text, &keys)) {
        assert_eq!(ours.and_then(|kib| kib.checked_mul(1024)), wanted, "{key}");
    }
}

fn compare_stat(text: &[u8]) {
    let Some(ours) = task::stat(text) else { return };
    // They panic at a name that begins where no name can begin.
    let Ok(Ok(theirs)) = std::panic::catch_unwind(|| Stat::from_read(text)) else { return };
    // What is not UTF-8 they have replaced.
    assert_eq!(String::from_utf8_lossy(ours.name), theirs.comm);
    assert_eq!(char::from(ours.state), theirs.state);
    assert_eq!(i64::from(ours.parent), i64::from(theirs.ppid));
    assert_eq!((ours.minor_faults, ours.major_faults), (theirs.minflt, theirs.majflt));
    assert_eq!((ours.threads as i64, ours.started), (theirs.num_threads, theirs.starttime));
    assert_eq!(Some(i32::from(ours.cpu)), theirs.processor);
}

fn compare_schedstat(text: &[u8]) {
    let (Ok(theirs), Some(ours)) = (Schedstat::from_read(text), task::schedstat(text)) else {
        return;
    };
    assert_eq!(
        (ours.run_ns, ours.wait_ns, ours.slices),
        (theirs.sum_exec_runtime, theirs.run_delay, theirs.pcount)
    );
}

#[test]
fn what_this_kernel_writes_is_read_as_by_procfs_core() {
    let text = captured("/proc/meminfo");
    Meminfo::from_read(text.as_slice()).unwrap();
    compare_meminfo(&text);
    for thread in Root::real().list("/proc/self/task").unwrap() {
        let stat = captured(&format!("/proc/self/task/{thread}/stat"));
        assert!(Stat::from_read(stat.as_slice()).is_ok() && task::stat(&stat).is_some());
        compare_stat(&stat);
        let sched = captured(&format!("/proc/self/task/{thread}/schedstat"));
        assert!(task::schedstat(&sched).is_some());
        compare_schedstat(&sched);
    }
    let statm = captured("/proc/self/statm");
    let theirs = StatM::from_read(statm.as_slice()).unwrap();
    assert_eq!(counters::fields::<2>(&statm, ""), Some([theirs.size, theirs.resident]));
}

#[test]
fn pressure_is_read_as_by_procfs_core() {
    let text = b"some avg10=0.00 avg60=0.04 avg300=0.21 total=1726683\n\
                 full avg10=0.00 avg60=0.03 avg300=0.20 total=1657328\n";
    let theirs = CpuPressure::from_read(text.as_slice()).unwrap();
    assert_eq!(counters::pressure(text, "some"), Some(theirs.some.total));
    assert_eq!(counters::pressure(text, "full"), Some(theirs.full.total));
}

#[test]
fn mappings_are_those_of_procfs_core_less_what_holds_no_pages() {
    let text = Root::real().read("/proc/self/maps").unwrap();
    let theirs = MemoryMaps::from_read(text.as_bytes()).unwrap();
    let accessible = |perms: MMPermissions| {
        perms.intersects(MMPermissions::READ | MMPermissions::WRITE | MMPermissions::EXECUTE)
    };
    let wanted: Vec<(u64, u64)> = theirs
        .into_iter()
        .filter(|map| accessible(map.perms))
        // The page of the kernel itself, which x86-64 shows in the upper half.
        .filter(|map| map.address.0 < 1 << 63)
        .map(|map| map.address)
        .collect();
    let ours: Vec<(u64, u64)> =
        parse::maps::ranges(&text).into_iter().map(|range| (range.start, range.end)).collect();
    assert_eq!(ours, wanted);
    assert!(ours.len() > 5, "{}", ours.len());
}

/// A text with some of its bytes changed.
fn changed(text: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = text.len();
    let byte = prop_oneof![proptest::sample::select(b" 0123456789()\n:k-".to_vec()), any::<u8>(),];
    proptest::collection::vec((0..length, byte), 0..6).prop_map(move |changes| {
        let mut text = text.clone();
        for (at, byte) in changes {
            text[at] = byte;
        }
        text
    })
}

proptest! {
    // A test outside of `src` has no place of its own for cases that failed.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_stat_gives_the_same_or_nothing(text in changed(captured("/proc/self/stat"))) {
        compare_stat(&text);
    }

    #[test]
    fn a_changed_schedstat_gives_the_same_or_nothing(
        text in changed(captured("/proc/self/schedstat"))
    ) {
        compare_schedstat(&text);
    }

    #[test]
    fn names_of_any_bytes_hide_no_field(name in "[ -~]{0,15}") {
        let fields: Vec<String> = (4..=52).map(|field| (field * 7).to_string()).collect();
        let text = format!("12 ({name}) S {}\n", fields.join(" "));
        prop_assert!(task::stat(text.as_bytes()).is_some());
        compare_stat(text.as_bytes());
    }
}
