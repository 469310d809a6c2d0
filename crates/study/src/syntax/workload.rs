//! Groups, and what runs in them.

use std::time::Duration;

use assay_units::Bytes;
use assay_workload::{Key, Metric, has_placeholder, kind};

use super::Scalar;
use crate::template::Templated;

/// Placement of a workload, set before its first instruction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Placement {
    /// A [`assay_units::CpuChoice`].
    pub cpus: Option<Templated<String>>,
    /// A [`assay_units::MemoryPolicy`].
    pub memory: Option<Templated<String>>,
    /// One of [`HUGE_PAGE_MODES`].
    pub huge_pages: Option<Templated<String>>,
}

/// Transparent huge pages of a process: as the host gives them, only where it requests them with
/// madvise(2), or none.
pub const HUGE_PAGE_MODES: &[&str] = &["default", "advised", "never"];

/// A control group, or `count` of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name; with a count above 1 the members are `name1`, `name2`, and so on.
    pub name: String,
    /// The number of members.
    pub count: Templated<u32>,
    /// Knobs by v2 name (or v1-only name) with their values, one per member in turn.
    pub knobs: Vec<(String, Vec<Templated<Scalar>>)>,
    /// Names of the workloads that run in it; each member runs its own instance. A name may be a
    /// template, which [`Study::for_trial`] resolves.
    pub run: Vec<String>,
    /// The disk that its workloads use; `None` if the study has exactly one, or none.
    pub disk: Option<String>,
    /// Whether promises include it. A background load is not measured.
    pub measured: bool,
    /// Whether its workloads run outside of all groups of the run.
    pub outside: Templated<bool>,
    /// Placement of its workloads, unless they or inner groups have their own.
    pub place: Option<Placement>,
    /// Groups inside it; each member gets all of them.
    pub groups: Vec<Group>,
}

/// Something that runs in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// What it is.
    pub tool: Tool,
    /// What it writes to its disk, where the tool cannot say it.
    pub creates: Option<Templated<Bytes>>,
    /// Workloads that run to completion in the same group before the common start, in this order.
    pub prepare: Vec<String>,
    /// When it starts, if not at the common start.
    pub after: Option<After>,
    /// The user it runs as; that of Assay if `None`.
    pub user: Option<String>,
    /// Where it runs, if not where its group says.
    pub place: Option<Placement>,
}

/// A start after the common start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// When this workload of the same group has ended.
    Workload(String),
    /// This long after the common start.
    Time(Duration),
}

/// The program of a workload.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// fio with options.
    Fio {
        /// Option name and value, in the order of the file.
        args: Vec<(String, Templated<Scalar>)>,
    },
    /// fio with an existing job file, one section per group.
    FioJobFile {
        /// Its path, relative to the study file.
        path: String,
        /// Its text, as read when the study was loaded.
        text: String,
        /// The only section to run; all of them, one per group, if `None`.
        section: Option<String>,
    },
    /// A kind of the registry (`assay_workload::KINDS`).
    Kind {
        /// Its name.
        name: String,
        /// Keys and values, in the order of the file; an option may be repeated.
        args: Vec<(String, Vec<Templated<Scalar>>)>,
    },
    /// Any program.
    Command {
        /// The program and its arguments, with factors and placeholders such as `{directory}` in
        /// braces.
        words: Vec<String>,
        /// Where its metrics are in its output.
        metrics: Vec<Metric>,
    },
}

impl Workload {
    /// Whether its command line contains a placeholder of the run, such as `directory`.
    #[must_use]
    pub fn uses_placeholder(&self, placeholder: &str) -> bool {
        match &self.tool {
            Tool::Fio { .. } | Tool::FioJobFile { .. } => false,
            Tool::Command { words, .. } => {
                words.iter().any(|word| has_placeholder(word, placeholder))
            }
            Tool::Kind { name, args } => {
                let text = |value: &Templated<Scalar>| match value {
                    Templated::Template(text) => has_placeholder(text, placeholder),
                    Templated::Value(_) => false,
                };
                // A key that is absent may default to a placeholder.
                let absent = |key: &&Key| !args.iter().any(|(name, _)| name == key.name);
                let unless = |key: &&Key| {
                    key.unless.is_some_and(|(other, word)| {
                        let word = Templated::Value(Scalar::Text(word.to_owned()));
                        args.iter().any(|(name, values)| name == other && values.contains(&word))
                    })
                };
                let keys = kind(name).map_or(&[][..], |kind| kind.keys).iter();
                args.iter().any(|(_, values)| values.iter().any(text))
                    || keys
                        .filter(absent)
                        .filter(|key| !unless(key))
                        .filter_map(|key| key.default)
                        .any(|otherwise| has_placeholder(otherwise, placeholder))
            }
        }
    }

    /// The options of fio, unless it has a job file or is another tool.
    #[must_use]
    pub fn fio(&self) -> Option<&[(String, Templated<Scalar>)]> {
        match &self.tool {
            Tool::Fio { args } => Some(args),
            _ => None,
        }
    }
}
