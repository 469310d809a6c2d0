//! The memory of a group that is watched: what its threads were stalled by, beside what they waited for otherwise.

use assay_host::facts::{Available, HostFacts};
use assay_sys::kernel::Root;

use super::Watched;
use crate::MemoryAnswer;
use crate::watch::stalls::StallWatch;

/// From now on the stalls of the target's group count; the reason if that is not possible.
pub(super) fn start(
    root: &Root,
    facts: &HostFacts,
    target: &Watched,
) -> Result<StallWatch, String> {
    let Watched::Group(path) = target else {
        return Err("stalls are told apart by group, not by process".to_owned());
    };
    let watch = StallWatch::on_group(root, &facts.cgroup, path);
    let mut watch = watch.map_err(|error| error.to_string())?;
    watch.start().map_err(|error| error.to_string())?;
    Ok(watch)
}

/// What it saw.
pub(super) fn finish(watch: Result<StallWatch, String>) -> Available<MemoryAnswer> {
    match watch.and_then(|watch| watch.finish().map_err(|error| error.to_string())) {
        Ok(answer) => Available::Value(answer),
        Err(reason) => Available::NotAvailable(reason),
    }
}
