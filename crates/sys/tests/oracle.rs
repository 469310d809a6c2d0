//! The hot-path parsers compared with procfs-core, on files of this kernel, and on such files with
//! modified bytes.

#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]
use assay_sys::kernel::{Root, counters, keyed_lines, parse, task};
use procfs_core::process::{MMPermissions, MemoryMaps, Schedstat, Stat, StatM};
use procfs_core::{CpuPressure, FromRead, Meminfo, VmStat};
use proptest::prelude::*;

fn contents(path: &str) -> Vec<u8> {
    Root::real().read(path).unwrap().into_bytes()
}

/// All values of a keyed file, as the sources read them.
fn keyed(text: &[u8], keys: &[&str]) -> Vec<Option<u64>> {
    let mut values = vec![None; keys.len()];
    keyed_lines::read(text, keys, &keyed_lines::order(text, keys), &mut values);
    values
}

#[test]
fn vmstat_agrees_with_procfs_core() {
    let text = contents("/proc/vmstat");
    let theirs = VmStat::from_read(text.as_slice()).unwrap().0;
    let keys: Vec<&str> = theirs.keys().map(String::as_str).collect();
    assert!(keys.len() > 50, "{}", keys.len());
    for (key, ours) in keys.iter().zip(keyed(&text, &keys)) {
        assert_eq!(ours.map(|value| value as i64), Some(theirs[*key]), "{key}");
    }
}

/// The fields of /proc/meminfo that both parsers support, in bytes.
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
    for ((key, expected), ours) in fields.into_iter().zip(keyed(text, &keys)) {
        assert_eq!(ours.and_then(|kib| kib.checked_mul(1024)), expected, "{key}");
    }
}

fn compare_stat(text: &[u8]) {
    let Some(ours) = task::stat(text) else { return };
    // procfs-core panics on a name that begins at an invalid character boundary.
    let Ok(Ok(theirs)) = std::panic::catch_unwind(|| Stat::from_read(text)) else { return };
    // procfs-core replaces bytes that are not UTF-8.
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
fn files_of_this_kernel_agree_with_procfs_core() {
    let text = contents("/proc/meminfo");
    Meminfo::from_read(text.as_slice()).unwrap();
    compare_meminfo(&text);
    for thread in Root::real().list("/proc/self/task").unwrap() {
        let stat = contents(&format!("/proc/self/task/{thread}/stat"));
        assert!(Stat::from_read(stat.as_slice()).is_ok() && task::stat(&stat).is_some());
        compare_stat(&stat);
        let sched = contents(&format!("/proc/self/task/{thread}/schedstat"));
        assert!(task::schedstat(&sched).is_some());
        compare_schedstat(&sched);
    }
    let statm = contents("/proc/self/statm");
    let theirs = StatM::from_read(statm.as_slice()).unwrap();
    assert_eq!(counters::fields::<2>(&statm, ""), Some([theirs.size, theirs.resident]));
}

#[test]
fn pressure_agrees_with_procfs_core() {
    let text = b"some avg10=0.00 avg60=0.04 avg300=0.21 total=1726683\n\
                 full avg10=0.00 avg60=0.03 avg300=0.20 total=1657328\n";
    let theirs = CpuPressure::from_read(text.as_slice()).unwrap();
    assert_eq!(counters::pressure(text, "some"), Some(theirs.some.total));
    assert_eq!(counters::pressure(text, "full"), Some(theirs.full.total));
}

#[test]
fn mappings_agree_with_procfs_core_except_those_without_pages() {
    let text = Root::real().read("/proc/self/maps").unwrap();
    let theirs = MemoryMaps::from_read(text.as_bytes()).unwrap();
    let accessible = |perms: MMPermissions| {
        perms.intersects(MMPermissions::READ | MMPermissions::WRITE | MMPermissions::EXECUTE)
    };
    let expected: Vec<(u64, u64)> = theirs
        .into_iter()
        .filter(|map| accessible(map.perms))
        // The kernel's own page, which x86-64 shows in the upper half.
        .filter(|map| map.address.0 < 1 << 63)
        .map(|map| map.address)
        .collect();
    let ours: Vec<(u64, u64)> =
        parse::maps::ranges(&text).into_iter().map(|range| (range.start, range.end)).collect();
    assert_eq!(ours, expected);
    assert!(ours.len() > 5, "{}", ours.len());
}

/// A text with some of its bytes modified.
fn modified(text: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
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
    // A test outside of `src` has no directory for regression files.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_modified_stat_gives_the_same_or_nothing(text in modified(contents("/proc/self/stat"))) {
        compare_stat(&text);
    }

    #[test]
    fn a_modified_schedstat_gives_the_same_or_nothing(
        text in modified(contents("/proc/self/schedstat"))
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
