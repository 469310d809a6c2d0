//! Workloads as fio jobs, complete but for the place of their data.

use std::time::Duration;

use assay_study::{Bindings, Workload};
use assay_workload::fio::{Job, Section, sections};

use crate::refusal::Refusal;

/// A workload as the members of a group start it.
pub(crate) enum Recipe {
    /// The same job for every member.
    Args(Job),
    /// The sections of a job file, handed out to members.
    Sections(Vec<Section>),
}

/// Sampling ends a repeat, never fio's own clock; this is how much longer fio would go on.
const SPARE: Duration = Duration::from_secs(3600);

pub(crate) fn recipe(
    name: &str,
    workload: &Workload,
    factors: &Bindings,
    at_most: Duration,
) -> Result<Recipe, Refusal> {
    match workload {
        Workload::Fio { args } => {
            let mut job = Job { name: name.to_owned(), options: Vec::new() };
            for (option, value) in args {
                let value = value
                    .resolve(factors)
                    .map_err(|why| Refusal::new(why, "`assay check` names the place"))?;
                job.options.push((option.clone(), Some(as_fio_writes(&value))));
            }
            run_through(&mut job, at_most);
            Ok(Recipe::Args(job))
        }
        Workload::FioJobFile { path, text } => {
            sections(text).map(Recipe::Sections).map_err(|error| {
                Refusal::new(
                    format!("`{path}`: {error}"),
                    "mend the job file; `fio --parse-only` checks it",
                )
            })
        }
    }
}

/// fio has no booleans: `true` is 1.
fn as_fio_writes(value: &assay_study::Scalar) -> String {
    match value {
        assay_study::Scalar::Boolean(value) => u8::from(*value).to_string(),
        other => other.to_string(),
    }
}

/// A job that ends before the others would end the common window, so it goes on until it is
/// stopped, unless the study gives it an end of its own.
fn run_through(job: &mut Job, at_most: Duration) {
    let has_end = ["runtime", "loops", "io_size", "number_ios"]
        .iter()
        .any(|option| job.option(option).is_some());
    if !has_end {
        job.set("time_based", "1");
        job.set("runtime", format!("{}s", (at_most + SPARE).as_secs()));
    }
}

impl Recipe {
    /// The job of the `index`-th member of a group, whose name is `member`, and what was taken
    /// over from the user's file.
    pub(crate) fn job(&self, member: &str, index: usize) -> (Job, Vec<String>) {
        match self {
            Self::Args(job) => (job.clone(), Vec::new()),
            Self::Sections(sections) => {
                let named =
                    sections.iter().find(|section| section.cgroup.as_deref() == Some(member));
                let section = named.unwrap_or(&sections[index % sections.len()]);
                (section.job.clone(), section.taken_over.clone())
            }
        }
    }
}
