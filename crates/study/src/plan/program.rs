//! The programs that a study starts: names, paths, and remedies if one is missing.

use std::collections::BTreeMap;

use crate::workload::{FIO, Program, kind};
use crate::{Study, Tool, combinations, fill};
use assay_host::facts::{Available, HostFacts};

use crate::Format;
use crate::plan::refusal::Refusal;
use crate::plan::trial::{DiskPlan, GroupPlan, ToolPlan, WorkloadPlan};

/// The second binary, with Assay's own generators.
pub(crate) const ASSAY_LOAD: &str = "assay-load";

/// A program that a study needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredProgram {
    /// Its name, or its path.
    pub name: String,
    /// Its Debian package; empty if unknown.
    pub package: String,
}

/// Programs that the workloads of a study start, each once, under all combinations of its factors.
/// They are not among the tools looked for on every host.
#[must_use]
pub fn required_programs(study: &Study) -> Vec<RequiredProgram> {
    let mut programs = BTreeMap::new();
    let mut require = |name: &str, package: &str| {
        programs.entry(name.to_owned()).or_insert_with(|| package.to_owned());
    };
    for workload in study.workloads.values() {
        match &workload.tool {
            Tool::Fio { .. } | Tool::FioJobFile { .. } => {}
            Tool::Kind { name, .. } => {
                let Some(kind) = kind(name) else { continue };
                match kind.program {
                    Program::Load => require(ASSAY_LOAD, ""),
                    Program::Host { name, package } => require(name, package),
                }
                kind.needs.iter().for_each(|(name, package)| require(name, package));
            }
            Tool::Command { words, .. } => {
                for mut factors in combinations(study) {
                    if let Some(folder) = &study.folder {
                        let folder = crate::Scalar::Text(folder.clone());
                        factors.entry("study".to_owned()).or_insert(folder);
                    }
                    require(
                        &words.first().map(|word| fill(word, &factors)).unwrap_or_default(),
                        "",
                    );
                }
            }
        }
    }
    programs.into_iter().map(|(name, package)| RequiredProgram { name, package }).collect()
}

/// The path of the program; its name if it was not looked for.
pub(crate) fn path_of(facts: &HostFacts, name: &str) -> String {
    let path = facts.tools.get(name).and_then(|tool| tool.path.as_ref());
    path.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

/// Refuses programs that cannot be started here.
pub(crate) fn refuse_missing_tools(
    study: &Study,
    facts: &HostFacts,
    disks: &[DiskPlan],
    groups: &[GroupPlan],
    refusals: &mut Vec<Refusal>,
) {
    let mut needed: Vec<String> =
        required_programs(study).into_iter().map(|program| program.name).collect();
    if all_workloads(groups).any(|workload| matches!(workload.tool, ToolPlan::Fio(_))) {
        needed.push(FIO.to_owned());
    }
    for disk in disks {
        match disk.format {
            Format::None => {}
            Format::Ext4 => needed.push("mkfs.ext4".to_owned()),
            Format::Xfs => needed.push("mkfs.xfs".to_owned()),
        }
    }
    for name in needed {
        let Some(tool) = facts.tools.get(&name) else { continue };
        if let Available::NotAvailable(why) = &tool.found {
            refusals.push(Refusal::new(
                format!("`{name}` is needed: {why}"),
                remedy(&name, &tool.package),
            ));
        }
    }
    if study.folder.is_none()
        && study.workloads.values().any(|workload| workload.uses_placeholder("study"))
    {
        refusals.push(Refusal::new(
            "`{study}` is the folder of the study file, and a shipped study \
             has none",
            "copy the study into a file: `assay run --list NAME > FILE.toml`",
        ));
    }
}

fn remedy(name: &str, package: &str) -> String {
    match (name, package) {
        (ASSAY_LOAD, _) => {
            "put `assay-load` next to `assay` or into a folder of PATH; both are built together"
                .to_owned()
        }
        (_, "") => "install it, or write its full path as the first word of `command`".to_owned(),
        (_, package) => format!("apt-get install {package}"),
    }
}

/// Every workload of a trial, including preparations.
fn all_workloads(groups: &[GroupPlan]) -> impl Iterator<Item = &WorkloadPlan> {
    let run = groups.iter().flat_map(|group| &group.workloads);
    run.flat_map(|workload| std::iter::once(workload).chain(&workload.prepare))
}
