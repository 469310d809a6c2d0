//! Real guests. Each is booted once and shared by several tests; see docs/lab.md for the cost of a boot.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use assay_test_support::{HostSnapshot, is_quick, skip};
use serde_json::Value;

use super::probed::PROBED;
use super::shared::{ARGUMENTS, PATIENCE, Visit, tree, visit, why_not};
use super::systemd::SYSTEMD;
use super::watched::PROGRAMS;
use crate::bench::Bench;
use crate::running::{Running, json};

/// All parts for the guest with two nodes and cgroup v2. Runs that saturate a resource come last, so that
/// they do not slow down others.
const ON_V2: &str = r#"
shares() { # scheduler, requests a second
    "$assay" run --yes io-weight --disk "null_blk:iops=$2,depth=32" --scheduler "$1" \
        --set budget=64 --repeats 1 --duration 6s --out "/run/assay/run-$1" -o json 2>"/run/assay/$1.err" ||
        { code=$?; [ $code -lt 4 ] || cat "/run/assay/$1.err"; return $code; }
}
part layout stat -fc %T /sys/fs/cgroup
part distances sh -c 'cat /sys/devices/system/node/node*/distance'
part cpus sh -c 'cat /sys/devices/system/node/node*/cpulist'
part swap cat /proc/swaps
part disks sh -c 'for disk in "$ASSAY_LAB_DISK_1" "$ASSAY_LAB_DISK_2" "$ASSAY_LAB_DISK_3"; do
    head -c 4096 /dev/urandom >/tmp/block && dd if=/tmp/block of=$disk oflag=direct bs=4k 2>/dev/null
    dd if=$disk iflag=direct bs=4k count=1 2>/dev/null | cmp - /tmp/block && echo "$disk keeps"
done'
part change sh -c 'echo x >"$0/assay-was-here"; echo x >/usr/assay-was-here
    echo x >/assay-was-here; rm -f "$0/setup"; mount -o remount,rw / && echo x >/assay-was-here
    mkdir /tmp/lower && mount -t 9p -o trans=virtio,version=9p2000.L /dev/root /tmp/lower &&
        echo x >/tmp/lower/assay-was-here; true' "$scripts"
part delegated sh "$scripts/lab/delegated" "$assay"
part conform "$assay" conform -o json pages-come-from-their-groups-nodes pages-follow-a-changed-list \
    fork-above-the-limit-fails forks-far-below-the-limit-succeed
part host "$assay" host
place() { # a study of placement, and its options
    "$assay" run --yes "$@" --out "/run/assay/run-$1" -o json 2>"/run/assay/$1.err" ||
        { code=$?; [ $code -lt 4 ] || cat "/run/assay/$1.err"; return $code; }
}
part misplaced place numa-misplaced --repeats 1 --duration 2s
part placement place numa-placement --set program=streamcluster --set balancing=0 \
    --set "memory=first touch,interleave:0-1,bind:1" --repeats 1 --duration 4s
part flags place numa-local-remote --set program=copy --set "memory=first touch" --set size=256 \
    --repeats 1 --duration 4s
part mix place numa-mix --set first=streamcluster --set second=streamcluster --set beside=node:1 \
    --repeats 1 --duration 3s
iocost() { # the parameters of a disk of known speed, and the first start of the proof: all eight decide nothing in a guest
    "$assay" tune --yes --iocost null_blk:iops=2000,depth=32,size=64MiB --set budget=64 --for 8s \
        --out /run/assay/run-iocost -o json >/run/assay/iocost 2>/run/assay/iocost.err &
    until grep -qs '"trial":8,"repeat":1,' /run/assay/run-iocost/events.jsonl || ! kill -0 $!; do sleep 1; done
    kill $!; code=0; wait $! || code=$?
    cat /run/assay/iocost; [ $code = 130 ] || cat /run/assay/iocost.err; return $code
}
part iocost iocost
part afterwards sh -c 'grep -c "load\|ctrl=user" /sys/fs/cgroup/io.cost.model; grep -A 4 "io.cost.[mq]" /run/assay/run-iocost/manifest.json'
part bfq shares bfq 2000
part none shares none 400
"#;

pub(super) fn on_v2(test: &str) -> Option<Visit> {
    let options = [
        ["--cgroup", "v2"],
        ["--nodes", "2"],
        ["--distance", "0,1=31"],
        ["--disk", "nvme:256MiB"],
        ["--disk", "virtio:256MiB"],
        ["--disk", "null_blk:iops=2000,depth=32,size=64MiB"],
        ["--swap", "128MiB"],
    ];
    let script =
        format!("{ARGUMENTS}{ON_V2}disk=$ASSAY_LAB_DISK_3\n{PROGRAMS}{SYSTEMD}{PROBED}exit 7\n");
    visit("v2", test, "debian-6.12", options.as_flattened(), &script)
}

/// What the guest with cgroup v1 does last.
const PANICS: &str = "cat /proc/self/cgroup; sleep 3; echo c >/proc/sysrq-trigger; sleep 60";

pub(super) fn on_v1(test: &str) -> Option<Visit> {
    let options = [["--cgroup", "v1"], ["--disk", "null_blk:iops=2000,depth=4,size=64MiB"]];
    visit(
        "v1",
        test,
        "debian-6.1",
        options.as_flattened(),
        &format!("{ARGUMENTS}disk=$ASSAY_LAB_DISK_1\n{PROGRAMS}{PANICS}"),
    )
}

#[test]
fn a_guest_has_the_requested_layout_nodes_disks_and_swap() {
    let Some(guest) = on_v2("what a guest has") else { return };
    assert_eq!(guest.part("layout").text, "cgroup2fs");
    assert_eq!(guest.part("distances").text, "10 31\n31 10");
    assert_eq!(guest.part("cpus").text, "0\n1");
    assert!(guest.part("swap").text.contains("partition"), "{:?}", guest.part("swap"));
    let disks = &guest.part("disks").text;
    assert_eq!(disks.matches(" keeps").count(), 3, "{disks}");
    assert!(disks.contains("/dev/nvme0n1") && disks.contains("/dev/vda"), "{disks}");
}

#[test]
fn a_guest_changes_nothing_of_its_host_and_passes_its_exit_code_on() {
    let Some(guest) = on_v2("what a guest leaves") else { return };
    guest.ended.assert_code(7);
    assert_eq!(guest.part("change").code, 0);
    assert_eq!(guest.differences, "");
    for place in [tree(), "/".into(), "/usr".into()] {
        assert!(!place.join("assay-was-here").exists(), "{}", place.display());
    }
    assert!(tree().join("setup").exists());
}

#[test]
fn less_than_root_works_on_a_delegated_group_of_v2() {
    let Some(guest) = on_v2("a delegated group of v2") else { return };
    let part = guest.part("delegated");
    assert_eq!(part.code, 0, "{:#?}", guest.ended);
    assert!(part.text.ends_with("delegated: all is well"), "{part:?}");
}

#[test]
fn a_guest_of_two_nodes_keeps_what_cpuset_core_and_pids_document() {
    let Some(guest) = on_v2("conformance in a guest") else { return };
    let document = guest.part("conform").json();
    assert_eq!((&document["schema"], &document["layout"]), (&1.into(), &"v2".into()));
    let cases = document["cases"].as_array().unwrap();
    // An emulated machine on a busy host has pressure of its own.
    let of_time = |case: &Value| case["behaviour"].as_str().unwrap().starts_with("pressure-");
    let broken: Vec<&Value> =
        cases.iter().filter(|case| case["verdict"] == "broken" && !of_time(case)).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    let of = |behaviour: &str| {
        cases
            .iter()
            .find(|case| case["behaviour"] == behaviour)
            .unwrap_or_else(|| panic!("no {behaviour}"))
    };
    // Both need a second node, which few hosts have.
    for behaviour in ["pages-come-from-their-groups-nodes", "pages-follow-a-changed-list"] {
        assert_eq!(of(behaviour)["verdict"], "kept", "{:#}", of(behaviour));
    }
    assert_eq!(of("fork-above-the-limit-fails")["verdict"], "kept");
}

/// The trial with this level of a factor.
fn trial<'d>(document: &'d Value, factor: &str, level: &str) -> &'d Value {
    let trials = document["trials"].as_array().unwrap();
    trials
        .iter()
        .find(|trial| trial["factors"][factor] == level)
        .unwrap_or_else(|| panic!("no {factor} = {level} in {document:#}"))
}

fn promise<'t>(trial: &'t Value, measure: &str) -> &'t Value {
    let promises = trial["promises"].as_array().unwrap();
    promises
        .iter()
        .find(|promise| promise["measure"] == measure)
        .unwrap_or_else(|| panic!("no promise on {measure} in {trial:#}"))
}

/// The verdict on a placement: of runs like these, or, with fewer starts than a verdict takes, of the windows observed.
fn verdict(promise: &Value) -> &Value {
    let counted = promise["was"]["repeats"].as_u64().unwrap_or(0);
    if counted < 8 { &promise["was"]["verdict"] } else { &promise["verdict"] }
}

fn codes(promise: &Value) -> Vec<&str> {
    let causes = promise["causes"].as_array().into_iter().flatten();
    causes.filter_map(|cause| cause["code"].as_str()).collect()
}

#[test]
fn a_guest_s_nodes_are_shown_with_their_distances() {
    let Some(guest) = on_v2("topology in a guest") else { return };
    let text = &guest.part("host").text;
    for part in ["node 0  CPUs 0", "node 1  CPUs 1", "distances", "31", "not available"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn programs_that_place_themselves_are_detected_with_their_cause() {
    let Some(guest) = on_v2("wrong placements in a guest") else { return };
    let document = guest.part("misplaced").json();
    assert_ne!(document["verdict"], "kept", "{document:#}");
    for (program, measure) in [("memory", "pages"), ("threads", "threads")] {
        let caught = promise(trial(&document, "program", program), measure);
        // Of an emulated thread that waits for its host there may be too few looks to decide.
        assert_ne!(verdict(caught), "kept", "{caught:#}");
        if caught["verdict"] != "broken" {
            continue;
        }
        // Whether a look comes before the program moves its thread depends on timing.
        let code = codes(caught)[0];
        assert!(["C-PLACE-TOOL", "C-PLACE-NOT-APPLIED"].contains(&code), "{caught:#}");
    }
}

#[test]
fn pages_follow_their_policy_and_the_gain_is_measured() {
    let Some(guest) = on_v2("placements in a guest") else { return };
    let document = guest.part("placement").json();
    for memory in ["first touch", "interleave:0-1", "bind:1"] {
        let streams = document["trials"].as_array().unwrap().iter().find(|trial| {
            trial["factors"]["memory"] == memory && trial["factors"]["program"] == "streamcluster"
        });
        let streams = streams.unwrap_or_else(|| panic!("no {memory} in {document:#}"));
        let pages = promise(streams, "pages");
        assert_eq!(verdict(pages), "kept", "{pages:#}");
        // How sure threads are depends on how often a busy guest could look.
        let threads = promise(streams, "threads");
        assert_ne!(threads["verdict"], "broken", "{threads:#}");
        assert_ne!(threads["verdict"], "void", "{threads:#}");
    }
    let gain = document["references"].as_array().unwrap().iter().find(|one| {
        one["under"]["memory"] == "interleave:0-1"
            && one["measure"] == "streamcluster.distances_per_s"
    });
    let gain = gain.unwrap_or_else(|| panic!("no gain in {document:#}"));
    assert!(gain["ours"][0]["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{gain:#}");
    assert!(document["caveat"].as_str().unwrap().contains("emulated guest"), "{document:#}");
}

#[test]
fn flags_of_a_program_that_sees_one_node_are_reported_to_have_no_effect() {
    let Some(guest) = on_v2("flags of stressapptest in a guest") else { return };
    let document = guest.part("flags").json();
    assert_eq!(document["trials"].as_array().unwrap().len(), 2, "{document:#}");
    for trial in document["trials"].as_array().unwrap() {
        let judgement = promise(trial, "copy.nodes_seen");
        // A busy guest ends a repeat before stressapptest prints its nodes.
        let counted = judgement["errors"].as_array().map_or(0, Vec::len);
        if counted < 1 {
            return skip(
                "flags in a guest",
                &format!("the guest was too slow: {}", judgement["reason"]),
            );
        }
        assert_eq!(verdict(judgement), "broken", "{judgement:#}");
        assert_eq!(codes(judgement), ["C-PLACE-BLIND"], "{judgement:#}");
        let pages = promise(trial, "pages");
        assert_eq!(pages["was"]["verdict"], "kept", "{trial:#}");
    }
}

#[test]
fn a_mix_on_two_nodes_runs_and_its_pages_lie_where_they_should() {
    let Some(guest) = on_v2("a mix in a guest") else { return };
    let part = guest.part("mix");
    assert!(matches!(part.code, 0 | 1 | 3), "{part:?}");
    let document = part.json();
    assert_eq!(document["restored"], true, "{document:#}");
    let trial = trial(&document, "beside", "node:1");
    let pages = promise(trial, "pages");
    assert_eq!(verdict(pages), "kept", "{pages:#}");
    // How sure threads are depends on how often a busy guest could look.
    assert_ne!(promise(trial, "threads")["verdict"], "broken", "{trial:#}");
    let first = &trial["workloads"][0];
    let rate = first["metrics"]["distances_per_s"]["value"].as_f64();
    assert!(first["name"] == "first.streamcluster" && rate > Some(0.0), "{first:#}");
}

/// Asserts that weights 1 to 8 give shares in their order, under either scheduler. Their exact size depends
/// on timing, which is not reliable in a guest; if its processors were too slow to saturate the disk, the
/// verdict is void for that reason.
fn divided(guest: &Visit, scheduler: &str, obeyed_by: &str) {
    let part = guest.part(scheduler);
    assert!(matches!(part.code, 0 | 1 | 3), "{part:?}");
    let verdict = part.json();
    assert!(verdict["guest"].is_object(), "{verdict:#}");
    let trial = &verdict["trials"][0];
    let check = |name: &str| {
        let all = trial["validity"].as_array().unwrap();
        all.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name}"))
    };
    // The settings and their scheduler do not depend on timing.
    for name in ["workloads", "knobs", "scheduler"] {
        assert_eq!(check(name)["ok"], true, "{trial:#}");
    }
    let named = ["knobs", "scheduler"].map(|name| check(name)["evidence"].as_str().unwrap());
    assert!(named.iter().any(|text| text.contains(obeyed_by)), "{named:?}");
    let promise = &trial["promises"][0];
    if promise["verdict"] == "void" {
        return skip(scheduler, &format!("the guest was too slow: {}", promise["reason"]));
    }
    let share = |group: &Value| group["share"].as_f64().unwrap();
    let shares: Vec<f64> = promise["groups"].as_array().unwrap().iter().map(share).collect();
    assert_eq!(shares.len(), 4, "{promise:#}");
    assert!(shares.is_sorted(), "{shares:?}");
    assert!(shares[3] / shares[0] > 4.0, "{shares:?}");
}

#[test]
fn bfq_divides_a_null_block_device_on_v2() {
    let Some(guest) = on_v2("BFQ in a guest") else { return };
    divided(&guest, "bfq", "bfq");
}

/// The numbers behind the keys of a line, as `ioc_cost_model_write` and `ioc_qos_write` of block/blk-iocost.c scan
/// them: whole numbers, and percentages with two decimals.
fn scan(line: &str, prefix: &str) -> Vec<(String, f64)> {
    let (numbers, rest) = line.split_once(' ').unwrap();
    let (major, minor) = numbers.split_once(':').unwrap();
    assert!(major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok(), "{line}");
    let words = rest.strip_prefix(prefix).unwrap_or_else(|| panic!("{line}")).split_whitespace();
    let pair = |word: &str| {
        let (key, value) = word.split_once('=').unwrap();
        match key {
            "rpct" | "wpct" | "min" | "max" => {
                assert_eq!(value.split_once('.').map(|(_, rest)| rest.len()), Some(2), "{line}");
            }
            _ => assert!(value.parse::<u64>().is_ok(), "{line}"),
        }
        (key.to_owned(), value.parse().unwrap())
    };
    words.map(pair).collect()
}

/// The kernel takes the lines that a measurement prints.
#[test]
fn measured_parameters_of_iocost_are_taken_by_the_kernel_and_proven_on_v2() {
    let Some(guest) = on_v2("the parameters of iocost in a guest") else { return };
    let part = guest.part("iocost");
    assert_eq!(part.code, 130, "{part:?}");
    let found = part.json();
    let model = scan(found["model"].as_str().unwrap(), "ctrl=user model=linear ");
    assert_eq!(model.len(), 6, "{found:#}");
    let qos = scan(found["qos"].as_str().unwrap(), "enable=1 ctrl=user ");
    assert_eq!(qos.len(), 6, "{found:#}");
    // A device of 2000 requests a second has no more; how many fewer depends on how busy the guest is.
    for (key, value) in model.iter().filter(|(key, _)| key.ends_with("iops")) {
        assert!((1.0..2600.0).contains(value), "{key}={value}");
    }
    let proof = &found["proof"];
    assert!(proof["verdict"].is_string(), "{found:#}");
    // Both lines were written before the groups ran, and restored afterwards.
    let afterwards = &guest.part("afterwards").text;
    for file in ["io.cost.model", "io.cost.qos"] {
        assert!(afterwards.contains(&format!("/sys/fs/cgroup/{file}")), "{afterwards}");
    }
    let words = found["model"].as_str().unwrap().split_once(' ').unwrap().1;
    assert!(afterwards.contains(words), "not {words}: {afterwards}");
    assert!(afterwards.starts_with('0'), "a model is left: {afterwards}");
}

#[test]
fn iocost_divides_a_null_block_device_on_v2() {
    let Some(guest) = on_v2("iocost in a guest") else { return };
    divided(&guest, "none", "iocost");
}

const SMALL: &str = r#"
title = "A small study"
[design]
repeats = 3
at_most = "3 s"
[disks.scratch]
use = "loop"
size = "64 MiB"
scheduler = "bfq"
queue = { "iosched/low_latency" = 0 }
[[groups]]
name = "task"
count = 2
knobs = { "io.weight" = [100, 300] }
run = "reader"
[workloads.reader]
use = "fio"
args = { rw = "randread", bs = "4k", ioengine = "libaio", iodepth = 8, direct = 1, size = "1/2" }
[[promises]]
measure = "io.bytes"
is = "proportional"
to = "io.weight"
within = "50 %"
"#;

/// A workload that is root in its guest and leaves harmful files in the folder that is copied back, and where
/// the lab reads the guest's output. In a slow guest a repeat may be too short for all of it: the next goes on.
const HOSTILE: &str = r#"
[[groups]]
name = "hostile"
measured = false
run = "hostile"
[workloads.hostile]
use = "command"
command = ["sh", "-c", """
lab=/run/assay/lab
[ -d $lab/back/samples ] || mkdir -p $lab/back/samples
[ -L $lab/back/account ] || ln -s /etc/passwd $lab/back/account
[ -u $lab/back/shell ] || { cp /bin/sh $lab/back/shell && chmod 6755 $lab/back/shell; }
[ -p $lab/failed ] || mkfifo $lab/back/samples/pipe $lab/failed
[ -L $lab/back/settings ] || ln -s /etc $lab/back/settings
[ -L $lab/notes ] || ln -s /etc/passwd $lab/notes
[ -b $lab/back/disk ] || mknod $lab/back/disk b 7 0
sleep 3600
"""]
"#;

/// Asserts that the run folder has only harmless files.
fn assert_harmless(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, found) = (entry.path(), entry.path().symlink_metadata().unwrap());
        assert!(found.is_dir() || found.is_file(), "{} came along", path.display());
        assert!(found.is_dir() || found.mode() & 0o7111 == 0, "{} can be run", path.display());
        if found.is_dir() {
            assert_harmless(&path);
        }
    }
}

/// The caveat of every verdict from an emulated guest.
const CAVEAT: &str = "emulated guest: placement and logic hold, times do not";

/// The environment of a test with its own guest, and a snapshot of the host.
fn own_guest(test: &str) -> Option<(Bench, HostSnapshot)> {
    if is_quick(test) {
        return None;
    }
    if let Some(why) = why_not("debian-6.1") {
        skip(test, &format!("no guest: {why}"));
        return None;
    }
    Some((Bench::aside(), HostSnapshot::take()))
}

#[track_caller]
fn assert_untouched(bench: &Bench, before: &HostSnapshot, when: &str) {
    assert_eq!(HostSnapshot::differences_since(before), "", "{when}");
    bench.assert_nothing_is_left(when);
}

#[test]
fn a_run_in_a_hybrid_guest_returns_its_folder_with_the_caveat_of_guests() {
    const TEST: &str = "a run in a hybrid guest";
    let Some((bench, before)) = own_guest(TEST) else { return };
    let study = bench.write("small.toml", &format!("{SMALL}{HOSTILE}"));
    let mut command = bench.program();
    command
        .args(["lab", "run", "--kernel", "debian-6.1", "--cgroup", "hybrid"])
        .args(["--accelerator", "tcg", "--timeout", "20min", "--out"])
        .arg(bench.out())
        .arg(study);
    let ended = Running::start(command, bench.folder(), bench.out()).end(PATIENCE);
    ended.assert_verdict();
    assert_untouched(&bench, &before, "after a run in a guest");
    ended.assert_says(&["results of the guest are not regular files and were not copied"]);
    assert!(bench.out().join("shell").is_file(), "the hostile workload never ran");
    assert_harmless(&bench.out());
    assert!(ended.stdout.contains("emulated guest"), "{}", ended.stdout);
    assert!(ended.stdout.contains(&bench.out().join("report.html").display().to_string()));
    let verdict = json(&bench.out().join("verdict.json"));
    assert_eq!(verdict["caveat"], CAVEAT, "{verdict:#}");
    let manifest = json(&bench.out().join("manifest.json"));
    assert_eq!(manifest["guest"]["layout"], "hybrid");
    let file = &manifest["trials"][0]["groups"][0]["knobs"][0]["file"];
    assert_eq!(file, "blkio.bfq.weight", "BFQ's weights are on v1 there");
    let report = std::fs::read_to_string(bench.out().join("report.html")).unwrap();
    // There it begins a sentence.
    assert!(report.contains(&CAVEAT[1..]));
    assert!(Path::new(&bench.out()).join("samples").read_dir().unwrap().count() > 0);
}

#[test]
fn a_kernel_that_panics_ends_the_lab_with_its_console() {
    let Some(guest) = on_v1("a kernel that panics") else { return };
    let ended = &guest.ended;
    ended.assert_code(4);
    ended.assert_says(&["ended before its command finished", "Kernel panic", "sysrq", "console"]);
    // The layout was v1 by then: every controller on a hierarchy of its own.
    for controllers in ["cpu,cpuacct", "cpuset", "memory", "blkio", "net_cls,net_prio"] {
        assert!(ended.stdout.contains(&format!(":{controllers}:/")), "{}", ended.stdout);
    }
    assert_eq!(guest.differences, "", "after a guest that panicked");
}
