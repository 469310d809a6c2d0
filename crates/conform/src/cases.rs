//! All cases: one table per controller.

mod core;
mod countable;
mod cpu;
mod cpuset;
mod devices;
mod freeze;
mod hugetlb;
mod io;
mod memory;
mod perf_event;
mod pids;
mod prelude;

use crate::case::Case;

const TABLES: &[&[Case]] = &[
    core::CASES,
    freeze::ON_V2,
    freeze::KILLED,
    core::threaded::CASES,
    core::wakes::CASES,
    core::v1::CASES,
    cpu::weight::CASES,
    cpu::threads::CASES,
    cpu::storm::CASES,
    cpu::class::CASES,
    cpu::quota::CASES,
    cpu::class::TASKS,
    cpu::account::CASES,
    cpuset::CASES,
    cpuset::partition::CASES,
    cpuset::ON_V1,
    memory::limit::CASES,
    memory::protection::CASES,
    memory::nested::CASES,
    memory::machine::CASES,
    memory::protection::BARE,
    memory::oom::CASES,
    memory::charge::CASES,
    memory::machine::SOFT,
    io::cap::CASES,
    io::weight::CASES,
    io::cost::CASES,
    io::weight::CLASS,
    io::stat::CASES,
    pids::CASES,
    devices::CASES,
    freeze::ON_V1,
    hugetlb::CASES,
    perf_event::CASES,
    countable::CASES,
];

/// All cases, in table order.
pub fn all() -> impl Iterator<Item = &'static Case> {
    TABLES.iter().copied().flatten()
}

/// Selects cases by controller or name (`cpu`, `weights-divide-a-saturated-cpu`,
/// `cpu/weights-divide-a-saturated-cpu`); all cases if `words` is empty. The error names the first
/// word that matches no case and lists the known controllers.
pub fn select(words: &[String]) -> Result<Vec<&'static Case>, String> {
    if let Some(unknown) = words.iter().find(|word| !all().any(|case| fits(case, word))) {
        let mut known: Vec<&str> = all().map(|case| case.controller).collect();
        known.dedup();
        return Err(format!(
            "`{unknown}` is neither a controller nor a behaviour\n  hint: controllers are {}; \
             `assay conform --list` names the behaviours",
            known.join(", ")
        ));
    }
    Ok(all().filter(|case| words.is_empty() || words.iter().any(|word| fits(case, word))).collect())
}

fn fits(case: &Case, word: &str) -> bool {
    let (controller, behaviour) = (case.controller, case.behaviour);
    word == controller || word == behaviour || word.split_once('/') == Some((controller, behaviour))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn cases_have_unique_names_and_complete_descriptions() {
        let mut names = BTreeSet::new();
        for case in all() {
            assert!(names.insert((case.controller, case.behaviour)), "{} twice", case.behaviour);
            let slug = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(case.behaviour.chars().all(slug), "{}", case.behaviour);
            assert!(case.promise.ends_with('.'), "{}", case.promise);
            assert!(case.documented.contains("Documentation/"), "{}", case.behaviour);
            assert!(!case.needs.is_empty(), "{} needs at least a hierarchy", case.behaviour);
        }
    }

    #[test]
    fn cases_are_selected_by_controller_or_name() {
        assert!(select(&[]).unwrap().len() > 1);
        assert!(select(&["pids".to_owned()]).unwrap().iter().all(|c| c.controller == "pids"));
        let one = select(&["pids/fork-above-the-limit-fails".to_owned()]).unwrap();
        assert_eq!(one.len(), 1);
        assert!(select(&["cpus".to_owned()]).unwrap_err().contains("controllers are"));
    }
}
