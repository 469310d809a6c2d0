//! The disks of a group that is watched: what its requests waited for, beside what its threads did.

use assay_host::facts::{Available, HostFacts};
use assay_sys::kernel::Root;

use super::Watched;
use crate::DiskAnswer;
use crate::watch::requests::{IoHierarchy, RequestWatch, disks_in_use};

/// The busiest disks are followed, up to this number.
const MOST: usize = 4;

/// From now on the requests of the target's group count; the reason if that is not possible.
pub(super) fn start(
    root: &Root,
    facts: &HostFacts,
    target: &Watched,
) -> Result<RequestWatch, String> {
    let Watched::Group(path) = target else {
        return Err("requests are told apart by group, not by process".to_owned());
    };
    let hierarchy = IoHierarchy::new(&facts.cgroup).map_err(|error| error.to_string())?;
    let mut disks = disks_in_use(root);
    disks.truncate(MOST);
    let watch = RequestWatch::on_groups(root, &hierarchy, std::slice::from_ref(path), &disks);
    let mut watch = watch.map_err(|error| error.to_string())?;
    watch.start().map_err(|error| error.to_string())?;
    Ok(watch)
}

/// One answer for each disk.
pub(super) fn finish(watch: Result<RequestWatch, String>) -> Available<Vec<DiskAnswer>> {
    let answers = watch.and_then(|watch| watch.finish().map_err(|error| error.to_string()));
    answers.map_or_else(Available::NotAvailable, Available::Value)
}
