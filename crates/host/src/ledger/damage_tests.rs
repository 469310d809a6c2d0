//! Damaged ledgers: cut at any byte, any byte changed. Intact entries are restored, nothing else is
//! touched, the rest is named, and a person decides.

use std::fs;
use std::path::Path;

use assay_sys::kernel::Error;

use super::fake_run::{Host, Image, THIS_BOOT};
use super::recovery::restore_in_boot;
use super::{Ledger, LedgerRestore, set_aside, unfinished};

/// The ledger of a run that died after three changes, each independently observable.
fn dead() -> (Host, Image) {
    let host = Host::new();
    let before = host.image();
    let made = (|| -> Result<(), Error> {
        let root = host.root();
        let mut ledger = Ledger::begin(host.state(), "crash")?;
        ledger.write_file(&root, Path::new("/sys/block/sda/queue/scheduler"), "bfq")?;
        ledger.make_group(&root, Path::new("/sys/fs/cgroup/io/assay"))?;
        drop(ledger.make_file(&root, Path::new("/var/tmp/assay-x.img"))?);
        Ok(())
    })();
    made.unwrap();
    (host, before)
}

fn restore(host: &Host) -> LedgerRestore {
    restore_in_boot(host.state(), &host.root(), &THIS_BOOT).unwrap().ledgers.remove(0)
}

/// The line numbers of the changes still in force; the first line is the header.
fn lines_standing(host: &Host, before: &Image) -> Vec<usize> {
    let now = host.image();
    let at = |path: &str| host.root().resolve(path);
    let stands = |path: &str| before.get(&at(path)) != now.get(&at(path));
    [
        (2, "/sys/block/sda/queue/scheduler"),
        (3, "/sys/fs/cgroup/io/assay"),
        (4, "/var/tmp/assay-x.img"),
    ]
    .into_iter()
    .filter(|(_, path)| stands(path))
    .map(|(line, _)| line)
    .collect()
}

/// All differences from `before` are changes whose lines are lost.
fn assert_only_lost_lines_stand(host: &Host, before: &Image, lost: &[usize], when: &str) {
    let standing = lines_standing(host, before);
    assert_eq!(standing, lost, "{when}");
    let now = host.image();
    let differing =
        before.keys().chain(now.keys()).filter(|path| before.get(*path) != now.get(*path));
    assert!(differing.collect::<std::collections::BTreeSet<_>>().len() <= lost.len(), "{when}");
}

/// A second restore reports the same and changes nothing, and `set_aside` resolves it.
fn assert_sane_afterwards(host: &Host, first: &LedgerRestore, when: &str) {
    let image = host.image();
    let second = restore(host);
    assert!(!second.complete && second.changes.is_empty(), "{when}: {second:?}");
    let named = |report: &LedgerRestore| -> Vec<(usize, String)> {
        report.damaged.iter().map(|line| (line.line, line.text.clone())).collect()
    };
    assert_eq!(named(&second), named(first), "{when}");
    host.assert_is(&image, when);
    let run = &first.run_id;
    let refused = Ledger::begin(host.state(), "next").unwrap_err().to_string();
    assert!(refused.contains("damaged lines"), "{when}: {refused}");
    set_aside(host.state(), run).unwrap();
    assert!(Ledger::begin(host.state(), "next").unwrap().finish().unwrap(), "{when}");
    assert_eq!(unfinished(host.state()).unwrap(), []);
}

fn line_of(bytes: &[u8], position: usize) -> usize {
    bytes[..position].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[test]
fn a_ledger_cut_at_any_byte_is_restored_up_to_the_cut() {
    let length = fs::read(dead().0.ledger()).unwrap().len();
    for cut in 0..length {
        let (host, before) = dead();
        let bytes = fs::read(host.ledger()).unwrap();
        fs::write(host.ledger(), &bytes[..cut]).unwrap();
        let when = format!("cut at {cut}");
        // The line with the cut is lost, unless only its line end is.
        let breaks_in = line_of(&bytes, cut);
        let lost_from = breaks_in + usize::from(bytes[cut] == b'\n');
        let report = restore(&host);
        let lost: Vec<usize> = (2..=4).filter(|line| *line >= lost_from).collect();
        assert_only_lost_lines_stand(&host, &before, &lost, &when);
        let at_an_end = cut > 0 && (bytes[cut - 1] == b'\n' || bytes[cut] == b'\n');
        if at_an_end {
            // Complete lines form a complete ledger: nothing shows that there were more.
            assert!(report.complete, "{when}: {report:?}");
            continue;
        }
        assert!(!report.complete, "{when}");
        assert_eq!(report.damaged.len(), 1, "{when}");
        assert_eq!(report.damaged[0].line, breaks_in, "{when}");
        assert_sane_afterwards(&host, &report, &when);
    }
}

#[test]
fn a_changed_byte_costs_only_the_lines_it_was_in() {
    let length = fs::read(dead().0.ledger()).unwrap().len();
    for position in 0..length {
        let (host, before) = dead();
        let mut bytes = fs::read(host.ledger()).unwrap();
        let line = line_of(&bytes, position);
        let joins = bytes[position] == b'\n';
        // Digits become other digits, letters other letters: the change stays plausible.
        bytes[position] ^= 1;
        fs::write(host.ledger(), &bytes).unwrap();
        let when = format!("byte {position} in line {line}");
        let report = restore(&host);
        // Without its line end a line merges with the next into one that cannot be parsed; the last one
        // only loses its end.
        let lost: Vec<usize> = match (joins, line) {
            (true, line) => vec![line, line + 1],
            (false, line) => vec![line],
        };
        let lost: Vec<usize> = lost.into_iter().filter(|line| (2..=4).contains(line)).collect();
        assert_only_lost_lines_stand(&host, &before, &lost, &when);
        assert!(!report.complete, "{when}");
        assert_eq!(report.damaged[0].line, line, "{when}");
        assert_sane_afterwards(&host, &report, &when);
    }
}

#[test]
fn garbage_lines_are_named_and_the_intact_ones_restored() {
    for garbage in ["garbage\n", "\n", "{}\n", "\u{0}\u{0}\n", "{\"intend\":{}}\tdeadbeef\n"] {
        let (host, before) = dead();
        let text = fs::read_to_string(host.ledger()).unwrap();
        let mixed: String = text.lines().flat_map(|line| [line, "\n", garbage]).collect();
        fs::write(host.ledger(), mixed).unwrap();
        let report = restore(&host);
        host.assert_is(&before, garbage);
        let lines: Vec<usize> = report.damaged.iter().map(|line| line.line).collect();
        assert_eq!(lines, [2, 4, 6, 8, 10], "{garbage:?}");
        assert_sane_afterwards(&host, &report, garbage);
    }
}

#[test]
fn a_ledger_of_a_newer_format_is_not_touched() {
    let (host, _) = dead();
    let text = fs::read_to_string(host.ledger()).unwrap();
    let header = text.lines().next().unwrap().rsplit_once('\t').unwrap().0;
    let newer = header.replace("\"format\":3", "\"format\":4");
    let seal = super::line::seal_of(&newer);
    let rest: String = text.lines().skip(1).flat_map(|line| [line, "\n"]).collect();
    fs::write(host.ledger(), format!("{newer}\t{seal}\n{rest}")).unwrap();
    let image = host.image();
    let report = restore(&host);
    assert_eq!((report.newer_format, report.complete), (Some(4), false));
    host.assert_is(&image, "newer format");
}

/// Anyone can write lines without seals; no release of Assay did.
#[test]
fn a_ledger_without_seals_is_ignored() {
    let (host, _) = dead();
    let text = fs::read_to_string(host.ledger()).unwrap();
    let old: String = text
        .lines()
        .map(|line| line.rsplit_once('\t').unwrap().0)
        .map(|line| line.replace("\"format\":3", "\"format\":1"))
        .flat_map(|line| [line, "\n".to_owned()])
        .collect();
    fs::write(host.ledger(), old).unwrap();
    let image = host.image();
    let report = restore(&host);
    assert_eq!((report.complete, report.changes.len()), (false, 0));
    assert_eq!(report.damaged.len(), text.lines().count());
    host.assert_is(&image, "format 1");
}
