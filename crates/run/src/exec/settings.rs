//! Writing the knobs and reading them back.

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_host::facts::Available;
use assay_sys::kernel::device_program::{DeviceRule, Verb, attach};
use assay_sys::kernel::{Error, Root};

use crate::exec::counters::GROUP;
use crate::exec::prepare::{Planned, Prepared};

/// The contents of the files of one knob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The knob's own file.
    pub(crate) main: Available<String>,
    /// The further files of the knob, by name.
    pub(crate) also: Vec<(String, String)>,
}

/// Writes every knob in the requested order. Changes at the root of the hierarchy go through the
/// ledger; the group's own files vanish with the group.
pub(crate) fn write(
    root: &Root,
    ledger: &mut Ledger,
    tree: &Tree,
    prepared: &Prepared,
) -> Result<(), Error> {
    for planned in &prepared.planned {
        write_root_settings(root, ledger, tree, prepared, planned)?;
        let translation = &planned.translation;
        let device = prepared.device.as_deref().unwrap_or_default();
        for (file, value) in translation.writes(device) {
            tree.write(GROUP, &translation.controller, &file, &value).map_err(|error| {
                let Some(hint) = hint(&error, &file) else { return error };
                error.with_hint(hint)
            })?;
        }
    }
    attach_device_rules(root, tree, &prepared.planned)
}

/// Whether the kernel refuses real-time to threads of the group, which it did not outside: v1 with CONFIG_RT_GROUP_SCHED.
pub(crate) fn forbids_real_time(root: &Root, tree: &Tree) -> bool {
    let file = tree.directory(GROUP, "cpu").map(|group| group.join("cpu.rt_runtime_us"));
    file.and_then(|file| root.read_trimmed(file).ok()).is_some_and(|text| text == "0")
}

/// On cgroup v2 all device rules become one program, in the requested order, which vanishes with the
/// group.
fn attach_device_rules(root: &Root, tree: &Tree, planned: &[Planned]) -> Result<(), Error> {
    let decisions = planned.iter().flat_map(|planned| &planned.translation.device_rules);
    let rules: Result<Vec<(Verb, DeviceRule)>, String> = decisions
        .map(|decision| {
            let verb = if decision.allow { Verb::Allow } else { Verb::Deny };
            Ok((verb, decision.rule.to_string().parse()?))
        })
        .collect();
    let group = tree.v2_directory(GROUP).unwrap_or_default();
    let rules =
        rules.map_err(|wrong| Error::unexpected("attach device rules to", &group, wrong))?;
    if rules.is_empty() { Ok(()) } else { attach(root, &group, &rules) }
}

fn write_root_settings(
    root: &Root,
    ledger: &mut Ledger,
    tree: &Tree,
    prepared: &Prepared,
    planned: &Planned,
) -> Result<(), Error> {
    let translation = &planned.translation;
    let mount = tree.mount(&translation.controller);
    let Some((device, mount)) = prepared.device.as_ref().zip(mount) else { return Ok(()) };
    for setting in &translation.root_settings {
        let value = setting.value_template.replace("{device}", device);
        let path = mount.join(&setting.file);
        if !ledger.has_written(&path, &value) {
            let inverse = setting.inverse(device);
            ledger.write_with_inverse(root, &path, &value, &inverse)?;
        }
    }
    Ok(())
}

/// Hints for common errors.
fn hint(error: &Error, file: &str) -> Option<String> {
    use rustix::io::Errno;
    let text = match () {
        () if error.is(Errno::NOENT) => {
            "this kernel has no such file: it was built without this feature"
        }
        () if (error.is(Errno::INVAL) || error.is(Errno::RANGE)) && file.starts_with("cpuset.") => {
            "write CPUs or nodes that this host has and that the group above may use"
        }
        () if error.is(Errno::INVAL) => "the kernel rejects this value here",
        () if error.is(Errno::NODEV) => "name a whole disk by MAJOR:MINOR, as in /proc/partitions",
        () if error.is(Errno::BUSY) => "the group's present state forbids it",
        () if error.is(Errno::ACCESS) || error.is(Errno::PERM) => "run it as root",
        () => return None,
    };
    Some(text.to_owned())
}

/// Reads every knob.
pub(crate) fn read(tree: &Tree, prepared: &Prepared) -> Vec<Reading> {
    let file = |planned: &Planned, file: &str| match tree.read(
        GROUP,
        &planned.translation.controller,
        file,
    ) {
        Ok(text) => Available::Value(text),
        Err(error) => Available::NotAvailable(error.to_string()),
    };
    prepared
        .planned
        .iter()
        .map(|planned| Reading {
            main: match planned.translation.device_rules[..] {
                [] => file(planned, &planned.translation.file),
                _ => {
                    let why = "cgroup v2 has no file for it: a device program decides";
                    Available::NotAvailable(why.to_owned())
                }
            },
            also: planned
                .translation
                .also
                .iter()
                .filter_map(|(name, _)| Some((name.clone(), file(planned, name).value()?.clone())))
                .collect(),
        })
        .collect()
}
