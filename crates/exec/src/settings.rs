//! Writing the knobs and reading them back.

use assay_cgroup::Tree;
use assay_facts::Available;
use assay_host::Ledger;
use assay_kernel::{Error, Root};
use assay_knob::numeric_reading;
use assay_units::IdSet;

use crate::counters::GROUP;
use crate::prepare::{Planned, Prepared};

/// What the files of one knob say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The knob's own file.
    pub(crate) main: Available<String>,
    /// The further files of the knob, by name.
    pub(crate) also: Vec<(String, String)>,
}

/// Writes every knob in the order asked for. What must be set at the root of the hierarchy goes
/// through the ledger; the group itself goes with all its files.
pub(crate) fn write(
    root: &Root,
    ledger: &mut Ledger,
    tree: &Tree,
    prepared: &Prepared,
) -> Result<(), Error> {
    for planned in &prepared.planned {
        write_root_settings(root, ledger, tree, prepared, planned)?;
        let translation = &planned.translation;
        let files = std::iter::once((&translation.file, &translation.written))
            .chain(translation.also.iter().map(|(file, value)| (file, value)));
        for (file, value) in files {
            tree.write(GROUP, &translation.controller, file, value).map_err(|error| {
                let Some(hint) = hint(&error, file) else { return error };
                error.with_hint(hint)
            })?;
        }
    }
    Ok(())
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
            // iocost is switched off again, as it is on a disk that nobody has set up.
            let inverse = format!("{device} enable=0");
            ledger.write_with_inverse(root, &path, &value, &inverse)?;
        }
    }
    Ok(())
}

/// What to do about the refusals that people meet.
fn hint(error: &Error, file: &str) -> Option<String> {
    use rustix::io::Errno;
    let text = match () {
        () if error.is(Errno::NOENT) => "this kernel has no such file: it was built without it",
        () if (error.is(Errno::INVAL) || error.is(Errno::RANGE)) && file.starts_with("cpuset.") => {
            "write CPUs or nodes that this host has and that the group above may use"
        }
        () if error.is(Errno::INVAL) => "the kernel does not take this value here",
        () if error.is(Errno::NODEV) => "name a whole disk by MAJOR:MINOR, as in /proc/partitions",
        () if error.is(Errno::BUSY) => "something of the group forbids it now",
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
            main: file(planned, &planned.translation.file),
            also: planned
                .translation
                .also
                .iter()
                .filter_map(|(name, _)| Some((name.clone(), file(planned, name).value()?.clone())))
                .collect(),
        })
        .collect()
}

/// Whether a file says what was written, however the kernel spells it: amounts in whole pages,
/// `max` as -1 or as a huge number, lists of ids in their shortest form.
pub(crate) fn says(file: &str, written: &str, reads: &str) -> bool {
    let (written, reads) = (written.trim(), reads.trim());
    if written == reads {
        return true;
    }
    if let (true, Ok(one), Ok(other)) =
        (file.starts_with("cpuset."), written.parse::<IdSet>(), reads.parse::<IdSet>())
    {
        return one == other;
    }
    match (numeric_reading(file, written), numeric_reading(file, reads)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => ["max", "-1"].contains(&written) && is_number_or_max(reads),
        _ => false,
    }
}

fn is_number_or_max(reads: &str) -> bool {
    reads == "max" || reads.starts_with("max ") || reads.parse::<i64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_own_spelling_is_no_difference() {
        assert!(says("memory.limit_in_bytes", "67108864", "67108864\n"));
        assert!(says("memory.limit_in_bytes", "-1", "9223372036854771712"));
        assert!(says("cpu.max", "50000", "50000 100000"));
        assert!(says("cpu.max", "max", "max 100000"));
        assert!(says("io.weight", "200", "default 200"));
        assert!(says("cpuset.cpus", "0,1", "0-1"));
    }

    #[test]
    fn another_value_is_a_difference() {
        assert!(!says("memory.limit_in_bytes", "67108865", "67108864"));
        assert!(!says("cpu.cfs_quota_us", "50000", "-1"));
        assert!(!says("cpuset.cpus", "0-1", "0"));
        assert!(!says("memory.max", "max", "4096"));
    }
}
