//! The crash model: a run on a fake host tree, making every kind of change, dies at every crash point,
//! and within every append to its ledger; the power fails, with any part of what was not
//! yet synced; the subsequent restore dies at every crash point too; and a final, uninterrupted restore
//! must restore the tree byte for byte.

use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;

use assay_sys::kernel::Error;

use super::crash_injector;
use super::fake_run::{Host, Image, NEXT_BOOT, THIS_BOOT};
use super::recovery::restore_in_boot;
use super::{RestoreReport, set_aside, unfinished};

thread_local! {
    /// A restored host, reused because it is as good as a new one and available at once.
    static RESTORED: Cell<Option<(Host, Image)>> = const { Cell::new(None) };
}

/// The crash points of `work` at which a crash leaves a different state than at the one before; all
/// others are equivalent. Runs `work` once, without a crash.
fn distinct_points(host: &Host, work: impl FnOnce()) -> Vec<usize> {
    let (capture, mut last, mut point) = (host.capture(), None, 0);
    let points = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&points);
    let each = move || {
        let now = Some(capture());
        if now != last {
            noted.borrow_mut().push(point);
            last = now;
        }
        point += 1;
    };
    crash_injector::observe_all(work, Box::new(each));
    points.take()
}

/// The distinct crash points of a run.
fn points_of_a_run() -> Vec<usize> {
    let host = Host::new();
    let points = distinct_points(&host, || host.run().unwrap());
    assert!(points.len() > 60, "only {} distinct crash points", points.len());
    points
}

/// The distinct crash points of restoring a run that died after `points`; the restore is completed.
fn points_of_its_restore(points: usize) -> Vec<usize> {
    let (host, before) = dead_after(points, 0).unwrap();
    let of_restore = distinct_points(&host, || drop(restore(&host, &THIS_BOOT)));
    assert_restored((host, before), &THIS_BOOT, &format!("died after {points}"));
    of_restore
}

/// A host on which a run died after `points`, its last append torn after `tear` bytes; `None` when it
/// survived all of them.
fn dead_after(points: usize, tear: usize) -> Option<(Host, Image)> {
    let (host, before) = RESTORED.take().unwrap_or_else(|| {
        let host = Host::new();
        let before = host.image();
        (host, before)
    });
    crash_injector::set_with_tear(points, tear);
    let ended = host.run();
    let survived = ended.is_ok();
    if survived {
        crash_injector::set(None);
        assert_eq!(host.image(), before, "a run that ends by itself restores");
        return None;
    }
    Some((host, before))
}

fn restore(host: &Host, boot: &str) -> RestoreReport {
    restore_in_boot(host.state(), &host.root(), boot).unwrap()
}

/// Restores and compares. A ledger with a torn line stays until a person has inspected it.
fn assert_restored((host, before): (Host, Image), boot: &str, when: &str) {
    assert_is_restored(&host, &before, boot, when);
    host.forget_runs();
    RESTORED.set(Some((host, before)));
}

fn assert_is_restored(host: &Host, before: &Image, boot: &str, when: &str) {
    let report = restore(host, boot);
    host.assert_is(before, when);
    let changes = report.ledgers.iter().flat_map(|ledger| &ledger.changes);
    for change in changes {
        assert_eq!(change.restored, Some(Ok(())), "{when}");
    }
    let torn = report.ledgers.iter().any(|ledger| !ledger.damaged.is_empty());
    assert_eq!(report.is_complete(), !torn, "{when}: {report:?}");
    if torn {
        assert!(!restore(host, boot).is_complete(), "{when}");
        set_aside(host.state(), "crash").unwrap();
    }
    assert_eq!(unfinished(host.state()).unwrap(), [], "{when}");
    assert!(restore(host, boot).ledgers.is_empty(), "{when}");
}

#[test]
fn the_tree_is_restored_after_a_crash_at_any_point() {
    let mut points = 0;
    let mut tears = 0;
    while let Some((host, before)) = dead_after(points, 0) {
        crash_injector::set(None);
        assert_restored((host, before), &THIS_BOOT, &format!("died after {points}"));
        for tear in tears_at(points) {
            let (host, before) = dead_after(points, tear).unwrap();
            crash_injector::set(None);
            tears += 1;
            let when = format!("died after {points}, torn after {tear} bytes");
            assert_restored((host, before), &THIS_BOOT, &when);
        }
        points += 1;
    }
    assert!(points > 150 && tears > 300, "only {points} crash points and {tears} torn lines");
}

/// After how many bytes to tear the append that is the next crash point: its ends and its middle. Any other part of a
/// line is read like these (`a_cut_ledger_keeps_its_complete_lines_and_names_the_torn_one`, at every byte).
fn tears_at(points: usize) -> Vec<usize> {
    let Some(_) = dead_after(points, usize::MAX) else { return Vec::new() };
    let whole = crash_injector::torn();
    crash_injector::set(None);
    let mut tears = vec![1, 2, whole / 2, whole.saturating_sub(2), whole.saturating_sub(1), whole];
    tears.retain(|tear| (1..=whole).contains(tear));
    tears.dedup();
    tears
}

#[test]
fn a_crashed_restore_is_completed_by_the_next_one() {
    let mut both = 0;
    for points in points_of_a_run() {
        for of_restore in points_of_its_restore(points) {
            let (host, before) = dead_after(points, 0).unwrap();
            let first = die_in_restore(&host, of_restore);
            let when = format!("died after {points}, restore after {of_restore}: {first:?}");
            assert_restored((host, before), &THIS_BOOT, &when);
            both += 1;
        }
    }
    assert!(both > 1000, "only {both} restores died");
}

/// A restore that cannot even read fails with an error; both count as a crash.
fn die_in_restore(host: &Host, points: usize) -> Result<RestoreReport, Error> {
    crash_injector::set(Some(points));
    let report = restore_in_boot(host.state(), &host.root(), &THIS_BOOT);
    assert!(crash_injector::crash_point().is_err(), "it survived {points} crash points");
    crash_injector::set(None);
    report
}

/// Of what was appended, only the synced part must survive a power cut; the rest may, up to any line
/// and one byte more (parts of a line are covered by the test above). Changes on disks survive as
/// well, or not; those in the kernel's memory do not. A name in the directory of ledgers that was not synced may
/// be lost, and one that was removed may be back.
#[test]
fn changes_on_disks_are_restored_after_a_power_cut_at_any_point() {
    let mut points = 0;
    let mut cuts = 0;
    'all: loop {
        for nth in 0.. {
            let Some((host, before)) = dead_after(points, 0) else { break 'all };
            let (on_disk, is_named) =
                (crash_injector::length_on_disk(), crash_injector::is_named_on_disk());
            let removed = crash_injector::removed();
            crash_injector::set(None);
            let may_be_gone = removed.is_some() || !is_named;
            let bytes = removed.or_else(|| fs::read(host.ledger()).ok()).unwrap_or_default();
            let kept = lengths(&bytes, on_disk).filter(|_| !bytes.is_empty()).map(Some);
            let Some(length) = kept.chain((0..2).map(|_| None).filter(|_| may_be_gone)).nth(nth)
            else {
                break;
            };
            match length {
                Some(length) => fs::write(host.ledger(), &bytes[..length]).unwrap(),
                None => drop(fs::remove_file(host.ledger())),
            }
            host.lose_power(nth % 2 == 0);
            let all = bytes.len();
            let when = format!("power cut after {points}, {length:?} of {all} bytes kept");
            assert_restored((host, before), NEXT_BOOT, &when);
            cuts += 1;
        }
        points += 1;
    }
    assert!(cuts > 2 * points, "{cuts} cuts at {points} crash points");
}

/// The lengths of a ledger that a power cut may leave.
fn lengths(bytes: &[u8], on_disk: u64) -> impl Iterator<Item = usize> {
    let on_disk = usize::try_from(on_disk).unwrap().min(bytes.len());
    let ends = (on_disk..bytes.len()).filter(|index| bytes[*index] == b'\n').map(|end| end + 1);
    let all = std::iter::once(on_disk).chain(ends);
    all.flat_map(move |end| [end, end + 1]).filter(move |length| *length <= bytes.len())
}

#[test]
fn a_power_cut_during_a_restore_is_recovered() {
    for points in points_of_a_run() {
        for of_restore in points_of_its_restore(points) {
            let (host, before) = dead_after(points, 0).unwrap();
            let _ = die_in_restore(&host, of_restore);
            if let Some(bytes) = crash_injector::removed() {
                fs::write(host.ledger(), bytes).unwrap();
            }
            host.lose_power(true);
            let when = format!("died after {points}, power cut in restore after {of_restore}");
            assert_restored((host, before), NEXT_BOOT, &when);
        }
    }
}

#[test]
fn the_fake_run_makes_every_kind_of_change() {
    let host = Host::new();
    assert!(host.run().is_ok());
    let kinds = fs::read_to_string(host.kinds()).unwrap();
    for kind in super::fake_run::KINDS {
        assert!(kinds.contains(&format!("\"{kind}\":")), "{kind} is not in the fake run:\n{kinds}");
    }
}
