//! Scheduler and queue attributes of a scratch disk.

use std::path::{Path, PathBuf};

use assay_sys::kernel::parse::choice;
use assay_sys::kernel::{Error, Root};
use rustix::io::Errno;

use super::{ScratchSpec, first_turns};
use crate::Ledger;

/// Sets the scheduler first, because it resets other attributes, then those in their order.
pub(super) fn set(
    root: &Root,
    ledger: &mut Ledger,
    device: &str,
    spec: &ScratchSpec,
) -> Result<(), Error> {
    if spec.scheduler.is_none() && spec.queue.is_empty() {
        return Ok(());
    }
    let queue = Path::new("/sys/block").join(device).join("queue");
    ledger.keep_queue(root, device)?;
    if let Some(scheduler) = &spec.scheduler {
        let path = queue.join("scheduler");
        ledger.write_file(root, &path, scheduler).map_err(|error| explain(root, &path, error))?;
        refuse_ignored(root, &path, scheduler)?;
    }
    for (name, value) in &spec.queue {
        let path = queue.join(checked(name)?);
        if !root.exists(&path) {
            let hint = format!("this queue offers {}", offered(root, &queue).join(", "));
            return Err(Error::unexpected("set", &path, hint).with_value(value));
        }
        ledger.write_file(root, &path, value)?;
    }
    if has_budget(spec) && root.read_trimmed(queue.join("iosched/max_budget")).is_ok() {
        first_turns::take(root, device)?;
    }
    Ok(())
}

/// Whether the study says how long a turn is; 0 leaves that to BFQ.
fn has_budget(spec: &ScratchSpec) -> bool {
    spec.queue.iter().any(|(name, value)| name == "iosched/max_budget" && value.trim() != "0")
}

/// Linux 5.10 accepts every name for a queue that takes no scheduler, such as that of a loop disk, and changes
/// nothing (`elv_iosched_store` of block/elevator.c); it then shows `none` or `[none]` without a list of choices.
fn refuse_ignored(root: &Root, path: &Path, scheduler: &str) -> Result<(), Error> {
    let shown = choice::parse(&root.read_trimmed(path)?);
    if scheduler == "none" || shown.is_none_or(|shown| shown.offered != ["none"]) {
        return Ok(());
    }
    let hint = "this kernel gives this disk no scheduler and ignores the name: use another kind of disk, \
                such as `--disk null_blk:iops=800,depth=8`";
    Err(Error::unexpected("set", path, hint).with_value(scheduler))
}

fn explain(root: &Root, path: &Path, error: Error) -> Error {
    match root.read_trimmed(path) {
        Ok(text) if error.is(Errno::INVAL) => {
            error.with_hint(format!("this queue offers {text}; `modprobe` may add more"))
        }
        _ if error.is(Errno::NOENT) => error.with_hint("this device has no scheduler"),
        _ => error,
    }
}

/// An attribute is a name below `queue/`, and must not lead outside.
fn checked(name: &str) -> Result<&str, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/';
    if name.is_empty() || name.starts_with('/') || !name.chars().all(plain) {
        let hint = "an attribute is a name below `queue/`, such as `nr_requests`";
        return Err(Error::unexpected("set", Path::new(name), hint));
    }
    Ok(name)
}

/// Names of all attributes, including those of the active scheduler.
fn offered(root: &Root, queue: &Path) -> Vec<String> {
    let is_file = |path: PathBuf| root.resolve(path).is_file();
    let mut names = root.list(queue).unwrap_or_default();
    names.retain(|name| is_file(queue.join(name)));
    let scheduler = root.list(queue.join("iosched")).unwrap_or_default();
    names.extend(scheduler.iter().map(|name| format!("iosched/{name}")));
    names
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Source};
    use super::*;

    fn tree() -> (tempfile::TempDir, Root) {
        let tree = tempfile::tempdir().unwrap();
        let queue = tree.path().join("sys/block/sda/queue");
        std::fs::create_dir_all(queue.join("iosched")).unwrap();
        std::fs::write(queue.join("scheduler"), "none").unwrap();
        std::fs::write(queue.join("nr_requests"), "64").unwrap();
        std::fs::write(queue.join("iosched/low_latency"), "1").unwrap();
        let root = Root::at(tree.path());
        (tree, root)
    }

    fn spec(attributes: &[(&str, &str)]) -> ScratchSpec {
        ScratchSpec {
            name: "scratch".to_owned(),
            source: Source::Directory { path: "/".into() },
            format: Format::None,
            partitions: 0,
            scheduler: Some("bfq".to_owned()),
            queue: attributes.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
            mount_dir: "/".into(),
        }
    }

    #[test]
    fn scheduler_and_attributes_are_set_and_restored() {
        let (_tree, root) = tree();
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        let spec = spec(&[("iosched/low_latency", "0"), ("nr_requests", "512")]);
        set(&root, &mut ledger, "sda", &spec).unwrap();
        let value = |name: &str| root.read(format!("/sys/block/sda/queue/{name}")).unwrap();
        assert_eq!(value("scheduler"), "bfq");
        assert_eq!(value("iosched/low_latency"), "0");
        assert_eq!(ledger.restore(&root), []);
        assert_eq!((value("scheduler"), value("nr_requests")), ("none".into(), "64".into()));
        assert_eq!(value("iosched/low_latency"), "1");
    }

    #[test]
    fn a_scheduler_that_the_kernel_ignores_is_refused() {
        let (_tree, root) = tree();
        let path = Path::new("/sys/block/sda/queue/scheduler");
        let error = refuse_ignored(&root, path, "bfq").unwrap_err();
        assert_eq!(error.value.as_deref(), Some("bfq"));
        assert!(error.to_string().contains("no scheduler"), "{error}");
        refuse_ignored(&root, path, "none").unwrap();
        // As Linux 5.10 shows it for a loop disk.
        root.write(path, "[none] ").unwrap();
        refuse_ignored(&root, path, "bfq").unwrap_err();
        root.write(path, "mq-deadline kyber [bfq] none").unwrap();
        refuse_ignored(&root, path, "bfq").unwrap();
    }

    #[test]
    fn an_unknown_attribute_is_refused_with_what_the_queue_offers() {
        let (_tree, root) = tree();
        let state = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::begin(state.path(), "run").unwrap();
        let spec = spec(&[("nr_request", "512")]);
        let error = set(&root, &mut ledger, "sda", &spec).unwrap_err().to_string();
        assert!(error.contains("nr_requests, scheduler, iosched/low_latency"), "{error}");
        for name in ["../size", "/etc/passwd", ""] {
            assert!(checked(name).is_err(), "{name}");
        }
    }
}
