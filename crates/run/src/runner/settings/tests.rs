//! Settings of a fake host: written through the ledger, refused, and read again.

use super::*;
use crate::runner::stop_rule::NeverStop;
use crate::runner::tests::fake_host::{FakeHost, Recorder, setting, trial};

fn with(settings: Vec<SettingPlan>) -> Trial {
    Trial { settings, ..trial(vec![]) }
}

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const RATIO: &str = "/proc/sys/vm/dirty_ratio";
const BYTES: &str = "/proc/sys/vm/dirty_bytes";
const HUGE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const FREE: &str = "/proc/sys/vm/min_free_kbytes";

#[test]
fn settings_are_written_read_back_and_restored() {
    let host = FakeHost::new();
    host.put(SWAPPINESS, "60\n");
    host.put(RATIO, "20\n");
    let mut implied = setting("vm.dirty_ratio", RATIO, "0");
    implied.record.implied = true;
    let trial = with(vec![setting("vm.swappiness", SWAPPINESS, "10"), implied]);
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let found = set_up(&mut context, &trial).unwrap();
    assert_eq!(host.text(RATIO), "20", "an implied setting is only expected");
    let start = read(&context.root, &trial);
    host.put(SWAPPINESS, "30\n");
    let readings = readings(&trial, found, start, read(&context.root, &trial));
    let first = &readings[0];
    let [found, start, end] =
        [&first.found, &first.at_start, &first.at_end].map(|value| value.value().unwrap().as_str());
    assert_eq!((found, start, end), ("60", "10", "30"));
    assert_eq!(readings[1].setting, "vm.dirty_ratio");
    context.ledger.restore(&host.root());
    assert_eq!(host.text(RATIO), "20");
}

#[test]
fn a_setting_without_a_file_is_refused_and_those_before_it_are_put_back() {
    let host = FakeHost::new();
    host.put(SWAPPINESS, "60\n");
    let missing = setting("vm.nothing", "/proc/sys/vm/nothing", "1");
    let trial = with(vec![setting("vm.swappiness", SWAPPINESS, "10"), missing]);
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let error = set_up(&mut context, &trial).unwrap_err().to_string();
    assert!(error.contains("/proc/sys/vm/nothing"), "{error}");
    assert_eq!(host.text(SWAPPINESS), "10");
    assert_eq!(context.ledger.restore(&host.root()), []);
    assert_eq!(host.text(SWAPPINESS), "60");
}

/// The kernel zeroes one of the pair when the other is written; only the one in effect is written back.
#[test]
fn of_a_pair_the_one_that_was_in_effect_is_written_back() {
    let host = FakeHost::new();
    host.put(RATIO, "20\n");
    host.put(BYTES, "0\n");
    let trial = with(vec![setting("vm.dirty_bytes", BYTES, "1048576")]);
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    set_up(&mut context, &trial).unwrap();
    assert_eq!(host.text(BYTES), "1048576");
    // What the kernel does at that write, and at the one that restores.
    host.put(RATIO, "0\n");
    context.ledger.restore(&host.root());
    assert_eq!(host.text(RATIO), "20");
}

#[test]
fn what_the_kernel_recomputes_is_restored_with_the_setting() {
    let host = FakeHost::new();
    host.put(HUGE, "madvise");
    host.put(FREE, "67584\n");
    let trial = with(vec![setting("thp.enabled", HUGE, "always")]);
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    set_up(&mut context, &trial).unwrap();
    assert_eq!(host.text(HUGE), "always");
    host.put(FREE, "90112\n");
    assert_eq!(context.ledger.restore(&host.root()), []);
    assert_eq!((host.text(HUGE), host.text(FREE)), ("madvise".to_owned(), "67584".to_owned()));
}

#[test]
fn sizes_of_caches_are_missing_for_a_reason() {
    let host = FakeHost::new();
    host.put(DROP, "0\n");
    let dropped = drop_caches(&host.root(), 1).unwrap();
    assert!(dropped.before_bytes.reason().unwrap().contains("/proc/meminfo"));
    host.put("/proc/meminfo", "Cached: 5 kB\n");
    let dropped = drop_caches(&host.root(), 2).unwrap();
    assert!(dropped.after_bytes.reason().unwrap().contains("no such fields"));
    assert_eq!((dropped.what, host.text(DROP).as_str()), (2, "2"));
    std::fs::remove_file(host.root().resolve(DROP)).unwrap();
    assert!(drop_caches(&host.root(), 1).unwrap_err().to_string().contains(DROP));
}

#[test]
fn dropping_writes_the_value_and_returns_the_sizes() {
    let tree = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(tree.path().join("proc/sys/vm")).unwrap();
    std::fs::write(tree.path().join("proc/sys/vm/drop_caches"), "0").unwrap();
    let info = "Cached:  1024 kB\nSReclaimable:  8 kB\n";
    std::fs::write(tree.path().join("proc/meminfo"), info).unwrap();
    let root = Root::at(tree.path());
    let dropped = drop_caches(&root, 3).unwrap();
    assert_eq!(dropped.before_bytes, Available::Value(1032 << 10));
    assert_eq!(root.read(DROP).unwrap(), "3");
}
