//! devices: access to device nodes. cgroup v1 has files for it; on v2 Assay attaches an eBPF
//! program built from the same rules.

use super::prelude::*;
use assay_sys::kernel::device_program::{DeviceRule, Verb, attach};

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
        |fixture| case(fixture, &DENY_ONE),
    ),
    V1.case(
        "device-beside-a-denied-one-opens",
        "Denying a device does not affect others.",
        |fixture| case(fixture, &ALLOW_OTHERS),
    ),
    V1.case(
        "mknod-of-a-denied-device-ends-in-eperm",
        "A group may not create a device node without m.",
        |fixture| case(fixture, &DENY_NODE),
    ),
    V1.case(
        "allow-list-binds-by-access",
        "Writing to a device allowed for reading fails with EPERM.",
        |fixture| case(fixture, &ALLOW_READING),
    ),
    V1.case(
        "allow-gives-back-what-deny-took",
        "A device in devices.allow opens again.",
        |fixture| {
            let mut probe = fixture.start_in("a", "device")?;
            fixture.write("a", "devices.deny", "c 1:5 r")?;
            let mut attempts = attempt(&mut probe, &[("open r /dev/zero", REFUSED)])?;
            fixture.write("a", "devices.allow", "c 1:5 r")?;
            attempts.extend(attempt(&mut probe, &[("open r /dev/zero", None)])?);
            Ok(judge(&[], &attempts, "deny and then allow c 1:5 r"))
        },
    ),
    V1.case(
        "group-inside-allows-no-more-than-the-one-above",
        "A group cannot allow itself a device that its parent may not use.",
        |fixture| {
            fixture.make_each(&["outer", "outer/a"])?;
            fixture.write("outer", "devices.deny", "c 1:5 r")?;
            let answer = fixture.refusal("outer/a", "devices.allow", "c 1:5 r");
            let mut probe = fixture.start("outer/a", "device")?;
            let mut attempts = attempt(&mut probe, &[("open r /dev/zero", REFUSED)])?;
            attempts.push(("devices.allow inside", REFUSED, answer));
            Ok(judge(&[], &attempts, "deny c 1:5 r above"))
        },
    ),
    V2.case(
        "program-denies-a-device",
        "A device denied by a program fails with EPERM.",
        |fixture| case(fixture, &DENY_ONE),
    ),
    V2.case("program-lets-others-open", "Devices allowed by the program still open.", |fixture| {
        case(fixture, &ALLOW_OTHERS)
    }),
    V2.case(
        "program-denies-mknod",
        "A group may not create a device node that its program denies.",
        |fixture| case(fixture, &DENY_NODE),
    ),
    V2.case(
        "program-tells-reading-from-writing",
        "Writing to a device allowed for reading fails with EPERM.",
        |fixture| case(fixture, &ALLOW_READING),
    ),
    V2.case(
        "program-of-the-group-above-binds-too",
        "All programs up to the root are consulted, and each may deny.",
        |fixture| {
            fixture.make_parent("outer")?;
            let mut probe = fixture.start_in("outer/a", "device")?;
            let commands = [("open r /dev/zero", REFUSED), ("open r /dev/full", REFUSED)];
            let before = attempt(&mut probe, &commands.map(|(command, _)| (command, None)))?;
            for (group, line) in [("outer", "c 1:5 r"), ("outer/a", "c 1:7 r")] {
                rule(fixture, group, &[(Verb::Deny, line)])?;
            }
            let after = attempt(&mut probe, &commands)?;
            Ok(judge(&before, &after, "deny c 1:5 r above, deny c 1:7 r inside"))
        },
    ),
];

/// A command for a probe, with the expected answer.
type Command = (&'static str, Option<Errno>);

/// The same with the actual answer.
type Attempt = (&'static str, Option<Errno>, Option<Errno>);

/// Rules for a group, and commands for its probe with the expected answers.
struct Rules {
    lines: &'static [(Verb, &'static str)],
    commands: &'static [Command],
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
    let mut probe = fixture.start_in("a", "device")?;
    let allowed: Vec<Command> =
        rules.commands.iter().map(|(command, _)| (*command, None)).collect();
    // A device that does not open without rules would prove nothing.
    let before = attempt(&mut probe, &allowed)?;
    rule(fixture, "a", rules.lines)?;
    let after = attempt(&mut probe, rules.commands)?;
    let word = |verb| if verb == Verb::Allow { "allow" } else { "deny" };
    let lines = rules.lines.iter().map(|(verb, line)| format!("{} {line}", word(*verb)));
    Ok(judge(&before, &after, &lines.collect::<Vec<String>>().join(", ")))
}

/// Applies rules to a group.
fn rule(fixture: &Fixture, group: &str, lines: &[(Verb, &str)]) -> Result<(), Stop> {
    if !fixture.is_v2() {
        for (verb, line) in lines {
            let is_allowed = *verb == Verb::Allow;
            let file = if is_allowed { "devices.allow" } else { "devices.deny" };
            fixture.write(group, file, line)?;
        }
        return Ok(());
    }
    let parsed: Result<Vec<(Verb, DeviceRule)>, String> =
        lines.iter().map(|(verb, line)| Ok((*verb, line.parse()?))).collect();
    let directory = fixture.directory(group);
    let parsed = parsed.map_err(|hint| Error::unexpected("understand", &directory, hint))?;
    attach(fixture.root, &directory, &parsed)
        .map_err(|error| Stop::not_available(error.to_string()))
}

fn attempt(probe: &mut Running, commands: &[Command]) -> Result<Vec<Attempt>, Error> {
    let answer = |(command, expected): &Command| {
        probe.send(command);
        Ok((*command, *expected, probe.refusal()?))
    };
    commands.iter().map(answer).collect()
}

fn judge(before: &[Attempt], after: &[Attempt], rules: &str) -> Outcome {
    let line = |attempts: &[Attempt]| {
        let answer = |(command, _, got): &Attempt| format!("{command}: {}", errno_text(*got));
        attempts.iter().map(answer).collect::<Vec<String>>().join(", ")
    };
    let as_expected = |attempts: &[Attempt]| attempts.iter().all(|(_, one, got)| one == got);
    if !as_expected(before) {
        return Outcome::void("it failed without rules, too").with(line(before));
    }
    Outcome::holds(as_expected(after), format!("with {rules}: {}", line(after)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(expected: Option<Errno>, got: Option<Errno>) -> Attempt {
        ("open r /dev/zero", expected, got)
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
