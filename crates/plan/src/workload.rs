//! Workloads as they are started, complete but for the place of their data.

use std::time::Duration;

use assay_facts::HostFacts;
use assay_run_folder::IoClass;
use assay_study::{Bindings, Scalar, Study, Templated, Tool, fill};
use assay_workload::fio::{Job, Section, io_class, sections, threads};
use assay_workload::{
    Argument, COMMAND, GIVEN, Gate, Invocation, Kind, Placeholders, Program, Value, kind,
};

use crate::program::{ASSAY_LOAD, path_of};
use crate::refusal::Refusal;
use crate::trial::{ToolPlan, WorkloadPlan};

/// A workload as the members of a group start it.
#[derive(Clone)]
pub(crate) enum WorkloadTemplate {
    /// The same job for every member, and whether it was told to outlast the window.
    Args(Job, bool),
    /// The sections of a job file, handed out to members.
    Sections(Vec<Section>),
    /// The same command line for every member.
    Invocation(Box<Load>),
}

/// A command line with what kind of load it is.
#[derive(Clone)]
pub(crate) struct Load {
    call: Invocation,
    io: IoClass,
    threads: Option<u32>,
    until_stopped: bool,
}

/// Sampling ends a repeat, never a tool's own clock; this is how much longer it would go on.
const SPARE: Duration = Duration::from_secs(3600);

/// What a recipe is made from.
pub(crate) struct WorkloadPlanner<'k> {
    pub(crate) study: &'k Study,
    pub(crate) facts: &'k HostFacts,
    pub(crate) factors: &'k Bindings,
}

impl WorkloadPlanner<'_> {
    /// The recipe of a workload. A preparation has an end: it is not told to outlast the window.
    pub(crate) fn recipe(&self, name: &str, prepares: bool) -> Result<WorkloadTemplate, Refusal> {
        let found = self.study.workloads.get(name);
        let workload = found.ok_or_else(|| {
            Refusal::new(format!("no workload is called `{name}`"), "correct the study file")
        })?;
        let run = (!prepares).then(|| self.study.design.at_most + SPARE);
        match &workload.tool {
            Tool::Fio { args } => self.fio(name, args, run),
            Tool::FioJobFile { path, text } => {
                sections(text).map(WorkloadTemplate::Sections).map_err(|error| {
                    Refusal::new(
                        format!("`{path}`: {error}"),
                        "mend the job file; `fio --parse-only` checks it",
                    )
                })
            }
            Tool::Kind { name, args } => match kind(name) {
                Some(kind) => self.of_kind(kind, args, run),
                None => Err(Refusal::new(
                    format!("no kind of workload is called `{name}`"),
                    "correct `use` in the study file",
                )),
            },
            Tool::Command { words, metrics } => {
                let bindings = self.bindings()?;
                let mut filled = words.iter().map(|word| fill(word, &bindings));
                let program = filled.next().unwrap_or_default();
                let call = Invocation {
                    tool: COMMAND.to_owned(),
                    program: path_of(self.facts, &program),
                    words: filled.collect(),
                    metrics: metrics.clone(),
                    gate: Gate::Shell,
                    ends_with_figures: true,
                };
                let io = IoClass::default();
                Ok(WorkloadTemplate::Invocation(Box::new(Load {
                    call,
                    io,
                    threads: None,
                    until_stopped: false,
                })))
            }
        }
    }

    fn fio(
        &self,
        name: &str,
        args: &[(String, Templated<Scalar>)],
        run: Option<Duration>,
    ) -> Result<WorkloadTemplate, Refusal> {
        let mut job = Job { name: name.to_owned(), options: Vec::new() };
        for (option, value) in args {
            let value = value.resolve(self.factors).map_err(unresolved)?;
            job.options.push((option.clone(), Some(as_fio_writes(&value))));
        }
        let outlasts = run.filter(|_| !has_end(&job));
        if let Some(run) = outlasts {
            job.set("time_based", "1");
            job.set("runtime", format!("{}s", run.as_secs()));
        }
        Ok(WorkloadTemplate::Args(job, outlasts.is_some()))
    }

    fn of_kind(
        &self,
        kind: &Kind,
        args: &[(String, Vec<Templated<Scalar>>)],
        run: Option<Duration>,
    ) -> Result<WorkloadTemplate, Refusal> {
        let bindings = self.bindings()?;
        let mut arguments = Vec::new();
        for (name, values) in args {
            let values: Result<Vec<Value>, Refusal> = values
                .iter()
                .map(|value| value.resolve(&bindings).map(as_argument).map_err(unresolved))
                .collect();
            arguments.push(Argument { name: name.clone(), values: values? });
        }
        let (program, mut words) = match kind.program {
            Program::Load => {
                let first = [kind.name.to_owned(), "--json".to_owned()];
                (path_of(self.facts, ASSAY_LOAD), first.to_vec())
            }
            Program::Host { name, .. } => (path_of(self.facts, name), Vec::new()),
        };
        words.extend(kind.words(&arguments, run.map(|run| run.as_secs())));
        let call = Invocation {
            tool: kind.name.to_owned(),
            program,
            words,
            metrics: Vec::new(),
            gate: kind.gate,
            ends_with_figures: kind.ends_with_figures,
        };
        let io = IoClass { reads: kind.does_io, writes: kind.does_io, ..IoClass::default() };
        Ok(WorkloadTemplate::Invocation(Box::new(Load {
            call,
            io,
            threads: kind.threads(&arguments),
            until_stopped: run.is_some() && kind.runs_until_stopped(&arguments),
        })))
    }

    /// The factors, and what the run gives: that stands for itself until the run knows it. The
    /// folder of the study is known now.
    fn bindings(&self) -> Result<Bindings, Refusal> {
        let mut bindings = Bindings::new();
        for name in GIVEN {
            bindings.insert((*name).to_owned(), Scalar::Text(format!("{{{name}}}")));
        }
        if let Some(folder) = &self.study.folder {
            bindings.insert("study".to_owned(), Scalar::Text(folder.clone()));
        }
        bindings.extend(self.factors.clone());
        Ok(bindings)
    }
}

fn unresolved(why: String) -> Refusal {
    Refusal::new(why, "`assay check` names the place")
}

/// fio has no booleans: `true` is 1.
fn as_fio_writes(value: &Scalar) -> String {
    match value {
        Scalar::Boolean(value) => u8::from(*value).to_string(),
        other => other.to_string(),
    }
}

fn as_argument(value: Scalar) -> Value {
    match value {
        Scalar::Boolean(flag) => Value::Flag(flag),
        other => Value::Text(other.to_string()),
    }
}

/// A job that ends before the others would end the common window, so it goes on until it is
/// stopped, unless the study gives it an end of its own.
fn has_end(job: &Job) -> bool {
    ["runtime", "loops", "io_size", "number_ios"].iter().any(|option| job.option(option).is_some())
}

impl WorkloadTemplate {
    /// The command that asks a generator for its footprint, program first: it answers with JSON and
    /// makes nothing. `None` for what predicts none.
    pub(crate) fn question(&self) -> Option<Vec<String>> {
        let Self::Invocation(load) = self else { return None };
        let known = kind(&load.call.tool)?;
        if known.program != Program::Load {
            return None;
        }
        // Where its files will be is not known yet, and does not change how large they are.
        let given = Placeholders { directory: Some(".".to_owned()), ..Placeholders::default() };
        let words = load.call.words.iter().map(|word| given.fill(word));
        let program = std::iter::once(load.call.program.clone());
        Some(program.chain(words).chain(["--predict".to_owned()]).collect())
    }

    /// What the `index`-th member of a group starts; `member` is the member's name, `name` that of
    /// the workload in the trial.
    pub(crate) fn plan(&self, name: String, member: &str, index: usize) -> WorkloadPlan {
        let of = |tool: ToolPlan, io, threads| WorkloadPlan {
            name,
            tool,
            until_stopped: false,
            io,
            threads,
            taken_over: Vec::new(),
            place: None,
            prepare: Vec::new(),
            after: None,
            user: None,
        };
        match self {
            Self::Args(job, until_stopped) => WorkloadPlan {
                until_stopped: *until_stopped,
                ..of(ToolPlan::Fio(job.clone()), io_class(job), threads(job))
            },
            Self::Sections(sections) => {
                let named =
                    sections.iter().find(|section| section.cgroup.as_deref() == Some(member));
                let section = named.unwrap_or(&sections[index % sections.len()]);
                let job = &section.job;
                WorkloadPlan {
                    taken_over: section.taken_over.clone(),
                    ..of(ToolPlan::Fio(job.clone()), io_class(job), threads(job))
                }
            }
            Self::Invocation(load) => WorkloadPlan {
                until_stopped: load.until_stopped,
                ..of(ToolPlan::Invocation(load.call.clone()), load.io.clone(), load.threads)
            },
        }
    }
}
