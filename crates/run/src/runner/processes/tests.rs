//! The order in which a workload's folder gets its files and its owner.

use std::mem::MaybeUninit;

use assay_study::workload::Invocation;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::*;

/// In its own folder a user could put something else in the place of a file that root is about to create.
#[test]
fn a_folder_is_handed_over_after_its_files_were_created() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
    let events = WatchFlags::CREATE | WatchFlags::ATTRIB;
    inotify::add_watch(&watch, place.path(), events).unwrap();
    let call = Invocation {
        tool: "command".to_owned(),
        program: "true".to_owned(),
        words: vec![],
        metrics: vec![],
        wait: assay_study::workload::WaitMethod::Shell,
        reports_on_sigint: true,
    };
    let launch = Launch {
        workload: "group.load",
        group: "group",
        program: call.program.clone(),
        words: vec![],
        tool: &ToolPlan::Invocation(call),
        until_stopped: false,
        folder: Dir::open(place.path()).unwrap(),
        hand_over_to: Some(Caller { uid: 65534, gid: 65534 }),
        log: "logs/load".to_owned(),
        jobs: 0,
    };
    Process::start(launch, &Membership::open(&Root::real(), &[]).unwrap()).unwrap();
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(&watch, &mut buffer);
    let mut seen = Vec::new();
    while let Ok(event) = reader.next() {
        // The change of the owner is about the folder itself and has no name.
        seen.push(event.file_name().map(|name| name.to_string_lossy().into_owned()));
    }
    assert_eq!(seen, [Some("command.txt".to_owned()), Some("command.out".to_owned()), None]);
}
