//! What the unit files of the host itself ask for, against the files of the units' groups.

use std::collections::BTreeMap;

use assay_host::facts::owner::{Owner, unit_of_system};
use assay_host::knob::{Limit, limit, weight};

use super::unit::{FORMER, Unit};
use super::wanted::Wanted;
use super::{Asked, Row, Standing, Target, row};
use crate::finding::Reading;
use crate::found::{Became, Found};
use crate::host::{Host, Scope};
use crate::owner;
use crate::snapshot::Snapshot;
use crate::tree::Node;

/// Beyond so many no more units are compared, in a made-up snapshot: each repeats the paths of its group and file.
const MOST: usize = 10_000;

/// Settings of installed units that do not stand in files.
pub(crate) fn installed(host: &Host) -> Vec<(Became, Found)> {
    let mut found = Vec::new();
    for (name, path) in groups(host) {
        let Some(files) = host.snapshot.units.get(name) else { continue };
        let unit = Unit::installed(name, files);
        let held = Held { host, path, unit: &unit };
        let startup: BTreeMap<String, Asked> =
            unit.at_startup().asked(host).into_iter().map(|one| (key(&one), one)).collect();
        let ordinary = unit.asked(host);
        for asked in &ordinary {
            found.extend(held.became(asked, startup.get(&key(asked))));
        }
        let has_ordinary = |of: &str| ordinary.iter().any(|asked| key(asked) == of);
        let alone = startup.iter().filter(|(key, _)| !has_ordinary(key));
        found.extend(alone.filter_map(|(_, asked)| held.at_startup(asked, None)));
        if found.len() > MOST {
            break;
        }
    }
    found
}

/// What the files of the unit that owns a group ask for, each row with the file that says it. What systemd rounds is kept.
#[must_use]
pub fn asked_by_unit(snapshot: &Snapshot, group: &str) -> Vec<(Row, String)> {
    let host = Host::new(snapshot);
    let name = groups(&host).into_iter().find_map(|(name, path)| (path == group).then_some(name));
    let Some((name, files)) = name.and_then(|name| snapshot.units.get_key_value(name)) else {
        return Vec::new();
    };
    let unit = Unit::installed(name, files);
    let held = Held { host: &host, path: group, unit: &unit };
    let startup: Vec<Asked> = unit.at_startup().asked(&host);
    let mut rows = Vec::new();
    for asked in unit.asked(&host) {
        let at_startup = startup.iter().find(|one| key(one) == key(&asked));
        let mut row = row(&host, group, &asked);
        if held.became(&asked, at_startup).is_none_or(|(became, _)| became == Became::AtStartup)
            && row.standing == Standing::Differs
        {
            row.standing = Standing::Kept;
        }
        rows.push((row, held.origin(&asked, "").file));
    }
    rows
}

/// The group of each unit of the system's manager: only slices are above it. None if several are called so, which systemd does not make.
fn groups<'h>(host: &'h Host) -> BTreeMap<&'h str, &'h str> {
    let mut found: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    if host.snapshot.units.is_empty() {
        return BTreeMap::new();
    }
    for node in host.groups(Scope::All) {
        let path = node.path();
        let name = unit_of_system(path).filter(|name| host.snapshot.units.contains_key(*name));
        let Some(name) = name else { continue };
        // A user's own groups may have any name.
        if !matches!(owner::unnamed(host.snapshot, path), Some(Owner::Unit { .. })) {
            continue;
        }
        let one = found.entry(name).or_insert(Some(path));
        if *one != Some(path) {
            *one = None;
        }
    }
    found.into_iter().filter_map(|(name, path)| Some((name, path?))).collect()
}

/// `CPUWeight`.
fn key(asked: &Asked) -> String {
    asked.setting.split_once('=').map_or(asked.setting.as_str(), |(key, _)| key).to_owned()
}

/// Whether nothing was asked for but what a new group has on cgroup2.
fn is_of_new_group(asked: &Asked) -> bool {
    let Target::File { name, wanted, .. } = &asked.v2 else { return false };
    assay_host::knob::is_of_new_group(name, &wanted.to_string()) == Some(true)
}

/// A unit and its group.
struct Held<'h, 's> {
    host: &'h Host<'s>,
    path: &'h str,
    unit: &'h Unit,
}

impl Held<'_, '_> {
    fn became(&self, asked: &Asked, startup: Option<&Asked>) -> Option<(Became, Found)> {
        let Some(tree) = self.host.tree_of(asked.controller) else {
            let why = self.host.why_off(asked.controller).filter(|_| !is_of_new_group(asked))?;
            let origin = self.origin(asked, "");
            let sentence = format!("{} of its unit was never applied: {why}", origin.value);
            return Some((Became::Off, Found::of_group(self.path, origin, sentence)));
        };
        let is_v2 = tree.hierarchy.is_v2;
        let target = if is_v2 { &asked.v2 } else { &asked.v1 };
        let origin = self.origin(asked, "");
        let of_group = |sentence| Found::of_group(self.path, origin.clone(), sentence);
        let (file, how) = match target {
            Target::File { name, how, .. } => (*name, how),
            Target::Nowhere(_) => {
                let sentence = format!(
                    "{} of its unit was never applied: {} is on a v1 hierarchy here, where systemd does not write it",
                    origin.value, asked.controller
                );
                let found = || (Became::NeverApplied, of_group(sentence));
                return (!is_of_new_group(asked)).then(found);
            }
            Target::Unknown(_) | Target::Below(_) => return None,
        };
        let row = row(self.host, self.path, asked);
        let (Standing::Differs, Some(node)) = (&row.standing, tree.node(self.path)) else {
            return None;
        };
        let is_former = is_v2 && FORMER.iter().any(|(former, _)| *former == key(asked));
        let Some(text) = node.text(file) else {
            const CONTROLLERS: &str = "cgroup.controllers";
            let lacks = node.lists(CONTROLLERS, asked.controller) == Some(false);
            let sentence = format!(
                "{} of its unit file stands nowhere: {} is not enabled for the group",
                origin.value, asked.controller
            );
            let disabled = || self.is_disabled_above(asked.controller).then_some(DISABLED);
            let found = || of_group(sentence).and(node.reading(CONTROLLERS)).remedied(disabled());
            let found = || (Became::Differs, found());
            return (is_v2 && !is_former && lacks && !is_of_new_group(asked)).then(found);
        };
        // The memory of a virtual machine grows and shrinks, and in a container systemd takes parts of the container's limit.
        let is_part_of_memory = asked.controller == "memory" && asked.setting.ends_with('%');
        let is_ignored = is_former && assay_host::knob::is_of_new_group(file, text) == Some(true);
        if is_part_of_memory || is_ignored || is_rounding(target, asked, file, text) {
            return None;
        }
        if let Some(found) = startup.and_then(|one| self.at_startup(one, Some(asked))) {
            return Some(found);
        }
        let how = if how.is_empty() { String::new() } else { format!(" ({how})") };
        let sentence = format!(
            "{file} {} differs from its unit file: {} would be {}{how}",
            shown(node, file),
            origin.value,
            row.expected.unwrap_or_default()
        );
        let refused = refused(node, target);
        let why = refused.as_ref().map(|used| format!("; v1 refuses a limit below {}", used.file));
        let sentence = sentence + &why.unwrap_or_default();
        let remedy = refused.is_some().then_some(BELOW_USE);
        let found = Found::new(node, &[file], sentence).and(origin).and_all(refused);
        Some((Became::Differs, found.remedied(remedy)))
    }

    /// Whether a unit whose group is above keeps a controller from those below.
    fn is_disabled_above(&self, controller: &str) -> bool {
        let units = self.path.split('/').filter_map(|name| self.host.snapshot.units.get(name));
        let mut lines = units.flatten().flat_map(|file| &file.settings);
        lines.any(|line| {
            let list = line.strip_prefix("DisableControllers=").unwrap_or_default();
            list.split_whitespace().any(|name| name == controller)
        })
    }

    /// A setting for the start that stands in the file.
    fn at_startup(&self, startup: &Asked, ordinary: Option<&Asked>) -> Option<(Became, Found)> {
        let tree = self.host.tree_of(startup.controller)?;
        let target = if tree.hierarchy.is_v2 { &startup.v2 } else { &startup.v1 };
        let Target::File { name: file, .. } = target else { return None };
        let node = tree.node(self.path)?;
        // Without another one the group goes back to what a new group has.
        let is_other = ordinary.is_some() || node.is_set(file);
        if row(self.host, self.path, startup).standing != Standing::Kept || !is_other {
            return None;
        }
        let otherwise = ordinary.map(|asked| format!("{} otherwise", asked.setting));
        let origin = self.origin(startup, "Startup");
        let sentence = format!(
            "{file} {} is that of {}, for while systemd starts or stops; its unit has {}",
            shown(node, file),
            origin.value,
            otherwise.as_deref().unwrap_or("nothing else")
        );
        Some((Became::AtStartup, Found::new(node, &[file], sentence).and(origin)))
    }

    /// The unit's file with the setting, `CPUWeight=400`.
    fn origin(&self, asked: &Asked, before: &str) -> Reading {
        let origin = self.unit.origin(&format!("{before}{}", key(asked))).unwrap_or_default();
        Reading::new(origin, format!("{before}{}", asked.setting))
    }
}

const DISABLED: &str =
    "take the controller out of DisableControllers= of the slice above, then daemon-reload";

const BELOW_USE: &str = "free memory of the group first (memory.force_empty, or a restart): the kernel refuses a limit below the use \
                         (EBUSY), so that a daemon-reload fails again";

/// What a group of v1 uses, if that is more than the limit that is wanted.
fn refused(node: Node, target: &Target) -> Option<Reading> {
    const USED: &str = "memory.usage_in_bytes";
    let Target::File { name: "memory.limit_in_bytes", wanted: Wanted::Bytes(bytes), .. } = target
    else {
        return None;
    };
    (node.number(USED)? > *bytes).then(|| node.reading(USED))
}

/// A value for a sentence.
fn shown(node: Node, file: &str) -> String {
    const MOST: usize = 200;
    let text = node.text(file).unwrap_or_default().replace('\n', ", ");
    if text.is_empty() { "(empty)".to_owned() } else { text.chars().take(MOST).collect() }
}

/// One percent of a CPU in the usual period, in microseconds.
const PERCENT_OF_CPU: u64 = 1000;

/// Whether what differs is what systemd has rounded or, before v250, translated otherwise: `set-property` keeps whole percents of a quota.
fn is_rounding(target: &Target, asked: &Asked, file: &str, text: &str) -> bool {
    let Target::File { wanted, .. } = target else { return false };
    if wanted.is_nearly_met(text) {
        return true;
    }
    if let ("cpu.cfs_quota_us", Wanted::Number(quota), Some(found)) =
        (file, wanted, limit(text).and_then(Limit::amount))
    {
        return found.abs_diff(*quota) <= PERCENT_OF_CPU;
    }
    let asked = asked.setting.split_once('=').and_then(|(_, value)| value.parse::<u64>().ok());
    match (file, asked, weight(text)) {
        ("io.bfq.weight", Some(asked), Some(found)) => {
            let over_the_range = 1 + asked.saturating_sub(1) * 999 / 9999;
            found == asked || found.abs_diff(over_the_range) <= 1
        }
        // On v1 each version has a formula of its own.
        ("blkio.bfq.weight", ..) => true,
        _ => false,
    }
}
