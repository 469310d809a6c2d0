//! Compares the knob table with a new group in every mounted hierarchy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::Ledger;
use crate::facts::{CORE, Hierarchy, HostFacts, UsedHierarchy};
use crate::knob::{
    ExpectedFile, Kernel, Version, expected_files, matches_written, omission_reason,
};
use assay_sys::kernel::{Error, Root};
use serde::Serialize;

use crate::cgroup::Tree;

/// The inspected group, inside the top group: nothing has been written to its files.
const FRESH: &str = "fresh";

/// The result of the comparison.
#[derive(Debug, Clone, Default, Serialize)]
pub struct KnobTableCheck {
    /// Number of files compared.
    pub compared: usize,
    /// Disagreements between table and kernel.
    pub differences: Vec<Difference>,
    /// Files in the table that are absent for a known reason: name and reason.
    pub absent: BTreeMap<String, String>,
    /// Files that exist and are omitted from the table on purpose: name and reason.
    pub left_out: BTreeMap<String, String>,
    /// Hierarchies that could not be inspected: mount and reason.
    pub not_looked_at: BTreeMap<String, String>,
}

/// One disagreement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The path of the file.
    pub path: String,
    /// What the kernel shows.
    pub shows: String,
    /// What the table contains.
    pub table: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; the table says {}", self.path, self.shows, self.table)
    }
}

/// Creates a group in every hierarchy and compares its files, and those of the root, with the table:
/// their existence, their mode bits, and their initial contents. The group is removed by restoring the
/// ledger's entries. A hierarchy in which no group can be created is reported and left out.
pub fn check_knob_table(
    root: &Root,
    ledger: &mut Ledger,
    facts: &HostFacts,
    kernel: &Kernel,
    top: &str,
) -> Result<KnobTableCheck, Error> {
    let controllers: Vec<&str> = served(facts).into_iter().chain([CORE]).collect();
    let (hierarchies, absent) = facts.cgroup.hierarchies_with(controllers);
    let mut check = Check { root, kernel, result: KnobTableCheck::default() };
    check.result.not_looked_at.extend(absent);
    for hierarchy in hierarchies {
        let mark = ledger.mark();
        let one = std::slice::from_ref(&hierarchy);
        match Tree::create(root, ledger, one, top) {
            Ok(_) => check.hierarchy(&hierarchy, &hierarchy.base.join(top).join(FRESH))?,
            Err(error) => {
                let mount = hierarchy.mount.display().to_string();
                check.result.not_looked_at.insert(mount, error.to_string());
            }
        }
        if let Some(error) = ledger.restore_to(root, mark).into_iter().next() {
            return Err(error);
        }
    }
    Ok(check.result)
}

fn served(facts: &HostFacts) -> Vec<&str> {
    let controllers = facts.cgroup.controllers.iter();
    controllers
        .filter(|(_, controller)| !matches!(controller.hierarchy, Hierarchy::Absent(_)))
        .map(|(name, _)| name.as_str())
        .collect()
}

struct Check<'c> {
    root: &'c Root,
    kernel: &'c Kernel,
    result: KnobTableCheck,
}

impl Check<'_> {
    fn hierarchy(&mut self, hierarchy: &UsedHierarchy, fresh: &Path) -> Result<(), Error> {
        self.root.make_dir(fresh)?;
        let version = if hierarchy.is_v2 { Version::V2 } else { Version::V1 };
        let below = expected_files(version, &hierarchy.controllers, false, self.kernel);
        self.group(fresh, &below)?;
        for claim in &below {
            self.default(fresh, claim);
        }
        if hierarchy.base == hierarchy.mount {
            // The root of v2 shows files of every controller, enabled for its children or not.
            let claims = expected_files(version, &hierarchy.controllers, true, self.kernel);
            self.group(&hierarchy.mount, &claims)?;
        }
        Ok(())
    }

    /// Compares the existence of files, and their mode bits.
    fn group(&mut self, group: &Path, claims: &[ExpectedFile]) -> Result<(), Error> {
        let shown: BTreeSet<String> = self.root.list(group)?.into_iter().collect();
        let claimed: BTreeSet<&str> = claims.iter().map(|claim| claim.name.as_str()).collect();
        for name in shown.iter().filter(|name| !claimed.contains(name.as_str())) {
            if !self.root.is_directory(group.join(name)) {
                self.not_claimed(group, name);
            }
        }
        for claim in claims {
            self.result.compared += 1;
            let why_not = self.kernel.why_not(claim.file);
            match (shown.contains(&claim.name), why_not) {
                (true, None) => self.mode(group, claim),
                (true, Some(why)) => self.differs(&group.join(&claim.name), "it exists", &why),
                (false, Some(why)) => self.is_absent(claim, why),
                (false, None) => match claim.file.needs {
                    Some(needs) => self.is_absent(claim, format!("shown only when {needs}")),
                    // Whether the option is set may be unknown.
                    None if claim.file.config.is_some() && self.kernel.config.is_none() => {
                        let option = claim.file.config.unwrap_or_default();
                        let why = format!("it needs {option}, and the configuration is unknown");
                        self.is_absent(claim, why);
                    }
                    None => self.differs(&group.join(&claim.name), "no such file", "it exists"),
                },
            }
        }
        Ok(())
    }

    fn not_claimed(&mut self, group: &Path, name: &str) {
        match omission_reason(name) {
            Some(why) => {
                self.result.left_out.insert(name.to_owned(), why.to_owned());
            }
            None => self.differs(&group.join(name), "it exists", "no such file here"),
        }
    }

    fn mode(&mut self, group: &Path, claim: &ExpectedFile) {
        let path = group.join(&claim.name);
        let Some(expected) = self.kernel.version.and_then(|v| claim.file.mode_bits(v)) else {
            return;
        };
        match self.root.mode(&path) {
            Ok(mode) if mode == expected => {}
            Ok(mode) => {
                self.differs(&path, &format!("mode {mode:03o}"), &format!("{expected:03o}"));
            }
            Err(error) => self.differs(&path, &error.to_string(), &format!("mode {expected:03o}")),
        }
    }

    /// Compares the contents of the file of a new group, where the table has a default.
    fn default(&mut self, group: &Path, claim: &ExpectedFile) {
        let path = group.join(&claim.name);
        let Some(default) = claim.file.default.filter(|_| self.root.exists(&path)) else { return };
        match self.root.read_trimmed(&path) {
            Ok(text) if text == default || matches_written(&claim.name, default, &text) => {}
            Ok(text) => {
                self.differs(&path, &format!("reads `{text}`"), &format!("`{default}`"));
            }
            Err(error) => self.differs(&path, &error.to_string(), &format!("`{default}`")),
        }
    }

    fn is_absent(&mut self, claim: &ExpectedFile, why: String) {
        self.result.absent.insert(claim.name.clone(), why);
    }

    fn differs(&mut self, path: &Path, shows: &str, table: &str) {
        self.result.differences.push(Difference {
            path: path.display().to_string(),
            shows: shows.to_owned(),
            table: table.to_owned(),
        });
    }
}
