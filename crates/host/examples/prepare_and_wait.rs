//! Makes every kind of change that Assay supports, prints `ready`, and waits to be killed: the child
//! process of the kill tests in `tests/host/real_kernel`.
//!
//! ```text
//! prepare_and_wait STATE_DIR WORK_DIR GROUP
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use assay_host::Ledger;
use assay_host::scratch::{Format, ScratchSpec, Source, set_up};
use assay_sys::kernel::Root;
use assay_sys::units::Bytes;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [state, work, group] = arguments.as_slice() else {
        return Err("usage: prepare_and_wait STATE_DIR WORK_DIR GROUP".into());
    };
    let root = Root::real();
    let mut ledger = Ledger::begin(state, "killed")?;
    enter_group(&root, &mut ledger, group)?;
    set_up(&root, &mut ledger, &spec(work), &|| false, &mut |_| {})?;
    println!("ready");
    sleep(Duration::from_secs(60));
    Ok(())
}

/// Creates a group with a group inside and a process that outlives this one.
fn enter_group(root: &Root, ledger: &mut Ledger, group: &Path) -> Result<(), Box<dyn Error>> {
    let inner = group.join("inner");
    ledger.make_group(root, group)?;
    ledger.make_group(root, &inner)?;
    let child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn()?;
    root.write(inner.join("cgroup.procs"), &child.id().to_string())?;
    Ok(())
}

fn spec(work: &Path) -> ScratchSpec {
    ScratchSpec {
        name: "kill".to_owned(),
        source: Source::Loop { image_dir: work.to_owned(), size: Bytes::mebi(48) },
        format: Format::Ext4,
        partitions: 2,
        scheduler: Some("bfq".to_owned()),
        queue: vec![("iosched/low_latency".to_owned(), "0".to_owned())],
        mount_dir: work.join("mounts"),
    }
}
