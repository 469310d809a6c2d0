//! Rewrites settings in the text of a study file and leaves everything else as its author wrote it.
//!
//! Values are located by the spans of the parser, so comments, order and spaces stay. The result is
//! parsed again and compared: if it does not yield the intended study, the rewrite is refused.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::syntax::{Bindings, Disk, Group, Scalar, Study, Tool};
use crate::template::{Templated, factor_names};

/// Lines to paste into a study to turn `from` into `to`.
#[must_use]
pub fn lines(from: &Study, to: &Study) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, disk) in &to.disks {
        let Some(before) = from.disks.get(name).filter(|before| *before != disk) else { continue };
        lines.push(format!("[disks.{name}]"));
        if before.scheduler != disk.scheduler {
            lines.extend(disk.scheduler.as_ref().map(|one| format!("scheduler = {}", text(one))));
        }
        if before.queue != disk.queue {
            lines.push(format!("queue = {}", queue(disk)));
        }
    }
    for (before, group) in from.groups.iter().zip(&to.groups).filter(|(one, other)| one != other) {
        lines.push(format!("# in the group `{}`", group.name));
        for (knob, values) in group.knobs.iter().filter(|knob| !before.knobs.contains(knob)) {
            lines.push(format!("\"{knob}\" = {}", list(values)));
        }
    }
    for (name, workload) in &to.workloads {
        let (Some(Tool::Fio { args: before }), Tool::Fio { args }) =
            (from.workloads.get(name).map(|before| &before.tool), &workload.tool)
        else {
            continue;
        };
        for (option, value) in args.iter().filter(|option| !before.contains(option)) {
            lines.push(format!("# in the workload `{name}`"));
            lines.push(format!("{option} = {}", scalar(value)));
        }
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
    for (name, disk) in &to.disks {
        let Some(before) = from.disks.get(name).filter(|before| *before != disk) else { continue };
        edits.extend(disk_edits(text, &root, name, before, disk)?);
    }
    edits.extend(weight_edits(text, &root, &from.groups, &to.groups)?);
    edits.extend(depth_edits(&root, from, to)?);
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

fn disk_edits(
    text: &str,
    root: &DeValue<'_>,
    name: &str,
    before: &Disk,
    disk: &Disk,
) -> Result<Vec<(Range<usize>, String)>, String> {
    let mut edits = Vec::new();
    let mut set = |key: &str, value: String| -> Result<(), String> {
        if let Some((_, span)) = find(root, &["disks", name, key]) {
            edits.push((span, value));
            return Ok(());
        }
        let (_, span) = find(root, &["disks", name, "use"])
            .ok_or_else(|| format!("cannot find the disk `{name}` in the file"))?;
        let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at);
        edits.push((end..end, format!("\n{key} = {value}")));
        Ok(())
    };
    if before.scheduler != disk.scheduler
        && let Some(scheduler) = &disk.scheduler
    {
        set("scheduler", self::text(scheduler))?;
    }
    if before.queue == disk.queue {
        return Ok(edits);
    }
    // An attribute that a factor sets keeps its template; the factor is changed instead.
    let mut written = disk.clone();
    let mut through = Vec::new();
    for (attribute, value) in &mut written.queue {
        let old = before.queue.iter().find(|(name, _)| name == attribute).map(|(_, old)| old);
        if let (Some(Templated::Template(template)), Templated::Value(new)) = (old, &*value)
            && let Some(edit) = factor_edit(root, template, &literal(new))
        {
            through.push(edit);
            *value = Templated::Template(template.clone());
        }
    }
    if written.queue != before.queue {
        set("queue", queue(&written))?;
    }
    edits.extend(through);
    Ok(edits)
}

fn weight_edits(
    text: &str,
    root: &DeValue<'_>,
    from: &[Group],
    to: &[Group],
) -> Result<Vec<(Range<usize>, String)>, String> {
    let mut edits = Vec::new();
    for (index, (before, group)) in from.iter().zip(to).enumerate() {
        for (knob, values) in group.knobs.iter().filter(|knob| !before.knobs.contains(knob)) {
            let DeValue::Array(groups) = find(root, &["groups"]).ok_or("the file has no groups")?.0
            else {
                return Err("the groups are not written as [[groups]]".to_owned());
            };
            let group = groups.get(index).ok_or("the file lacks a group")?;
            let (_, span) = find(group.get_ref(), &["knobs", knob])
                .ok_or_else(|| format!("cannot find `{knob}` in the file"))?;
            let one = !text[span.clone()].starts_with('[') && values.len() == 1;
            let value = if one { scalar(&values[0]) } else { list(values) };
            edits.push((span, value));
        }
    }
    Ok(edits)
}

fn depth_edits(
    root: &DeValue<'_>,
    from: &Study,
    to: &Study,
) -> Result<Vec<(Range<usize>, String)>, String> {
    let mut edits = Vec::new();
    for (name, workload) in &to.workloads {
        let (Some(before), Some(args)) =
            (from.workloads.get(name).and_then(|before| before.fio()), workload.fio())
        else {
            continue;
        };
        for (option, value) in args.iter().filter(|option| !before.contains(option)) {
            let old = before.iter().find(|(known, _)| known == option).map(|(_, old)| old);
            let through = match old {
                Some(Templated::Template(old)) => factor_edit(root, old, &scalar(value)),
                _ => None,
            };
            let edit = through.or_else(|| {
                let (_, span) = find(root, &["workloads", name, "args", option])?;
                Some((span, scalar(value)))
            });
            edits.push(edit.ok_or_else(|| format!("cannot find `{option}` in the file"))?);
        }
    }
    Ok(edits)
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
    let disks = |study: &Study, factors: &Bindings| -> Vec<String> {
        let disks = study.disks.iter();
        disks
            .map(|(name, disk)| {
                let scheduler = disk.scheduler.as_ref().map(|one| one.resolve(factors));
                let queue: std::collections::BTreeMap<_, _> = disk
                    .queue
                    .iter()
                    .map(|(attribute, value)| (attribute, value.resolve(factors)))
                    .collect();
                format!("{name} {scheduler:?} {queue:?}")
            })
            .collect()
    };
    let knobs = |study: &Study| {
        let groups = study.groups.iter();
        groups.map(|group| (group.name.clone(), group.knobs.clone())).collect::<Vec<_>>()
    };
    let options = |study: &Study, factors: &Bindings| -> Vec<String> {
        let all = study.workloads.iter().filter_map(|(name, one)| Some((name, one.fio()?)));
        all.map(|(name, args)| {
            let args: std::collections::BTreeMap<_, _> =
                args.iter().map(|(option, value)| (option, value.resolve(factors))).collect();
            format!("{name} {args:?}")
        })
        .collect()
    };
    let same = disks(&study, &factors_in_text) == disks(to, factors)
        && knobs(&study) == knobs(to)
        && options(&study, &factors_in_text) == options(to, factors);
    if same {
        return Ok(());
    }
    Err("the settings cannot be changed without changing other parts of the file".to_owned())
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
