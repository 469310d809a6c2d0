//! Each disturbance alone makes a command void, and one within its limit does not.

use assay_host::facts::Available::{NotAvailable, Value};

use super::*;

fn calm() -> Disturbances {
    Disturbances {
        seconds: 10.0,
        cpus: "0-3".parse().unwrap(),
        others: Value(0.01),
        others_on_one: Some(OnOneCpu { cpu: 2, part: 0.04 }),
        waited: NotAvailable("no pressure".to_owned()),
        most_tasks: Value(4),
        busiest: Some(("/system.slice/backup.service".to_owned(), 1.2)),
        steal: Value(0.0),
        steal_on_one: Some(OnOneCpu { cpu: 0, part: 0.0 }),
        held_above: Value(vec![("/ci".to_owned(), 0.05)]),
        halves: Value((4.0, 3.99)),
        speed: Value((0.010, 0.0101)),
        too_hot: Value(0),
        swapped: Value(0.0),
    }
}

fn failed(seen: &Disturbances) -> Vec<(String, String)> {
    let failed = validity(seen, 0.05).checks.into_iter().filter(|check| !check.ok);
    failed.map(|check| (check.check, check.evidence)).collect()
}

#[test]
fn a_quiet_machine_is_valid() {
    let found = validity(&calm(), 0.05);
    assert!(found.is_valid(), "{found:#?}");
    assert_eq!(found.checks.len(), 8);
}

#[test]
fn each_disturbance_is_void_by_its_own_check() {
    let one = |part| Some(OnOneCpu { cpu: 3, part });
    let cases = [
        ("length", Disturbances { seconds: 0.2, held_above: Value(Vec::new()), ..calm() }),
        ("others", Disturbances { others: Value(0.06), ..calm() }),
        ("others", Disturbances { others_on_one: one(0.3), ..calm() }),
        ("others", Disturbances { others: NotAvailable("no counter".to_owned()), ..calm() }),
        ("steal", Disturbances { steal: Value(0.06), ..calm() }),
        ("steal", Disturbances { steal_on_one: one(0.3), ..calm() }),
        ("quota", Disturbances { held_above: Value(vec![("/ci".to_owned(), 2.0)]), ..calm() }),
        ("clock", Disturbances { halves: Value((4.0, 3.0)), ..calm() }),
        ("speed", Disturbances { speed: Value((0.010, 0.012)), ..calm() }),
        ("speed", Disturbances { speed: Value((0.012, 0.010)), ..calm() }),
        ("heat", Disturbances { too_hot: Value(3), ..calm() }),
        ("swap", Disturbances { swapped: Value(300.0), ..calm() }),
    ];
    for (check, seen) in cases {
        let found = failed(&seen);
        assert_eq!(found.len(), 1, "{check}: {found:?}");
        assert_eq!(found[0].0, check, "{found:?}");
    }
}

#[test]
fn the_busiest_of_the_others_is_named() {
    let found = failed(&Disturbances { others: Value(0.3), ..calm() });
    assert!(found[0].1.ends_with("most of it was /system.slice/backup.service, with 1.20 CPUs"));
}

#[test]
fn of_a_single_cpu_the_limit_is_the_margin() {
    let cpus: CpuSet = "1".parse().unwrap();
    let on_one = Some(OnOneCpu { cpu: 1, part: 0.06 });
    let seen = Disturbances { cpus, others: Value(0.06), others_on_one: on_one, ..calm() };
    assert_eq!(failed(&seen).len(), 1);
    assert!(validity(&seen, 0.1).is_valid());
}

#[test]
fn what_a_machine_cannot_show_is_said_and_passes_except_for_others() {
    let no = |why: &str| why.to_owned();
    let seen = Disturbances {
        steal: NotAvailable(no("a")),
        held_above: NotAvailable(no("b")),
        halves: NotAvailable(no("c")),
        speed: NotAvailable(no("d")),
        too_hot: NotAvailable(no("e")),
        swapped: NotAvailable(no("f")),
        ..calm()
    };
    let found = validity(&seen, 0.05);
    let missing = found.checks.iter().filter(|one| one.evidence.starts_with("not available: "));
    assert_eq!((missing.count(), found.is_valid()), (6, true));
}

/// On cgroup v2, where no counter tells what others took of one CPU.
fn on_v2(waited_s: f64, tasks: u64) -> Disturbances {
    Disturbances {
        others_on_one: None,
        waited: Value(waited_s),
        most_tasks: Value(tasks),
        ..calm()
    }
}

#[test]
fn a_competitor_on_one_of_several_cpus_shows_as_waiting() {
    let found = failed(&on_v2(1.3, 4));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("it waited for a CPU 13"), "{found:?}");
    assert!(failed(&on_v2(0.4, 4)).is_empty());
}

#[test]
fn waiting_that_may_be_its_own_or_is_not_known_is_said_and_passes() {
    let others = |seen: &Disturbances| {
        let mut checks = validity(seen, 0.05).checks.into_iter();
        checks.find(|check| check.check == "others").unwrap()
    };
    let own = others(&on_v2(3.0, 9));
    assert!(own.ok && own.evidence.contains("its 9 threads may have"), "{}", own.evidence);
    let waited = NotAvailable("psi=0".to_owned());
    let unknown = others(&Disturbances { waited, ..on_v2(0.0, 4) });
    assert!(unknown.ok && unknown.evidence.contains("not available: what others took"));
    assert!(unknown.evidence.contains("psi=0"), "{}", unknown.evidence);
    // Of a single CPU, and where groups are counted by CPU, the other numbers decide.
    let one = Disturbances { cpus: "1".parse().unwrap(), ..on_v2(9.0, 1) };
    assert!(!others(&one).evidence.contains("waited"));
}
