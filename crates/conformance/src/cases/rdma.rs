//! rdma: objects of RDMA devices.

use rustix::io::Errno;

use crate::case::{Case, Topic};
use crate::errno_name::errno_text;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::{Outcome, Stop};

const RDMA: Topic = Topic::new(
    "rdma",
    "Documentation/admin-guide/cgroup-v2.rst, RDMA, and Documentation/admin-guide/cgroup-v1/rdma.rst",
    &[Need::Controller("rdma"), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    RDMA.case(
        "a-device-that-is-not-there-is-refused",
        "A limit in rdma.max on a missing device fails with ENODEV.",
        unknown,
    ),
    RDMA.case(
        "a-limit-reads-back",
        "rdma.max accepts limits on a device and reads them back, one or all at once.",
        limit,
    ),
    RDMA.case(
        "a-group-without-processes-uses-nothing",
        "rdma.current shows only 0 for a new group.",
        unused,
    ),
];

const DEVICES: &str = "/sys/class/infiniband";

fn unknown(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    fixture.make("a")?;
    let answer = fixture.refusal("a", "rdma.max", "assay_none hca_handle=1");
    let evidence = format!("a limit on a missing device: {}, expected ENODEV", errno_text(answer));
    Ok(Outcome::holds(answer == Some(Errno::NODEV), evidence))
}

/// The first RDMA device.
fn device(fixture: &Fixture) -> Result<String, Stop> {
    let names = fixture.root().list(DEVICES).unwrap_or_default();
    names.into_iter().min().ok_or_else(|| {
        Stop::not_available(format!(
            "no RDMA device in {DEVICES}; `rdma link add rxe0 type rxe netdev DEVICE` makes one of a \
             network device where the kernel has rdma_rxe"
        ))
    })
}

fn limit(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    let device = device(fixture)?;
    fixture.make("a")?;
    let mut outcomes = Vec::new();
    for (limits, expected) in [
        ("hca_handle=2", "hca_handle=2 hca_object=max"),
        ("hca_handle=3 hca_object=4", "hca_handle=3 hca_object=4"),
        ("hca_handle=max hca_object=max", ""),
    ] {
        fixture.write("a", "rdma.max", &format!("{device} {limits}"))?;
        let text = fixture.read("a", "rdma.max")?;
        outcomes.push(judge_limit(&device, limits, expected, &text));
    }
    Ok(Outcome::all(outcomes))
}

/// A device without limits has no line, or one with `max` only.
fn judge_limit(device: &str, wrote: &str, expected: &str, text: &str) -> Outcome {
    let evidence = format!("wrote `{device} {wrote}`, read `{}`", text.replace('\n', "; "));
    let line = text.lines().find_map(|line| line.strip_prefix(device)).map(str::trim);
    let right = match line {
        None => expected.is_empty(),
        Some(line) if expected.is_empty() => line == "hca_handle=max hca_object=max",
        Some(line) => line == expected,
    };
    Outcome::holds(right, evidence)
}

fn unused(fixture: &mut Fixture) -> Result<Outcome, Stop> {
    device(fixture)?;
    fixture.make("a")?;
    Ok(judge_unused(&fixture.read("a", "rdma.current")?))
}

fn judge_unused(text: &str) -> Outcome {
    let numbers = text.split_whitespace().filter_map(|word| word.split_once('='));
    let none = numbers.into_iter().all(|(_, number)| number == "0");
    Outcome::holds(none, format!("rdma.current of a new group: `{}`", text.replace('\n', "; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    #[test]
    fn limits_that_read_back_differently_are_broken() {
        let judge = |expected, text| judge_limit("rxe0", "x", expected, text).verdict;
        let one = "hca_handle=2 hca_object=max";
        assert_eq!(judge(one, "mlx hca_handle=7\nrxe0 hca_handle=2 hca_object=max"), Verdict::Kept);
        assert_eq!(judge(one, "rxe0 hca_handle=3 hca_object=max"), Verdict::Broken);
        assert_eq!(judge(one, ""), Verdict::Broken);
        assert_eq!(judge("", "rxe0 hca_handle=max hca_object=max"), Verdict::Kept);
        assert_eq!(judge("", "rxe0 hca_handle=1 hca_object=max"), Verdict::Broken);
    }

    #[test]
    fn use_without_processes_is_broken() {
        assert_eq!(judge_unused("rxe0 hca_handle=0 hca_object=0").verdict, Verdict::Kept);
        assert_eq!(judge_unused("rxe0 hca_handle=0 hca_object=2").verdict, Verdict::Broken);
    }
}
