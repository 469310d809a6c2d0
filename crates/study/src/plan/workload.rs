//! Workloads as they are started, complete except for the location of their data.

use std::time::Duration;

use crate::workload::fio::{Job, Section, io_class, sections, threads};
use crate::workload::{
    Argument, COMMAND, Invocation, Kind, PLACEHOLDERS, Program, Value, WaitMethod, kind,
};
use crate::{Bindings, Scalar, Study, Templated, Tool, fill};
use assay_host::facts::HostFacts;
use assay_record::run_folder::IoClass;
use assay_sys::units::Bytes;

use crate::plan::program::{ASSAY_LOAD, path_of};
use crate::plan::refusal::Refusal;
use crate::plan::trial::{ToolPlan, WorkloadPlan};

/// A workload as the members of a group start it.
#[derive(Clone)]
pub(crate) enum WorkloadTemplate {
    /// The same for every member, but for its name.
    Same(Box<WorkloadPlan>),
    /// The sections of a job file, distributed to members.
    Sections(Vec<Section>),
}

/// The end of sampling ends a repeat, never a tool's own clock; this is how much longer tools run.
const SPARE: Duration = Duration::from_secs(3600);

/// Input for templates of workloads.
pub(crate) struct WorkloadPlanner<'k> {
    pub(crate) study: &'k Study,
    pub(crate) facts: &'k HostFacts,
    pub(crate) factors: &'k Bindings,
}

impl WorkloadPlanner<'_> {
    /// The template of a workload. A preparation ends by itself, so its running time is not set.
    pub(crate) fn template(&self, name: &str, prepares: bool) -> Result<WorkloadTemplate, Refusal> {
        let workload = self.study.workloads.get(name);
        let workload = workload.ok_or_else(|| {
            Refusal::new(format!("unknown workload `{name}`"), "correct the study file")
        })?;
        let run = (!prepares).then(|| self.study.design.at_most + SPARE);
        match &workload.tool {
            Tool::Fio { args } => self.fio(name, args, run),
            Tool::FioJobFile { path, text, section } => {
                let all = sections(text).map_err(|error| {
                    Refusal::new(
                        format!("`{path}`: {error}"),
                        "correct the job file; `fio --parse-only` checks it",
                    )
                })?;
                let is_wanted =
                    |one: &Section| section.as_ref().is_none_or(|name| one.job.name == *name);
                let wanted: Vec<Section> = all.into_iter().filter(is_wanted).collect();
                match wanted.is_empty() {
                    true => Err(Refusal::new(
                        format!(
                            "`{path}` has no section `{}`",
                            section.as_deref().unwrap_or_default()
                        ),
                        "correct `section` in the study file",
                    )),
                    false => Ok(WorkloadTemplate::Sections(wanted)),
                }
            }
            Tool::Kind { name, args } => match kind(name) {
                Some(kind) => self.kind_template(kind, args, run),
                None => Err(Refusal::new(
                    format!("unknown workload kind `{name}`"),
                    "correct `use` in the study file",
                )),
            },
            Tool::Command { words, metrics } => {
                let bindings = self.bindings()?;
                let mut filled = words.iter().map(|word| fill(word, &bindings));
                let program = filled.next().unwrap_or_default();
                let invocation = Invocation {
                    tool: COMMAND.to_owned(),
                    program: path_of(self.facts, &program),
                    words: filled.collect(),
                    metrics: metrics.clone(),
                    wait: WaitMethod::Shell,
                    reports_on_sigint: true,
                };
                Ok(same(of_tool(ToolPlan::Invocation(invocation), IoClass::default(), None)))
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
            job.options.push((option.clone(), Some(fio_text(option, &value))));
        }
        let outlasts = run.filter(|_| !has_end(&job));
        if let Some(run) = outlasts {
            job.set("time_based", "1");
            job.set("runtime", format!("{}s", run.as_secs()));
        }
        Ok(same(WorkloadPlan { until_stopped: outlasts.is_some(), ..of_job(&job) }))
    }

    fn kind_template(
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
        let invocation = Invocation {
            tool: kind.name.to_owned(),
            program,
            words,
            metrics: Vec::new(),
            wait: kind.wait,
            reports_on_sigint: kind.reports_on_sigint,
        };
        let io = IoClass { reads: kind.does_io, writes: kind.does_io, ..IoClass::default() };
        Ok(same(WorkloadPlan {
            until_stopped: run.is_some() && kind.runs_until_stopped(&arguments),
            ..of_tool(ToolPlan::Invocation(invocation), io, kind.threads(&arguments))
        }))
    }

    /// The factors, and placeholders, which are bound to themselves until the run knows their
    /// values. The folder of the study is known now.
    fn bindings(&self) -> Result<Bindings, Refusal> {
        let mut bindings = Bindings::new();
        for name in PLACEHOLDERS {
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
    Refusal::new(why, "`assay check` shows the location")
}

/// The value as text of fio, which has no booleans: `true` is 1. Its `KiB` are 1000 bytes, and it ignores a unit after a
/// blank, so amounts in the units of a study become bytes.
fn fio_text(option: &str, value: &Scalar) -> String {
    let in_bytes = |text: &str| match text.parse::<Bytes>() {
        Ok(bytes) if text.ends_with('B') || text.contains(' ') => bytes.get().to_string(),
        _ => text.to_owned(),
    };
    match value {
        Scalar::Boolean(value) => u8::from(*value).to_string(),
        Scalar::Text(text) if ["bs", "blocksize", "io_size", "filesize"].contains(&option) => {
            text.split(',').map(in_bytes).collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

fn as_argument(value: Scalar) -> Value {
    match value {
        Scalar::Boolean(flag) => Value::Flag(flag),
        other => Value::Text(other.to_string()),
    }
}

/// Whether the study sets an end. A job that ends before the others would end the common window, so
/// any other job runs until it is stopped.
fn has_end(job: &Job) -> bool {
    ["runtime", "loops", "io_size", "number_ios"].iter().any(|option| job.option(option).is_some())
}

fn same(workload: WorkloadPlan) -> WorkloadTemplate {
    WorkloadTemplate::Same(Box::new(workload))
}

fn of_job(job: &Job) -> WorkloadPlan {
    of_tool(ToolPlan::Fio(job.clone()), io_class(job), threads(job))
}

/// A workload without a name.
fn of_tool(tool: ToolPlan, io: IoClass, threads: Option<u32>) -> WorkloadPlan {
    WorkloadPlan {
        name: String::new(),
        tool,
        until_stopped: false,
        io,
        threads,
        taken_over: Vec::new(),
        storage: None,
        creates: None,
        prepare: Vec::new(),
        after: None,
        user: None,
    }
}

impl WorkloadTemplate {
    /// The command that predicts the footprint of a generator, program first: it prints JSON and
    /// creates nothing. `None` if it cannot predict.
    pub(crate) fn prediction_command(&self) -> Option<Vec<String>> {
        match self {
            Self::Same(workload) => workload.prediction_command(),
            Self::Sections(_) => None,
        }
    }

    /// The workload of the `index`-th member of a group; `member` is the member's name, `name` that
    /// of the workload in the trial.
    pub(crate) fn plan(&self, name: String, member: &str, index: usize) -> WorkloadPlan {
        match self {
            Self::Same(workload) => WorkloadPlan { name, ..(**workload).clone() },
            Self::Sections(sections) => {
                let named =
                    sections.iter().find(|section| section.cgroup.as_deref() == Some(member));
                let section = named.unwrap_or(&sections[index % sections.len()]);
                let taken_over = section.taken_over.clone();
                WorkloadPlan { name, taken_over, ..of_job(&section.job) }
            }
        }
    }
}
