//! What the programs saw of one repeat of a study, as its run folder keeps it.

use std::collections::BTreeMap;
use std::path::Path;

use assay_host::facts::Available;
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Cost};
use crate::disk::DiskAnswer;

/// The version of the document.
pub const EVIDENCE_SCHEMA: u32 = 1;

/// Where the groups of a study waited in one repeat, from the common start to the end of its window.
///
/// Groups of the study have the names of the study, and all others of the run begin with the run's name, both without
/// a slash in front; groups that are not of the run have their path from the mount, with one. What the kernel refused
/// says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`EVIDENCE_SCHEMA`].
    pub schema: u32,
    /// How long the programs counted.
    pub seconds: f64,
    /// Waiting for CPUs: one answer for each group of the study.
    pub cpu: Available<Vec<Answer>>,
    /// Waiting for disks: one answer for each disk of the study.
    pub disks: Available<Vec<DiskAnswer>>,
}

impl Evidence {
    /// Gives the study's groups their names in place of their paths, in which `names` lists them.
    pub fn name_groups(&mut self, names: &BTreeMap<String, String>) {
        let disks = self.disks.value_mut().into_iter().flatten();
        disks.flat_map(DiskAnswer::names_mut).for_each(|group| rename(group, names));
        for answer in self.cpu.value_mut().into_iter().flatten() {
            rename(&mut answer.target, names);
            let on_cpus = answer.cpus.iter_mut().flat_map(|cpu| &mut cpu.parts);
            let locks = answer.thread_time.iter_mut().flat_map(|time| &mut time.locks);
            let parts = answer.parts.iter_mut().chain(on_cpus).chain(locks);
            let parts = parts.map(|part| &mut part.group);
            let ran = answer.longest.iter_mut().flat_map(|wait| &mut wait.ran);
            let groups = parts.chain(ran.map(|ran| &mut ran.group));
            groups.flatten().for_each(|group| rename(group, names));
        }
    }

    /// CPU seconds that the programs took on this many CPUs, as far as that was measured. One set of programs serves
    /// all groups and one all disks, so that each answer has the cost of all.
    #[must_use]
    pub fn cost_s(&self, cpus: usize) -> Option<f64> {
        let waits = self.cpu.value().and_then(|answers| {
            let costs = answers.iter().map(|one| (one.cost, one.seconds * one.cpus.len() as f64));
            largest(costs)
        });
        let requests = self.disks.value().and_then(|answers| {
            largest(answers.iter().map(|one| (one.cost, one.seconds * cpus as f64)))
        });
        [waits, requests].into_iter().flatten().reduce(|sum, one| sum + one)
    }
}

/// The largest of costs, in seconds, each with the CPU time that it is a part of.
fn largest(costs: impl Iterator<Item = (Cost, f64)>) -> Option<f64> {
    let seconds = costs.filter_map(|(cost, of)| Some(cost.percent_of_cpus? / 100.0 * of));
    seconds.reduce(f64::max)
}

/// The name of a group of the study, or of one below it.
fn rename(path: &mut String, names: &BTreeMap<String, String>) {
    let found = Path::new(path.as_str()).ancestors().find_map(|above| {
        let above = above.to_str()?;
        let name = names.get(above)?;
        Some(format!("{name}{}", path.strip_prefix(above)?))
    });
    if let Some(name) = found {
        *path = name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_the_study_and_below_have_its_names_and_others_their_paths() {
        let names = [
            ("/assay-1", "assay-1"),
            ("/assay-1/a", "a"),
            ("/assay-1/a/inner", "a/inner"),
            ("/assay-1/b", "b"),
        ];
        let names = names.map(|(path, name)| (path.to_owned(), name.to_owned())).into();
        for (path, expected) in [
            ("/assay-1/a", "a"),
            ("/assay-1/a/inner/own", "a/inner/own"),
            ("/assay-1", "assay-1"),
            ("/assay-1/ab", "assay-1/ab"),
            ("/assay-10/a", "/assay-10/a"),
            ("/system.slice", "/system.slice"),
            ("process 12", "process 12"),
        ] {
            let mut shown = path.to_owned();
            rename(&mut shown, &names);
            assert_eq!(shown, expected);
        }
    }
}
