//! The disks of a group that is watched: what its requests waited for, beside what its threads did.

use assay_blame::DiskAnswer;
use assay_facts::Available;
use assay_host::gather;
use assay_sample::requests::{IoHierarchy, RequestWatch, disks_in_use};
use assay_sample::waits::CpuHierarchy;

use super::{BlameTarget, resolve};
use crate::context::Context;

/// The busiest disks are followed, up to this number.
const MOST: usize = 4;

/// Programs that follow the requests of a target's group; the reason if that is not possible.
pub struct DiskBlame(Available<RequestWatch>);

impl DiskBlame {
    /// From now on requests count.
    #[must_use]
    pub fn start(context: &Context, target: &BlameTarget) -> Self {
        Self(match attach(context, target) {
            Ok(watch) => Available::Value(watch),
            Err(reason) => Available::NotAvailable(reason),
        })
    }

    /// One answer for each disk.
    #[must_use]
    pub fn finish(self) -> Available<Vec<DiskAnswer>> {
        match self.0 {
            Available::Value(watch) => match watch.finish() {
                Ok(answers) => Available::Value(answers),
                Err(error) => Available::NotAvailable(error.to_string()),
            },
            Available::NotAvailable(reason) => Available::NotAvailable(reason),
        }
    }
}

fn attach(context: &Context, target: &BlameTarget) -> Result<RequestWatch, String> {
    let root = &context.root;
    let facts = gather(root).map_err(|error| error.to_string())?;
    let cpu = CpuHierarchy::new(&facts).map_err(|error| error.to_string())?;
    let target = resolve(root, &cpu, target).map_err(|error| error.to_string())?;
    let Some(path) = target.group(&cpu) else {
        return Err("requests are told apart by group, not by process".to_owned());
    };
    let hierarchy = IoHierarchy::new(&facts.cgroup).map_err(|error| error.to_string())?;
    let mut disks = disks_in_use(root);
    disks.truncate(MOST);
    let watch = RequestWatch::on_groups(root, &hierarchy, &[path], &disks);
    let mut watch = watch.map_err(|error| error.to_string())?;
    watch.start().map_err(|error| error.to_string())?;
    Ok(watch)
}
