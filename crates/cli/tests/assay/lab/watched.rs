//! The eBPF programs of `assay blame` on other kernels: what a group waits for is known from how it was made. Times
//! of an emulated guest mean nothing; parts of them that are far apart do.

use serde_json::Value;

use super::guest::{on_v1, on_v2};
use super::shared::{ARGUMENTS, Visit, visit};

/// Functions of a guest's script for parts that watch.
pub(super) const WATCH: &str = r#"
valid() { # a command, up to three times: a machine that waits for its host itself leaves some answers void
    for _ in 1 2 3; do
        "$@" >/run/answer
        code=$?
        [ $code -eq 0 ] && break
    done
    cat /run/answer
    return $code
}
blame() { # name of the part, then options and command
    name=$1; shift; part "blame-$name" valid "$assay" blame -o json "$@"
}
beside() { # a command in a group of its own, with a state of its own: one state has one run at a time
    beside=$((${beside:-0} + 1))
    ASSAY_STATE=/run/beside-$beside "$assay" exec "$@" >/run/beside-$beside.said 2>&1 &
}
await() { # a command that must succeed, within two minutes
    for _ in $(seq 120); do "$@" && break; sleep 1; done
}
"#;

/// Parts about waiting for a CPU, after [`WATCH`].
pub(super) const BLAME: &str = r#"
spin='timeout 4 taskset -c 0 sh -c "while :; do :; done"'
blame quota --set cpu.max='30000 100000' -- sh -c "$spin; true"
blame threads -- sh -c "$spin & $spin & $spin & wait"
beside -- timeout 300 taskset -c 0 sh -c ': >/run/computes; while [ ! -e /run/enough ]; do :; done'
await test -e /run/computes
blame beside -- sh -c "$spin; true"
touch /run/enough; wait
"#;

/// Parts of a guest's script about the requests of the disk `$disk` and the contention of two groups, after [`WATCH`].
pub(super) const CONTENDED: &str = r#"
beside -- fio --name=reader --filename="$disk" --rw=randread --bs=4k --direct=1 --ioengine=libaio \
    --iodepth=8 --thread --time_based --runtime=300
exec=$!
is_there() {
    reader=$(ls -d /sys/fs/cgroup/assay-exec-* /sys/fs/cgroup/cpu,cpuacct/assay-exec-* 2>/run/missing)
    [ -n "$reader" ]
}
await is_there
# fio takes its time to begin on a host that is busy.
reads() { set -- $(cat "/sys/block/${disk##*/}/stat"); echo $1; }
before=$(reads)
has_begun() { [ $(reads) -gt $((before + 100)) ]; }
await has_begun
part blame-disk valid "$assay" blame -o json --for 5s --group "/${reader##*/}"
kill $exec; wait
# Two groups always want CPU 0: three parts to one.
for weight in 100 300; do
    beside --set cpu.weight=$weight -- timeout 300 taskset -c 0 \
        sh -c ': >/run/computes-'$weight'; while [ ! -e /run/seen ]; do :; done'
done
await test -e /run/computes-100; await test -e /run/computes-300
part contended "$assay" fairness --for 20s -o json
touch /run/seen; wait
"#;

/// A guest for what is watched, which would come in between what others measure; and for systemd, which does so, too.
/// Threads of the shell and of `timeout` want a CPU now and then, for which an emulated machine takes its time.
const HARDLY: f64 = 20.0;

fn of_cpu(guest: &Visit, name: &str) -> Value {
    let part = guest.part(name);
    assert_eq!(part.code, 0, "{}\n{}", part.text, part.said);
    let answer = part.json();
    assert_eq!(answer["verdict"], "valid", "{answer:#}");
    answer
}

/// The part of the waiting that is charged to such culprits, in percent.
fn percent(answer: &Value, culprit: &str) -> f64 {
    let parts = answer["parts"].as_array().unwrap();
    let of = parts.iter().filter(|part| part["culprit"] == culprit);
    of.map(|part| part["percent"].as_f64().unwrap()).sum()
}

fn assert_charged_as_made(guest: &Visit) {
    let quota = of_cpu(guest, "blame-quota");
    assert!(percent(&quota, "own_quota") > 60.0, "{quota:#}");
    assert!(percent(&quota, "own_threads") < HARDLY, "{quota:#}");
    // Two threads wait whenever the third runs.
    let threads = of_cpu(guest, "blame-threads");
    assert!(percent(&threads, "own_threads") > 60.0, "{threads:#}");
    assert_eq!(percent(&threads, "own_quota"), 0.0, "{threads:#}");
    let beside = of_cpu(guest, "blame-beside");
    assert!(percent(&beside, "group") > 60.0, "{beside:#}");
    assert!(percent(&beside, "own_threads") < HARDLY, "{beside:#}");
}

fn assert_requests_followed(guest: &Visit) {
    let document = guest.part("blame-disk").json();
    let disks = document["disks"]["value"].as_array();
    let disks = disks.unwrap_or_else(|| panic!("no disks: {document:#}"));
    let is_read = |group: &&Value| group["watched"] == true && group["requests"].as_u64() > Some(0);
    let groups = |disk: &Value| disk["groups"].as_array().unwrap().clone();
    let disk = disks.iter().find(|disk| groups(disk).iter().any(|group| is_read(&group)));
    let disk = disk.unwrap_or_else(|| panic!("no requests of the group: {document:#}"));
    assert_eq!(disk["verdict"], "valid", "{disk:#}");
    let groups = groups(disk);
    let reader = groups.iter().find(is_read).unwrap();
    assert!(reader["device"]["ns"].as_u64() > Some(0), "{reader:#}");
}

#[test]
fn waiting_is_charged_as_it_was_made_on_linux_6_1_with_v1() {
    let Some(guest) = on_v1("blame on 6.1") else { return };
    assert_charged_as_made(&guest);
}

#[test]
fn waiting_is_charged_as_it_was_made_on_linux_6_12_with_v2() {
    let Some(guest) = on_v2("blame on 6.12") else { return };
    assert_charged_as_made(&guest);
}

#[test]
fn requests_are_followed_on_linux_6_1_with_v1() {
    let Some(guest) = on_v1("requests on 6.1") else { return };
    assert_requests_followed(&guest);
}

/// The programs of `fairness` are loaded and see both groups want a CPU. How an emulated CPU divides itself is another
/// matter; that the kernel knows the weights is not.
fn assert_contention_is_seen(guest: &Visit) {
    let answer = guest.part("contended").json();
    let contended = &answer["contended"];
    let levels = contended["cpu"]["value"].as_array();
    let levels = levels.unwrap_or_else(|| panic!("refused: {contended:#}"));
    let is_ours =
        |row: &&Value| row["group"].as_str().is_some_and(|path| path.contains("assay-exec-"));
    let rows = |level: &Value| level["rows"].as_array().unwrap().clone();
    let level = levels.iter().find(|level| rows(level).iter().filter(is_ours).count() == 2);
    let level = level.unwrap_or_else(|| panic!("no level with both groups: {contended:#}"));
    assert!(level["contended_s"].as_f64() > Some(0.0), "{level:#}");
    assert!(contended["switches"]["value"]["shown"].as_u64() > Some(100), "{contended:#}");
    for row in rows(level).iter().filter(is_ours) {
        let notes = row["notes"].as_array().unwrap();
        assert!(!notes.iter().any(|note| note.as_str().unwrap().contains("divides by")), "{row:#}");
    }
    assert!(contended["cost"].as_f64() > Some(0.0), "{contended:#}");
}

#[test]
fn contention_is_seen_on_linux_6_1_with_v1() {
    let Some(guest) = on_v1("contention on 6.1") else { return };
    assert_contention_is_seen(&guest);
}

/// Every program on a kernel that is newer than the host's: types and places that they use changed there. Since 7.3 weights mean
/// something else as well.
fn assert_all_programs_hold(kernel: &str) {
    const TRUTHS: &str = "crates=$scripts/../crates
part waits sh $crates/record/tests/guest/truths.sh $assay
part weights sh $crates/audit/tests/guest/weights.sh $assay\n";
    let options = [["--cgroup", "v2"], ["--disk", "null_blk:iops=2000,depth=4,size=64MiB"]];
    let script = format!("{ARGUMENTS}disk=$ASSAY_LAB_DISK_1\n{WATCH}{CONTENDED}{TRUTHS}");
    let test = format!("eBPF programs on {kernel}");
    let Some(guest) = visit(kernel, &test, kernel, options.as_flattened(), &script) else { return };
    for truths in ["waits", "weights"].map(|name| guest.part(name)) {
        assert_eq!(truths.code, 0, "{}\n{}", truths.text, truths.said);
    }
    assert_requests_followed(&guest);
    assert_contention_is_seen(&guest);
}

#[test]
#[ignore = "more than ten minutes of emulation: cargo nextest run --run-ignored only"]
fn all_programs_hold_on_linux_7_2() {
    assert_all_programs_hold("debian-7.2");
}

#[test]
#[ignore = "more than ten minutes of emulation: cargo nextest run --run-ignored only"]
fn all_programs_hold_on_linux_7_3() {
    assert_all_programs_hold("debian-7.3");
}
