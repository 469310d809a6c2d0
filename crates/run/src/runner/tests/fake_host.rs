//! A host of files, and the parts of a run on it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use assay_host::Ledger;
use assay_host::cgroup::Tree;
use assay_host::facts::UsedHierarchy;
use assay_host::knob::{Translation, Version};
use assay_host::scratch::ScratchDisk;
use assay_record::run_folder::{
    EventLog, KnobRecord, Manifest, RunFolder, SettingRecord, StopRecord, WarmUpRecord,
};
use assay_study::plan::{
    DiskPlan, GroupPlan, KnobPlan, Plan, RepeatId, SettingPlan, ToolPlan, Trial, WorkloadPlan,
};
use assay_study::workload::{Invocation, WaitMethod};
use assay_study::{DiskSource, Ends, Format, Sampling};
use assay_sys::files::Trust;
use assay_sys::kernel::Root;
use assay_sys::units::Bytes;
use assay_test_support::{hosts, put};
use tempfile::TempDir;

use crate::runner::context::{Context, Observer, Request};
use crate::runner::recording;
use crate::runner::stop_rule::StopRule;

/// The directory in which the fake host's groups are made.
pub(crate) const TOP: &str = "/cg/cpu/assay-test";

/// A tree of files in place of /proc, /sys and the mounts of control groups.
pub(crate) struct FakeHost {
    files: TempDir,
    /// The run folder and the ledger.
    own: TempDir,
}

impl FakeHost {
    /// A host with an empty hierarchy of cgroup v1 for `cpu` and one for `blkio`.
    pub(crate) fn new() -> Self {
        let host = Self { files: tempfile::tempdir().unwrap(), own: tempfile::tempdir().unwrap() };
        host.put("/cg/cpu/cgroup.procs", "");
        host.put("/cg/blkio/cgroup.procs", "");
        host
    }

    /// The processes of this machine are those of the fake host too, so that workloads can run on it.
    pub(crate) fn with_processes() -> Self {
        let host = Self::new();
        std::os::unix::fs::symlink("/proc", host.files.path().join("proc")).unwrap();
        host
    }

    pub(crate) fn root(&self) -> Root {
        Root::at(self.files.path())
    }

    pub(crate) fn put(&self, path: impl AsRef<Path>, text: &str) {
        put(self.files.path(), path.as_ref().to_str().unwrap().trim_start_matches('/'), text);
    }

    pub(crate) fn text(&self, path: &str) -> String {
        self.root().read_trimmed(path).unwrap()
    }

    pub(crate) fn ledger(&self) -> Ledger {
        Ledger::begin(&self.own.path().join("state"), "test").unwrap()
    }

    /// The groups of a repeat. A fake kernel puts no files into them, so tests do.
    pub(crate) fn tree(&self, ledger: &mut Ledger, trial: &Trial) -> Tree {
        for hierarchy in &trial.hierarchies {
            self.put(hierarchy.base.join("cgroup.procs"), "");
            let all: Vec<&str> = hierarchy.controllers.iter().map(String::as_str).collect();
            if hierarchy.is_v2 {
                self.put(hierarchy.base.join("cgroup.subtree_control"), &all.join(" "));
            }
        }
        let tree = Tree::create_single(&self.root(), ledger, &trial.hierarchies, "assay-test");
        let tree = tree.unwrap();
        for group in &trial.groups {
            tree.make(&group.name, false).unwrap();
        }
        tree
    }

    pub(crate) fn request(&self, trials: Vec<Trial>) -> Request {
        let slots = (0..trials.len()).map(|trial| RepeatId { trial, repeat: 0 }).collect();
        let (comparisons, references, refusals) = (vec![], vec![], vec![]);
        Request {
            plan: Plan {
                trials,
                slots,
                comparisons,
                references,
                memory: Bytes::default(),
                refusals,
            },
            manifest: Manifest {
                study: "weights".to_owned(),
                title: "Weights".to_owned(),
                study_text: "title = \"Weights\"".to_owned(),
                seed: 7,
                ..Manifest::begun(
                    hosts::host(false),
                    "2026-01-01T00:00:00Z".to_owned(),
                    vec!["assay".to_owned(), "run".to_owned()],
                )
            },
            run_id: "test".to_owned(),
            folder: RunFolder::create(&self.own.path().join("run"), Trust::Checked).unwrap(),
            trust: Trust::Checked,
            state_dir: self.own.path().join("state"),
        }
    }

    pub(crate) fn context<'r>(
        &self,
        request: &'r Request,
        observer: &'r mut dyn Observer,
        stop_rule: &'r mut dyn StopRule,
    ) -> Context<'r> {
        Context {
            root: self.root(),
            ledger: self.ledger(),
            events: EventLog::create(request.folder.path()).unwrap(),
            manifest: recording::manifest(request),
            request,
            observer,
            stop_rule,
        }
    }
}

/// Everything that an observer was received, in order.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Rc<RefCell<Vec<String>>>);

impl Recorder {
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    fn add(&self, line: String) {
        self.0.borrow_mut().push(line);
    }
}

impl Observer for Recorder {
    fn phase(&mut self, _: RepeatId, text: &str) {
        self.add(text.to_owned());
    }

    fn progress(&mut self, _: f64) {}

    fn running(&mut self, _: RepeatId, _: Duration, _: Duration) {}

    fn remark(&mut self, text: &str) {
        self.add(format!("remark: {text}"));
    }

    fn ended(&mut self, slot: RepeatId, manifest: &Manifest, _: &RunFolder) {
        let changes = manifest.changes.len();
        self.add(format!("ended {}.{} after {changes} changes", slot.trial, slot.repeat));
    }

    fn restoring(&mut self) {
        self.add("restoring".to_owned());
    }
}

/// A hierarchy at `/cg/NAME`, where NAME is `v2` or the first controller's name on v1.
pub(crate) fn hierarchy(is_v2: bool, controllers: &[&str]) -> UsedHierarchy {
    let name = match controllers[0] {
        _ if is_v2 => "v2",
        "io" => "blkio",
        name => name,
    };
    let mount = PathBuf::from("/cg").join(name);
    let controllers = controllers.iter().map(|name| (*name).to_owned()).collect();
    UsedHierarchy { is_v2, base: mount.clone(), mount, controllers }
}

/// A trial of these groups that lasts an hour unless its workloads end, without any hierarchy.
pub(crate) fn trial(groups: Vec<GroupPlan>) -> Trial {
    Trial {
        factors: BTreeMap::new(),
        settings: vec![],
        drop_caches: None,
        placements: vec![],
        disks: vec![],
        groups,
        hierarchies: vec![],
        absent: BTreeMap::new(),
        promises: vec![],
        warm_up: WarmUpRecord::Seconds(0.0),
        at_most: Duration::from_secs(3600),
        ends: Ends::All,
        sampling: Sampling::default(),
        stop: StopRecord::AtMost,
    }
}

pub(crate) fn group(name: &str, workloads: Vec<WorkloadPlan>) -> GroupPlan {
    GroupPlan {
        name: name.to_owned(),
        measured: true,
        outside: false,
        is_inner: false,
        existing: None,
        knobs: vec![],
        workloads,
        disk: None,
    }
}

/// A shell script as a workload.
pub(crate) fn script(name: &str, text: &str) -> WorkloadPlan {
    WorkloadPlan {
        name: name.to_owned(),
        tool: ToolPlan::Invocation(Invocation {
            tool: "command".to_owned(),
            program: "sh".to_owned(),
            words: vec!["-c".to_owned(), text.to_owned()],
            metrics: vec![],
            wait: WaitMethod::Shell,
            reports_on_sigint: true,
        }),
        until_stopped: false,
        io: assay_record::run_folder::IoClass::default(),
        threads: None,
        taken_over: vec![],
        creates: None,
        storage: None,
        prepare: vec![],
        after: None,
        user: None,
    }
}

/// A knob of one file of a controller.
pub(crate) fn knob(controller: &str, file: &str, value: &str) -> KnobPlan {
    let (file, written) = (file.to_owned(), value.to_owned());
    KnobPlan {
        record: KnobRecord {
            knob: file.clone(),
            asked: written.clone(),
            file: file.clone(),
            written: written.clone(),
            note: None,
            obeyed_by: None,
            also: BTreeMap::new(),
        },
        translation: Translation {
            version: Version::V1,
            controller: controller.to_owned(),
            file,
            written,
            also: vec![],
            note: None,
            obeyed_by: None,
            root_settings: vec![],
            device_rules: vec![],
            rank: 0,
        },
    }
}

pub(crate) fn setting(name: &str, path: &str, value: &str) -> SettingPlan {
    let (asked, written) = (value.to_owned(), value.to_owned());
    let (setting, path) = (name.to_owned(), path.to_owned());
    let record = SettingRecord { setting, asked, path, written, implied: false };
    SettingPlan { record, found: String::new() }
}

/// A planned disk behind a loop device, and the device `loop7`.
pub(crate) fn disk() -> (DiskPlan, ScratchDisk) {
    let plan = DiskPlan {
        name: "scratch".to_owned(),
        source: DiskSource::Loop,
        size: Bytes::mebi(64),
        format: Format::None,
        partitions: 0,
        whole: None,
        scheduler: None,
        queue: vec![],
    };
    let ready = ScratchDisk {
        device: "loop7".to_owned(),
        major: 7,
        minor: 7,
        device_path: PathBuf::from("/dev/loop7"),
        partitions: vec![],
        mounts: vec![],
        size: Bytes::mebi(64),
        notes: vec![],
    };
    (plan, ready)
}
