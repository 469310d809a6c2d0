//! Schedulers of sched_ext (6.12, Documentation/scheduler/sched-ext.rst). A thread of theirs waits in a queue of their own, from which
//! any CPU may serve it: what its last CPU did meanwhile is no reason.

use assay_sys::kernel::Root;

const FOLDER: &str = "/sys/kernel/sched_ext";

/// Whether such a scheduler serves threads, and how many have done so since boot; a kernel without sched_ext has neither file.
#[derive(Debug, Clone)]
pub(super) struct SchedExt {
    root: Root,
    state: Option<String>,
    number: Option<String>,
}

impl SchedExt {
    pub(super) fn read(root: &Root) -> Self {
        let file = |name| root.read_trimmed(format!("{FOLDER}/{name}")).ok();
        Self { root: root.clone(), state: file("state"), number: file("enable_seq") }
    }

    /// The same at this moment.
    pub(super) fn again(&self) -> Self {
        Self::read(&self.root)
    }

    /// Why waiting since then cannot be attributed.
    pub(super) fn objection(&self) -> Option<String> {
        let now = self.again();
        let serves = |one: &Self| one.state.as_ref().is_some_and(|state| state != "disabled");
        (serves(self) || serves(&now) || self.number != now.number).then(|| {
            "a sched_ext scheduler served threads: they wait in its queues, and not for one CPU"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use assay_test_support::put;

    use super::*;

    #[test]
    fn a_scheduler_that_serves_or_served_threads_is_an_objection() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        assert_eq!(SchedExt::read(&root).objection(), None, "no sched_ext");
        let set = |state, number| {
            put(tree.path(), "sys/kernel/sched_ext/state", state);
            put(tree.path(), "sys/kernel/sched_ext/enable_seq", number);
        };
        set("disabled\n", "3\n");
        let before = SchedExt::read(&root);
        assert_eq!(before.objection(), None);
        set("disabled\n", "4\n");
        assert!(before.objection().is_some(), "one came and went");
        set("enabled\n", "4\n");
        assert!(before.again().objection().is_some());
    }
}
