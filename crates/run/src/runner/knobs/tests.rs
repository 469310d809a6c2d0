//! Knobs on a fake host: written, refused, read back and compared.

use assay_host::knob::RootSetting;

use super::*;
use crate::runner::stop_rule::NeverStop;
use crate::runner::tests::fake_host::{
    FakeHost, Recorder, TOP, disk, group, hierarchy, knob, trial,
};

/// A trial with one knob in its group `g`, on cgroup v1.
fn with_knob(knob: KnobPlan) -> Trial {
    let mut g = group("g", vec![]);
    g.knobs.push(knob);
    Trial { hierarchies: vec![hierarchy(false, &["cpu"])], ..trial(vec![g]) }
}

#[test]
fn a_knob_is_written_with_its_further_files_and_read_back() {
    let host = FakeHost::new();
    let mut quota = knob("cpu", "cpu.cfs_quota_us", "50000");
    quota.translation.also.push(("cpu.cfs_period_us".to_owned(), "100000".to_owned()));
    let trial = with_knob(quota);
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let tree = host.tree(&mut context.ledger, &trial);
    for file in ["cpu.cfs_quota_us", "cpu.cfs_period_us"] {
        host.put(format!("{TOP}/g/{file}"), "-1\n");
    }
    let group = &trial.groups[0];
    set(&mut context, &tree, group, &group.knobs[0], &[]).unwrap();
    let start = read(&tree, &trial);
    assert_eq!(start[0].value, Available::Value("50000".to_owned()));
    assert_eq!(start[0].also["cpu.cfs_period_us"], Available::Value("100000".to_owned()));
    // Between start and end somebody changes one file and removes the other.
    host.put(format!("{TOP}/g/cpu.cfs_period_us"), "1000\n");
    std::fs::remove_file(host.root().resolve(format!("{TOP}/g/cpu.cfs_quota_us"))).unwrap();
    let readings = readings(&trial, start, read(&tree, &trial));
    let [reading] = &readings[..] else { panic!("{readings:?}") };
    assert_eq!((reading.group.as_str(), reading.knob.as_str()), ("g", "cpu.cfs_quota_us"));
    assert_eq!(reading.at_start.value().unwrap(), "50000");
    assert!(reading.at_end.reason().unwrap().contains("cpu.cfs_quota_us"));
    let drift = &reading.drift["cpu.cfs_period_us"];
    assert_eq!(drift.first.value, Available::Value("1000".to_owned()));
    assert_eq!(drift.readings, 1);
}

#[test]
fn unchanged_further_files_have_no_drift() {
    let value = |text: &str| Available::Value(text.to_owned());
    let both = BTreeMap::from([("a".to_owned(), value("1")), ("b".to_owned(), value("2"))]);
    assert!(changed(&both, both.clone()).is_empty());
    let mut other = both.clone();
    other.insert("b".to_owned(), value("3"));
    assert_eq!(changed(&both, other).keys().collect::<Vec<_>>(), ["b"]);
}

/// iocost is set up at the root of the hierarchy for each disk, once for all groups that use it.
#[test]
fn a_root_setting_is_written_once_for_a_disk_and_taken_back() {
    let host = FakeHost::new();
    let mut weight = knob("io", "io.weight", "{device} 200");
    weight.translation.root_settings.push(RootSetting {
        file: "io.cost.qos".to_owned(),
        value_template: "{device} enable=1".to_owned(),
    });
    let mut groups = ["a", "b", "c"].map(|name| group(name, vec![])).to_vec();
    for group in &mut groups {
        group.knobs.push(weight.clone());
    }
    (groups[0].disk, groups[1].disk) = (Some(0), Some(0));
    let trial = Trial { hierarchies: vec![hierarchy(false, &["io"])], ..trial(groups) };
    host.put("/cg/blkio/io.cost.qos", "");
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let tree = host.tree(&mut context.ledger, &trial);
    let disks = [disk().1];
    let before = context.ledger.changes().len();
    for group in &trial.groups {
        host.put(format!("/cg/blkio/assay-test/{}/io.weight", group.name), "");
        set(&mut context, &tree, group, &group.knobs[0], &disks).unwrap();
    }
    assert_eq!(host.text("/cg/blkio/io.cost.qos"), "7:7 enable=1");
    assert_eq!(context.ledger.changes().len(), before + 1, "b needs no change of its own");
    assert_eq!(host.text("/cg/blkio/assay-test/b/io.weight"), "7:7 200");
    assert_eq!(context.ledger.restore(&host.root()), []);
    assert_eq!(host.text("/cg/blkio/io.cost.qos"), "7:7 enable=0");
    assert!(!host.root().exists("/cg/blkio/assay-test"), "the groups are removed too");
}

#[test]
fn a_device_rule_is_refused_before_anything_is_written() {
    let host = FakeHost::new();
    let mut rules = knob("cpu", "devices.allow", "a");
    let rule = "c 1:3 rwm".parse();
    let Ok(rule) = rule else { panic!("a rule is refused") };
    rules.translation.device_rules.push(assay_host::knob::DeviceDecision { allow: true, rule });
    let trial = with_knob(rules);
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let tree = host.tree(&mut context.ledger, &trial);
    host.put(format!("{TOP}/g/devices.allow"), "untouched");
    let group = &trial.groups[0];
    let error = set(&mut context, &tree, group, &group.knobs[0], &[]).unwrap_err();
    assert!(error.to_string().contains("eBPF"), "{error}");
    assert_eq!(host.text(&format!("{TOP}/g/devices.allow")), "untouched");
}

/// The groups made so far are in the ledger, and restoring removes them.
#[test]
fn after_a_refused_knob_no_group_is_left() {
    let host = FakeHost::new();
    let trial = with_knob(knob("cpu", "cpu.shares", "512"));
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let error = set_up(&mut context, &trial, &[]).unwrap_err().to_string();
    assert!(error.contains(&format!("{TOP}/g/cpu.shares")), "{error}");
    assert!(error.contains("`512`"), "{error}");
    assert!(host.root().is_directory(format!("{TOP}/g")));
    assert_eq!(context.ledger.restore(&host.root()), []);
    assert!(!host.root().exists(TOP));
}

/// A group of that name may be another run's: it is neither used nor removed.
#[test]
fn an_existing_top_group_is_refused_and_left_alone() {
    let host = FakeHost::new();
    host.put(format!("{TOP}/of-another-run/cgroup.procs"), "");
    let trial = with_knob(knob("cpu", "cpu.shares", "512"));
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let error = set_up(&mut context, &trial, &[]).unwrap_err().to_string();
    assert!(error.contains(TOP), "{error}");
    assert_eq!(context.ledger.restore(&host.root()), []);
    assert!(host.root().exists(format!("{TOP}/of-another-run/cgroup.procs")));
}

#[test]
fn the_cpus_of_a_group_come_from_the_first_file_that_the_kernel_has() {
    let host = FakeHost::new();
    let groups = ["new", "old", "oldest", "none"].map(|name| group(name, vec![])).to_vec();
    let trial = Trial { hierarchies: vec![hierarchy(true, &["cpuset"])], ..trial(groups) };
    let mut ledger = host.ledger();
    let tree = host.tree(&mut ledger, &trial);
    for (file, cpus) in [
        ("new/cpuset.cpus.effective", "0-1\n"),
        ("new/cpuset.cpus", "7\n"),
        ("old/cpuset.effective_cpus", "2\n"),
        ("old/cpuset.cpus", "7\n"),
        ("oldest/cpuset.cpus", "3\n"),
    ] {
        host.put(format!("/cg/v2/assay-test/{file}"), cpus);
    }
    let cpus = cpus(&tree, &trial);
    let text = |group: &str| cpus[group].value().map(String::as_str);
    assert_eq!([text("new"), text("old"), text("oldest")], [Some("0-1"), Some("2"), Some("3")]);
    assert!(cpus["none"].reason().is_some());
    // A group that exists, whose parent does not enable the controller.
    host.put("/cg/v2/slice/cpuset.cpus.effective", "4-5\n");
    host.put("/cg/v2/slice/web.service/cgroup.procs", "");
    let mut tree = tree;
    tree.adopt("none", "/slice/web.service");
    let inherited = &super::cpus(&tree, &trial)["none"];
    assert_eq!(inherited.value().map(String::as_str), Some("4-5"));
    let without = Trial { hierarchies: vec![], ..trial };
    let tree = Tree::create(&host.root(), &mut ledger, &[], "assay-none").unwrap();
    assert!(super::cpus(&tree, &without).is_empty(), "no hierarchy serves cpuset");
}
