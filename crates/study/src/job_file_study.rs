//! The study of fio job files: each job of a single file, or each of several files, runs in a group with a weight, and
//! the promise is that the disk is divided by these weights.

use std::fmt::Write as _;
use std::time::Duration;

use crate::workload::fio::{Section, sections, uses_disk};
use assay_sys::units::{Bytes, format_duration, parse_duration};

/// The longest window unless the command line says otherwise; a file may say hours.
const AT_MOST: Duration = Duration::from_secs(3);

/// The size of the disk if the jobs do not say how much they need.
const SIZE: &str = "4 GiB";

/// The jobs that share a control group.
struct JobGroup<'s> {
    name: String,
    /// The weight in its file.
    own_weight: Option<&'s str>,
    /// The name beside the study of the file that has its jobs.
    file: &'s str,
    jobs: Vec<(String, &'s Section)>,
}

/// The text of a study that runs the jobs of files side by side, with these weights or those of the files: each job, or
/// with several files each file, has a group. A file is its name beside the study and its text.
///
/// # Errors
/// The reason why there is no such study, and a remedy.
pub fn job_file_study(
    files: &[(String, String)],
    weights: Option<&[u32]>,
) -> Result<String, String> {
    let read = |(file, text): &'_ (String, String)| {
        sections(text).map_err(|error| format!("{file}: {error}"))
    };
    let all = files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut groups: Vec<JobGroup<'_>> = Vec::new();
    for ((file, _), sections) in files.iter().zip(&all) {
        let whole = (files.len() > 1).then(|| file.strip_suffix(".fio").unwrap_or(file));
        add_groups(&mut groups, file, whole, sections)?;
        check_shares(file, sections)?;
    }
    let all: Vec<&Section> = all.iter().flatten().collect();
    let file = &files.iter().map(|(file, _)| file.as_str()).collect::<Vec<_>>().join(", ");
    let weights = weights_of(file, &groups, weights)?;
    let words: Vec<&str> = weights.iter().map(String::as_str).collect();
    let mut study = format!(
        "# Made by Assay from fio job files, which are used unchanged but for what is listed here.\n\n\
         title    = {}\nquestion = {}\n\n[design]\nwarm_up = \"auto\"\nat_most = \"{}\"\n\n{}\n",
        quoted(&format!("I/O weights of the jobs of {file}")),
        quoted(&format!(
            "Do weights {} divide the disk among the jobs of {file}?",
            words.join(":")
        )),
        format_duration(window(&all)),
        disk(&all),
    );
    for (group, weight) in groups.iter().zip(&weights) {
        add_group(&mut study, group, weight);
    }
    study.push_str(
        "[[promises]]\nmeasure = \"io.bytes\"\nis      = \"proportional\"\nto      = \"io.weight\"\n\
         within  = \"10 %\"\n",
    );
    Ok(study)
}

fn add_group(study: &mut String, group: &JobGroup<'_>, weight: &str) {
    let names: Vec<String> = group.jobs.iter().map(|(name, _)| quoted(name)).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        study,
        "[[groups]]\nname  = {}\nknobs = {{ \"io.weight\" = {weight} }}\nrun   = [{}]\n",
        quoted(&group.name),
        names.join(", ")
    );
    for (name, section) in &group.jobs {
        let replaced: Vec<String> =
            section.taken_over.iter().cloned().chain(section.job.targets()).collect();
        if !replaced.is_empty() {
            let _ = writeln!(study, "# Replaced: {}", one_line(&replaced.join(", ")));
        }
        let _ = writeln!(
            study,
            "[workloads.{name}]\nuse     = \"fio\"\njobfile = {}\nsection = {}\n",
            quoted(group.file),
            quoted(&section.job.name)
        );
    }
}

/// Refuses what leaves nothing to promise: jobs without I/O, and jobs that fio couples.
fn check_shares(file: &str, all: &[Section]) -> Result<(), String> {
    let is_set =
        |section: &&Section, name| section.job.option(name).is_some_and(|value| value != "0");
    if let Some(section) = all.iter().find(|section| is_set(section, "create_only")) {
        return Err(format!(
            "{file}: the section `{}` has `create_only`: it does no I/O that weights could divide\n  hint: leave it out; files are laid out \
             before measuring",
            section.job.name
        ));
    }
    if let Some(section) = all.iter().find(|section| !uses_disk(&section.job)) {
        return Err(format!(
            "{file}: `ioengine={}` of `{}` has no I/O on a disk that weights could divide\n  hint: leave the section out",
            section.job.option("ioengine").unwrap_or_default(),
            section.job.name
        ));
    }
    if let Some(section) =
        all.iter().find(|section| is_set(section, "flow")).filter(|_| all.len() > 1)
    {
        return Err(format!(
            "{file}: `flow` of `{}` couples jobs of one fio, and each job has a fio of its own\n  hint: remove `flow`; with it fio, \
             and not the weights, would divide the disk",
            section.job.name
        ));
    }
    Ok(())
}

/// Adds the group `whole`, or one for each `cgroup=` of the file and for each job without one.
fn add_groups<'s>(
    groups: &mut Vec<JobGroup<'s>>,
    file: &'s str,
    whole: Option<&'s str>,
    all: &'s [Section],
) -> Result<(), String> {
    let (mut written, first): (Vec<&str>, usize) = (Vec::new(), groups.len());
    let jobs = groups.iter().flat_map(|group| &group.jobs);
    let mut workloads: Vec<String> = jobs.map(|(name, _)| name.clone()).collect();
    for (index, section) in all.iter().enumerate() {
        let own = section.job.name.as_str();
        if all[..index].iter().any(|before| before.job.name == own) {
            return Err(format!(
                "{file}: two sections are called `{own}`\n  hint: give each section a name of its own"
            ));
        }
        let workload = new_name(own, "_-", &workloads);
        workloads.push(workload.clone());
        let name = whole.or(section.cgroup.as_deref()).unwrap_or(own);
        let weight = section.cgroup_weight.as_deref();
        match written.iter().position(|known| *known == name) {
            Some(at) if weight.is_none() || groups[first + at].own_weight == weight => {
                groups[first + at].jobs.push((workload, section));
            }
            Some(_) => {
                return Err(format!(
                    "{file}: the jobs of the group `{name}` have different weights\n  hint: give them \
                     the same `cgroup_weight`, or each a `cgroup` of its own"
                ));
            }
            None => {
                let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
                written.push(name);
                groups.push(JobGroup {
                    name: new_name(name, "_.-", &names),
                    own_weight: weight,
                    file,
                    jobs: vec![(workload, section)],
                });
            }
        }
    }
    Ok(())
}

/// The weight of each group: those given, or those of the file, where the kernel's default is 100.
fn weights_of(
    file: &str,
    groups: &[JobGroup<'_>],
    given: Option<&[u32]>,
) -> Result<Vec<String>, String> {
    let names = || groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(", ");
    match given {
        Some(given) if given.len() == groups.len() => {
            Ok(in_steps_of_weights(given).iter().map(u32::to_string).collect())
        }
        Some(given) => Err(format!(
            "--weights has {} weights, and {file} has {} groups: {}\n  hint: give one for each, such as \
             `--weights 1:3:5`",
            given.len(),
            groups.len(),
            names()
        )),
        None if groups.iter().all(|group| group.own_weight.is_none()) => Err(format!(
            "{file} has no `cgroup_weight`\n  hint: give the weights of its groups ({}) in this order, such \
             as `--weights 1:3:5`",
            names()
        )),
        None => groups.iter().map(own_weight).collect(),
    }
}

/// A ratio such as 1:3 as weights around the default of 100, as far as BFQ's 1000 allows.
fn in_steps_of_weights(ratio: &[u32]) -> Vec<u32> {
    let (least, most) = ratio
        .iter()
        .fold((100, 1), |(least, most), weight| (least.min(*weight), most.max(*weight)));
    let times = (100 / least.max(1)).min(1000 / most).max(1);
    ratio.iter().map(|weight| weight * times).collect()
}

fn own_weight(group: &JobGroup<'_>) -> Result<String, String> {
    let Some(text) = group.own_weight else { return Ok("100".to_owned()) };
    let weight: u32 = text.parse().map_err(|_| {
        format!(
            "{}: `cgroup_weight={text}` of the group `{}` is no weight\n  hint: write a whole number",
            group.file, group.name
        )
    })?;
    Ok(weight.to_string())
}

/// The `runtime` of the file if it is shorter than what shows a division of a disk.
fn window(all: &[&Section]) -> Duration {
    let of = |section: &&Section| section.job.option("runtime").and_then(runtime);
    let longest =
        all.iter().filter_map(of).max().filter(|length| *length >= Duration::from_secs(1));
    longest.map_or(AT_MOST, |length| length.min(AT_MOST))
}

/// A time as fio writes it: seconds, or a number with a unit of which `m` means minutes.
fn runtime(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let minutes = text.strip_suffix('m').filter(|number| number.parse::<u64>().is_ok());
    parse_duration(&minutes.map_or_else(|| text.to_owned(), |number| format!("{number} min"))).ok()
}

/// A loop disk for the jobs: with a file system, unless all of them name devices.
fn disk(all: &[&Section]) -> String {
    let says_size = |section: &&Section| {
        // A percentage is of the disk itself.
        let is_part = section.job.option("size").is_some_and(|text| text.contains('%'));
        section.job.amount(Bytes::mebi(1)).is_some() && !is_part
    };
    let size = if all.iter().all(says_size) { "auto" } else { SIZE };
    let is_raw = |section: &&Section| {
        section.job.option("filename").is_some_and(|name| name.starts_with("/dev/"))
    };
    let format = if all.iter().all(is_raw) { "none" } else { "ext4" };
    format!(
        "# Instead of it: --disk /dev/x (a blank disk or partition, or with --erase), --disk loop:8G\n\
         [disks.scratch]\nuse       = \"loop\"\nsize      = \"{size}\"\nformat    = \"{format}\"\n\
         scheduler = \"bfq\"\n\
         # No preference for queues that look interactive, and short turns.\n\
         queue     = {{ \"iosched/low_latency\" = 0, \"iosched/max_budget\" = 512 }}\n"
    )
}

/// A name with these characters besides letters and digits, unlike all of `taken`.
fn new_name(written: &str, also: &str, taken: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    let plain: String = written.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let starts_well = plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = if starts_well { plain } else { format!("job{plain}") };
    let mut numbered = (2..).map(|number| format!("{plain}-{number}"));
    let mut name = plain.clone();
    while taken.contains(&name) {
        name = numbered.next().unwrap_or_default();
    }
    name
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A text for a comment.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
