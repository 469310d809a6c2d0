//! Existing job files, taken as they are.
//!
//! The group options of fio fail on today's kernels (`blkio.weight` went with CFQ in 5.0, and
//! under cgroup2 `cgroup_weight` is refused), so Assay takes them over; everything else in the
//! file is fio's business and is passed on untouched.

use std::fmt;

use super::job::Job;

/// A section of a job file with the options of `[global]` sections above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The job, without the group options.
    pub job: Job,
    /// Value of `cgroup=`, where the section has one.
    pub cgroup: Option<String>,
    /// Value of `cgroup_weight=`, where the section has one.
    pub cgroup_weight: Option<String>,
    /// What was taken out, as written: `cgroup=task1`.
    pub taken_over: Vec<String>,
}

/// A job file that cannot be read, with the line at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFileError {
    /// 1-based.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for JobFileError {}

/// Options that describe the group of a job and not its I/O.
const GROUP_OPTIONS: [&str; 3] = ["cgroup", "cgroup_weight", "cgroup_nodelete"];

/// The sections of a job file in order. A `[global]` section applies to all sections after it
/// (fio(1), "Job file format").
pub fn sections(text: &str) -> Result<Vec<Section>, JobFileError> {
    let mut global: Vec<(String, Option<String>)> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = false;
    for (index, line) in text.lines().enumerate() {
        let wrong = |message: String| JobFileError { line: index + 1, message };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split(']').next().filter(|_| rest.contains(']'));
            let name = name.ok_or_else(|| wrong(format!("`{line}` lacks its `]`")))?.trim();
            in_global = name == "global";
            if !in_global {
                jobs.push(Job { name: name.to_owned(), options: global.clone() });
            }
            continue;
        }
        if line.split_whitespace().next() == Some("include") {
            return Err(wrong("`include` is not supported; paste the included file".to_owned()));
        }
        let option = parse_option(line);
        match (in_global, jobs.last_mut()) {
            (true, _) => global.push(option),
            (false, Some(job)) => job.options.push(option),
            (false, None) => return Err(wrong(format!("`{line}` stands before any section"))),
        }
    }
    if jobs.is_empty() {
        return Err(JobFileError { line: 1, message: "no section besides `[global]`".to_owned() });
    }
    Ok(jobs.into_iter().map(take_over).collect())
}

/// fio ends a value at ` ;` or ` #`, where a comment begins.
fn parse_option(line: &str) -> (String, Option<String>) {
    let line = [" ;", " #"]
        .iter()
        .filter_map(|mark| line.find(mark))
        .min()
        .map_or(line, |end| &line[..end]);
    match line.split_once('=') {
        Some((name, value)) => (name.trim().to_owned(), Some(value.trim().to_owned())),
        None => (line.trim().to_owned(), None),
    }
}

fn take_over(mut job: Job) -> Section {
    let value = |job: &Job, name| job.option(name).map(str::to_owned);
    let cgroup = value(&job, "cgroup");
    let cgroup_weight = value(&job, "cgroup_weight");
    let mut taken_over = Vec::new();
    for option in GROUP_OPTIONS {
        if let Some(value) = value(&job, option) {
            job.remove(option);
            taken_over.push(format!("{option}={value}"));
        }
    }
    Section { job, cgroup, cgroup_weight, taken_over }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THESIS: &str = "\
[global]
bs=4k
ioengine=libaio
time_based
cgroup_nodelete=1   ; keep the groups

[task1]
directory=/mnt/task1
cgroup=task1

# the second
[task2]
directory=/mnt/task2
cgroup=task2
cgroup_weight=200
";

    #[test]
    fn each_section_inherits_the_global_options_and_loses_the_group_options() {
        let sections = sections(THESIS).unwrap();
        assert_eq!(sections.len(), 2);
        let second = &sections[1];
        assert_eq!(second.job.name, "task2");
        assert_eq!(second.job.option("bs"), Some("4k"));
        assert_eq!(second.job.option("time_based"), Some("1"));
        assert_eq!(second.cgroup.as_deref(), Some("task2"));
        assert_eq!(second.cgroup_weight.as_deref(), Some("200"));
        assert_eq!(second.taken_over, ["cgroup=task2", "cgroup_weight=200", "cgroup_nodelete=1"]);
        assert!(!second.job.to_job_file().contains("cgroup"));
    }

    #[test]
    fn mistakes_name_their_line() {
        assert_eq!(sections("bs=4k\n").unwrap_err().line, 1);
        assert_eq!(sections("[a]\nrw=read\n[b\n").unwrap_err().line, 3);
        assert!(sections("[global]\nbs=4k\n").unwrap_err().message.contains("no section"));
        assert!(sections("[a]\ninclude other.fio\n").unwrap_err().message.contains("include"));
    }
}
