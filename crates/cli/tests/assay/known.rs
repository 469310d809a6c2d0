//! What is known of kernels: names of cases, rules and pages that exist, and `audit` says the same as `host`.

use std::path::Path;

use assay_audit::KNOWN;
use assay_sys::kernel::Root;

/// Words of a text that may be names, without what stands around them.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let around = |c: char| ".,;:()\"".contains(c);
    text.split_whitespace().map(move |word| word.trim_matches(around))
}

#[test]
fn what_shows_something_known_exists() {
    let is_case = |name: &str| {
        let mut cases = assay_conform::all();
        cases.any(|case| name == format!("{}/{}", case.controller, case.behaviour))
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut checked = [0; 3];
    for known in KNOWN {
        for name in names(known.shown_by).chain(names(known.source)) {
            if name.starts_with("docs/") {
                checked[0] += 1;
                assert!(root.join(name).exists(), "{}: no {name}", known.code);
            } else if name.starts_with("A-") {
                checked[1] += 1;
                assert!(assay_audit::find(name).is_some(), "{}: no rule {name}", known.code);
            }
        }
        for name in names(known.shown_by).filter(|name| name.contains('/')) {
            if !name.starts_with("docs/") {
                checked[2] += 1;
                assert!(is_case(name), "{}: no case {name}", known.code);
            }
        }
    }
    assert!(checked.iter().all(|count| *count > 0), "{checked:?}");
}

/// Reads files only.
#[test]
fn an_audit_sees_the_signs_that_a_host_shows() {
    let snapshot = assay_audit::collect::take_snapshot(&Root::real()).unwrap();
    let release = snapshot.machine.kernel.value().unwrap();
    for fact in assay_audit::known_facts(&Root::real(), release) {
        let seen = snapshot.machine.signs.get(fact.code) == Some(&true);
        assert_eq!(seen, fact.known_by == "types", "{}", fact.code);
    }
}
