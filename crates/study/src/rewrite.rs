//! Rewrites settings in the text of a study file and leaves everything else as its author wrote it.
//!
//! Values are located by the spans of the parser, so comments, order and spaces stay. The result is
//! parsed again and compared: if it does not yield the intended study, the rewrite is refused.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::syntax::{Bindings, Disk, Group, Scalar, Study, Workload};
use crate::template::{Templated, factor_names};

/// A setting that differs between two studies, with its new value.
enum Change<'s> {
    /// The scheduler of a disk.
    Scheduler(&'s str, &'s Templated<String>),
    /// The attributes of a disk's queue, with the former ones.
    Queue(&'s str, &'s Disk, &'s Disk),
    /// A knob of the group of this index.
    Knob(usize, &'s Group, &'s str, &'s [Templated<Scalar>]),
    /// An option of a fio workload, with its former value.
    Fio(&'s str, &'s str, &'s Templated<Scalar>, Option<&'s Templated<Scalar>>),
}

fn changes<'s>(from: &'s Study, to: &'s Study) -> Vec<Change<'s>> {
    let mut changes = Vec::new();
    for (name, disk) in &to.disks {
        let Some(before) = from.disks.get(name) else { continue };
        if let Some(scheduler) = &disk.scheduler
            && before.scheduler != disk.scheduler
        {
            changes.push(Change::Scheduler(name, scheduler));
        }
        if before.queue != disk.queue {
            changes.push(Change::Queue(name, before, disk));
        }
    }
    for (index, (before, group)) in from.groups.iter().zip(&to.groups).enumerate() {
        let knobs = group.knobs.iter().filter(|knob| !before.knobs.contains(knob));
        changes.extend(knobs.map(|(knob, values)| Change::Knob(index, group, knob, values)));
    }
    for (name, workload) in &to.workloads {
        let before = from.workloads.get(name).and_then(Workload::fio);
        let (Some(before), Some(args)) = (before, workload.fio()) else { continue };
        for (option, value) in args.iter().filter(|option| !before.contains(option)) {
            let old = before.iter().find(|(known, _)| known == option).map(|(_, old)| old);
            changes.push(Change::Fio(name, option, value, old));
        }
    }
    changes
}

/// Lines to paste into a study to turn `from` into `to`.
#[must_use]
pub fn lines(from: &Study, to: &Study) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut place = String::new();
    for change in changes(from, to) {
        let (at, line) = match change {
            Change::Scheduler(name, one) => {
                (format!("[disks.{name}]"), format!("scheduler = {}", text(one)))
            }
            Change::Queue(name, _, disk) => {
                (format!("[disks.{name}]"), format!("queue = {}", queue(disk)))
            }
            Change::Knob(_, group, knob, values) => {
                let at = format!("# in the group `{}`", group.name);
                (at, format!("\"{knob}\" = {}", list(values)))
            }
            Change::Fio(name, option, value, _) => {
                lines.push(format!("# in the workload `{name}`"));
                lines.push(format!("{option} = {}", scalar(value)));
                continue;
            }
        };
        if place != at {
            lines.push(at.clone());
            place = at;
        }
        lines.push(line);
    }
    lines
}

/// Changes the text of `from` so that it parses as `to` under the factors of the trial in question.
///
/// # Errors
/// The reason why it cannot be done; the text is then unchanged.
pub fn rewrite(
    text: &str,
    from: &Study,
    to: &Study,
    factors: &Bindings,
    load: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let table = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let root = DeValue::Table(table.into_inner());
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for change in changes(from, to) {
        match change {
            Change::Scheduler(name, one) => {
                edits.push(disk_edit(text, &root, name, "scheduler", self::text(one))?);
            }
            Change::Queue(name, before, disk) => {
                edits.extend(queue_edits(text, &root, name, before, disk)?);
            }
            Change::Knob(index, _, knob, values) => {
                edits.push(knob_edit(text, &root, index, knob, values)?);
            }
            Change::Fio(name, option, value, old) => {
                let through = match old {
                    Some(Templated::Template(old)) => factor_edit(&root, old, &scalar(value)),
                    _ => None,
                };
                let own = || find(&root, &["workloads", name, "args", option]);
                let edit = through.or_else(|| own().map(|(_, span)| (span, scalar(value))));
                edits.push(edit.ok_or_else(|| format!("cannot find `{option}` in the file"))?);
            }
        }
    }
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    edits.dedup();
    let mut changed = text.to_owned();
    for (span, value) in edits {
        changed.replace_range(span, &value);
    }
    verify(&changed, from, to, factors, load)?;
    Ok(changed)
}

/// The value at a path of keys, with its location.
fn find<'d>(root: &'d DeValue<'d>, path: &[&str]) -> Option<(&'d DeValue<'d>, Range<usize>)> {
    let (first, rest) = path.split_first()?;
    let DeValue::Table(table) = root else { return None };
    let (_, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == *first)?;
    match rest {
        [] => Some((value.get_ref(), value.span())),
        rest => find(value.get_ref(), rest),
    }
}

/// The edit of the factor that a template consists of; the template stays.
fn factor_edit(root: &DeValue<'_>, template: &str, value: &str) -> Option<(Range<usize>, String)> {
    let mut names = factor_names(template);
    let name = names.next().filter(|name| template.trim() == format!("{{{name}}}"))?;
    let (_, span) = find(root, &["factors", name])?;
    Some((span, format!("[{value}]")))
}

/// Sets a key of a disk, below its `use` if it is new.
fn disk_edit(
    text: &str,
    root: &DeValue<'_>,
    name: &str,
    key: &str,
    value: String,
) -> Result<(Range<usize>, String), String> {
    if let Some((_, span)) = find(root, &["disks", name, key]) {
        return Ok((span, value));
    }
    let (_, span) = find(root, &["disks", name, "use"])
        .ok_or_else(|| format!("cannot find the disk `{name}` in the file"))?;
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at);
    Ok((end..end, format!("\n{key} = {value}")))
}

/// An attribute that a factor sets keeps its template; the factor is changed instead.
fn queue_edits(
    text: &str,
    root: &DeValue<'_>,
    name: &str,
    before: &Disk,
    disk: &Disk,
) -> Result<Vec<(Range<usize>, String)>, String> {
    let mut edits = Vec::new();
    let mut written = disk.clone();
    for (attribute, value) in &mut written.queue {
        let old = before.queue.iter().find(|(name, _)| name == attribute).map(|(_, old)| old);
        if let (Some(Templated::Template(template)), Templated::Value(new)) = (old, &*value)
            && let Some(edit) = factor_edit(root, template, &literal(new))
        {
            edits.push(edit);
            *value = Templated::Template(template.clone());
        }
    }
    if written.queue != before.queue {
        edits.push(disk_edit(text, root, name, "queue", queue(&written))?);
    }
    Ok(edits)
}

fn knob_edit(
    text: &str,
    root: &DeValue<'_>,
    index: usize,
    knob: &str,
    values: &[Templated<Scalar>],
) -> Result<(Range<usize>, String), String> {
    let DeValue::Array(groups) = find(root, &["groups"]).ok_or("the file has no groups")?.0 else {
        return Err("the groups are not written as [[groups]]".to_owned());
    };
    let group = groups.get(index).ok_or("the file lacks a group")?;
    let (_, span) = find(group.get_ref(), &["knobs", knob])
        .ok_or_else(|| format!("cannot find `{knob}` in the file"))?;
    let is_one = !text[span.clone()].starts_with('[') && values.len() == 1;
    let value = if is_one { scalar(&values[0]) } else { list(values) };
    Ok((span, value))
}

/// Parses the new text and checks that every disk, group and workload is as intended, with the
/// factors as they are in the text.
fn verify(
    changed: &str,
    from: &Study,
    to: &Study,
    factors: &Bindings,
    load: &dyn Fn(&str) -> Result<String, String>,
) -> Result<(), String> {
    let (study, findings) = crate::parse(&from.name, changed, load);
    let Some(study) = study else {
        let why = findings.first().map(|finding| finding.message.clone()).unwrap_or_default();
        return Err(format!("the changed text is not a valid study: {why}"));
    };
    let mut factors_in_text = factors.clone();
    for factor in &study.factors {
        let same = from.factors.iter().any(|before| before == factor);
        if let (false, [value]) = (same, factor.values.as_slice()) {
            factors_in_text.insert(factor.name.clone(), value.clone());
        }
    }
    // What the trial gets, in any order.
    let settled = |study: &Study, factors: &Bindings| {
        let mut settled: Vec<String> = Vec::new();
        for (name, disk) in &study.disks {
            let scheduler = disk.scheduler.as_ref().map(|one| one.resolve(factors));
            settled.push(format!("{name} {scheduler:?} {:?}", resolved(&disk.queue, factors)));
        }
        for group in &study.groups {
            settled.push(format!("{} {:?}", group.name, group.knobs));
        }
        for (name, workload) in &study.workloads {
            let options = workload.fio().map(|args| resolved(args, factors));
            settled.push(format!("{name} {options:?}"));
        }
        settled
    };
    if settled(&study, &factors_in_text) == settled(to, factors) {
        return Ok(());
    }
    Err("the settings cannot be changed without changing other parts of the file".to_owned())
}

fn resolved<'v>(
    values: &'v [(String, Templated<Scalar>)],
    factors: &Bindings,
) -> BTreeMap<&'v str, Result<Scalar, String>> {
    values.iter().map(|(name, value)| (name.as_str(), value.resolve(factors))).collect()
}

fn queue(disk: &Disk) -> String {
    let each = disk.queue.iter().map(|(name, value)| format!("\"{name}\" = {}", scalar(value)));
    let each: Vec<String> = each.collect();
    if each.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", each.join(", ")) }
}

fn list(values: &[Templated<Scalar>]) -> String {
    let values: Vec<String> = values.iter().map(scalar).collect();
    format!("[{}]", values.join(", "))
}

fn text(value: &Templated<String>) -> String {
    match value {
        Templated::Value(text) | Templated::Template(text) => format!("\"{text}\""),
    }
}

fn scalar(value: &Templated<Scalar>) -> String {
    match value {
        Templated::Template(text) => format!("\"{text}\""),
        Templated::Value(value) => literal(value),
    }
}

fn literal(value: &Scalar) -> String {
    match value {
        Scalar::Text(text) => format!("\"{text}\""),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Intervention, combinations, parse, shipped};

    fn no_files(path: &str) -> Result<String, String> {
        Err(format!("no file {path}"))
    }

    fn changed(name: &str, changes: &[Intervention]) -> (Vec<String>, Result<String, String>) {
        let shipped = shipped().iter().find(|study| study.name == name).unwrap();
        let from = parse(shipped.name, shipped.text, &no_files).0.unwrap();
        let factors = combinations(&from).remove(0);
        let mut to = from.clone();
        for change in changes {
            change.apply(&mut to, &factors).unwrap();
        }
        (lines(&from, &to), rewrite(shipped.text, &from, &to, &factors, &no_files))
    }

    fn queue(name: &'static str, attribute: &str, value: &str) -> Intervention {
        Intervention::Queue { name, attribute: attribute.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_changed_study_keeps_comments_and_differs_in_one_line() {
        let change = queue("latency", "iosched/low_latency", "1");
        let (lines, text) = changed("io-weight-scaling", &[change]);
        let queue = "queue = { \"iosched/max_budget\" = \"{budget}\", \"nr_requests\" = \"{requests}\", \"iosched/low_latency\" = 1 }";
        assert_eq!(lines, ["[disks.scratch]", queue]);
        let text = text.unwrap();
        let before = shipped().iter().find(|one| one.name == "io-weight-scaling").unwrap().text;
        let other: Vec<(&str, &str)> =
            before.lines().zip(text.lines()).filter(|(one, other)| one != other).collect();
        assert_eq!(before.lines().count(), text.lines().count());
        assert_eq!(other.len(), 1, "{other:?}");
        assert!(other[0].1.contains("\"iosched/low_latency\" = 1"), "{other:?}");
    }

    #[test]
    fn an_attribute_set_by_a_factor_is_changed_in_the_factor() {
        let (_, text) = changed("io-weight", &[queue("b", "iosched/max_budget", "64")]);
        let text = text.unwrap();
        assert!(text.contains("budget  = [64]"), "{text}");
        assert!(text.contains("\"iosched/max_budget\" = \"{budget}\""), "{text}");
    }

    #[test]
    fn weights_attributes_and_depth_change_together() {
        let changes = [
            Intervention::Weights { times: 1, by: 10 },
            queue("idle", "iosched/slice_idle", "1"),
            Intervention::Depth { name: "iodepth", times: 1, by: 4 },
        ];
        let (lines, text) = changed("io-weight-scaling", &changes);
        let text = text.unwrap();
        for line in ["\"io.weight\" = [10, 20, 40, 80]", "\"iosched/slice_idle\" = 1"] {
            assert!(text.contains(line), "{text}");
            assert!(lines.iter().any(|line| line.contains(line)), "{lines:?}");
        }
        assert!(text.contains("iodepth  = [8]"), "{text}");
    }

    #[test]
    fn a_new_setting_is_added_below_its_disk() {
        let text = "title = \"T\"\n[disks.scratch]\nuse = \"loop\" # here\nsize = \"1 GiB\"\n\
                    scheduler = \"bfq\"\n[[groups]]\nname = \"task\"\ncount = 2\n\
                    knobs = { \"io.weight\" = [100, 200] }\nrun = \"reader\"\n\
                    [workloads.reader]\nuse = \"fio\"\nargs = { rw = \"randread\", direct = 1 }\n\
                    [[promises]]\nmeasure = \"io.bytes\"\nis = \"proportional\"\n\
                    to = \"io.weight\"\nwithin = \"10 %\"\n";
        let from = parse("t", text, &no_files).0.unwrap();
        let mut to = from.clone();
        let factors = Bindings::new();
        queue("r", "nr_requests", "1024").apply(&mut to, &factors).unwrap();
        let changed = rewrite(text, &from, &to, &factors, &no_files).unwrap();
        let expected = "use = \"loop\" # here\nqueue = { \"nr_requests\" = 1024 }\nsize";
        assert!(changed.contains(expected), "{changed}");
    }

    #[test]
    fn a_setting_that_cannot_be_changed_alone_is_refused() {
        let text = "title = \"T\"\n[disks.scratch]\nuse = \"loop\"\nsize = \"1 GiB\"\n\
                    scheduler = \"bfq\"\nqueue.nr_requests = 512\n[[groups]]\nname = \"task\"\n\
                    count = 2\nrun = \"reader\"\n[workloads.reader]\nuse = \"fio\"\n\
                    args = { rw = \"randread\", direct = 1 }\n[[promises]]\n\
                    measure = \"io.bytes\"\nis = \"equal\"\nwithin = \"10 %\"\n";
        let from = parse("t", text, &no_files).0.unwrap();
        let mut to = from.clone();
        let factors = Bindings::new();
        queue("r", "rotational", "0").apply(&mut to, &factors).unwrap();
        let refused = rewrite(text, &from, &to, &factors, &no_files);
        assert!(refused.is_err(), "{refused:?}");
    }
}
