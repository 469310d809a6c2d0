//! net_cls and net_prio: class and priority of a group's packets.
//!
//! Packets are sent on a device whose queue sorts them, and counted there. For net_cls that is a
//! device of the probe's own network namespace. net_prio.ifpriomap supports only devices of the
//! first network namespace (`write_priomap` of net/core/netprio_cgroup.c), so one end of a device
//! pair is outside while the probe runs.

use super::prelude::*;

const CLASS: Topic = Topic::new(
    "net_cls",
    "Documentation/admin-guide/cgroup-v1/net_cls.rst",
    &[Need::OwnV1("net_cls"), Need::Root],
);
const PRIORITY: Topic = Topic::new(
    "net_prio",
    "Documentation/admin-guide/cgroup-v1/net_prio.rst",
    &[Need::OwnV1("net_prio"), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    CLASS.case(
        "packets-carry-the-class-of-their-group",
        "Packets of a group with a net_cls.classid go to the class of that number.",
        |fixture| packets(fixture, NET_CLS, &[("a", FIRST)], [SENT, 0]),
    ),
    CLASS.case(
        "packets-without-a-class-go-unclassified",
        "Packets of a group without a net_cls.classid go to no class.",
        // A sibling has one, which must not affect this group.
        |fixture| packets(fixture, NET_CLS, &[("b", SECOND)], [0, 0]),
    ),
    CLASS.case(
        "a-moved-process-sends-in-its-new-class",
        "Packets sent by a process after a move carry the class of its new group.",
        |fixture| packets(fixture, NET_CLS, &BOTH, [SENT, SENT]),
    ),
    PRIORITY.case(
        "packets-carry-the-priority-of-their-group",
        "Packets on a device have the priority that the group's net_prio.ifpriomap gives it.",
        |fixture| packets(fixture, NET_PRIO, &[("a", FIRST)], [SENT, 0]),
    ),
    PRIORITY.case(
        "packets-without-a-priority-keep-none",
        "Packets on a device that net_prio.ifpriomap does not name have no priority.",
        |fixture| packets(fixture, NET_PRIO, &[("b", SECOND)], [0, 0]),
    ),
    PRIORITY.case(
        "a-moved-process-sends-with-its-new-priority",
        "Packets sent by a process after a move have the priority of its new group.",
        |fixture| packets(fixture, NET_PRIO, &BOTH, [SENT, SENT]),
    ),
];

/// Two classes, `1:10` and `1:20` in the notation of tc(8). A priority with such a number selects
/// the class, too (tc-htb(8)).
const FIRST: u32 = 0x1_0010;
const SECOND: u32 = 0x1_0020;
/// Marks of the group in which a process begins, and of the one into which it is moved.
const BOTH: [(&str, u32); 2] = [("a", FIRST), ("b", SECOND)];

/// Number of packets per send command.
const SENT: u32 = 50;

/// How a group marks its packets.
#[derive(Debug, Clone, Copy)]
struct Mark {
    side: &'static str,
    /// Writes the mark of a group for packets on this device.
    write: fn(&Fixture, &str, &str, u32) -> Result<(), Error>,
    file: &'static str,
}

const NET_CLS: Mark = Mark {
    side: "inside",
    write: |fixture, group, _, class| fixture.write(group, "net_cls.classid", &class.to_string()),
    file: "net_cls.classid",
};

const NET_PRIO: Mark = Mark {
    side: "outside",
    write: |fixture, group, device, priority| {
        fixture.write(group, "net_prio.ifpriomap", &format!("{device} {priority}"))
    },
    file: "net_prio.ifpriomap",
};

/// Packets that left in the first class, in the second, and in neither.
type Counts = [u64; 3];

/// Starts a probe in a group with a queue that sorts its packets. Returns the probe, the device
/// name and the sort criterion.
fn sender(fixture: &Fixture, group: &str, mark: Mark) -> Result<(Running, String, String), Stop> {
    let words = format!("packets where={} class={FIRST},{SECOND}", mark.side);
    let mut probe = fixture.start(group, &words)?;
    let answer = probe.line()?.unwrap_or_default();
    let Some(means) = answer.strip_prefix("sorts ") else {
        let why = answer.strip_prefix("lacks ").unwrap_or("the probe ended");
        return Err(Stop::not_available(why));
    };
    let device = format!("assay{}", probe.pid());
    Ok((probe, device, means.to_owned()))
}

/// Makes the probe send, and counts the packets that have left once there are at least `in_all`.
fn send(fixture: &Fixture, probe: &mut Running, in_all: u32) -> Result<Counts, Error> {
    probe.ask(&format!("send {SENT}"))?;
    let mut counts = [0; 3];
    fixture.wait_for(2.0, || {
        let answer = probe.ask("count")?.unwrap_or_default();
        for (count, word) in counts.iter_mut().zip(answer.split(' ').skip(1)) {
            *count = word.parse().unwrap_or(0);
        }
        Ok(counts.iter().sum::<u64>() >= u64::from(in_all))
    })?;
    Ok(counts)
}

/// Sends from group `a`, where these groups have marks; and again after a move to `b`, if packets are to be in both
/// classes.
fn packets(
    fixture: &Fixture,
    mark: Mark,
    marks: &[(&str, u32)],
    expected: [u32; 2],
) -> Result<Outcome, Stop> {
    fixture.make_each(&["a", "b"])?;
    let (mut probe, device, means) = sender(fixture, "a", mark)?;
    for (group, class) in marks {
        (mark.write)(fixture, group, &device, *class)?;
    }
    let mut counts = send(fixture, &mut probe, SENT)?;
    if expected == [SENT, SENT] {
        fixture.move_to("b", &probe)?;
        counts = send(fixture, &mut probe, 2 * SENT)?;
    }
    Ok(judge(counts, expected, mark.file).with(format!("sorted {means}")))
}

/// Packets of the host itself that pass the device (neighbour discovery of IPv6) carry no mark, so
/// the number in neither class may be larger.
fn judge(counts: Counts, expected: [u32; 2], file: &str) -> Outcome {
    let [first, second, rest] = counts;
    let evidence = format!(
        "{file}: {first} packets in the first class, {second} in the second, {rest} in neither; \
         to be {} and {}",
        expected[0], expected[1]
    );
    let unmarked = if expected == [0, 0] { u64::from(SENT) } else { 0 };
    let right = [first, second] == expected.map(u64::from) && rest >= unmarked;
    let is_lost = first + second + rest < u64::from(SENT);
    Outcome::holds(right, evidence).void_if(is_lost, "not all packets left the device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_a_wrong_class_are_broken() {
        assert_eq!(judge([50, 0, 3], [50, 0], "x").verdict, Verdict::Kept);
        assert_eq!(judge([0, 0, 50], [50, 0], "x").verdict, Verdict::Broken);
        assert_eq!(judge([0, 50, 0], [50, 0], "x").verdict, Verdict::Broken);
        assert_eq!(judge([100, 0, 0], [50, 50], "x").verdict, Verdict::Broken);
        assert_eq!(judge([50, 50, 0], [50, 50], "x").verdict, Verdict::Kept);
    }

    #[test]
    fn unmarked_packets_in_a_class_are_broken() {
        assert_eq!(judge([0, 0, 52], [0, 0], "x").verdict, Verdict::Kept);
        assert_eq!(judge([0, 50, 0], [0, 0], "x").verdict, Verdict::Broken);
        assert_eq!(judge([0, 0, 10], [0, 0], "x").verdict, Verdict::Void);
    }
}
