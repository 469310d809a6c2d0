//! How evidence becomes what the rules ask about.

use assay_blame::{Culprit, Evidence, Verdict};

use super::{CpuWait, DiskUse, Measured, cpus, disks};

/// Eight groups under BFQ, of which the first two are renamed.
fn evidence(first: &str, second: &str) -> Evidence {
    let text = include_str!("../../../../judge/tests/evidence/tag-cap.json");
    let names = [("task1", first), ("task2", second)];
    let rename = |text: String, (from, to): (&str, &str)| {
        text.replace(&format!("\"{from}\""), &format!("\"{to}\""))
    };
    serde_json::from_str(&names.into_iter().fold(text.to_owned(), rename)).unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn waits(evidence: &Evidence, of: &[&str]) -> Vec<CpuWait> {
    cpus::waits(evidence, &names(of)).unwrap()
}

fn requests(evidence: &Evidence, of: &[&str]) -> DiskUse {
    let disk = evidence.disks.value().unwrap()[0].disk.clone();
    disks::requests(&evidence.disks, Some(&disk), &names(of)).unwrap()
}

#[test]
fn a_group_waits_for_cpus_as_the_groups_inside_it_do_together() {
    let inner = evidence("outer/a", "outer/b");
    let [a, b] = &waits(&inner, &["outer/a", "outer/b"])[..] else { panic!() };
    let [outer, other] = &waits(&inner, &["outer", "task3"])[..] else { panic!() };
    assert!(a.waited > 0.0 && b.waited > 0.0);
    assert!((outer.waited - a.waited - b.waited).abs() < 1e-9, "{outer:#?}");
    assert!((outer.foreign_s() - a.foreign_s() - b.foreign_s()).abs() < 1e-9, "{outer:#?}");
    assert!(outer.foreign.is_sorted_by(|a, b| a.1 >= b.1), "{outer:#?}");
    assert_eq!(outer.seconds, a.seconds);
    assert_eq!(other, &waits(&evidence("task1", "task2"), &["task3"])[0]);
    // A name that only begins alike is another group.
    assert!(cpus::waits(&inner, &names(&["out"])).unwrap_err().contains("`out`"));
}

#[test]
fn how_long_a_group_waited_is_known_by_the_kernel_where_the_parts_are_in_doubt() {
    let measured = |evidence: &Evidence| Measured {
        cpu: cpus::waits(evidence, &names(&["task1", "task2"])),
        disk: Err("not looked at".to_owned()),
    };
    let mut evidence = evidence("task1", "task2");
    assert!(measured(&evidence).waits_by_class().is_some());
    let answer = &mut evidence.cpu.value_mut().unwrap()[0];
    let waited_ns = answer.waited_ns;
    answer.parts[0].culprit = Culprit::Unseen;
    let unseen = measured(&evidence);
    assert_eq!(unseen.cpu.as_ref().unwrap()[0].waited, waited_ns as f64 * 1e-9);
    assert_eq!(unseen.waits_by_class(), None, "much of it has no class");
    let answer = &mut evidence.cpu.value_mut().unwrap()[0];
    (answer.verdict, answer.waited_ns, answer.run_delay_ns) = (Verdict::Void, 1, 300_000_000);
    let void = measured(&evidence);
    assert!((void.cpu.as_ref().unwrap()[0].waited - 0.3).abs() < 1e-9, "{void:?}");
    assert_eq!(void.waits_by_class(), None, "the sums differ");
}

/// What waits at the end is in no time that is over.
#[test]
fn a_starved_group_has_its_requests_in_the_scheduler() {
    let mut evidence = evidence("task1", "task2");
    let answer = &mut evidence.disks.value_mut().unwrap()[0];
    (answer.groups[0].scheduler.ns, answer.groups[0].mean_queued) = (0, 8.0);
    let seconds = answer.seconds;
    let disk = requests(&evidence, &["task1", "task2"]);
    assert!((disk.groups[0].scheduler - 8.0 * seconds).abs() < 1e-9, "{:#?}", disk.groups[0]);
}

/// There are numbers for 31 groups with requests to a disk; the rest are counted together, and are no groups without any.
#[test]
fn a_group_without_a_number_of_its_own_is_not_known() {
    let mut evidence = evidence("task1", "task2");
    let answer = &mut evidence.disks.value_mut().unwrap()[0];
    let disk = answer.disk.clone();
    let position = answer.groups.iter().position(|group| group.group == "task2").unwrap();
    let mut other = answer.groups[position].clone();
    let own = &mut answer.groups[position];
    (own.requests, own.mean_queued, own.place.ns) = (0, 0.0, 0);
    let found = |evidence: &Evidence| {
        disks::requests(&evidence.disks, Some(&disk), &names(&["task1", "task2"]))
    };
    assert_eq!(found(&evidence).unwrap().groups[1].requests, 0.0, "it had none");
    other.group = "other groups".to_owned();
    evidence.disks.value_mut().unwrap()[0].groups.push(other);
    assert!(found(&evidence).unwrap_err().contains("`task2` from other groups"));
}

/// The programs that know whose turn it is give their numbers by themselves.
#[test]
fn a_group_without_a_number_among_the_turns_is_not_known_either() {
    let mut evidence = evidence("task1", "task2");
    let answer = &mut evidence.disks.value_mut().unwrap()[0];
    let disk = answer.disk.clone();
    let turns = answer.bfq.value_mut().unwrap();
    let other = turns.groups.iter_mut().find(|group| group.group == "task2").unwrap();
    other.group = "other groups".to_owned();
    let found = disks::requests(&evidence.disks, Some(&disk), &names(&["task1", "task2"]));
    assert!(found.unwrap_err().contains("`task2` from other groups"));
}

#[test]
fn bonds_of_a_group_with_itself_are_none() {
    let mut evidence = evidence("task1", "task2");
    let bfq = evidence.disks.value_mut().unwrap()[0].bfq.value_mut().unwrap();
    for bond in &mut bfq.bonds {
        bond.partner = bond.group.clone();
        bond.set = 1;
    }
    let disk = requests(&evidence, &["task1", "task2"]);
    let has_any = |group: &super::GroupRequests| {
        group.partners.iter().any(|part| *part > 0.0) || group.bonded.contains(&true)
    };
    assert!(!disk.groups.iter().any(has_any), "{:#?}", disk.groups);
}

#[test]
fn a_group_has_the_requests_and_turns_of_the_groups_inside_it() {
    let rest = ["task3", "task4", "task5", "task6", "task7", "task8"];
    let inner = evidence("outer/a", "outer/b");
    let apart = requests(&inner, &[&["outer/a", "outer/b"][..], &rest].concat());
    let together = requests(&inner, &[&["outer"][..], &rest].concat());
    let ([a, b, ..], [outer, ..]) = (&apart.groups[..], &together.groups[..]) else { panic!() };
    assert!(a.requests > 0.0 && outer.requests == a.requests + b.requests, "{outer:#?}");
    assert!((outer.whole() - a.whole() - b.whole()).abs() < 1e-9, "{outer:#?}");
    assert!((outer.in_service - a.in_service - b.in_service).abs() < 1e-9, "{outer:#?}");
    assert!(outer.idle >= a.idle.min(b.idle) && outer.idle <= a.idle.max(b.idle), "{outer:#?}");
    assert_eq!(outer.held, None);
    let injected = |one: &super::GroupRequests| one.injected_as_partner + one.injected_otherwise;
    assert!(injected(outer) <= injected(a) + injected(b), "{outer:#?}");
}
