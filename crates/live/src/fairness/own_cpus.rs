//! Who ran on the CPUs that a group has for itself.

use assay_audit::{OwnSet, Reading};
use assay_host::facts::owner::Owner;
use serde::Serialize;

use crate::fairness::levels::is_within;
use crate::fairness::look::{FIRST_GROUP, KERNEL, Look, ROOT, Span};

/// Others that are named.
const MOST: usize = 5;

/// Less than this part of the time of a CPU is not worth a line.
const LEAST: f64 = 0.001;

/// The CPUs of a group, and who used them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnCpus {
    /// The group.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// The file with the set.
    pub reading: Reading,
    /// CPU time of the group itself and those below it, in seconds.
    pub own_s: f64,
    /// That of the kernel's own threads, which no set keeps away.
    pub kernel_s: f64,
    /// That of others, those with most first.
    pub others: Vec<Other>,
}

/// Another user of such CPUs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Other {
    /// The group, or `/` for threads in none.
    pub group: String,
    /// Its CPU time there in seconds, without groups below.
    pub seconds: f64,
}

/// Who ran on each set between two looks. Groups are known by their paths in the hierarchy of cpu: where cpuset is another
/// hierarchy, a group is the one with the same path there.
#[must_use]
pub fn own_cpus(sets: &[OwnSet], groups: &[String], first: &Look, last: &Look) -> Vec<OwnCpus> {
    let span = Span { number: 0, before: first, after: last };
    // Without a group of that path all its own threads would be others.
    let known = sets.iter().filter(|set| groups.iter().any(|group| is_within(group, &set.group)));
    known.map(|set| of_set(set, groups, &span)).collect()
}

fn of_set(set: &OwnSet, groups: &[String], span: &Span) -> OwnCpus {
    let ran = |slot: usize| -> f64 {
        let on = |cpu: &u16| {
            let cpu = usize::from(*cpu);
            span.run_ns(cpu, slot) + span.real_time_ns(cpu, slot)
        };
        set.cpus.iter().map(on).sum::<u64>() as f64 * 1e-9
    };
    let slots = groups.iter().zip(FIRST_GROUP..);
    let (own, others): (Vec<_>, Vec<_>) = slots.partition(|(path, _)| is_within(path, &set.group));
    let others = others.into_iter().map(|(path, slot)| (path.as_str(), slot)).chain([("/", ROOT)]);
    let least = LEAST * span.seconds() * set.cpus.len() as f64;
    let mut others: Vec<Other> = others
        .map(|(path, slot)| Other { group: path.to_owned(), seconds: ran(slot) })
        .filter(|other| other.seconds >= least)
        .collect();
    others.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    others.truncate(MOST);
    OwnCpus {
        group: set.group.clone(),
        owner: set.owner.clone(),
        reading: set.reading.clone(),
        own_s: own.iter().map(|(_, slot)| ran(*slot)).sum(),
        kernel_s: ran(KERNEL),
        others,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two CPUs with slots for the root, the kernel, /a, /a/b and /c, which ran so many ms on CPU 1.
    fn look(at_ms: u64, ran_ms: [u64; 5]) -> Look {
        let mut shares = vec![0; 2 * 5 * 5];
        for (slot, ms) in ran_ms.into_iter().enumerate() {
            shares[(5 + slot) * 5 + 1] = ms * 1_000_000;
        }
        let mut cpus = [0; 20];
        (cpus[1], cpus[11]) = (u64::MAX, u64::MAX);
        Look::parse(at_ms * 1_000_000, &cpus, &shares).unwrap()
    }

    #[test]
    fn others_on_cpus_of_a_groups_own_are_named() {
        let set = OwnSet {
            group: "/a".to_owned(),
            owner: None,
            reading: Reading { file: "/a/cpuset.cpus".to_owned(), value: "1".to_owned() },
            cpus: vec![1],
        };
        let groups = ["/a", "/a/b", "/c"].map(str::to_owned);
        let (first, last) = (look(0, [0; 5]), look(1000, [50, 20, 300, 400, 200]));
        let found = own_cpus(&[set], &groups, &first, &last);
        assert!((found[0].own_s - 0.7).abs() < 1e-9 && (found[0].kernel_s - 0.02).abs() < 1e-9);
        let others: Vec<(&str, f64)> =
            found[0].others.iter().map(|one| (one.group.as_str(), one.seconds)).collect();
        assert_eq!(others, [("/c", 0.2), ("/", 0.05)]);
    }
}
