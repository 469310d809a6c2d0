//! devices: what a group may open and make. cgroup v1 has files for it; on v2 Assay attaches an
//! eBPF program from the same lines.

use assay_kernel::Error;
use assay_kernel::device_program::{DeviceRule, Verb, attach};
use rustix::io::Errno;

use crate::case::Case;
use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;
use crate::running::Running;

const V1: &str = "Documentation/admin-guide/cgroup-v1/devices.rst";
const V2: &str = "Documentation/admin-guide/cgroup-v2.rst, Device controller";

/// A case of the files of v1.
const fn v1(behaviour: &'static str, promise: &'static str, run: Run) -> Case {
    const NEEDS: &[Need] = &[Need::OnV1("devices"), Need::Root];
    Case { controller: "devices", behaviour, promise, documented: V1, needs: NEEDS, run }
}

/// A case of programs on v2.
const fn v2(behaviour: &'static str, promise: &'static str, run: Run) -> Case {
    const NEEDS: &[Need] = &[Need::V2, Need::Kernel(4, 15), Need::Root];
    Case { controller: "devices", behaviour, promise, documented: V2, needs: NEEDS, run }
}

type Run = fn(&mut Fixture) -> Result<Outcome, Error>;

pub(super) const CASES: &[Case] = &[
    v1("denied-device-ends-in-eperm", "Opening a device in devices.deny ends in EPERM.", |g| {
        case(g, deny_one)
    }),
    v1("device-beside-a-denied-one-opens", "A denied device takes no other with it.", |g| {
        case(g, beside)
    }),
    v1(
        "mknod-of-a-denied-device-ends-in-eperm",
        "A group may not make a node it lacks m for.",
        |g| case(g, deny_node),
    ),
    v1(
        "allow-list-binds-by-access",
        "Of a device allowed for reading, writing ends in EPERM.",
        |g| case(g, allow_reading),
    ),
    v1("allow-gives-back-what-deny-took", "A device in devices.allow opens again.", give_back),
    v1(
        "group-inside-allows-no-more-than-the-one-above",
        "A group cannot allow itself what the group above may not use.",
        allow_inside,
    ),
    v2("program-denies-a-device", "A program that says no ends in EPERM.", |g| case(g, deny_one)),
    v2("program-lets-others-open", "What the program allows opens as before.", |g| case(g, beside)),
    v2("program-denies-mknod", "A group may not make a node that its program denies.", |g| {
        case(g, deny_node)
    }),
    v2(
        "program-tells-reading-from-writing",
        "Of a device allowed for reading, writing ends in EPERM.",
        |g| case(g, allow_reading),
    ),
    v2(
        "program-of-the-group-above-binds-too",
        "All programs up to the root are asked, and each may deny.",
        above,
    ),
];

/// One thing that a probe did, what should come of it, and what came.
#[derive(Debug, Clone, Copy)]
struct Use {
    order: &'static str,
    wanted: Option<Errno>,
    got: Option<Errno>,
}

/// Lines for a group, and orders for the probe inside with their answers.
struct Rules {
    lines: &'static [(Verb, &'static str)],
    orders: &'static [(&'static str, Option<Errno>)],
}

const REFUSED: Option<Errno> = Some(Errno::PERM);

/// /dev/zero is 1:5, /dev/null 1:3 and /dev/full 1:7 (Documentation/admin-guide/devices.txt).
fn deny_one() -> Rules {
    Rules { lines: &[(Verb::Deny, "c 1:5 rwm")], orders: &[("open r /dev/zero", REFUSED)] }
}

fn beside() -> Rules {
    Rules {
        lines: &[(Verb::Deny, "c 1:5 rwm")],
        orders: &[("open rw /dev/null", None), ("open r /dev/full", None)],
    }
}

fn deny_node() -> Rules {
    Rules {
        lines: &[(Verb::Deny, "c 1:5 m")],
        orders: &[("mknod c 1 5", REFUSED), ("open r /dev/zero", None), ("mknod c 1 3", None)],
    }
}

fn allow_reading() -> Rules {
    Rules {
        lines: &[(Verb::Deny, "a"), (Verb::Allow, "c 1:3 r")],
        orders: &[
            ("open r /dev/null", None),
            ("open w /dev/null", REFUSED),
            ("open r /dev/zero", REFUSED),
        ],
    }
}

fn case(ground: &mut Fixture, rules: fn() -> Rules) -> Result<Outcome, Error> {
    let rules = rules();
    ground.make("a")?;
    let mut probe = ground.start("a", "device")?;
    // What does not open without rules would prove nothing.
    let before = ask(&mut probe, rules.orders.iter().map(|(order, _)| (*order, None)))?;
    if let Some(why) = rule(ground, "a", rules.lines)? {
        return Ok(Outcome::not_available(why));
    }
    let after = ask(&mut probe, rules.orders.iter().copied())?;
    Ok(judge(&before, &after, &shown(rules.lines)))
}

/// Gives a group its rules. Why programs cannot be attached here, where they cannot.
fn rule(ground: &Fixture, group: &str, lines: &[(Verb, &str)]) -> Result<Option<String>, Error> {
    if !ground.is_v2() {
        for (verb, line) in lines {
            ground.write(group, file(*verb), line)?;
        }
        return Ok(None);
    }
    let parsed: Result<Vec<(Verb, DeviceRule)>, String> =
        lines.iter().map(|(verb, line)| Ok((*verb, line.parse()?))).collect();
    let directory = ground.directory(group);
    let parsed = parsed.map_err(|hint| Error::unexpected("understand", &directory, hint))?;
    Ok(attach(ground.root(), &directory, &parsed).err().map(|error| error.to_string()))
}

const fn file(verb: Verb) -> &'static str {
    match verb {
        Verb::Allow => "devices.allow",
        Verb::Deny => "devices.deny",
    }
}

fn shown(lines: &[(Verb, &str)]) -> String {
    let word = |verb| if verb == Verb::Allow { "allow" } else { "deny" };
    let lines: Vec<String> =
        lines.iter().map(|(verb, line)| format!("{} {line}", word(*verb))).collect();
    lines.join(", ")
}

fn ask(
    probe: &mut Running,
    orders: impl Iterator<Item = (&'static str, Option<Errno>)>,
) -> Result<Vec<Use>, Error> {
    orders
        .map(|(order, wanted)| {
            probe.say(order);
            let line = probe.line()?.unwrap_or_default();
            let number = line.strip_prefix("refused ").and_then(|text| text.parse().ok());
            Ok(Use { order, wanted, got: number.map(Errno::from_raw_os_error) })
        })
        .collect()
}

fn judge(before: &[Use], after: &[Use], rules: &str) -> Outcome {
    let line = |uses: &[Use]| {
        let answers = uses.iter().map(|one| format!("{}: {}", one.order, words(one.got)));
        answers.collect::<Vec<String>>().join(", ")
    };
    let seen = format!("with {rules}: {}", line(after));
    if before.iter().any(|one| one.got != one.wanted) {
        return Outcome::void("it did not work without rules either").with(line(before));
    }
    Outcome::holds(after.iter().all(|one| one.got == one.wanted), seen)
}

fn give_back(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("a")?;
    let mut probe = ground.start("a", "device")?;
    ground.write("a", "devices.deny", "c 1:5 r")?;
    let mut uses = ask(&mut probe, [("open r /dev/zero", REFUSED)].into_iter())?;
    ground.write("a", "devices.allow", "c 1:5 r")?;
    uses.extend(ask(&mut probe, [("open r /dev/zero", None)].into_iter())?);
    Ok(judge(&[], &uses, "deny and then allow c 1:5 r"))
}

fn allow_inside(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make("outer")?;
    ground.make("outer/a")?;
    ground.write("outer", "devices.deny", "c 1:5 r")?;
    let answer = ground.refusal("outer/a", "devices.allow", "c 1:5 r");
    let mut probe = ground.start("outer/a", "device")?;
    let mut uses = ask(&mut probe, [("open r /dev/zero", REFUSED)].into_iter())?;
    uses.push(Use { order: "devices.allow inside", wanted: REFUSED, got: answer });
    Ok(judge(&[], &uses, "deny c 1:5 r above"))
}

fn above(ground: &mut Fixture) -> Result<Outcome, Error> {
    ground.make_parent("outer")?;
    ground.make("outer/a")?;
    let mut probe = ground.start("outer/a", "device")?;
    let orders = [("open r /dev/zero", REFUSED), ("open r /dev/full", REFUSED)];
    let before = ask(&mut probe, orders.iter().map(|(order, _)| (*order, None)))?;
    for (group, line) in [("outer", "c 1:5 r"), ("outer/a", "c 1:7 r")] {
        if let Some(why) = rule(ground, group, &[(Verb::Deny, line)])? {
            return Ok(Outcome::not_available(why));
        }
    }
    let after = ask(&mut probe, orders.into_iter())?;
    Ok(judge(&before, &after, "deny c 1:5 r above, deny c 1:7 r inside"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn used(wanted: Option<Errno>, got: Option<Errno>) -> Use {
        Use { order: "open r /dev/zero", wanted, got }
    }

    #[test]
    fn a_kernel_that_opens_a_denied_device_or_says_something_else_is_broken() {
        let judge = |got| judge(&[used(None, None)], &[used(REFUSED, got)], "deny").verdict;
        assert_eq!(judge(REFUSED), Verdict::Kept);
        assert_eq!(judge(None), Verdict::Broken);
        assert_eq!(judge(Some(Errno::ACCESS)), Verdict::Broken);
    }

    #[test]
    fn a_device_that_never_opened_shows_nothing() {
        let outcome = judge(&[used(None, Some(Errno::NOENT))], &[used(REFUSED, REFUSED)], "deny");
        assert_eq!(outcome.verdict, Verdict::Void);
    }
}
