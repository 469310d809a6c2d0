//! misc: countable resources that few machines have (encrypted virtual machines). The file is named
//! by what it is about, since that word says nothing.
//!
//! What charges them is the start of such a machine, which a case does not do; so it is limits and
//! readings that are looked at here, and not the effect.

use assay_kernel::Error;
use rustix::io::Errno;

use crate::case::Case;
use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;

const DOCUMENT: &str = "Documentation/admin-guide/cgroup-v2.rst, Misc";
const NEEDS: &[Need] = &[Need::Controller("misc"), Need::Root];

const fn case(
    behaviour: &'static str,
    promise: &'static str,
    run: fn(&mut Fixture) -> Result<Outcome, Error>,
) -> Case {
    Case { controller: "misc", behaviour, promise, documented: DOCUMENT, needs: NEEDS, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "a-resource-that-is-not-there-is-refused",
        "A limit in misc.max on a resource that the kernel does not know ends in EINVAL.",
        unknown,
    ),
    case("a-limit-reads-back", "misc.max takes a limit on a resource of misc.capacity.", limit),
    case(
        "a-group-without-processes-uses-nothing",
        "misc.current has every resource of misc.capacity, and 0 of it in a new group.",
        unused,
    ),
];

fn unknown(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let said = ground.refusal("a", "misc.max", "assay_nonsense 1");
    let seen = format!("a limit on a resource of no kernel: {}, to be EINVAL", words(said));
    Ok(Outcome::holds(said == Some(Errno::INVAL), seen))
}

/// The names in misc.capacity of the root; the reason where there are none.
fn resources(ground: &Fixture) -> Result<Result<Vec<String>, String>, Error> {
    let Some(mount) = ground.tree().mount("misc") else {
        return Ok(Err("no hierarchy serves misc".to_owned()));
    };
    let text = ground.root().read(mount.join("misc.capacity"))?;
    let names: Vec<String> = names(&text).map(str::to_owned).collect();
    if names.is_empty() {
        let why = "misc.capacity is empty: this machine has no resource that misc counts (AMD SEV, \
                   Intel TDX)";
        return Ok(Err(why.to_owned()));
    }
    Ok(Ok(names))
}

/// The first words of lines `name value`.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.split_whitespace().next())
}

fn limit(ground: &mut Fixture) -> Result<Outcome, Error> {
    let known = match resources(ground)? {
        Ok(known) => known,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    ground.make("a")?;
    let line = format!("{} 1", known[0]);
    ground.write("a", "misc.max", &line)?;
    Ok(judge_limit(&line, &ground.read("a", "misc.max")?))
}

fn judge_limit(wrote: &str, text: &str) -> Outcome {
    let seen = format!("wrote `{wrote}`, read `{}`", text.replace('\n', "; "));
    Outcome::holds(text.lines().any(|line| line == wrote), seen)
}

fn unused(ground: &mut Fixture) -> Result<Outcome, Error> {
    let known = match resources(ground)? {
        Ok(known) => known,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    ground.make("a")?;
    Ok(judge_unused(&known, &ground.read("a", "misc.current")?))
}

fn judge_unused(known: &[String], text: &str) -> Outcome {
    let seen = format!("{} in misc.capacity; `{}`", known.join(", "), text.replace('\n', "; "));
    let none = |name: &String| text.lines().any(|line| line == format!("{name} 0"));
    Outcome::holds(known.iter().all(none), seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn a_limit_that_is_not_taken_and_a_use_by_nobody_are_broken() {
        assert_eq!(judge_limit("sev 1", "sev 1\nsev_es max").verdict, Verdict::Kept);
        assert_eq!(judge_limit("sev 1", "sev max").verdict, Verdict::Broken);
        let known: Vec<String> = names("sev 509\nsev_es 10\n").map(str::to_owned).collect();
        assert_eq!(judge_unused(&known, "sev 0\nsev_es 0").verdict, Verdict::Kept);
        assert_eq!(judge_unused(&known, "sev 0").verdict, Verdict::Broken);
        assert_eq!(judge_unused(&known, "sev 0\nsev_es 2").verdict, Verdict::Broken);
    }
}
