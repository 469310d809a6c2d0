//! devices: access to device nodes. cgroup v1 has files for it; on v2 Assay attaches an eBPF
//! program built from the same rules.

use assay_kernel::Error;
use assay_kernel::device_program::{DeviceRule, Verb, attach};
use rustix::io::Errno;

use crate::case::{Case, Topic};
use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::{Outcome, Stop};
use crate::running::Running;

const V1: Topic = Topic::new(
    "devices",
    "Documentation/admin-guide/cgroup-v1/devices.rst",
    &[Need::OnV1("devices"), Need::Root],
);
/// Programs on v2.
const V2: Topic = Topic::new(
    "devices",
    "Documentation/admin-guide/cgroup-v2.rst, Device controller",
    &[Need::V2, Need::Kernel(4, 15), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    V1.case(
        "denied-device-ends-in-eperm",
        "Opening a device in devices.deny fails with EPERM.",
        |g| case(g, &DENY_ONE),
    ),
    V1.case("device-beside-a-denied-one-opens", "Denying a device does not affect others.", |g| {
        case(g, &ALLOW_OTHERS)
    }),
    V1.case(
        "mknod-of-a-denied-device-ends-in-eperm",
        "A group may not create a device node without m.",
        |g| case(g, &DENY_NODE),
    ),
    V1.case(
        "allow-list-binds-by-access",
        "Writing to a device allowed for reading fails with EPERM.",
        |g| case(g, &ALLOW_READING),
    ),
    V1.case("allow-gives-back-what-deny-took", "A device in devices.allow opens again.", give_back),
    V1.case(
        "group-inside-allows-no-more-than-the-one-above",
        "A group cannot allow itself a device that its parent may not use.",
        allow_inside,
    ),
    V2.case("program-denies-a-device", "A device denied by a program fails with EPERM.", |g| {
        case(g, &DENY_ONE)
    }),
    V2.case("program-lets-others-open", "Devices allowed by the program still open.", |g| {
        case(g, &ALLOW_OTHERS)
    }),
    V2.case(
        "program-denies-mknod",
        "A group may not create a device node that its program denies.",
        |g| case(g, &DENY_NODE),
    ),
    V2.case(
        "program-tells-reading-from-writing",
        "Writing to a device allowed for reading fails with EPERM.",
        |g| case(g, &ALLOW_READING),
    ),
    V2.case(
        "program-of-the-group-above-binds-too",
        "All programs up to the root are consulted, and each may deny.",
        parent_denies,
    ),
];

/// A command sent to a probe, with the expected and the actual result.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    command: &'static str,
    expected: Option<Errno>,
    got: Option<Errno>,
}

/// Rules for a group, and commands for its probe with the expected answers.
struct Rules {
    lines: &'static [(Verb, &'static str)],
    commands: &'static [(&'static str, Option<Errno>)],
}

const REFUSED: Option<Errno> = Some(Errno::PERM);

/// /dev/zero is 1:5, /dev/null 1:3 and /dev/full 1:7 (Documentation/admin-guide/devices.txt).
const DENY_ONE: Rules =
    Rules { lines: &[(Verb::Deny, "c 1:5 rwm")], commands: &[("open r /dev/zero", REFUSED)] };

const ALLOW_OTHERS: Rules = Rules {
    lines: &[(Verb::Deny, "c 1:5 rwm")],
    commands: &[("open rw /dev/null", None), ("open r /dev/full", None)],
};

const DENY_NODE: Rules = Rules {
    lines: &[(Verb::Deny, "c 1:5 m")],
    commands: &[("mknod c 1 5", REFUSED), ("open r /dev/zero", None), ("mknod c 1 3", None)],
};

const ALLOW_READING: Rules = Rules {
    lines: &[(Verb::Deny, "a"), (Verb::Allow, "c 1:3 r")],
    commands: &[
        ("open r /dev/null", None),
        ("open w /dev/null", REFUSED),
        ("open r /dev/zero", REFUSED),
    ],
};

fn case(fixture: &mut Fixture, rules: &Rules) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "device")?;
    // A device that does not open without rules would prove nothing.
    let before =
        send_commands(&mut probe, rules.commands.iter().map(|(command, _)| (*command, None)))?;
    rule(fixture, "a", rules.lines)?;
    let after = send_commands(&mut probe, rules.commands.iter().copied())?;
    Ok(judge(&before, &after, &shown(rules.lines)))
}

/// Applies rules to a group.
fn rule(fixture: &Fixture, group: &str, lines: &[(Verb, &str)]) -> Result<(), Stop> {
    if !fixture.is_v2() {
        for (verb, line) in lines {
            fixture.write(group, file(*verb), line)?;
        }
        return Ok(());
    }
    let parsed: Result<Vec<(Verb, DeviceRule)>, String> =
        lines.iter().map(|(verb, line)| Ok((*verb, line.parse()?))).collect();
    let directory = fixture.directory(group);
    let parsed = parsed.map_err(|hint| Error::unexpected("understand", &directory, hint))?;
    attach(fixture.root(), &directory, &parsed)
        .map_err(|error| Stop::not_available(error.to_string()))
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

fn send_commands(
    probe: &mut Running,
    commands: impl Iterator<Item = (&'static str, Option<Errno>)>,
) -> Result<Vec<Attempt>, Error> {
    commands
        .map(|(command, expected)| {
            probe.send(command);
            Ok(Attempt { command, expected, got: probe.refusal()? })
        })
        .collect()
}

fn judge(before: &[Attempt], after: &[Attempt], rules: &str) -> Outcome {
    let line = |attempts: &[Attempt]| {
        let answers =
            attempts.iter().map(|one| format!("{}: {}", one.command, errno_text(one.got)));
        answers.collect::<Vec<String>>().join(", ")
    };
    let evidence = format!("with {rules}: {}", line(after));
    if before.iter().any(|one| one.got != one.expected) {
        return Outcome::void("it failed without rules, too").with(line(before));
    }
    Outcome::holds(after.iter().all(|one| one.got == one.expected), evidence)
}

fn give_back(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let mut probe = fixture.start("a", "device")?;
    fixture.write("a", "devices.deny", "c 1:5 r")?;
    let mut attempts = send_commands(&mut probe, [("open r /dev/zero", REFUSED)].into_iter())?;
    fixture.write("a", "devices.allow", "c 1:5 r")?;
    attempts.extend(send_commands(&mut probe, [("open r /dev/zero", None)].into_iter())?);
    Ok(judge(&[], &attempts, "deny and then allow c 1:5 r"))
}

fn allow_inside(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("outer")?;
    fixture.make("outer/a")?;
    fixture.write("outer", "devices.deny", "c 1:5 r")?;
    let answer = fixture.refusal("outer/a", "devices.allow", "c 1:5 r");
    let mut probe = fixture.start("outer/a", "device")?;
    let mut attempts = send_commands(&mut probe, [("open r /dev/zero", REFUSED)].into_iter())?;
    attempts.push(Attempt { command: "devices.allow inside", expected: REFUSED, got: answer });
    Ok(judge(&[], &attempts, "deny c 1:5 r above"))
}

fn parent_denies(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make_parent("outer")?;
    fixture.make("outer/a")?;
    let mut probe = fixture.start("outer/a", "device")?;
    let commands = [("open r /dev/zero", REFUSED), ("open r /dev/full", REFUSED)];
    let before = send_commands(&mut probe, commands.iter().map(|(command, _)| (*command, None)))?;
    for (group, line) in [("outer", "c 1:5 r"), ("outer/a", "c 1:7 r")] {
        rule(fixture, group, &[(Verb::Deny, line)])?;
    }
    let after = send_commands(&mut probe, commands.into_iter())?;
    Ok(judge(&before, &after, "deny c 1:5 r above, deny c 1:7 r inside"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn used(expected: Option<Errno>, got: Option<Errno>) -> Attempt {
        Attempt { command: "open r /dev/zero", expected, got }
    }

    #[test]
    fn opening_a_denied_device_or_another_errno_is_broken() {
        let judge = |got| judge(&[used(None, None)], &[used(REFUSED, got)], "deny").verdict;
        assert_eq!(judge(REFUSED), Verdict::Kept);
        assert_eq!(judge(None), Verdict::Broken);
        assert_eq!(judge(Some(Errno::ACCESS)), Verdict::Broken);
    }

    #[test]
    fn a_device_that_never_opened_is_void() {
        let outcome = judge(&[used(None, Some(Errno::NOENT))], &[used(REFUSED, REFUSED)], "deny");
        assert_eq!(outcome.verdict, Verdict::Void);
    }
}
