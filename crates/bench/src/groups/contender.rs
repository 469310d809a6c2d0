//! The contenders: Assay in this process, the others as common programs.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_cgroup::Tree;
use assay_facts::UsedHierarchy;
use assay_host::Ledger;
use assay_kernel::Root;

use super::{Setup, Steps, TopGroup, script};
use crate::assay::write;
use crate::child;
use crate::failure::Failure;

/// Another program that creates groups.
pub(super) struct Contender {
    pub(super) name: &'static str,
    /// Description for the remarks.
    pub(super) how: &'static str,
    /// Target for our time as a fraction of its time.
    pub(super) at_most: f64,
    script: String,
}

/// All other contenders. libcgroup's tools are required for the measurement.
pub(super) fn contenders_for(setup: &Setup) -> Result<Vec<Contender>, Failure> {
    for tool in ["cgcreate", "cgset", "cgget", "cgdelete"] {
        let mut help = Command::new(tool);
        help.arg("-h").stdout(Stdio::null()).stderr(Stdio::null());
        if help.status().is_err() {
            return Err(Failure::Failed(format!("no `{tool}`: apt-get install cgroup-tools")));
        }
    }
    Ok(vec![
        Contender {
            name: "libcgroup's tools",
            how: "cgcreate, cgset, cgget and cgdelete once for each group",
            at_most: 0.2,
            script: script::tools_for_each(setup),
        },
        Contender {
            name: "libcgroup's tools, fewest calls",
            how: "cgcreate, cgset and cgget once for all groups, cgdelete -r once a hierarchy",
            at_most: 0.2,
            script: script::tools_at_once(setup),
        },
        Contender {
            name: "a shell loop",
            how: "mkdir, echo, cat and rmdir for each group, in sh",
            at_most: 1.0,
            script: script::shell_for_each(setup),
        },
        Contender {
            name: "a shell, fewest calls",
            how: "one mkdir and one rmdir for all groups, echo and read built into sh",
            at_most: 1.0,
            script: script::shell_at_once(setup),
        },
    ])
}

impl Contender {
    /// Runs the script and verifies its work: all values were read back correctly, and no group is
    /// left.
    pub(super) fn run(&self, setup: &Setup) -> Result<Duration, Failure> {
        let file = setup.folder.join("groups.sh");
        write(&file, &self.script)?;
        let output = setup.folder.join("groups.out");
        let wrong = |cause: std::io::Error| Failure::Failed(format!("{}: {cause}", self.name));
        let mut command = Command::new("sh");
        command.arg(&file).stdin(Stdio::null()).stdout(File::create(&output).map_err(wrong)?);
        let begun = Instant::now();
        let status = child::wait(&mut command.spawn().map_err(wrong)?)?;
        let elapsed = begun.elapsed();
        if !status.success() {
            return Err(Failure::Failed(format!("{} ended with {status}", self.name)));
        }
        let text = std::fs::read_to_string(&output).map_err(wrong)?;
        self.check(setup, &text)?;
        Ok(elapsed)
    }

    fn check(&self, setup: &Setup, text: &str) -> Result<(), Failure> {
        for (_, value) in setup.hierarchies.iter().flat_map(|top_group| &top_group.files) {
            let read = text.lines().filter(|line| line.trim() == *value).count();
            if read != setup.count {
                let name = self.name;
                return Err(Failure::Failed(format!("{name} read {value} back {read} times")));
            }
        }
        leftover_group(setup).map_or(Ok(()), |group| {
            Err(Failure::Failed(format!("{} left {group} behind", self.name)))
        })
    }
}

/// A group that still exists in one of the top groups, if any.
fn leftover_group(setup: &Setup) -> Option<String> {
    setup.hierarchies.iter().find_map(|top_group| {
        let inside = Root::real().directories(top_group.top()).unwrap_or_default();
        inside.first().map(|name| top_group.top().join(name).display().to_string())
    })
}

/// Assay: with the ledger on disk, every value read back and compared, everything restored.
pub(super) fn ours(setup: &Setup, root: &Root) -> Result<(Duration, Steps), Failure> {
    let hierarchies: Vec<UsedHierarchy> = setup
        .hierarchies
        .iter()
        .map(|top_group| UsedHierarchy { base: top_group.top(), ..top_group.hierarchy.clone() })
        .collect();
    let names: Vec<String> = (1..=setup.count).map(|number| format!("g{number}")).collect();
    let begun = Instant::now();
    let mut ledger = Ledger::begin(&setup.folder.join("ours"), "ours")?;
    let tree = Tree::create(root, &mut ledger, &hierarchies, "assay")?;
    for name in &names {
        tree.make(name, false)?;
    }
    let made = begun.elapsed();
    let files: Vec<(&str, &str, &str)> = setup.hierarchies.iter().flat_map(files_of).collect();
    for name in &names {
        for (controller, file, value) in &files {
            tree.write(name, controller, file, value)?;
        }
    }
    let set = begun.elapsed();
    for name in &names {
        for (controller, file, value) in &files {
            let actual = tree.read(name, controller, file)?;
            if actual != *value {
                return Err(Failure::Failed(format!("{file} of {name} reads {actual}")));
            }
        }
    }
    let read = begun.elapsed();
    if let Some(error) = ledger.restore(root).into_iter().next() {
        return Err(error.into());
    }
    ledger.finish()?;
    let all = begun.elapsed();
    match leftover_group(setup) {
        Some(group) => Err(Failure::Failed(format!("Assay left {group} behind"))),
        None => {
            Ok((all, Steps { make: made, set: set - made, read: read - set, remove: all - read }))
        }
    }
}

fn files_of(top_group: &TopGroup) -> Vec<(&'static str, &'static str, &'static str)> {
    let controllers = top_group.controllers.iter();
    controllers.zip(&top_group.files).map(|(name, (file, value))| (*name, *file, *value)).collect()
}
