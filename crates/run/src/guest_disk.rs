//! The disk of a study in a guest whose loop disks take no scheduler.

use assay_host::facts::HostFacts;
use assay_study::{DiskOverride, DiskSource, override_disk};

use crate::context::Context;
use crate::load::Loaded;
use crate::observer::Observer;

/// Slow enough for an emulated CPU, with few enough requests in the device that the scheduler decides.
const DISK: DiskOverride = DiskOverride::NullBlk { iops: Some(800), depth: Some(8), size: None };

/// Gives a study another disk that the guest makes, if loop disks of this kernel take no scheduler (as on Linux 5.10), the
/// study needs one for its only disk, and the caller chose none. A guest has no disk of its own that could be meant.
pub fn replace_loop(
    context: &Context,
    mut loaded: Loaded,
    facts: &HostFacts,
    observer: &mut dyn Observer,
) -> Loaded {
    let Some(choice) = &mut loaded.choice else { return loaded };
    let disks = &loaded.study.disks;
    let is_concerned = context.guest.is_some()
        && choice.disk.is_none()
        && facts.null_blk.reason().is_none()
        && facts.loop_schedulers().is_some_and(|offered| offered.iter().all(|one| *one == "none"))
        && disks.values().all(|disk| disk.source == DiskSource::Loop && disk.scheduler.is_some());
    if is_concerned && override_disk(&mut loaded.study, &DISK).is_ok() {
        observer.message(&format!(
            "loop disks of Linux {} take no scheduler: the study's disk is {DISK} instead (`--disk` chooses another)",
            facts.kernel
        ));
        choice.disk = Some(DISK);
    }
    loaded
}

#[cfg(test)]
mod tests {
    use assay_host::facts::{Available, Scheduler};
    use assay_record::run_folder::Guest;
    use assay_sys::units::Bytes;
    use assay_test_support::hosts::{host, unused_disk};

    use super::*;
    use crate::load::load;
    use crate::overrides::StudyChoice;
    use crate::transcript::Transcript;

    fn guest() -> Context {
        let guest = Guest {
            kernel: "5.10.0-39-amd64".to_owned(),
            layout: "v2".to_owned(),
            accelerator: "tcg".to_owned(),
            nodes: 1,
        };
        Context { guest: Some(guest), ..Context::of_this_host(Vec::new()) }
    }

    /// A host whose loop disks offer these.
    fn offering(offered: &[&str]) -> HostFacts {
        let mut host = host(true);
        host.null_blk = Available::Value(());
        let offered = offered.iter().map(|name| (*name).to_owned()).collect();
        let scheduler = Some(Scheduler { active: "none".to_owned(), offered });
        host.disks
            .push(assay_host::facts::Disk { scheduler, ..unused_disk("loop0", Bytes::mebi(64)) });
        host
    }

    /// The disk that is recorded, the kind that the study then has, and what was said.
    fn replaced(
        context: &Context,
        facts: &HostFacts,
        choice: &StudyChoice,
    ) -> (Option<String>, bool, usize) {
        let mut observer = Transcript::default();
        let loaded = replace_loop(context, load(choice).unwrap(), facts, &mut observer);
        let is_null =
            loaded.study.disks.values().all(|disk| matches!(disk.source, DiskSource::NullBlk(_)));
        let recorded = loaded.choice.unwrap().disk.map(|disk| disk.to_string());
        (recorded, is_null, observer.lines().len())
    }

    #[test]
    fn a_study_gets_a_disk_that_takes_a_scheduler_and_says_so() {
        let study = StudyChoice::named("io-weight-requests");
        let found = replaced(&guest(), &offering(&["none"]), &study);
        assert_eq!(found, (Some("null_blk:iops=800,depth=8".to_owned()), true, 1));
    }

    #[test]
    fn nothing_is_replaced_on_a_host_by_choice_or_without_need() {
        let study = StudyChoice::named("io-weight-requests");
        let kept = (None, false, 0);
        let host = Context { guest: None, ..guest() };
        assert_eq!(replaced(&host, &offering(&["none"]), &study), kept);
        assert_eq!(replaced(&guest(), &offering(&["none", "bfq"]), &study), kept);
        let mut facts = offering(&["none"]);
        facts.null_blk = Available::NotAvailable("no configfs".to_owned());
        assert_eq!(replaced(&guest(), &facts, &study), kept);
        let chosen = StudyChoice { disk: Some("loop".parse().unwrap()), ..study };
        let found = replaced(&guest(), &offering(&["none"]), &chosen);
        assert_eq!(found, (Some("loop".to_owned()), false, 0));
    }
}
