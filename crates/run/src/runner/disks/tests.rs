//! Disks from one trial to the next: kept, reconfigured, or refused and restored.

use assay_study::plan::Part;
use assay_sys::units::Bytes;

use super::*;
use crate::runner::stop_rule::NeverStop;
use crate::runner::tests::fake_host::{FakeHost, Recorder, disk, group, script, trial};

const SLOT: RepeatId = RepeatId { trial: 0, repeat: 0 };
const SCHEDULER: &str = "/sys/block/loop7/queue/scheduler";
const REQUESTS: &str = "/sys/block/loop7/queue/nr_requests";

/// A trial on the disk, with this number of requests in its queue.
fn with_requests(requests: Option<&str>) -> Trial {
    let mut plan = disk().0;
    let queue = requests.map(|text| ("nr_requests".to_owned(), text.to_owned()));
    plan.queue = queue.into_iter().collect();
    Trial { disks: vec![plan], ..trial(vec![group("g", vec![])]) }
}

/// Disks made before for a trial without settings of their queue.
fn made(context: &Context<'_>) -> Disks {
    let mut disks = Disks::none(context.ledger.mark());
    disks.planned = vec![disk().0];
    disks.ready = vec![disk().1];
    disks
}

#[test]
fn only_the_queue_is_reconfigured_where_the_disk_is_the_same() {
    let host = FakeHost::new();
    host.put(SCHEDULER, "none\n");
    host.put(REQUESTS, "128\n");
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let phases = received.clone();
    let mut context = host.context(&request, &mut received, &mut rule);
    let mut disks = made(&context);
    for (requests, expected) in [(Some("64"), "64"), (Some("32"), "32"), (None, "128")] {
        disks.provide(&mut context, SLOT, &with_requests(requests)).unwrap();
        assert_eq!(host.text(REQUESTS), expected);
        let changes = context.ledger.changes().len();
        disks.provide(&mut context, SLOT, &with_requests(requests)).unwrap();
        assert_eq!(context.ledger.changes().len(), changes, "an unchanged plan changes nothing");
    }
    assert!(phases.lines().is_empty(), "no disk was made anew");
    assert_eq!(disks.ready()[0].device, "loop7");
}

/// A search goes on with another trial, whose queue must start from its first state.
#[test]
fn a_refused_attribute_is_reported_and_the_others_are_put_back() {
    let host = FakeHost::new();
    host.put(SCHEDULER, "none\n");
    host.put(REQUESTS, "128\n");
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let mut disks = made(&context);
    let mut bad = with_requests(Some("64"));
    bad.disks[0].queue.push(("no_such".to_owned(), "1".to_owned()));
    let error = disks.provide(&mut context, SLOT, &bad).unwrap_err().to_string();
    assert!(
        error.contains("no_such") && error.contains("this queue offers nr_requests"),
        "{error}"
    );
    assert_eq!(host.text(REQUESTS), "128");
    disks.provide(&mut context, SLOT, &with_requests(Some("32"))).unwrap();
    assert_eq!(host.text(REQUESTS), "32");
    context.ledger.restore(&host.root());
    assert_eq!(host.text(REQUESTS), "128");
}

/// A trial whose workload keeps its data in a file system on the disk.
fn with_data(workload: &str, size: u64) -> Trial {
    let mut load = script(workload, "true");
    let (offset, size) = (Bytes::new(0), Bytes::mebi(size));
    load.storage = Some(StoragePlan { part: Part::Mount(0), offset, size });
    let mut planned = with_requests(None);
    planned.groups = vec![group("g", vec![load, script("g.idle", "true")])];
    planned.groups[0].disk = Some(0);
    planned
}

#[test]
fn data_of_another_trial_is_removed_and_that_at_the_same_place_is_kept() {
    let host = FakeHost::new();
    let mounted = tempfile::tempdir().unwrap();
    let mount = mounted.path().canonicalize().unwrap();
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let mut context = host.context(&request, &mut received, &mut rule);
    let mut disks = made(&context);
    disks.ready[0].mounts = vec![mount.clone()];
    let file = mount.join("g.first/data");
    for (trial, kept) in [
        (with_data("g.first", 1), true),
        (with_data("g.first", 1), true),
        (with_data("g.first", 2), false),
        (with_data("g.second", 2), false),
    ] {
        disks.provide(&mut context, SLOT, &trial).unwrap();
        let found = file.exists();
        std::fs::create_dir_all(mount.join("g.first")).unwrap();
        std::fs::write(&file, "laid out").unwrap();
        let first = disks.used.len() == 1 && !found && kept;
        assert!(found == kept || first, "{:?}", disks.used);
    }
    let error = find_data_location(
        &StoragePlan { part: Part::Partition(3), offset: Bytes::new(0), size: Bytes::new(1) },
        &disks.ready[0],
        "g.first",
    );
    let error = error.unwrap_err().to_string();
    assert!(error.contains("/dev/loop7") && error.contains("no such partition"), "{error}");
}

#[test]
fn a_specification_names_the_images_folder_and_the_runs_mount_point() {
    let host = FakeHost::new();
    let request = host.request(vec![]);
    let (mut received, mut rule) = (Recorder::default(), NeverStop);
    let context = host.context(&request, &mut received, &mut rule);
    let mut plan = disk().0;
    (plan.format, plan.partitions) = (Format::Xfs, 2);
    plan.scheduler = Some("bfq".to_owned());
    let made = spec(&context, &plan);
    let Source::Loop { image_dir, size } = &made.source else { panic!("{made:?}") };
    assert_eq!((image_dir.as_path(), *size), (request.folder.path(), Bytes::mebi(64)));
    assert_eq!(made.mount_dir, Path::new("/run/assay-test"));
    assert_eq!((made.format, made.partitions), (scratch::Format::Xfs, 2));
    assert_eq!(made.scheduler.as_deref(), Some("bfq"));
    plan.source = DiskSource::Directory { path: "/srv".to_owned() };
    assert!(
        matches!(spec(&context, &plan).source, Source::Directory { path } if path == Path::new("/srv"))
    );
}
