//! Origin of a run and how to repeat it: command, seed and versions.

use std::collections::BTreeSet;

use assay_escape::{shell_word, shell_words};
use assay_facts::Available;
use assay_run_folder::Manifest;

use super::Fact;

/// What is needed to repeat this run, or to judge it again.
pub(crate) fn origin(manifest: &Manifest) -> Vec<Fact> {
    vec![
        Fact::new("Recorded by", format!("assay {}", manifest.assay)),
        Fact::new("Started", manifest.started_at.clone()),
        Fact::new("Seed", manifest.seed.to_string()),
        Fact::new("Command", shell_words(&manifest.command)),
        Fact::new("Kernel", manifest.host.kernel.clone()),
        Fact::new("Workloads ran by", programs(manifest)),
        Fact::new("Manifest format", manifest.schema.to_string()),
    ]
}

/// The programs of its workloads with their versions, as recorded before the run.
fn programs(manifest: &Manifest) -> String {
    let groups = manifest.trials.iter().flat_map(|trial| &trial.groups);
    let used: BTreeSet<&str> =
        groups.flat_map(|group| &group.workloads).map(|one| one.tool.as_str()).collect();
    let programs: Vec<String> = used
        .into_iter()
        .map(|name| match manifest.host.tools.get(name).map(|tool| &tool.found) {
            Some(Available::Value(version)) if version.contains(name) => version.clone(),
            Some(Available::Value(version)) => format!("{name} {version}"),
            Some(Available::NotAvailable(why)) => format!("{name} (version not available: {why})"),
            None => name.to_owned(),
        })
        .collect();
    if programs.is_empty() { "none".to_owned() } else { programs.join(", ") }
}

/// The shell command that repeats the run: its command line with an explicit seed, and without the
/// output folder, which is in use.
pub(super) fn command(manifest: &Manifest) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = manifest.command.iter();
    while let Some(word) = rest.next() {
        if word == "--out" {
            rest.next();
        } else if !word.starts_with("--out=") {
            words.push(shell_word(word));
        }
    }
    let names_it = words.iter().any(|word| word == "--seed" || word.starts_with("--seed="));
    if !names_it && words.get(1).is_some_and(|word| word == "run") {
        words.extend(["--seed".to_owned(), manifest.seed.to_string()]);
    }
    words.join(" ")
}
