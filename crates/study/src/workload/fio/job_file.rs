//! Existing job files, used as they are.
//!
//! fio's group options fail on current kernels (`blkio.weight` was removed with CFQ in 5.0, and
//! cgroup2 refuses `cgroup_weight`), so Assay applies them itself; all other options are passed to
//! fio unchanged.

use std::fmt;

use super::class::uses_disk;
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

/// Options about the group of a job, about other jobs or about the report, rather than its I/O.
const GROUP_OPTIONS: [&str; 8] = [
    "cgroup",
    "cgroup_weight",
    "cgroup_nodelete",
    "wait_for",
    "stonewall",
    "startdelay",
    "ioscheduler",
    "unified_rw_reporting",
];

/// Options whose numbers are read here, since room on a disk and the jobs at the start barrier follow from them.
const NUMBERS: [&str; 4] = ["size", "filesize", "nrfiles", "numjobs"];

/// Other names of options that are read here (options.c of fio 3.33).
const ALIASES: [(&str, &str); 3] =
    [("nr_files", "nrfiles"), ("timeout", "runtime"), ("wait_for_previous", "stonewall")];

/// The sections of a job file in order. A section whose name begins with `global` applies to all sections after it
/// (`__parse_jobs_ini` in init.c of fio 3.33).
pub fn sections(text: &str) -> Result<Vec<Section>, JobFileError> {
    let mut global: Vec<(String, Option<String>)> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = false;
    for (index, line) in text.lines().enumerate() {
        let error_at = |message: String| JobFileError { line: index + 1, message };
        let line = without_comment(line);
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']');
            let name = name.ok_or_else(|| error_at(format!("`{line}` has no closing `]`")))?;
            in_global = name.starts_with("global");
            if !in_global {
                jobs.push(Job { name: name.to_owned(), options: global.clone() });
            }
            continue;
        }
        let option = parse_option(line).map_err(error_at)?;
        match (in_global, jobs.last_mut()) {
            // fio takes them back for each job (`get_new_job` in init.c of fio 3.33).
            (true, _) if ["uid", "gid"].contains(&option.0.as_str()) => {}
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

/// Files that a job file includes, also those that it includes many times.
const MOST_FILES: usize = 1000;

/// Bytes of a job file with all that it includes: a file may include another many times.
const MOST_TEXT: usize = 4 << 20;

/// The text of a job file with each `include FILE` replaced by that file, which is looked for beside the one that includes it (fio(1), "Job
/// file format"), and each `${NAME}` by `variable`.
///
/// # Errors
/// A file cannot be read, with the file that includes it and its line; they nest too deep, or are too long; a mistake of
/// [`sections`], with its file and line.
pub fn with_includes(
    path: &str,
    load: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut all = Included::default();
    all.add(path, load, 0)?;
    match sections(&all.text) {
        Ok(_) => Ok(all.text),
        Err(JobFileError { line, message }) => {
            let (file, line) = all.origins.get(line - 1).copied().unwrap_or((0, line));
            let file = all.files.get(file).map_or(path, String::as_str);
            Err(format!("{file}: line {line}: {message}"))
        }
    }
}

/// The text so far, with the file and the line of each of its lines.
#[derive(Default)]
struct Included {
    text: String,
    files: Vec<String>,
    origins: Vec<(usize, usize)>,
}

impl Included {
    fn add(
        &mut self,
        path: &str,
        load: &dyn Fn(&str) -> Result<String, String>,
        depth: usize,
    ) -> Result<(), String> {
        let file = self.files.len();
        if file == MOST_FILES {
            return Err(format!("it includes more than {MOST_FILES} files"));
        }
        self.files.push(path.to_owned());
        let own = load(path)?;
        if self.text.len() + own.len() > MOST_TEXT {
            return Err(format!("with what it includes it has more than {} MiB", MOST_TEXT >> 20));
        }
        for (index, line) in own.lines().enumerate() {
            let at = |why: String| format!("{path}: line {}: {why}", index + 1);
            let read = without_comment(line);
            if depth > 0 && read.starts_with('[') {
                return Err(at("an included file has no sections".to_owned()));
            }
            let Some(name) =
                read.strip_prefix("include").filter(|name| name.starts_with([' ', '\t']))
            else {
                self.text.push_str(line);
                self.text.push('\n');
                self.origins.push((file, index + 1));
                continue;
            };
            if depth == MOST_NESTED {
                return Err(format!(
                    "files include each other more than {MOST_NESTED} levels deep"
                ));
            }
            let name = name.trim();
            let beside = match path.rsplit_once('/') {
                Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
                _ => name.to_owned(),
            };
            self.add(&beside, load, depth + 1).map_err(at)?;
        }
        Ok(())
    }
}

/// The text of a job file with each `${NAME}` replaced, as fio replaces it by its environment.
///
/// # Errors
/// The line of a variable that is not set, for which fio takes an empty text.
pub fn with_variables(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut replaced = String::new();
    for (index, line) in text.lines().enumerate() {
        let has_variable = without_comment(line).contains("${");
        let mut rest = if has_variable { without_comment(line) } else { line };
        while has_variable
            && let Some((before, from)) = rest.split_once("${")
            && let Some((name, after)) = from.split_once('}')
        {
            let refused = |why: &str| format!("line {}: the variable `{name}` {why}", index + 1);
            let value =
                variable(name).ok_or_else(|| refused("is not set; set it in the environment"))?;
            if value.contains(['\n', ';', '#']) {
                return Err(refused("has a comment or several lines"));
            }
            replaced.push_str(before);
            replaced.push_str(&value);
            rest = after;
        }
        replaced.push_str(rest);
        replaced.push('\n');
    }
    Ok(replaced)
}

/// A line as fio reads it: `;` and `#` begin a comment wherever they are.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default().trim()
}

/// Parses an option. Blanks before a value stay, since they count for fio: ` 4k` is 4.
fn parse_option(line: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.to_owned())),
        None => (line, None),
    };
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name);
    if name == "read_iolog" {
        return Err("`read_iolog` is not supported: the log names disks of its own".to_owned());
    }
    if value.as_ref().is_some_and(|text| text.trim().is_empty()) {
        return Err(format!("`{line}` has no value"));
    }
    if let Some(text) = value.as_ref().filter(|_| NUMBERS.contains(&name))
        && in_bytes(name, text, KILO).is_none()
    {
        return Err(format!("`{line}`: write a whole number with a unit, such as 4G"));
    }
    Ok((name.to_owned(), value))
}

/// `kb_base`, unless it is 1000.
const KILO: u64 = 1024;

/// An amount of data without its unit, or a range of `filesize`; a percentage stays. fio reads powers of `kilo` unless
/// the unit ends in `ib`, which means those of the other base (`__get_mult_bytes` in parse.c of fio 3.33).
fn in_bytes(name: &str, text: &str, kilo: u64) -> Option<String> {
    if let Some(percent) = text.strip_suffix('%').filter(|_| name == "size") {
        return percent.parse::<u64>().is_ok().then(|| text.to_owned());
    }
    if let Some((low, high)) = text.split_once(['-', ':']).filter(|_| name == "filesize") {
        return Some(format!("{}-{}", in_bytes("", low, kilo)?, in_bytes("", high, kilo)?));
    }
    let digits = text.trim_start();
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = digits[..digits.len() - unit.len()].parse().ok()?;
    if digits != text && !unit.is_empty() {
        return None;
    }
    let unit = unit.to_ascii_lowercase();
    let power = match unit.chars().next() {
        None => 0,
        Some(first) => u32::try_from("bkmgtp".find(first)?).ok()?,
    };
    let other = if kilo == KILO { 1000 } else { KILO };
    let base: u64 =
        if unit.get(1..).is_some_and(|end| end.starts_with("ib")) { other } else { kilo };
    let bytes = base.pow(power).checked_mul(number)?;
    // The most that amounts of data have here.
    (bytes <= 1 << 53).then(|| bytes.to_string())
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
    let kilo = if job.option("kb_base") == Some("1000") { 1000 } else { KILO };
    for (name, value) in &mut job.options {
        if let Some(text) = value.as_mut().filter(|_| NUMBERS.contains(&name.as_str())) {
            *text = in_bytes(name, text, kilo).unwrap_or_default();
        }
    }
    match job.option("size") {
        Some(size) if size.ends_with('%') => taken_over.push(format!("size={size}")),
        None if job.option("filesize").is_none() && uses_disk(&job) => {
            taken_over.push("no size".to_owned());
        }
        _ => {}
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
        assert_eq!(
            second.taken_over,
            ["cgroup=task2", "cgroup_weight=200", "cgroup_nodelete=1", "no size"]
        );
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
        let doubled = |path: &str| match path.parse::<u32>().unwrap() {
            15 => Ok(String::new()),
            level => Ok(format!("include {0}\ninclude {0}\n", level + 1)),
        };
        assert!(with_includes("0", &doubled).unwrap_err().contains("more than 1000 files"));
        let why = with_includes("twice.fio", &load).unwrap_err();
        assert_eq!(why, "twice.fio: line 1: jobs/none: no such file");
    }

    #[test]
    fn mistakes_have_their_line() {
        assert_eq!(sections("bs=4k\n").unwrap_err().line, 1);
        assert_eq!(sections("[a]\nrw=read\n[b\n").unwrap_err().line, 3);
        assert!(sections("[global]\nbs=4k\n").unwrap_err().message.contains("no section"));
        let included = |text: &str| {
            let load = |path: &str| {
                Ok(if path == "a.fio" { "# a\n[a]\ninclude b\n" } else { text }.to_owned())
            };
            with_includes("a.fio", &load).unwrap_err()
        };
        assert!(
            included("bs=4k\nsize=x\n").starts_with("b: line 2: `size=x`: write a whole number")
        );
        assert_eq!(included("[b]\n"), "a.fio: line 3: b: line 1: an included file has no sections");
        assert_eq!(sections("[a]\nfilename=\n").unwrap_err().message, "`filename=` has no value");
        let log = sections("[a]\nread_iolog=/dev/log\n").unwrap_err();
        assert!(log.line == 2 && log.message.contains("read_iolog"));
    }

    fn only(text: &str) -> Section {
        sections(text).unwrap().pop().unwrap()
    }

    /// Written by `__parse_jobs_ini` and `strip_blank_end` in fio 3.33.
    #[test]
    fn comments_names_and_blanks_are_those_of_fio() {
        let one =
            only("[global-defaults] ; all\nuid=1\nbs=8k;8\n[a b]#c\nrw= read # x\nnr_files = 3\n");
        assert_eq!(one.job.name, "a b");
        assert_eq!((one.job.option("bs"), one.job.option("rw")), (Some("8k"), Some("read")));
        assert_eq!(one.job.to_job_file(), "[a b]\nbs=8k\nrw= read\nnrfiles=3\n");
    }

    /// fio 3.33 with `size=1GiB` and the null engine writes 10^9 bytes.
    #[test]
    fn units_are_those_of_fio_and_not_those_of_the_standard() {
        let size = |text: &str| {
            let sections = sections(&format!("[a]\nsize={text}\n"));
            sections.ok().map(|all| all[0].job.option("size").unwrap().to_owned())
        };
        for (text, bytes) in [
            ("4096", "4096"),
            ("1GiB", "1000000000"),
            ("1GB", "1073741824"),
            ("2Gi", "2147483648"),
            ("1g", "1073741824"),
            ("512b", "512"),
            ("30%", "30%"),
        ] {
            assert_eq!(size(text).as_deref(), Some(bytes), "{text}");
        }
        for text in
            ["", " 1G", "1.5G", "8*1024", "10*$mb_memory", "${SIZE}", "x%", "64P", "(2*3)", "3z"]
        {
            assert_eq!(size(text), None, "{text}");
        }
        let true_units = only("[a]\nkb_base=1000\nsize=1GB\nfilesize=1KiB-2k\n").job;
        assert_eq!(true_units.option("size"), Some("1000000000"));
        assert_eq!(true_units.option("filesize"), Some("1024-2000"));
    }

    #[test]
    fn what_concerns_other_jobs_or_the_disk_is_taken_over() {
        let one = only("[a]\nstartdelay=5\nwait_for_previous\nioscheduler=none\nsize=1%\n");
        assert_eq!(one.taken_over, ["stonewall=1", "startdelay=5", "ioscheduler=none", "size=1%"]);
        assert_eq!(only("[a]\nbs=4k\n").taken_over, ["no size"]);
        assert!(only("[a]\nioengine=cpuio\n[b]\nfilesize=1k\n").taken_over.is_empty());
    }

    #[test]
    fn variables_are_replaced_outside_of_comments() {
        let variable = |name: &str| match name {
            "SIZE" => Some("64m".to_owned()),
            "BAD" => Some("1\nrw=write".to_owned()),
            _ => None,
        };
        let text = with_variables("[a] # ${NONE}\nsize=${SIZE};${NONE}\nbs=$pagesize\n", &variable);
        assert_eq!(text.unwrap(), "[a] # ${NONE}\nsize=64m\nbs=$pagesize\n");
        for (name, why) in
            [("BAD", "has a comment or several lines"), ("NONE", "is not set; set it")]
        {
            let said = with_variables(&format!("[a]\nsize=${{{name}}}\n"), &variable).unwrap_err();
            assert!(said.starts_with(&format!("line 2: the variable `{name}` {why}")), "{said}");
        }
    }
}
