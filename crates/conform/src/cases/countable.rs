//! misc and rdma: countable resources that few machines have, of encrypted virtual machines and of RDMA devices. The file
//! name says more than `misc` would.
//!
//! Resources are charged when such a machine starts or a device is used, which a case does not do. These cases
//! therefore check limits and readings, not the effect.

use super::prelude::*;

const RDMA: Topic = Topic::new(
    "rdma",
    "Documentation/admin-guide/cgroup-v2.rst, RDMA, and Documentation/admin-guide/cgroup-v1/rdma.rst",
    &[Need::Controller("rdma"), Need::Root],
);
const MISC: Topic = Topic::new(
    "misc",
    "Documentation/admin-guide/cgroup-v2.rst, Misc",
    &[Need::Controller("misc"), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    RDMA.case(
        "a-device-that-is-not-there-is-refused",
        "A limit in rdma.max on a missing device fails with ENODEV.",
        |fixture| {
            fixture.make("a")?;
            let answer = fixture.refusal("a", "rdma.max", "assay_none hca_handle=1");
            Ok(answered("a limit on a missing device", answer, Some(Errno::NODEV)))
        },
    ),
    RDMA.case(
        "a-limit-reads-back",
        "rdma.max accepts limits on a device and reads them back, one or all at once.",
        |fixture| {
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
                outcomes.push(judge_device(&device, limits, expected, &text));
            }
            Ok(Outcome::all(outcomes))
        },
    ),
    RDMA.case(
        "a-group-without-processes-uses-nothing",
        "rdma.current shows only 0 for a new group.",
        |fixture| {
            device(fixture)?;
            fixture.make("a")?;
            Ok(judge_no_objects(&fixture.read("a", "rdma.current")?))
        },
    ),
    MISC.case(
        "a-resource-that-is-not-there-is-refused",
        "A limit in misc.max on a resource unknown to the kernel fails with EINVAL.",
        |fixture| {
            fixture.make("a")?;
            let answer = fixture.refusal("a", "misc.max", "assay_nonsense 1");
            Ok(answered("a limit on an unknown resource", answer, Some(Errno::INVAL)))
        },
    ),
    MISC.case(
        "a-limit-reads-back",
        "misc.max accepts a limit on a resource of misc.capacity.",
        |fixture| {
            let line = format!("{} 1", resources(fixture)?[0]);
            fixture.make("a")?;
            fixture.write("a", "misc.max", &line)?;
            Ok(judge_limit(&line, &fixture.read("a", "misc.max")?))
        },
    ),
    MISC.case(
        "a-group-without-processes-uses-nothing",
        "misc.current lists every resource of misc.capacity, with 0 in a new group.",
        |fixture| {
            let known = resources(fixture)?;
            fixture.make("a")?;
            Ok(judge_unused(&known, &fixture.read("a", "misc.current")?))
        },
    ),
];

/// The first RDMA device.
fn device(fixture: &Fixture) -> Result<String, Stop> {
    const DEVICES: &str = "/sys/class/infiniband";
    let names = fixture.root.list(DEVICES).unwrap_or_default();
    names.into_iter().min().ok_or_else(|| {
        Stop::not_available(format!(
            "no RDMA device in {DEVICES}; `rdma link add rxe0 type rxe netdev DEVICE` makes one of a \
             network device where the kernel has rdma_rxe"
        ))
    })
}

/// A device without limits has no line, or one with `max` only.
fn judge_device(device: &str, wrote: &str, expected: &str, text: &str) -> Outcome {
    let line = text.lines().find_map(|line| line.strip_prefix(device)).map(str::trim);
    let right = match line {
        None => expected.is_empty(),
        Some(line) if expected.is_empty() => line == "hca_handle=max hca_object=max",
        Some(line) => line == expected,
    };
    Outcome::holds(right, format!("wrote `{device} {wrote}`, read `{}`", one_line(text)))
}

fn judge_no_objects(text: &str) -> Outcome {
    let mut numbers = text.split_whitespace().filter_map(|word| word.split_once('='));
    let none = numbers.all(|(_, number)| number == "0");
    Outcome::holds(none, format!("rdma.current of a new group: `{}`", one_line(text)))
}

/// The resource names in misc.capacity of the root, or the reason why there are none.
fn resources(fixture: &Fixture) -> Result<Vec<String>, Stop> {
    let Some(mount) = fixture.tree.mount("misc") else {
        return Err(Stop::not_available("no hierarchy has the controller misc"));
    };
    let names = names(&fixture.root.read(mount.join("misc.capacity"))?);
    if names.is_empty() {
        let why = "misc.capacity is empty: this machine has none of its resources (AMD SEV, \
                   Intel TDX)";
        return Err(Stop::not_available(why));
    }
    Ok(names)
}

/// The first words of lines `name value`.
fn names(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

fn judge_limit(wrote: &str, text: &str) -> Outcome {
    let evidence = format!("wrote `{wrote}`, read `{}`", one_line(text));
    Outcome::holds(text.lines().any(|line| line == wrote), evidence)
}

fn judge_unused(known: &[String], text: &str) -> Outcome {
    let evidence = format!("{} in misc.capacity; `{}`", known.join(", "), one_line(text));
    let none = |name: &String| text.lines().any(|line| line == format!("{name} 0"));
    Outcome::holds(known.iter().all(none), evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_read_back_differently_are_broken() {
        let judge = |expected, text| judge_device("rxe0", "x", expected, text).verdict;
        let one = "hca_handle=2 hca_object=max";
        assert_eq!(judge(one, "mlx hca_handle=7\nrxe0 hca_handle=2 hca_object=max"), Verdict::Kept);
        assert_eq!(judge(one, "rxe0 hca_handle=3 hca_object=max"), Verdict::Broken);
        assert_eq!(judge(one, ""), Verdict::Broken);
        assert_eq!(judge("", "rxe0 hca_handle=max hca_object=max"), Verdict::Kept);
        assert_eq!(judge("", "rxe0 hca_handle=1 hca_object=max"), Verdict::Broken);
        assert_eq!(judge_limit("sev 1", "sev 1\nsev_es max").verdict, Verdict::Kept);
        assert_eq!(judge_limit("sev 1", "sev max").verdict, Verdict::Broken);
    }

    #[test]
    fn use_without_processes_is_broken() {
        let objects = |text| judge_no_objects(text).verdict;
        assert_eq!(objects("rxe0 hca_handle=0 hca_object=0"), Verdict::Kept);
        assert_eq!(objects("rxe0 hca_handle=0 hca_object=2"), Verdict::Broken);
        let unused = |text| judge_unused(&names("sev 509\nsev_es 10\n"), text).verdict;
        assert_eq!(unused("sev 0\nsev_es 0"), Verdict::Kept);
        assert_eq!(unused("sev 0"), Verdict::Broken);
        assert_eq!(unused("sev 0\nsev_es 2"), Verdict::Broken);
    }
}
