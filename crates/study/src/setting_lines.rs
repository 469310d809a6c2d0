//! The lines that turn one study into another.

use crate::syntax::{Disk, Scalar, Study, Workload};
use crate::template::Templated;

/// Lines to paste into a study to turn `from` into `to`, each place named above its lines.
#[must_use]
pub fn setting_lines(from: &Study, to: &Study) -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |place: String, changed: Vec<String>| {
        if !changed.is_empty() {
            lines.push(place);
            lines.extend(changed);
        }
    };
    for (name, disk) in &to.disks {
        let Some(before) = from.disks.get(name) else { continue };
        let scheduler = disk.scheduler.as_ref().filter(|_| before.scheduler != disk.scheduler);
        let scheduler = scheduler.map(|one| format!("scheduler = {}", text(one)));
        let queue = (before.queue != disk.queue).then(|| format!("queue = {}", queue(disk)));
        add(format!("[disks.{name}]"), scheduler.into_iter().chain(queue).collect());
    }
    for (before, group) in from.groups.iter().zip(&to.groups) {
        let knobs = group.knobs.iter().filter(|knob| !before.knobs.contains(knob));
        let knobs = knobs.map(|(knob, values)| format!("\"{knob}\" = {}", list(values)));
        add(format!("# in the group `{}`", group.name), knobs.collect());
    }
    for (name, workload) in &to.workloads {
        let before = from.workloads.get(name).and_then(Workload::fio);
        let (Some(before), Some(args)) = (before, workload.fio()) else { continue };
        let options = args.iter().filter(|option| !before.contains(option));
        let options = options.map(|(option, value)| format!("{option} = {}", scalar(value)));
        add(format!("# in the workload `{name}`"), options.collect());
    }
    lines
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
        Templated::Template(text) | Templated::Value(Scalar::Text(text)) => format!("\"{text}\""),
        Templated::Value(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Intervention, combinations, parse, shipped};

    fn changed(name: &str, changes: &[Intervention]) -> Vec<String> {
        let shipped = shipped().iter().find(|study| study.name == name).unwrap();
        let no_files = |path: &str| Err(format!("no file {path}"));
        let from = parse(shipped.name, shipped.text, &no_files).0.unwrap();
        let factors = combinations(&from).remove(0);
        let mut to = from.clone();
        for change in changes {
            change.apply(&mut to, &factors).unwrap();
        }
        setting_lines(&from, &to)
    }

    fn queue(name: &'static str, attribute: &str, value: &str) -> Intervention {
        Intervention::Queue { name, attribute: attribute.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn an_attribute_is_added_to_those_of_the_study() {
        let change = queue("latency", "iosched/low_latency", "1");
        let queue = "queue = { \"iosched/max_budget\" = \"{budget}\", \"nr_requests\" = \"{requests}\", \"iosched/low_latency\" = 1 }";
        assert_eq!(changed("io-weight-scaling", &[change]), ["[disks.scratch]", queue]);
        assert!(changed("io-weight-scaling", &[]).is_empty());
    }

    #[test]
    fn each_place_is_named_above_its_lines() {
        let changes = [
            Intervention::Weights { times: 1, by: 10 },
            queue("idle", "iosched/slice_idle", "1"),
            Intervention::Depth { name: "iodepth", times: 1, by: 4 },
        ];
        let lines = changed("io-weight-scaling", &changes);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let ["[disks.scratch]", queue, group, weights, workload, depth] = lines[..] else {
            panic!("{lines:#?}")
        };
        assert!(queue.contains("\"iosched/slice_idle\" = 1"), "{queue}");
        assert!(group.starts_with("# in the group `"), "{group}");
        assert_eq!(weights, "\"io.weight\" = [10, 20, 40, 80]");
        assert!(workload.starts_with("# in the workload `"), "{workload}");
        assert_eq!(depth, "iodepth = 8");
    }
}
