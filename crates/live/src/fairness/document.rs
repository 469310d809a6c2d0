//! The whole answer of one watch.

use assay_host::facts::Available;
use assay_judge::verdict::Verdict;
use serde::Serialize;

use crate::fairness::answer::LevelAnswer;
use crate::fairness::disks::DiskDivision;
use crate::fairness::limits::LimitRow;
use crate::fairness::look::Look;
use crate::fairness::own_cpus::OwnCpus;
use crate::fairness::protections::ProtectionRow;
use crate::fairness::usage::UsageLevel;

/// What watching added to an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contention {
    /// How long was watched.
    pub seconds: f64,
    /// The usual length of a cell.
    pub cell_ms: u64,
    /// Which switches of threads the eBPF programs were shown.
    pub switches: Available<Switches>,
    /// The levels whose children competed for CPUs.
    pub cpu: Available<Vec<LevelAnswer>>,
    /// Where contention could not be seen: what the groups used by their own counters. It decides nothing.
    pub usage: Vec<UsageLevel>,
    /// The same for disks that weights divide.
    pub disks: Available<Vec<DiskDivision>>,
    /// Whether limits were reached.
    pub limits: Vec<LimitRow>,
    /// Whether protections held.
    pub protection: Vec<ProtectionRow>,
    /// Who ran on CPUs that a group has for itself.
    pub own_cpus: Available<Vec<OwnCpus>>,
    /// What could not be looked at, and why.
    pub not_looked_at: Vec<String>,
    /// What the eBPF programs and reading all this took, in parts of one CPU.
    pub cost: f64,
}

/// Switches of threads on all CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Switches {
    /// Those that were shown.
    pub shown: u64,
    /// Those that were not: some virtual machines hide the events of a process.
    pub hidden: u64,
    /// CPU time of which it is not known who used it, since more than one switch in succession was hidden.
    pub unknown_s: f64,
}

impl Switches {
    /// Those up to a look.
    #[must_use]
    pub fn until(look: &Look) -> Self {
        let mut all = Self::default();
        for cpu in &look.cpus {
            all.shown += cpu.timing.events;
            all.hidden += cpu.hidden;
            all.unknown_s += cpu.unknown_ns as f64 * 1e-9;
        }
        all
    }
}

impl Contention {
    /// Leaves out what does not concern a group: it is below, at, or above it, or competes with one of these.
    pub fn keep_only(&mut self, group: &str) {
        let within = |path: &str, top: &str| {
            path.strip_prefix(top.trim_end_matches('/'))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let concerns = |other: &str| within(other, group) || within(group, other);
        let competes = |level: &LevelAnswer| level.rows.iter().any(|row| concerns(&row.group));
        if let Available::Value(levels) = &mut self.cpu {
            levels.retain(competes);
        }
        if let Available::Value(disks) = &mut self.disks {
            disks.iter_mut().for_each(|disk| disk.levels.retain(competes));
        }
        self.usage.retain(|level| level.rows.iter().any(|row| concerns(&row.group)));
        self.limits.retain(|row| concerns(&row.group));
        self.protection.retain(|row| concerns(&row.group));
        if let Available::Value(rows) = &mut self.own_cpus {
            rows.retain(|row| concerns(&row.group));
        }
    }

    /// Whether anything was broken.
    #[must_use]
    pub fn has_broken(&self) -> bool {
        let disks = self.disks.value().into_iter().flatten().flat_map(|disk| &disk.levels);
        let levels = self.cpu.value().into_iter().flatten().chain(disks);
        let divided = levels.flat_map(|level| &level.rows).map(|row| row.verdict);
        let protected = self.protection.iter().map(|row| row.verdict);
        divided.chain(protected).any(|verdict| verdict == Verdict::Broken)
    }
}

#[cfg(test)]
mod tests {
    use assay_audit::Reading;

    use super::*;
    use crate::fairness::answer::Row;

    fn level(parent: &str, children: [&str; 2]) -> LevelAnswer {
        let row = |group: &str| Row {
            group: group.to_owned(),
            owner: None,
            reading: Reading { file: String::new(), value: String::new() },
            verdict: Verdict::Broken,
            basis: None,
            promised: None,
            got: None,
            compared_s: 1.0,
            used: 1.0,
            notes: Vec::new(),
        };
        LevelAnswer {
            parent: parent.to_owned(),
            verdict: Verdict::Broken,
            contended_s: 1.0,
            others: 0.0,
            rows: children.map(row).into(),
        }
    }

    fn parents(found: &Contention) -> Vec<&str> {
        found.cpu.value().into_iter().flatten().map(|level| level.parent.as_str()).collect()
    }

    #[test]
    fn only_what_a_group_competes_in_is_kept() {
        let found = Contention {
            seconds: 1.0,
            cell_ms: 100,
            switches: Available::Value(Switches::default()),
            cpu: Available::Value(vec![
                level("/", ["/a", "/b"]),
                level("/a", ["/a/web", "/a/web2"]),
                level("/a/web", ["/a/web/1", "/a/web/2"]),
                level("/b", ["/b/1", "/b/2"]),
            ]),
            usage: Vec::new(),
            disks: Available::Value(Vec::new()),
            limits: Vec::new(),
            protection: Vec::new(),
            own_cpus: Available::Value(Vec::new()),
            not_looked_at: Vec::new(),
            cost: 0.0,
        };
        let of = |group: &str| {
            let mut found = found.clone();
            found.keep_only(group);
            found
        };
        assert_eq!(parents(&of("/a/web")), ["/", "/a", "/a/web"]);
        assert_eq!(parents(&of("/b")), ["/", "/b"]);
        assert_eq!(parents(&of("/")), parents(&found));
        assert!(parents(&of("/nowhere")).is_empty() && !of("/nowhere").has_broken());
        assert!(found.has_broken() && of("/b").has_broken());
    }
}
