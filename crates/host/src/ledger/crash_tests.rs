//! The crash model: a run on a tree that stands in for a host, making every kind of change, dies
//! at every instant, after every byte of every append to its ledger; the power fails, with any
//! part of what was not yet on the disk; the restore that follows dies at every instant too; and
//! then one that is left to work brings back the tree as it was, byte for byte.

use std::cell::{Cell, RefCell};
use std::fs;
use std::rc::Rc;

use assay_kernel::Error;

use super::crash_injector;
use super::fake_run::{Host, Image, NEXT_BOOT, THIS_BOOT};
use super::recovery::restore_in_boot;
use super::{RestoreReport, set_aside, unfinished};

thread_local! {
    /// A host that was brought back as it was: as good as a new one, and at hand at once.
    static RESTORED: Cell<Option<(Host, Image)>> = const { Cell::new(None) };
}

/// The instants of a work that differ from the one before in what a death leaves: all others are the
/// same death. The work is done once, and nobody dies.
fn deaths(host: &Host, work: impl FnOnce()) -> Vec<usize> {
    let (look, mut last, mut instant) = (host.look(), None, 0);
    let found = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&found);
    let each = move || {
        let now = Some(look());
        if now != last {
            noted.borrow_mut().push(instant);
            last = now;
        }
        instant += 1;
    };
    crash_injector::look_at_all(work, Box::new(each));
    found.take()
}

/// Those of a run.
fn deaths_of_a_run() -> Vec<usize> {
    let host = Host::new();
    let found = deaths(&host, || host.run().unwrap());
    assert!(found.len() > 60, "only {} different deaths", found.len());
    found
}

/// Those of the restore of a run that died after `instants`, which is done.
fn deaths_of_its_restore(instants: usize) -> Vec<usize> {
    let (host, before) = dead_after(instants, 0).unwrap();
    let found = deaths(&host, || drop(restore(&host, &THIS_BOOT)));
    assert_restored((host, before), &THIS_BOOT, &format!("died after {instants}"));
    found
}

/// A host on which a run died after `instants`, its last append torn after `tear` bytes; `None`
/// when it survived them all.
fn dead_after(instants: usize, tear: usize) -> Option<(Host, Image)> {
    let (host, before) = RESTORED.take().unwrap_or_else(|| {
        let host = Host::new();
        let before = host.image();
        (host, before)
    });
    crash_injector::set_with_tear(instants, tear);
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

/// Restores and compares. A ledger with a torn line stays until a person has looked.
fn assert_restored((host, before): (Host, Image), boot: &str, when: &str) {
    assert_is_restored(&host, &before, boot, when);
    host.forget_runs();
    RESTORED.set(Some((host, before)));
}

fn assert_is_restored(host: &Host, before: &Image, boot: &str, when: &str) {
    let report = restore(host, boot);
    host.assert_is(before, when);
    let left = report.ledgers.iter().flat_map(|ledger| &ledger.changes);
    for change in left {
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
fn whenever_a_run_dies_restore_brings_back_the_tree() {
    let mut instants = 0;
    let mut tears = 0;
    while let Some((host, before)) = dead_after(instants, 0) {
        crash_injector::set(None);
        assert_restored((host, before), &THIS_BOOT, &format!("died after {instants}"));
        for tear in 1.. {
            let Some((host, before)) = dead_after(instants, tear) else { break };
            let torn = crash_injector::torn();
            crash_injector::set(None);
            if torn < tear {
                break;
            }
            tears += 1;
            let when = format!("died after {instants}, torn after {tear} bytes");
            assert_restored((host, before), &THIS_BOOT, &when);
        }
        instants += 1;
    }
    assert!(instants > 150 && tears > 3000, "only {instants} instants and {tears} torn lines");
}

#[test]
fn whenever_a_restore_dies_too_the_next_one_goes_on() {
    let mut both = 0;
    for instants in deaths_of_a_run() {
        for of_restore in deaths_of_its_restore(instants) {
            let (host, before) = dead_after(instants, 0).unwrap();
            let first = die_in_restore(&host, of_restore);
            let when = format!("died after {instants}, restore after {of_restore}: {first:?}");
            assert_restored((host, before), &THIS_BOOT, &when);
            both += 1;
        }
    }
    assert!(both > 1000, "only {both} restores died");
}

/// A restore that cannot even read dies with an error; both count as death.
fn die_in_restore(host: &Host, instants: usize) -> Result<RestoreReport, Error> {
    crash_injector::set(Some(instants));
    let report = restore_in_boot(host.state(), &host.root(), &THIS_BOOT);
    assert!(crash_injector::burn().is_err(), "it survived {instants} instants");
    crash_injector::set(None);
    report
}

/// Of what was appended, only the part that was synced must survive a power cut; the rest may,
/// up to any line and a byte more (any byte of a line is the test above). What was made on disks
/// survives as well, or not; what lived in the kernel's memory does not.
#[test]
fn whenever_the_power_fails_restore_takes_back_what_stands_on_disks() {
    let mut instants = 0;
    let mut cuts = 0;
    'all: loop {
        for nth in 0.. {
            let Some((host, before)) = dead_after(instants, 0) else { break 'all };
            let on_disk = crash_injector::length_on_disk();
            crash_injector::set(None);
            let bytes = fs::read(host.ledger()).unwrap_or_default();
            let Some(length) = lengths(&bytes, on_disk).nth(nth) else { break };
            if !bytes.is_empty() {
                fs::write(host.ledger(), &bytes[..length]).unwrap();
            }
            host.lose_power(nth % 2 == 0);
            let all = bytes.len();
            let when = format!("power cut after {instants}, {length} of {all} bytes kept");
            assert_restored((host, before), NEXT_BOOT, &when);
            cuts += 1;
        }
        instants += 1;
    }
    assert!(cuts > 2 * instants, "{cuts} cuts at {instants} instants");
}

/// How much of a ledger a power cut may leave.
fn lengths(bytes: &[u8], on_disk: u64) -> impl Iterator<Item = usize> {
    let on_disk = usize::try_from(on_disk).unwrap().min(bytes.len());
    let ends = (on_disk..bytes.len()).filter(|index| bytes[*index] == b'\n').map(|end| end + 1);
    let all = std::iter::once(on_disk).chain(ends);
    all.flat_map(move |end| [end, end + 1]).filter(move |length| *length <= bytes.len())
}

#[test]
fn the_power_may_fail_during_a_restore() {
    for instants in deaths_of_a_run() {
        for of_restore in deaths_of_its_restore(instants) {
            let (host, before) = dead_after(instants, 0).unwrap();
            let _ = die_in_restore(&host, of_restore);
            host.lose_power(true);
            let when = format!("died after {instants}, power cut in restore after {of_restore}");
            assert_restored((host, before), NEXT_BOOT, &when);
        }
    }
}

#[test]
fn the_model_makes_every_kind_of_change() {
    let host = Host::new();
    assert!(host.run().is_ok());
    let seen = fs::read_to_string(host.kinds()).unwrap();
    for kind in super::fake_run::KINDS {
        assert!(seen.contains(&format!("\"{kind}\":")), "{kind} is not in the model:\n{seen}");
    }
}
