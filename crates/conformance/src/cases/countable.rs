//! misc: countable resources that few machines have (encrypted virtual machines). The file name
//! says more than `misc` would.
//!
//! Resources are charged when such a machine starts, which a case does not do. These cases
//! therefore check limits and readings, not the effect.

use rustix::io::Errno;

use crate::case::{Case, Topic};
use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::{Outcome, Stop};

const MISC: Topic = Topic::new(
    "misc",
    "Documentation/admin-guide/cgroup-v2.rst, Misc",
    &[Need::Controller("misc"), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    MISC.case(
        "a-resource-that-is-not-there-is-refused",
        "A limit in misc.max on a resource unknown to the kernel fails with EINVAL.",
        unknown,
    ),
    MISC.case(
        "a-limit-reads-back",
        "misc.max accepts a limit on a resource of misc.capacity.",
        limit,
    ),
    MISC.case(
        "a-group-without-processes-uses-nothing",
        "misc.current lists every resource of misc.capacity, with 0 in a new group.",
        unused,
    ),
];

fn unknown(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let answer = fixture.refusal("a", "misc.max", "assay_nonsense 1");
    let evidence =
        format!("a limit on an unknown resource: {}, expected EINVAL", errno_text(answer));
    Ok(Outcome::holds(answer == Some(Errno::INVAL), evidence))
}

/// The resource names in misc.capacity of the root, or the reason why there are none.
fn resources(fixture: &Fixture) -> Result<Vec<String>, Stop> {
    let Some(mount) = fixture.tree().mount("misc") else {
        return Err(Stop::not_available("no hierarchy has the controller misc"));
    };
    let text = fixture.root().read(mount.join("misc.capacity"))?;
    let names: Vec<String> = names(&text).map(str::to_owned).collect();
    if names.is_empty() {
        let why = "misc.capacity is empty: this machine has none of its resources (AMD SEV, \
                   Intel TDX)";
        return Err(Stop::not_available(why));
    }
    Ok(names)
}

/// The first words of lines `name value`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.split_whitespace().next())
}

fn limit(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let known = resources(fixture)?;
    fixture.make("a")?;
    let line = format!("{} 1", known[0]);
    fixture.write("a", "misc.max", &line)?;
    Ok(judge_limit(&line, &fixture.read("a", "misc.max")?))
}

fn judge_limit(wrote: &str, text: &str) -> Outcome {
    let evidence = format!("wrote `{wrote}`, read `{}`", text.replace('\n', "; "));
    Outcome::holds(text.lines().any(|line| line == wrote), evidence)
}

fn unused(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let known = resources(fixture)?;
    fixture.make("a")?;
    Ok(judge_unused(&known, &fixture.read("a", "misc.current")?))
}

fn judge_unused(known: &[String], text: &str) -> Outcome {
    let evidence = format!("{} in misc.capacity; `{}`", known.join(", "), text.replace('\n', "; "));
    let none = |name: &String| text.lines().any(|line| line == format!("{name} 0"));
    Outcome::holds(known.iter().all(none), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_limit_that_is_not_accepted_and_use_without_processes_are_broken() {
        assert_eq!(judge_limit("sev 1", "sev 1\nsev_es max").verdict, Verdict::Kept);
        assert_eq!(judge_limit("sev 1", "sev max").verdict, Verdict::Broken);
        let known: Vec<String> = names("sev 509\nsev_es 10\n").map(str::to_owned).collect();
        assert_eq!(judge_unused(&known, "sev 0\nsev_es 0").verdict, Verdict::Kept);
        assert_eq!(judge_unused(&known, "sev 0").verdict, Verdict::Broken);
        assert_eq!(judge_unused(&known, "sev 0\nsev_es 2").verdict, Verdict::Broken);
    }
}
