//! The interface files of a host in `assay host`, and their comparison with the knob table.

use std::collections::BTreeMap;

use assay_cgroup::{KnobsCheck, check_knobs};
use assay_facts::{Available, HostFacts};
use assay_host::{Ledger, kernel, state_dir};
use assay_kernel::Root;
use assay_knob::{Evidence, KnobFact, Version};

use crate::exit::Code;
use crate::output;

/// The column at which names begin.
const INDENT: usize = 18;

/// Files by controller and hierarchy: present ones, then absent ones grouped by reason.
pub(super) fn text(knobs: &[KnobFact]) -> String {
    let here = knobs.iter().filter(|fact| fact.state.value().is_some()).count();
    let mut lines = vec![format!(
        "knobs: {here} interface files present, {} absent (all: docs/reference/knobs.md)",
        knobs.len() - here
    )];
    for controller in controllers(knobs) {
        let of_it = || knobs.iter().filter(|fact| fact.controller == controller);
        let mut title = controller;
        for (version, label) in [(Version::V2, "v2"), (Version::V1, "v1")] {
            let names: Vec<String> = of_it()
                .filter(|fact| fact.version == version)
                .filter_map(|fact| Some((fact, fact.state.value()?)))
                .map(|(fact, known)| marked(&fact.name, *known))
                .collect();
            if !names.is_empty() {
                wrap(&mut lines, title, label, &names);
                title = "";
            }
        }
        let mut absent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for fact in of_it() {
            if let Available::NotAvailable(why) = &fact.state {
                absent.entry(why).or_default().push(fact.name.clone());
            }
        }
        for (why, names) in absent {
            let mut words = names;
            words.push(format!("({why})"));
            wrap(&mut lines, title, "--", &words);
            title = "";
        }
    }
    lines.push("  * according to the table: no group exists to check".to_owned());
    lines.join("\n")
}

fn marked(name: &str, known: Evidence) -> String {
    match known {
        Evidence::Seen => name.to_owned(),
        Evidence::ByTheTable => format!("{name}*"),
    }
}

/// The controllers in the order of the table, without duplicates.
fn controllers(knobs: &[KnobFact]) -> Vec<&'static str> {
    let mut controllers = Vec::new();
    for fact in knobs {
        if !controllers.contains(&fact.controller) {
            controllers.push(fact.controller);
        }
    }
    controllers
}

fn wrap(lines: &mut Vec<String>, title: &str, label: &str, words: &[String]) {
    let width = output::width().max(INDENT + 40);
    let mut line = format!("  {title:<11} {label}  ");
    let mut is_empty = true;
    for word in words {
        if !is_empty && line.len() + 1 + word.len() > width {
            lines.push(line);
            line = " ".repeat(INDENT);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
}

/// Compares the table with a new group in every hierarchy and prints the differences.
pub(super) fn check(facts: &HostFacts, json: bool) -> Code {
    if facts.effective_user != 0 {
        output::error(&"making a group in every hierarchy needs root\n  hint: run it with sudo");
        return Code::Host;
    }
    let root = Root::real();
    let run_id = format!("knobs-{}", std::process::id());
    let mut ledger = match Ledger::begin(&state_dir(), &run_id) {
        Ok(ledger) => ledger,
        Err(error) => {
            output::error(&error);
            return Code::Host;
        }
    };
    let check =
        check_knobs(&root, &mut ledger, facts, &kernel(&root, facts), &format!("assay-{run_id}"));
    let mut errors = ledger.restore(&root);
    errors.extend(ledger.finish().err());
    if let Some(error) = errors.first() {
        output::error(error);
        return Code::RestoreIncomplete;
    }
    match check {
        Ok(check) => print_check(facts, &check, json),
        Err(error) => {
            output::error(&error);
            Code::Host
        }
    }
}

fn print_check(facts: &HostFacts, check: &KnobsCheck, json: bool) -> Code {
    if json {
        let document = serde_json::json!({
            "schema": 1, "kernel": facts.kernel, "layout": facts.cgroup.layout, "check": check,
        });
        output::data(&format!("{document:#}"));
    } else {
        for difference in &check.differences {
            output::data(&format!("differs: {difference}"));
        }
        for (name, why) in check.absent.iter().chain(&check.left_out).chain(&check.not_looked_at) {
            output::data(&format!("{name}: {why}"));
        }
        output::data(&format!(
            "{} interface files compared on Linux {}, {} differ from the table",
            check.compared,
            facts.kernel,
            check.differences.len()
        ));
    }
    match (check.compared, check.differences.is_empty()) {
        (0, _) => Code::Host,
        (_, true) => Code::Kept,
        (_, false) => Code::Broken,
    }
}
