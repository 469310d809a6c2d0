//! The settings that `assay tune` may try.

use crate::*;

/// A host with every scheduler.
fn with_schedulers() -> HostFacts {
    let schedulers = ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec();
    HostFacts { schedulers, ..host(false) }
}

/// Queue attributes of a loop disk under BFQ as set by `io-weight`.
fn bfq(attribute: &str) -> Option<String> {
    let value = match attribute {
        "scheduler" => "bfq",
        "nr_requests" => "256",
        "rotational" | "iosched/low_latency" | "iosched/strict_guarantees" => "0",
        "iosched/slice_idle" => "8",
        "iosched/max_budget" => "512",
        _ => return None,
    };
    Some(value.to_owned())
}

fn candidate_names(study: &Study, scope: &Scope) -> Vec<String> {
    candidates(study, &with_schedulers(), &bfq, scope)
        .into_iter()
        .map(|setting| setting.name)
        .collect()
}

fn scope(keep: &[&str], also: &[&str]) -> Scope {
    let texts = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Scope { keep: texts(keep), also: texts(also) }
}

#[test]
fn a_disk_under_bfq_has_candidates_for_bfq_requests_and_schedulers() {
    let study = study("io-weight");
    let names = candidate_names(&study, &Scope::default());
    for name in [
        "max_budget=64",
        "strict_guarantees=1",
        "slice_idle=2",
        "nr_requests=1024",
        "nr_requests=2048",
        "nr_requests=64",
        "rotational=1",
        "scheduler=none",
        "defaults",
        "weights/10",
    ] {
        assert!(names.iter().any(|one| one == name), "{name} is missing in {names:?}");
    }
    // Current values and parts of the question are not tried.
    for name in ["low_latency=0", "slice_idle=8", "scheduler=bfq", "iodepth/4"] {
        assert!(!names.iter().any(|one| one == name), "{name} is in {names:?}");
    }
}

#[test]
fn excluded_settings_are_not_tried_and_iodepth_is_on_request() {
    let study = study("io-weight");
    let scope = scope(&["scheduler", "nr_requests", "max_budget=64", "weights"], &["iodepth"]);
    let names = candidate_names(&study, &scope);
    assert!(names.iter().any(|one| one == "iodepth/4"), "{names:?}");
    assert!(names.iter().any(|one| one == "max_budget=2048"), "{names:?}");
    for word in ["scheduler", "nr_requests", "max_budget=64", "weights"] {
        assert!(!names.iter().any(|one| one.starts_with(word)), "{word} is in {names:?}");
    }
}

/// By its own name, by what it changes, and by the path of the attribute.
#[test]
fn every_candidate_can_be_kept_by_each_of_its_names() {
    for study in [study("io-weight"), study("cpu-weight")] {
        for name in candidate_names(&study, &scope(&[], &["iodepth"])) {
            let thing = name.split(['=', '*', '/']).next().unwrap();
            for kept in [name.as_str(), thing] {
                assert_eq!(check_keep(kept, &with_schedulers()), Ok(()), "{kept}");
                let left = candidate_names(&study, &scope(&[kept], &["iodepth"]));
                assert!(!left.contains(&name), "{kept}: {left:?}");
            }
        }
    }
    for kept in ["iosched/max_budget", "nr_requests=512", "one-cpu", "iodepth"] {
        assert_eq!(check_keep(kept, &with_schedulers()), Ok(()), "{kept}");
    }
}

#[test]
fn a_name_that_keeps_nothing_is_answered_with_those_that_there_are() {
    let known = |kept: &str| check_keep(kept, &with_schedulers()).unwrap_err();
    let things = known("nr_request");
    for thing in ["scheduler", "nr_requests", "max_budget", "weights", "cpus", "defaults"] {
        assert!(things.contains(thing), "{thing} is missing in {things:?}");
    }
    assert!(things.iter().all(|thing| !thing.contains('=')), "{things:?}");
    let budgets = ["0", "2048", "256", "64"].map(|value| format!("max_budget={value}"));
    assert!(known("max_budget=65").iter().eq(&budgets));
    assert!(known("nr_requests=many").iter().eq(["nr_requests=N"]));
    assert!(known("").contains("weights"));
}

#[test]
fn a_cpu_study_has_candidates_for_cpus_and_weights_only() {
    let study = study("cpu-weight");
    assert_eq!(candidate_names(&study, &Scope::default()), ["cpus=0", "weights/10", "weights*10"]);
}

#[test]
fn two_settings_combine_unless_they_change_the_same_thing() {
    let study = study("io-weight");
    let factors = combinations(&study).remove(0);
    let all = candidates(&study, &with_schedulers(), &bfq, &Scope::default());
    let setting = |name: &str| all.iter().find(|setting| setting.name == name).unwrap();
    let both = setting("max_budget=64").with(setting("nr_requests=1024")).unwrap();
    assert_eq!(both.name, "max_budget=64 + nr_requests=1024");
    let changed = both.apply(&study, &factors).unwrap();
    let text = format!("{:?}", changed.disks["scratch"].queue);
    assert!(text.contains("Integer(64)") && text.contains("Integer(1024)"), "{text}");
    assert_eq!(setting("max_budget=64").with(setting("max_budget=0")), None);
    assert_eq!(setting("max_budget=64").with(setting("scheduler=none")), None);
    assert_eq!(setting("defaults").with(setting("nr_requests=64")), None);
    assert_eq!(Setting::unchanged().with(setting("nr_requests=64")), None);
}
