//! Where requests to a disk spend their time, against truths by construction on the real kernel.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use assay_blame::watch::requests::{IoHierarchy, RequestWatch};
use assay_blame::{DiskAnswer, DiskGroup, OTHER_GROUPS, Verdict, disk_text};
use assay_host::facts::Hierarchy;
use assay_host::gather;
use assay_sys::kernel::Root;
use assay_test_support::{HostLock, Need, TestLoop, host_measured};

/// How long requests are watched.
const LENGTH: Duration = Duration::from_millis(1500);

/// A group of the test: its name, its weight, and how many requests it keeps outstanding.
type Reader = (&'static str, u32, u32);

fn lock(test: &str) -> Option<HostLock> {
    host_measured(test, &[Need::Controller("io"), Need::Loop, Need::Bfq, Need::Tool("fio")])
}

fn path(name: &str) -> String {
    format!("/assay-test-{name}-{}", std::process::id())
}

/// A group in which fio reads at random; both go with it.
struct Running {
    directory: PathBuf,
    fio: Child,
}

impl Running {
    fn start(mount: &Path, device: &Path, (name, weight, depth): Reader) -> Self {
        let directory = mount.join(path(name).trim_start_matches('/'));
        fs::create_dir(&directory).unwrap();
        let weights = ["blkio.bfq.weight", "io.bfq.weight"].map(|file| directory.join(file));
        let file = weights.iter().find(|file| file.exists()).unwrap();
        fs::write(file, weight.to_string()).unwrap();
        let script = format!(
            "echo $$ > {}/cgroup.procs; exec fio --name={name} --filename={} --rw=randread --bs=64k --direct=1 \
             --ioengine=libaio --iodepth={depth} --thread --time_based --runtime=60 --output=/dev/null",
            directory.display(),
            device.display(),
        );
        let fio = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        Self { directory, fio }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.fio.kill();
        let _ = self.fio.wait();
        let begun = Instant::now();
        while fs::remove_dir(&self.directory).is_err() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What a loop disk did for these groups under a scheduler, with a pool of this size.
fn watched(scheduler: &str, nr_requests: u32, readers: &[Reader]) -> DiskAnswer {
    let folder = tempfile::tempdir().unwrap();
    let device = TestLoop::attach(&folder.path().join("image"), 256);
    let queue = format!("/sys/block/{}/queue", device.name());
    fs::write(format!("{queue}/scheduler"), scheduler).unwrap();
    fs::write(format!("{queue}/nr_requests"), nr_requests.to_string()).unwrap();
    if scheduler == "bfq" {
        // Eight requests a turn, so that no turn ends for lack of requests: then no other queue is served in it.
        fs::write(format!("{queue}/iosched/max_budget"), "1024").unwrap();
    }
    let layout = gather(&Root::real()).unwrap().cgroup;
    let (Hierarchy::V1(mount) | Hierarchy::V2(mount)) = &layout.controllers["io"].hierarchy else {
        panic!("no groups of the controller io");
    };
    let running: Vec<Running> =
        readers.iter().map(|reader| Running::start(mount, &device.node(), *reader)).collect();
    // fio itself needs a while.
    std::thread::sleep(Duration::from_secs(1));
    let groups: Vec<String> = readers.iter().map(|(name, ..)| path(name)).collect();
    let hierarchy = IoHierarchy::new(&layout).unwrap();
    let disks = [device.name()];
    let watch = RequestWatch::on_groups(&Root::real(), &hierarchy, &groups, &disks);
    let mut watch = watch.unwrap_or_else(|error| panic!("{error}"));
    watch.start().unwrap();
    std::thread::sleep(LENGTH);
    watch.stop().unwrap();
    let counted = watch.elapsed();
    let answer = watch.finish().unwrap().remove(0);
    let more = answer.seconds - counted.as_secs_f64();
    assert!(more.abs() < 1e-6, "it counted on after its stop: {more} s");
    drop(running);
    assert_eq!(answer.verdict, Verdict::Valid, "{}", disk_text(&answer));
    assert_eq!(answer.scheduler, scheduler);
    answer
}

#[track_caller]
fn group<'a>(answer: &'a DiskAnswer, name: &str) -> &'a DiskGroup {
    let group = answer.group(&path(name)).unwrap();
    assert!(group.requests > 0 && group.bytes >= group.requests << 16, "{}", disk_text(answer));
    group
}

/// The part of all its requests' time that a group spent in a stage, in percent.
fn percent(group: &DiskGroup, ns: u64) -> f64 {
    let all = group.place.ns + group.plugged.ns + group.scheduler.ns + group.device.ns;
    ns as f64 / all as f64 * 100.0
}

#[test]
fn without_a_scheduler_and_with_a_small_pool_requests_wait_for_a_place() {
    let Some(_lock) = lock("requests: small pool") else { return };
    let answer = watched("none", 4, &[("pool", 100, 32)]);
    let group = group(&answer, "pool");
    let text = disk_text(&answer);
    // One thread submits: one of its requests waits for a place, and up to four are in the device. That the thread
    // wakes up late on a busy CPU is no fault of the pool, and takes four fifths of the wait on some machines.
    assert!(percent(group, group.place.ns) > 10.0, "{text}");
    assert!(group.place.pool_full_ns as f64 > 0.1 * group.place.ns as f64, "{text}");
    assert_eq!(group.place.own_cap_ns, 0, "{text}");
    assert!(group.mean_allocated > 2.0 && group.mean_allocated <= 4.0, "{text}");
    assert!(percent(group, group.scheduler.ns) < 10.0, "{text}");
}

#[test]
fn under_bfq_each_of_two_groups_waits_in_the_scheduler_while_the_other_is_served() {
    let Some(_lock) = lock("requests: two weights") else { return };
    let answer = watched("bfq", 1024, &[("light", 100, 128), ("heavy", 300, 128)]);
    let (light, heavy) = (group(&answer, "light"), group(&answer, "heavy"));
    let text = disk_text(&answer);
    for one in [light, heavy] {
        assert!(percent(one, one.place.ns) < 10.0, "{text}");
        let parts: u64 = one.served.iter().map(|part| part.ns).sum();
        let queued = one.mean_queued * answer.seconds * 1e9;
        assert!((parts as f64 - queued).abs() < 0.001 * queued, "{text}");
    }
    // The device takes 128 requests of 256, and the weights give most of them to the heavy group.
    let [light_queued, heavy_queued] = [light, heavy].map(|one| percent(one, one.scheduler.ns));
    assert!(light_queued > 40.0 && light_queued > 1.5 * heavy_queued, "{text}");
    assert!(light.percent_served(Some(&path("heavy"))) > 50.0, "{text}");
    assert!(heavy.percent_served(Some(&path("light"))) > 10.0, "{text}");

    let bfq = answer.bfq.value().unwrap_or_else(|| panic!("{:?}", answer.bfq));
    // 1000 a second, if the CPU is not stopped by a hypervisor.
    assert!(bfq.samples > 750, "{text}");
    let [light, heavy] = ["light", "heavy"].map(|name| bfq.group(&path(name)).unwrap());
    assert!(heavy.in_service_percent > light.in_service_percent, "{text}");
    assert_eq!((light.weight, heavy.weight), (Some(100), Some(300)), "{text}");
    assert!(light.issued > 0 && light.inserts > 0, "{text}");
}

#[test]
fn a_group_alone_waits_for_nobody_but_itself() {
    let Some(_lock) = lock("requests: alone") else { return };
    let answer = watched("bfq", 256, &[("alone", 100, 16)]);
    let group = group(&answer, "alone");
    let own = group.percent_served(Some(&path("alone"))) + group.percent_served(None);
    assert!(own > 95.0, "{}", disk_text(&answer));
}

/// Who was served while who waited is counted of a part of the requests only, and must add up as it does of all.
#[test]
fn forty_groups_are_told_apart() {
    let Some(_lock) = lock("requests: forty groups") else { return };
    const NAMES: [&str; 40] = [
        "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0", "b1", "b2", "b3", "b4",
        "b5", "b6", "b7", "b8", "b9", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9",
        "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9",
    ];
    let answer = watched("bfq", 1024, &NAMES.map(|name| (name, 100, 4)));
    let text = disk_text(&answer);
    assert!(answer.groups.iter().all(|group| group.group != OTHER_GROUPS), "{text}");
    let groups = NAMES.map(|name| group(&answer, name));
    for one in groups {
        // It is served a fortieth of the time, while all others wait.
        assert!(one.percent_served(Some(&one.group)) < 15.0, "{one:?}");
        assert!(one.percent_served(Some(OTHER_GROUPS)) < 50.0, "{one:?}");
        // 40 processes share the CPUs, so that not each always has one queued.
        assert!(one.mean_queued > 0.1 && one.mean_queued <= 4.0, "{one:?}");
    }
    let bfq = answer.bfq.value().unwrap_or_else(|| panic!("{:?}", answer.bfq));
    let served: f64 = groups
        .iter()
        .filter_map(|one| bfq.group(&one.group))
        .map(|turns| turns.in_service_percent)
        .sum();
    assert!(served > 80.0 && served <= 100.1, "{served}\n{text}");
    let in_device: f64 = groups.iter().map(|one| one.mean_in_device).sum();
    assert!(in_device > 0.3, "{text}");
}

#[test]
fn no_group_holds_more_places_than_it_asks_for_even_where_events_are_hidden() {
    let Some(_lock) = lock("requests: places") else { return };
    let readers = [("one", 100, 32), ("two", 200, 32), ("three", 400, 32), ("four", 800, 32)];
    let answer = watched("bfq", 256, &readers);
    let text = format!("{}\n{:?}", disk_text(&answer), answer.events);
    for (name, _, depth) in readers {
        let group = group(&answer, name);
        let depth = f64::from(depth);
        assert!(
            group.mean_allocated > 1.0 && group.mean_allocated <= 1.05 * depth,
            "{group:#?}\n{text}"
        );
        assert!(group.mean_in_device <= group.mean_allocated, "{group:#?}\n{text}");
    }
}
