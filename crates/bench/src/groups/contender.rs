//! Who does the job: Assay in this process, the others as the programs that people start.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assay_cgroup::Tree;
use assay_facts::Home;
use assay_host::Ledger;
use assay_kernel::Root;

use super::{Field, Place, Steps, script};
use crate::assay::write;
use crate::failure::Failure;

/// Someone else who makes groups.
pub(super) struct Contender {
    pub(super) name: &'static str,
    /// What it does, for the remarks.
    pub(super) how: &'static str,
    /// The part of its time that ours may take.
    pub(super) at_most: f64,
    script: String,
}

/// All others, ready to run. libcgroup's tools are part of the measurement: without them there
/// is none.
pub(super) fn contenders(field: &Field) -> Result<Vec<Contender>, Failure> {
    for tool in ["cgcreate", "cgset", "cgget", "cgdelete"] {
        let mut asked = Command::new(tool);
        asked.arg("-h").stdout(Stdio::null()).stderr(Stdio::null());
        if asked.status().is_err() {
            return Err(Failure::Failed(format!("no `{tool}`: apt-get install cgroup-tools")));
        }
    }
    Ok(vec![
        Contender {
            name: "libcgroup's tools",
            how: "cgcreate, cgset, cgget and cgdelete once for each group",
            at_most: 0.2,
            script: script::tools_for_each(field),
        },
        Contender {
            name: "libcgroup's tools, fewest calls",
            how: "cgcreate, cgset and cgget once for all groups, cgdelete -r once a hierarchy",
            at_most: 0.2,
            script: script::tools_at_once(field),
        },
        Contender {
            name: "a shell loop",
            how: "mkdir, echo, cat and rmdir for each group, in sh",
            at_most: 1.0,
            script: script::shell_for_each(field),
        },
        Contender {
            name: "a shell, fewest calls",
            how: "one mkdir and one rmdir for all groups, echo and read built into sh",
            at_most: 1.0,
            script: script::shell_at_once(field),
        },
    ])
}

impl Contender {
    /// Runs the script and checks that it has done all of the work: what it read back is what was
    /// to be set, and no group is left.
    pub(super) fn run(&self, field: &Field) -> Result<Duration, Failure> {
        let file = field.folder.join("groups.sh");
        write(&file, &self.script)?;
        let output = field.folder.join("groups.out");
        let wrong = |cause: std::io::Error| Failure::Failed(format!("{}: {cause}", self.name));
        let mut command = Command::new("sh");
        command.arg(&file).stdin(Stdio::null()).stdout(File::create(&output).map_err(wrong)?);
        let begun = Instant::now();
        let status = command.status().map_err(wrong)?;
        let elapsed = begun.elapsed();
        if !status.success() {
            return Err(Failure::Failed(format!("{} ended with {status}", self.name)));
        }
        let text = std::fs::read_to_string(&output).map_err(wrong)?;
        self.check(field, &text)?;
        Ok(elapsed)
    }

    fn check(&self, field: &Field, text: &str) -> Result<(), Failure> {
        for (_, value) in field.homes.iter().flat_map(|place| &place.files) {
            let read = text.lines().filter(|line| line.trim() == *value).count();
            if read != field.count {
                let name = self.name;
                return Err(Failure::Failed(format!("{name} read {value} back {read} times")));
            }
        }
        left(field).map_or(Ok(()), |group| {
            Err(Failure::Failed(format!("{} left {group} behind", self.name)))
        })
    }
}

/// A group that is still inside one of the top groups, if there is one.
fn left(field: &Field) -> Option<String> {
    field.homes.iter().find_map(|place| {
        let inside = Root::real().directories(place.top()).unwrap_or_default();
        inside.first().map(|name| place.top().join(name).display().to_string())
    })
}

/// Ours: with the ledger on the disk, every value read back and compared, everything taken back.
pub(super) fn ours(field: &Field, root: &Root) -> Result<(Duration, Steps), Failure> {
    let homes: Vec<Home> =
        field.homes.iter().map(|place| Home { base: place.top(), ..place.home.clone() }).collect();
    let names: Vec<String> = (1..=field.count).map(|number| format!("g{number}")).collect();
    let begun = Instant::now();
    let mut ledger = Ledger::begin(&field.folder.join("ours"), "ours")?;
    let tree = Tree::create(root, &mut ledger, &homes, "assay")?;
    for name in &names {
        tree.make(name, false)?;
    }
    let made = begun.elapsed();
    let files: Vec<(&str, &str, &str)> = field.homes.iter().flat_map(files_of).collect();
    for name in &names {
        for (controller, file, value) in &files {
            tree.write(name, controller, file, value)?;
        }
    }
    let set = begun.elapsed();
    for name in &names {
        for (controller, file, value) in &files {
            let found = tree.read(name, controller, file)?;
            if found != *value {
                return Err(Failure::Failed(format!("{file} of {name} reads {found}")));
            }
        }
    }
    let read = begun.elapsed();
    if let Some(error) = ledger.restore(root).into_iter().next() {
        return Err(error.into());
    }
    ledger.finish()?;
    let all = begun.elapsed();
    match left(field) {
        Some(group) => Err(Failure::Failed(format!("Assay left {group} behind"))),
        None => {
            Ok((all, Steps { make: made, set: set - made, read: read - set, remove: all - read }))
        }
    }
}

fn files_of(place: &Place) -> Vec<(&'static str, &'static str, &'static str)> {
    let controllers = place.controllers.iter();
    controllers.zip(&place.files).map(|(name, (file, value))| (*name, *file, *value)).collect()
}
