//! The changes of a study that interventions make.

use assay_sys::units::Bytes;

use crate::syntax::{Bindings, Disk, DiskSource, Group, Scalar, Study, Tool};
use crate::template::Templated;

type Arguments = Vec<(String, Templated<Scalar>)>;

/// Every disk of the study, which must have one.
fn disks(study: &mut Study) -> Result<impl Iterator<Item = &mut Disk>, String> {
    done(!study.disks.is_empty(), "the study has no disk")?;
    Ok(study.disks.values_mut())
}

/// The arguments of every fio workload.
fn fio_arguments(study: &mut Study) -> impl Iterator<Item = &mut Arguments> {
    study.workloads.values_mut().filter_map(|workload| match &mut workload.tool {
        Tool::Fio { args } => Some(args),
        _ => None,
    })
}

/// An error if the study has nothing to change.
fn done(changed: bool, otherwise: &str) -> Result<(), String> {
    if changed { Ok(()) } else { Err(otherwise.to_owned()) }
}

pub(super) fn set_queue(study: &mut Study, attribute: &str, value: &str) -> Result<(), String> {
    for disk in disks(study)? {
        disk.queue.retain(|(name, _)| name != attribute);
        let value = Templated::Value(crate::parse_scalar(value));
        disk.queue.push((attribute.to_owned(), value));
    }
    Ok(())
}

pub(super) fn set_setting(study: &mut Study, setting: &str, value: &str) {
    let values = &mut study.settings.values;
    values.retain(|(name, _)| name != setting);
    values.push((setting.to_owned(), Templated::Value(Scalar::Text(value.to_owned()))));
}

pub(super) fn set_scheduler(study: &mut Study, name: &str) -> Result<(), String> {
    for disk in disks(study)? {
        crate::disk_override::set_scheduler(disk, name);
        if name == "bfq" && !disk.queue.iter().any(|(own, _)| own == "iosched/low_latency") {
            // Its default (1) overrides weights, which would test another cause as well.
            let off = Templated::Value(Scalar::Integer(0));
            disk.queue.push(("iosched/low_latency".to_owned(), off));
        }
    }
    Ok(())
}

pub(super) fn scale_depth(
    study: &mut Study,
    factors: &Bindings,
    times: u32,
    by: u32,
) -> Result<(), String> {
    let mut changed = false;
    for args in fio_arguments(study) {
        for (name, value) in args.iter_mut().filter(|(name, _)| name == "iodepth") {
            let depth = match value.resolve(factors) {
                Ok(Scalar::Integer(depth)) => u32::try_from(depth).unwrap_or(1),
                Ok(other) => return Err(format!("`{name}` is {other:?}")),
                Err(_) => return Err(format!("`{name}` does not resolve")),
            };
            let new = (depth.saturating_mul(times) / by.max(1)).max(1);
            changed |= new != depth;
            *value = Templated::Value(Scalar::Integer(i64::from(new)));
        }
    }
    done(changed, "no fio workload sets an `iodepth` that can change")
}

/// Default size of a request in fio (fio(1), `bs`), in bytes.
const DEFAULT_BLOCK: u64 = 4096;

pub(super) fn slow_down(study: &mut Study, factors: &Bindings, by: u32) -> Result<(), String> {
    let mut changed = false;
    for disk in study.disks.values_mut() {
        if let DiskSource::NullBlk(speed) = &mut disk.source
            && let Some(iops) = &speed.iops
        {
            let slower = (iops.resolve(factors)? / by.max(1)).max(1);
            speed.iops = Some(Templated::Value(slower));
            changed = true;
        }
    }
    if changed {
        return Ok(());
    }
    for args in fio_arguments(study) {
        let is_size = |name: &str| matches!(name, "bs" | "blocksize");
        let known = args.iter().rev().find(|(name, _)| is_size(name));
        let bytes = match known.map(|(_, value)| value.resolve(factors)).transpose()? {
            None => DEFAULT_BLOCK,
            Some(size) => {
                let text = size.to_string();
                let bytes = text.to_ascii_lowercase().parse().map(Bytes::get);
                bytes.map_err(|_| format!("`bs` is {text}, expected a single size"))?
            }
        };
        args.retain(|(name, _)| !is_size(name));
        let larger = i64::try_from(bytes * u64::from(by)).unwrap_or(i64::MAX);
        args.push(("bs".to_owned(), Templated::Value(Scalar::Integer(larger))));
        changed = true;
    }
    done(changed, "the study has no fio workload")
}

pub(super) fn set_argument(
    study: &mut Study,
    argument: &str,
    value: &Scalar,
) -> Result<(), String> {
    let mut changed = false;
    for args in fio_arguments(study) {
        args.retain(|(name, _)| name != argument);
        args.push((argument.to_owned(), Templated::Value(value.clone())));
        changed = true;
    }
    done(changed, "the study has no fio workload")
}

pub(super) fn drop_attributes(study: &mut Study) -> Result<(), String> {
    let mut changed = false;
    for disk in study.disks.values_mut() {
        changed |= !disk.queue.is_empty();
        disk.queue.clear();
    }
    done(changed, "the study sets no queue attributes")
}

/// Refuses weights that do not stay whole, because a rounded weight is another promise. The plan
/// checks the range of the knob.
pub(super) fn scale_weights(
    study: &mut Study,
    factors: &Bindings,
    times: u32,
    by: u32,
) -> Result<(), String> {
    let mut groups = study.groups.clone();
    if !scale_in(&mut groups, factors, times, by)? {
        return Err("no group has a weight".to_owned());
    }
    study.groups = groups;
    Ok(())
}

/// Returns whether there was a weight.
fn scale_in(groups: &mut [Group], factors: &Bindings, times: u32, by: u32) -> Result<bool, String> {
    let mut changed = false;
    for group in groups {
        let weights = group.knobs.iter_mut().filter(|(knob, _)| knob.ends_with(".weight"));
        for value in weights.flat_map(|(_, values)| values) {
            let Ok(Scalar::Integer(weight)) = value.resolve(factors) else {
                return Err("a weight is not a whole number".to_owned());
            };
            let scaled = weight.saturating_mul(i64::from(times));
            let by = i64::from(by.max(1));
            if scaled % by != 0 || scaled == 0 {
                return Err(format!("the weight {weight} would not stay a whole number"));
            }
            *value = Templated::Value(Scalar::Integer(scaled / by));
            changed = true;
        }
        changed |= scale_in(&mut group.groups, factors, times, by)?;
    }
    Ok(changed)
}

/// Rotates the weights among sibling groups. Returns whether any group got a different one.
pub(super) fn permute_weights(groups: &mut [Group], factors: &Bindings) -> Result<bool, String> {
    let mut changed = false;
    for group in &mut *groups {
        changed |= permute_weights(&mut group.groups, factors)?;
    }
    let knobs = groups.iter_mut().flat_map(|group| &mut group.knobs);
    let weights = knobs.filter(|(knob, _)| knob.ends_with(".weight"));
    let mut values: Vec<&mut Templated<Scalar>> =
        weights.flat_map(|(_, values)| values.iter_mut()).collect();
    let mut rotated: Vec<Templated<Scalar>> =
        values.iter().map(|value| (**value).clone()).collect();
    if rotated.is_empty() {
        return Ok(changed);
    }
    let first = rotated[0].resolve(factors)?;
    for value in &rotated {
        changed |= value.resolve(factors)? != first;
    }
    rotated.rotate_left(1);
    values.iter_mut().zip(rotated).for_each(|(value, new)| **value = new);
    Ok(changed)
}

/// Sets the cpuset of the outermost groups, which bounds those inside.
pub(super) fn pin(groups: &mut [Group], cpus: &str) {
    for group in groups {
        group.knobs.retain(|(knob, _)| knob != "cpuset.cpus");
        let value = Templated::Value(Scalar::Text(cpus.to_owned()));
        group.knobs.push(("cpuset.cpus".to_owned(), vec![value]));
    }
}
