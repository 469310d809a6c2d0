//! CPUs: none outside of the set.

use std::path::Path;

use assay_sys::kernel::Error;

use super::Proof;
use crate::probe::beside::{Beside, COPY, TWIN};
use crate::probe::limit::cpus_of;

pub(super) fn cpus(beside: &Beside<'_>, group: &Path) -> Result<Proof, Error> {
    let cpus = |group| cpus_of(beside.root, group, beside.is_v2());
    let set = cpus(group)?;
    let parent = cpus(group.parent().unwrap_or(group))?;
    let Some(outside) = parent.iter().find(|cpu| !set.contains(*cpu)) else {
        return Ok(Proof::not_provable("it leaves out none of the CPUs of the group above"));
    };
    if !beside.is_inside() {
        beside.write(COPY, "cpuset.cpus", &set.to_string())?;
    }
    let starts = |group, cpu| beside.start(group, &format!("spin duty=1 cpu={cpu}")).is_ok();
    let [copy, twin] = [COPY, TWIN].map(|group| starts(group, outside));
    // A probe may also end for another reason.
    let inside = set.iter().next().is_some_and(|inside| starts(COPY, inside));
    Ok(judge(outside, copy, inside, twin, &beside.names("a set")))
}

fn judge(outside: u16, copy: bool, inside: bool, twin: bool, names: &[String; 2]) -> Proof {
    let [copy_name, twin_name] = names;
    match (copy, twin) {
        (false, true) if !inside => Proof::not_provable(format!("{copy_name}: none starts")),
        (false, true) => {
            Proof::enforced(format!("{copy_name}: CPU {outside} refused; {twin_name}: accepted"))
        }
        (true, _) => Proof::not_enforced(format!("{copy_name}: was bound to CPU {outside}")),
        (false, false) => {
            Proof::not_provable(format!("{twin_name}: CPU {outside} was refused, too"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Verdict;

    #[test]
    fn a_set_needs_a_twin_that_may_leave_it() {
        let names = ["copy", "twin"].map(str::to_owned);
        let judge = |copy, inside, twin| judge(1, copy, inside, twin, &names).verdict;
        assert_eq!(judge(false, true, true), Verdict::Enforced);
        assert_eq!(judge(true, true, true), Verdict::NotEnforced);
        assert_eq!(judge(false, true, false), Verdict::NotProvable);
        assert_eq!(judge(false, false, true), Verdict::NotProvable);
    }
}
