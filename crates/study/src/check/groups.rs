//! Groups: counts, names, workloads and knobs.

use assay_host::knob::{Knob, Role};
use assay_sys::diagnostic::Diagnostic;

use super::{Check, Complaint, template_of, when, whole};
use crate::code;
use crate::combination::combinations;
use crate::footprint::{footprint_part, takes_footprint};
use crate::reader::did_you_mean;
use crate::syntax::{Bindings, DiskSource, Format, Group, Scalar, Study, Tool, Workload};
use crate::template::Templated;

/// More groups than this are taken for a mistake; the kernel allows 65535 in one v1 hierarchy.
const MOST_MEMBERS: u32 = 10_000;

/// More groups than this in all trials are taken for a mistake, too: the plan holds each of them.
const MOST_GROUPS: u64 = 100_000;

/// Engines of fio that need no disk.
const DISKLESS_ENGINES: &[&str] = &["null", "cpuio"];

/// Refuses a study whose trials have too many groups.
pub(super) fn too_many(study: &Study) -> Option<Diagnostic> {
    let mut total = 0u64;
    for bindings in combinations(study) {
        total = total.saturating_add(members(&study.groups, &bindings));
        if total > MOST_GROUPS {
            let message = format!("its trials have more than {MOST_GROUPS} groups");
            let finding = Diagnostic::error(code::TOO_LARGE, message);
            return Some(finding.hint("split the study"));
        }
    }
    None
}

/// How many members these groups have, with all those inside.
fn members(groups: &[Group], bindings: &Bindings) -> u64 {
    let count = |group: &Group| {
        let count = u64::from(group.count.resolve(bindings).unwrap_or(1));
        count.saturating_mul(members(&group.groups, bindings).saturating_add(1))
    };
    groups.iter().map(count).fold(0, u64::saturating_add)
}

pub(super) fn groups(check: &mut Check<'_>) {
    let groups = &check.study.groups;
    if groups.is_empty() {
        let finding = Diagnostic::error(code::NO_GROUPS, "the study has no groups")
            .hint("add a [[groups]] table with `name`, `knobs` and `run`");
        check.add_at_the_title("expected a [[groups]] table in this study", finding);
    }
    siblings(check, groups, "groups");
}

fn siblings(check: &mut Check<'_>, groups: &[Group], path: &str) {
    names_differ(check, groups, path);
    for (index, group) in groups.iter().enumerate() {
        let path = format!("{path}[{index}]");
        count(check, group, &path);
        knobs(check, group, &path);
        workloads_exist(check, group, &path);
        disk(check, group, &path);
        placeholders(check, group, &path);
        outside(check, group, &path);
        purpose(check, group, &path);
        siblings(check, &group.groups, &format!("{path}.groups"));
    }
}

fn count(check: &mut Check<'_>, group: &Group, path: &str) {
    let what = format!("`count` of the group `{}`", group.name);
    check.each_value(&group.count, &format!("{path}.count"), &what, |count| {
        (*count == 0 || *count > MOST_MEMBERS).then(|| Complaint {
            code: code::OUT_OF_RANGE,
            message: format!("{what} is {count}"),
            expected: format!("1 to {MOST_MEMBERS}"),
            remedy: format!("write 1 to {MOST_MEMBERS}, or remove the group"),
        })
    });
}

/// Checks that members of different tables have different names: `task` with `count = 4` has a
/// member `task2`.
fn names_differ(check: &mut Check<'_>, groups: &[Group], path: &str) {
    let counts: Vec<&str> = groups.iter().map(|group| template_of(&group.count)).collect();
    if groups.len() < 2 {
        return;
    }
    for bindings in check.combinations_of(&counts) {
        let members: Vec<Members<'_>> =
            groups.iter().map(|group| Members::new(group, &bindings)).collect();
        let shared = members.iter().enumerate().find_map(|(index, later)| {
            let shared = members[..index].iter().find_map(|earlier| earlier.shares(later))?;
            Some((index, shared))
        });
        if let Some((index, name)) = shared {
            let message = format!("two sibling groups are called `{name}`{}", when(&bindings));
            let finding = Diagnostic::error(code::DUPLICATE_GROUP, message)
                .hint("give one of them another `name`");
            check.add_at(&format!("{path}[{index}].name"), "expected another name", finding);
            return;
        }
    }
}

/// The names of a group's members in one trial: `task` alone, or `task1` to `task8`.
struct Members<'g> {
    name: &'g str,
    count: u32,
}

impl<'g> Members<'g> {
    fn new(group: &'g Group, bindings: &Bindings) -> Self {
        Self { name: &group.name, count: group.count.resolve(bindings).unwrap_or(1) }
    }

    /// A name that is in both. Numbers of members ascend, so if any of them is in the other group,
    /// the first one is in one of the two.
    fn shares(&self, other: &Self) -> Option<String> {
        let both_named = !self.name.is_empty() && !other.name.is_empty();
        let name = if other.contains(&self.first()) {
            Some(self.first())
        } else {
            self.contains(&other.first()).then(|| other.first())
        };
        name.filter(|_| both_named)
    }

    fn first(&self) -> String {
        if self.count > 1 { format!("{}1", self.name) } else { self.name.to_owned() }
    }

    fn contains(&self, name: &str) -> bool {
        if self.count <= 1 {
            return name == self.name;
        }
        let number = name.strip_prefix(self.name).filter(|digits| !digits.starts_with(['0', '+']));
        number.and_then(|digits| digits.parse().ok()).is_some_and(|n: u32| n <= self.count)
    }
}

fn workloads_exist(check: &mut Check<'_>, group: &Group, path: &str) {
    for (index, name, bindings) in check.runs_of(group) {
        let workloads = &check.study.workloads;
        if workloads.contains_key(&name) {
            continue;
        }
        let hint = did_you_mean(&name, workloads.keys().map(String::as_str), || {
            format!("add a table [workloads.{name}]")
        });
        let finding = Diagnostic::error(
            code::UNDEFINED_WORKLOAD,
            format!(
                "the group `{}` runs `{name}`{}, which is not defined",
                group.name,
                when(&bindings)
            ),
        )
        .hint(hint);
        check.add_at(&format!("{path}.run[{index}]"), "expected a workload of the study", finding);
    }
}

fn disk(check: &mut Check<'_>, group: &Group, path: &str) {
    let disks = &check.study.disks;
    match &group.disk {
        Some(name) if !disks.contains_key(name) => {
            let hint = did_you_mean(name, disks.keys().map(String::as_str), || {
                format!("add a table [disks.{name}]")
            });
            let finding = Diagnostic::error(
                code::UNDEFINED_DISK,
                format!("the group `{}` uses the disk `{name}`, which is not defined", group.name),
            )
            .hint(hint);
            check.add_at(&format!("{path}.disk"), "expected a disk of the study", finding);
        }
        None if disks.len() != 1 && needs_disk(check, group) => which_disk(check, group, path),
        _ => {}
    }
}

fn which_disk(check: &mut Check<'_>, group: &Group, path: &str) {
    let (message, hint) = if check.study.disks.is_empty() {
        (
            format!("the workloads of the group `{}` need a disk", group.name),
            "add a table [disks.scratch] with `use = \"loop\"` and a `size`",
        )
    } else {
        (
            format!("the group `{}` has no `disk`, and the study has several disks", group.name),
            "add `disk = ...`",
        )
    };
    check.add_at(path, "expected a disk", Diagnostic::error(code::WHICH_DISK, message).hint(hint));
}

fn needs_disk(check: &Check<'_>, group: &Group) -> bool {
    run_in(check, group).iter().any(|workload| match &workload.tool {
        Tool::Fio { args } => !args.iter().any(is_diskless),
        Tool::FioJobFile { .. } => true,
        _ => workload.uses_placeholder("directory") || workload.uses_placeholder("device"),
    })
}

/// The workloads that run in a group, including preparations.
fn run_in<'s>(check: &Check<'s>, group: &Group) -> Vec<&'s Workload> {
    let workloads = &check.study.workloads;
    let names = check.runs_of(group);
    let run: Vec<&Workload> = names.iter().filter_map(|(_, name, _)| workloads.get(name)).collect();
    let prepared = run.iter().flat_map(|workload| &workload.prepare);
    let prepared: Vec<&Workload> = prepared.filter_map(|name| workloads.get(name)).collect();
    run.into_iter().chain(prepared).collect()
}

/// A group whose workloads run outside of all groups cannot be measured.
fn outside(check: &mut Check<'_>, group: &Group, path: &str) {
    let measured = group.measured;
    let what = format!("`outside` of the group `{}`", group.name);
    check.each_value(&group.outside, &format!("{path}.outside"), &what, |outside| {
        (*outside && measured).then(|| Complaint {
            code: code::OUTSIDE_AND_MEASURED,
            message: format!("{what} is true, and the group is measured"),
            expected: "false, or `measured = false`".to_owned(),
            remedy: "add `measured = false`: workloads outside are not counted in any group"
                .to_owned(),
        })
    });
}

/// `{directory}` needs a file system, and `{device}` a disk without one.
fn placeholders(check: &mut Check<'_>, group: &Group, path: &str) {
    let Some((disk_name, disk)) = check.disk_of(group) else { return };
    let uses =
        |name: &str| run_in(check, group).iter().any(|workload| workload.uses_placeholder(name));
    let (directory, device) = (uses("directory"), uses("device"));
    let is_directory = matches!(disk.source, DiskSource::Directory { .. });
    let formats: Vec<Format> = check
        .combinations_of(&[template_of(&disk.format)])
        .iter()
        .filter_map(|bindings| disk.format.resolve(bindings).ok())
        .collect();
    let bare = !is_directory && formats.contains(&Format::None);
    let (message, hint) = if directory && bare {
        (
            format!(
                "the group `{}` needs a directory, but `{disk_name}` has no file system",
                group.name
            ),
            format!("add `format = \"ext4\"` to [disks.{disk_name}]"),
        )
    } else if device && (is_directory || formats.iter().any(|format| *format != Format::None)) {
        (
            format!(
                "the group `{}` needs a bare device, but `{disk_name}` has a file system",
                group.name
            ),
            format!("remove `format` from [disks.{disk_name}], or write `{{directory}}`"),
        )
    } else {
        return;
    };
    let finding = Diagnostic::error(code::NEEDS_A_PLACE, message).hint(hint);
    check.add_at(path, "expected a disk that its workloads can use", finding);
}

fn is_diskless((name, value): &(String, Templated<Scalar>)) -> bool {
    let Templated::Value(Scalar::Text(engine)) = value else { return false };
    name == "ioengine" && DISKLESS_ENGINES.contains(&engine.as_str())
}

fn purpose(check: &mut Check<'_>, group: &Group, path: &str) {
    if group.run.is_empty() && group.groups.is_empty() && group.existing.is_none() {
        let finding = Diagnostic::warning(
            code::IDLE_GROUP,
            format!("the group `{}` runs nothing", group.name),
        )
        .hint("add `run = ...`, or groups inside it");
        check.add_at(path, "expected `run` or [[groups.groups]]", finding);
    }
    if !group.run.is_empty() && !group.groups.is_empty() {
        let finding = Diagnostic::warning(
            code::INNER_PROCESSES,
            format!("the group `{}` has both workloads and groups inside it", group.name),
        )
        .hint(
            "move `run` into an inner group: cgroup v2 allows processes only in \
               groups without children that divide a resource",
        );
        check.add_at(&format!("{path}.run[0]"), "expected workloads in the inner groups", finding);
    }
}

/// The largest weight of BFQ (block/bfq-iosched.h: BFQ_MAX_WEIGHT).
const LARGEST_BFQ_WEIGHT: i64 = 1_000;

/// The largest `io.weight` (Documentation/admin-guide/cgroup-v2.rst).
const LARGEST_IO_WEIGHT: i64 = 10_000;

pub(super) fn knobs(check: &mut Check<'_>, group: &Group, path: &str) {
    for (name, values) in &group.knobs {
        let Some(knob) = assay_host::knob::find(name) else { continue };
        if let Some(finding) = not_settable(knob) {
            let expected = "expected a knob that can be set";
            check.add_at(&format!("{path}.knobs.{name}[0]"), expected, finding);
            continue;
        }
        for (index, value) in values.iter().enumerate() {
            let path = format!("{path}.knobs.{name}[{index}]");
            check.each_value(value, &path, &format!("`{name}`"), |scalar| {
                let text = scalar.to_string();
                if takes_footprint(knob) && footprint_part(&text).is_some() {
                    return None;
                }
                knob.check(&text).err().map(|message| Complaint {
                    code: code::KNOB_VALUE,
                    message,
                    expected: knob.range.to_string(),
                    remedy: format!("write {}", knob.range),
                })
            });
        }
        if name == "io.weight" {
            ladder(check, group, values, &format!("{path}.knobs.{name}"));
        }
    }
}

/// Reports files that are only readings, only trigger an action, or exist only in the root group.
fn not_settable(knob: &Knob) -> Option<Diagnostic> {
    let name = knob.name;
    let (message, hint) = match knob.role {
        Role::Reading => (
            format!("`{name}` is read-only: {}", knob.about),
            "remove it; readings are in the samples of a run",
        ),
        Role::Action => (
            format!("`{name}` triggers an action and holds no value: {}", knob.about),
            "remove it; an action happens once and is not a setting of a group",
        ),
        Role::Setting if knob.is_root_only() => (
            format!("`{name}` exists only in the root group, and groups of a study are below it"),
            "remove it; Assay sets what a study needs there, and the plan shows it",
        ),
        Role::Setting => return None,
    };
    Some(Diagnostic::error(code::NOT_A_SETTING, message).hint(hint))
}

/// `io.weight` goes up to 10000, but BFQ, which may implement it, accepts less.
fn ladder(check: &mut Check<'_>, group: &Group, values: &[Templated<Scalar>], path: &str) {
    let Some((disk_name, disk)) = check.disk_of(group) else { return };
    let Some(scheduler) = &disk.scheduler else { return };
    for (index, value) in values.iter().enumerate() {
        for bindings in check.combinations_of(&[template_of(scheduler), template_of(value)]) {
            if let Some(weight) = not_accepted(scheduler, value, &bindings) {
                let message = format!(
                    "the scheduler bfq does not accept the weight {weight}: its weights \
                     go from 1 to {LARGEST_BFQ_WEIGHT}{}",
                    when(&bindings)
                );
                let mut finding = Diagnostic::error(code::LADDER, message).hint(scaled(values));
                if let Some(span) = check.span(&format!("{path}[{index}]")) {
                    finding = finding.at(span, format!("expected 1 to {LARGEST_BFQ_WEIGHT}"));
                }
                if let Some(span) = check.span(&format!("disks.{disk_name}.scheduler")) {
                    finding = finding.at(span, "the scheduler is chosen here");
                }
                check.findings.push(finding);
                return;
            }
        }
    }
}

/// The weight that BFQ does not accept, if it is the scheduler under this combination. A weight outside
/// the knob's own range has been reported already.
fn not_accepted(
    scheduler: &Templated<String>,
    value: &Templated<Scalar>,
    bindings: &Bindings,
) -> Option<i64> {
    let is_bfq = scheduler.resolve(bindings).ok()? == "bfq";
    let weight = whole(&value.resolve(bindings).ok()?)?;
    (is_bfq && weight > LARGEST_BFQ_WEIGHT && weight <= LARGEST_IO_WEIGHT).then_some(weight)
}

/// The same proportions in smaller numbers, if there are any.
fn scaled(values: &[Templated<Scalar>]) -> String {
    let plain: Option<Vec<i64>> = values
        .iter()
        .map(|value| match value {
            Templated::Value(scalar) => whole(scalar),
            Templated::Template(_) => None,
        })
        .collect();
    let held = |weight: &i64| (1..=LARGEST_IO_WEIGHT).contains(weight);
    let reduced = plain.filter(|ladder| ladder.iter().all(held)).map(|ladder| {
        let divisor = ladder.iter().copied().fold(0, greatest_common_divisor).max(1);
        ladder.iter().map(|weight| weight / divisor).collect::<Vec<_>>()
    });
    match reduced.filter(|ladder| ladder.iter().all(|weight| *weight <= LARGEST_BFQ_WEIGHT)) {
        Some(ladder) => format!("write the same proportions in smaller numbers: {ladder:?}"),
        None => {
            format!("scale all weights to 1 to {LARGEST_BFQ_WEIGHT}, or use another scheduler")
        }
    }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::Members;

    fn shared(left: (&str, u32), right: (&str, u32)) -> Option<String> {
        let members = |(name, count)| Members { name, count };
        members(left).shares(&members(right))
    }

    #[test]
    fn members_collide_only_if_a_name_is_in_both() {
        let groups: Vec<(&str, u32)> = ["a", "a1", "a11", "b", "a0"]
            .into_iter()
            .flat_map(|name| [1, 2, 11, 111].map(|count| (name, count)))
            .collect();
        let names = |(name, count): (&str, u32)| match count {
            1 => vec![name.to_owned()],
            _ => (1..=count).map(|member| format!("{name}{member}")).collect::<Vec<_>>(),
        };
        for left in &groups {
            for right in &groups {
                let collide = names(*left).iter().any(|name| names(*right).contains(name));
                assert_eq!(shared(*left, *right).is_some(), collide, "{left:?} {right:?}");
            }
        }
    }
}
