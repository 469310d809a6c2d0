//! The interface files of a host, and their comparison with the knob table.

use std::collections::BTreeMap;

use assay_host::cgroup::KnobTableCheck;
use assay_host::facts::{Available, HostFacts};
use assay_host::knob::{Evidence, KnobFact, Version};
use assay_host::{Ledger, kernel};
use assay_run::context::Context;
use assay_sys::exit::{Code, Error};

/// The column at which names begin.
const INDENT: usize = 18;

/// Files by controller and hierarchy: present ones, then absent ones grouped by reason.
pub(super) fn text(knobs: &[KnobFact], width: usize) -> String {
    let width = width.max(INDENT + 40);
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
                wrap(&mut lines, width, title, label, &names);
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
            wrap(&mut lines, width, title, "--", &words);
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

fn wrap(lines: &mut Vec<String>, width: usize, title: &str, label: &str, words: &[String]) {
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

/// Compares the knob table with a new group in every hierarchy; the groups are removed again.
///
/// # Errors
/// The caller is not root, a group cannot be made, or the host could not be restored.
pub fn check_knob_table(context: &Context, facts: &HostFacts) -> Result<KnobTableCheck, Error> {
    if facts.effective_user != 0 {
        return Err(Error::host(
            "making a group in every hierarchy needs root\n  hint: run it with sudo",
        ));
    }
    let root = &context.root;
    let run_id = format!("knobs-{}", std::process::id());
    let mut ledger = Ledger::begin(&context.state_dir, &run_id).map_err(Error::host)?;
    let name = format!("assay-{run_id}");
    let check =
        assay_host::cgroup::check_knob_table(root, &mut ledger, facts, &kernel(root, facts), &name);
    let mut errors = ledger.restore(root);
    errors.extend(ledger.finish().err());
    if let Some(error) = errors.first() {
        return Err(Error { code: Code::RestoreIncomplete, ..Error::host(error) });
    }
    check.map_err(Error::host)
}

/// The result of comparing the knob table with a kernel, and its exit code.
#[must_use]
pub fn knob_check_text(facts: &HostFacts, check: &KnobTableCheck) -> (String, Code) {
    let differences = check.differences.iter().map(|one| format!("differs: {one}"));
    let remarks = check.absent.iter().chain(&check.left_out).chain(&check.not_looked_at);
    let mut lines: Vec<String> = differences.collect();
    lines.extend(remarks.map(|(name, why)| format!("{name}: {why}")));
    lines.push(format!(
        "{} interface files compared on Linux {}, {} differ from the table",
        check.compared,
        facts.kernel,
        check.differences.len()
    ));
    let code = match (check.compared, check.differences.is_empty()) {
        (0, _) => Code::Host,
        (_, true) => Code::Kept,
        (_, false) => Code::Broken,
    };
    (lines.join("\n"), code)
}
