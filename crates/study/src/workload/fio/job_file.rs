//! Existing job files, used as they are.
//!
//! fio's group options fail on current kernels (`blkio.weight` was removed with CFQ in 5.0, and
//! cgroup2 refuses `cgroup_weight`), so Assay applies them itself; all other options are passed to
//! fio unchanged.

use std::fmt;

use super::job::Job;

/// A section of a job file with the options of the `[global]` sections above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The job, without the group options.
    pub job: Job,
    /// Value of `cgroup=`, if the section has one.
    pub cgroup: Option<String>,
    /// Value of `cgroup_weight=`, if the section has one.
    pub cgroup_weight: Option<String>,
    /// The options that Assay applies itself, as written: `cgroup=task1`.
    pub taken_over: Vec<String>,
}

/// A mistake in a job file, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFileError {
    /// 1-based.
    pub line: usize,
    /// The mistake.
    pub message: String,
}

impl fmt::Display for JobFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for JobFileError {}

/// Options about the group of a job rather than its I/O, and those that refer to other sections.
const GROUP_OPTIONS: [&str; 5] =
    ["cgroup", "cgroup_weight", "cgroup_nodelete", "wait_for", "stonewall"];

/// The sections of a job file in order. A `[global]` section applies to all sections after it
/// (fio(1), "Job file format").
pub fn sections(text: &str) -> Result<Vec<Section>, JobFileError> {
    let mut global: Vec<(String, Option<String>)> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = false;
    for (index, line) in text.lines().enumerate() {
        let error_at = |message: String| JobFileError { line: index + 1, message };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.split(']').next().filter(|_| rest.contains(']'));
            let name = name.ok_or_else(|| error_at(format!("`{line}` has no closing `]`")))?.trim();
            in_global = name == "global";
            if !in_global {
                jobs.push(Job { name: name.to_owned(), options: global.clone() });
            }
            continue;
        }
        let option = parse_option(line);
        if option.0 == "read_iolog" {
            let message = "`read_iolog` is not supported: the log names disks of its own";
            return Err(error_at(message.to_owned()));
        }
        match (in_global, jobs.last_mut()) {
            (true, _) => global.push(option),
            (false, Some(job)) => job.options.push(option),
            (false, None) => return Err(error_at(format!("`{line}` is before any section"))),
        }
    }
    if jobs.is_empty() {
        return Err(JobFileError { line: 1, message: "no section besides `[global]`".to_owned() });
    }
    Ok(jobs.into_iter().map(take_over).collect())
}

/// Files that include each other this deep are refused; fio's own examples need two levels.
const MOST_NESTED: usize = 16;

/// Bytes of a job file with all that it includes: a file may include another many times.
const MOST_TEXT: usize = 4 << 20;

/// The text of a job file with each `include FILE` replaced by that file, which is looked for beside the one that includes it (fio(1), "Job
/// file format").
///
/// # Errors
/// A file cannot be read, with the file that includes it and its line; they nest too deep, or are too long.
pub fn with_includes(
    path: &str,
    load: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut text = String::new();
    add(path, load, 0, &mut text)?;
    Ok(text)
}

fn add(
    path: &str,
    load: &dyn Fn(&str) -> Result<String, String>,
    depth: usize,
    text: &mut String,
) -> Result<(), String> {
    let own = load(path)?;
    if text.len() + own.len() > MOST_TEXT {
        return Err(format!("with what it includes it has more than {} MiB", MOST_TEXT >> 20));
    }
    for (index, line) in own.lines().enumerate() {
        let Some(name) = line.trim().strip_prefix("include ").map(str::trim) else {
            text.push_str(line);
            text.push('\n');
            continue;
        };
        if depth == MOST_NESTED {
            return Err(format!("files include each other more than {MOST_NESTED} levels deep"));
        }
        let beside = match path.rsplit_once('/') {
            Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
            _ => name.to_owned(),
        };
        add(&beside, load, depth + 1, text)
            .map_err(|why| format!("{path}: line {}: {why}", index + 1))?;
    }
    Ok(())
}

/// Parses an option. fio ends a value at ` ;` or ` #`, which begin a comment.
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

    /// As the job files of longhorn/kbench.
    #[test]
    fn included_files_stand_beside_those_that_include_them_and_nest() {
        let load = |path: &str| match path {
            "jobs/a.fio" => Ok("[read]\nrw=read\n  include inc/bw.inc\n[write]\n".to_owned()),
            "jobs/inc/bw.inc" => Ok("bs=128k\ninclude all.inc\n".to_owned()),
            "jobs/inc/all.inc" => Ok("direct=1".to_owned()),
            "loop.fio" => Ok("include loop.fio\n".to_owned()),
            "twice.fio" => Ok("include jobs/none\n".to_owned()),
            other => Err(format!("{other}: no such file")),
        };
        let text = with_includes("jobs/a.fio", &load).unwrap();
        assert_eq!(text, "[read]\nrw=read\nbs=128k\ndirect=1\n[write]\n");
        assert!(with_includes("loop.fio", &load).unwrap_err().contains("16 levels"));
        let why = with_includes("twice.fio", &load).unwrap_err();
        assert_eq!(why, "twice.fio: line 1: jobs/none: no such file");
    }

    #[test]
    fn mistakes_have_their_line() {
        assert_eq!(sections("bs=4k\n").unwrap_err().line, 1);
        assert_eq!(sections("[a]\nrw=read\n[b\n").unwrap_err().line, 3);
        assert!(sections("[global]\nbs=4k\n").unwrap_err().message.contains("no section"));
        let log = sections("[a]\nread_iolog=/dev/log\n").unwrap_err();
        assert!(log.line == 2 && log.message.contains("read_iolog"));
    }
}
