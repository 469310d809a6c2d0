//! hugetlb: limits on the use and reservation of huge pages.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use assay_sys::kernel::Root;
use rustix::process::Signal;

use super::prelude::*;

const HUGETLB: Topic = Topic::new(
    "hugetlb",
    "Documentation/admin-guide/cgroup-v1/hugetlb.rst and cgroup-v2.rst, HugeTLB",
    &[Need::Controller("hugetlb"), Need::Root],
);

pub(super) const CASES: &[Case] = &[
    HUGETLB.case(
        "touch-above-the-limit-ends-in-sigbus",
        "Touching a huge page above the limit ends in SIGBUS and is counted.",
        |fixture| Ok(judge_above(&touch(fixture, 2)?)),
    ),
    HUGETLB.case(
        "touch-below-the-limit-succeeds",
        "All huge pages below the limit can be used.",
        |fixture| Ok(judge_below(&touch(fixture, PAGES)?)),
    ),
    HUGETLB.case(
        "reservation-above-the-limit-is-refused",
        "An mmap that reserves more huge pages than rsvd allows fails with ENOMEM.",
        |fixture| reserve(fixture, 2, Some(Errno::NOMEM)),
    ),
    HUGETLB.case(
        "reservation-below-the-limit-succeeds",
        "An mmap that reserves as many huge pages as rsvd allows succeeds.",
        |fixture| reserve(fixture, PAGES, None),
    ),
    HUGETLB.case(
        "use-returns-with-the-process",
        "Huge pages are released when their process ends.",
        |fixture| {
            let pool = pool(fixture)?;
            let mut probe = limited(fixture, &pool, "", PAGES)?;
            probe.ask(&format!("map {PAGES}"))?;
            probe.send("touch");
            while probe.line()?.is_some_and(|line| line != "touched") {}
            let used = current(fixture, &pool)?;
            drop(probe);
            fixture.wait_for(2.0, || Ok(current(fixture, &pool)? == 0))?;
            Ok(judge_return(used, current(fixture, &pool)?))
        },
    ),
];

const POOLS: &str = "/sys/kernel/mm/hugepages";

/// Largest number of huge pages used by a case.
const PAGES: u64 = 4;

/// Huge pages of one size, enough of them free.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pool {
    bytes: u64,
    /// Size as in the names of interface files: `2MB`.
    name: String,
}

/// Finds free huge pages, or allocates more for the duration of the case. The inner error is the
/// reason why there are none.
fn pool(fixture: &mut Fixture) -> Result<Pool, Stop> {
    let root = fixture.root;
    let Some((kibibytes, directory)) = smallest(root) else {
        return Err(Stop::not_available("this kernel has no huge pages"));
    };
    let pool = Pool { bytes: kibibytes << 10, name: size_name(kibibytes) };
    let number = |file: &str| -> Result<u64, Error> {
        let path = directory.join(file);
        let text = root.read_trimmed(&path)?;
        text.parse().map_err(|_| Error::unexpected("understand", &path, text.clone()))
    };
    let available =
        || Ok::<u64, Error>(number("free_hugepages")?.saturating_sub(number("resv_hugepages")?));
    let free = available()?;
    if free < PAGES {
        let all = number("nr_hugepages")? + PAGES - free;
        fixture.ledger.write_file(root, &directory.join("nr_hugepages"), &all.to_string())?;
    }
    let free = available()?;
    if free < PAGES {
        return Err(Stop::not_available(format!(
            "memory is too fragmented: {free} of {PAGES} huge pages of {} are available",
            pool.name
        )));
    }
    Ok(pool)
}

fn smallest(root: &Root) -> Option<(u64, PathBuf)> {
    let names = root.list(POOLS).ok()?;
    let sizes = names.iter().filter_map(|name| {
        let size = name.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        Some((size.parse().ok()?, Path::new(POOLS).join(name)))
    });
    sizes.min()
}

/// As mm/hugetlb_cgroup.c writes it: `64KB`, `2MB`, `1GB`.
fn size_name(kibibytes: u64) -> String {
    match kibibytes {
        size if size >= 1 << 20 => format!("{}GB", size >> 20),
        size if size >= 1 << 10 => format!("{}MB", size >> 10),
        size => format!("{size}KB"),
    }
}

/// Creates a group with a limit of `limit` huge pages, and a probe inside.
fn limited(fixture: &Fixture, pool: &Pool, kind: &str, pages: u64) -> Result<Running, Stop> {
    fixture.make("a")?;
    let last = fixture.by_version("limit_in_bytes", "max");
    let file = format!("hugetlb.{}.{kind}{last}", pool.name);
    if !fixture.has("a", &file) {
        return Err(Stop::not_available(format!("this kernel has no {file}")));
    }
    fixture.write("a", &file, &(pages * pool.bytes).to_string())?;
    Ok(fixture.start("a", &format!("huge page={}", pool.bytes))?)
}

fn current(fixture: &Fixture, pool: &Pool) -> Result<u64, Error> {
    let last = fixture.by_version("usage_in_bytes", "current");
    Ok(fixture.number("a", &format!("hugetlb.{}.{last}", pool.name))? / pool.bytes)
}

fn refusals(fixture: &Fixture, pool: &Pool) -> Result<u64, Error> {
    if fixture.is_v2() {
        fixture.keyed("a", &format!("hugetlb.{}.events", pool.name), "max")
    } else {
        fixture.number("a", &format!("hugetlb.{}.failcnt", pool.name))
    }
}

/// Result of a process that touched four huge pages.
#[derive(Debug, Clone, Copy)]
struct Touched {
    limit: u64,
    pages: u64,
    signal: Option<i32>,
    current: u64,
    refusals: u64,
}

fn touch(fixture: &mut Fixture, limit: u64) -> Result<Touched, Stop> {
    let pool = pool(fixture)?;
    let mut probe = limited(fixture, &pool, "", limit)?;
    probe.ask(&format!("promise {PAGES}"))?;
    probe.send("touch");
    let mut pages = 0;
    let mut all = false;
    while let Some(line) = probe.line()? {
        all = line == "touched";
        if all {
            break;
        }
        pages += 1;
    }
    let ended = if all { None } else { probe.ended_within(fixture.time(5.0)) };
    Ok(Touched {
        limit,
        pages,
        signal: ended.as_ref().and_then(ExitStatus::signal),
        current: current(fixture, &pool)?,
        refusals: refusals(fixture, &pool)?,
    })
}

impl Touched {
    fn evidence(&self) -> String {
        let end = match self.signal {
            None => "lives".to_owned(),
            Some(7) => "was ended by SIGBUS".to_owned(),
            Some(other) => format!("was ended by signal {other}"),
        };
        format!(
            "limit {} huge pages, {PAGES} requested: {} touched, then the process {end}; in use {}, \
             refusals counted {}",
            self.limit, self.pages, self.current, self.refusals
        )
    }
}

fn judge_above(touched: &Touched) -> Outcome {
    let bus = touched.signal == Some(Signal::BUS.as_raw());
    Outcome::holds(
        bus && touched.pages == touched.limit && touched.refusals > 0,
        touched.evidence(),
    )
}

/// Another process may take the host's free pages, which ends in SIGBUS, too; the group's own
/// counter distinguishes the two.
fn judge_below(touched: &Touched) -> Outcome {
    let Touched { pages, signal, current, refusals, .. } = *touched;
    let all = pages == PAGES && current == PAGES && signal.is_none() && refusals == 0;
    Outcome::holds(all, touched.evidence())
        .void_if(signal.is_some() && refusals == 0, "the host ran out of free huge pages")
}

/// An mmap of [`PAGES`] huge pages under this reservation limit.
fn reserve(fixture: &mut Fixture, limit: u64, expected: Option<Errno>) -> Result<Outcome, Stop> {
    let pool = pool(fixture)?;
    let mut probe = limited(fixture, &pool, "rsvd.", limit)?;
    probe.send(&format!("map {PAGES}"));
    let what = format!("rsvd limit {limit} huge pages, mmap that reserves {PAGES}");
    Ok(answered(&what, probe.refusal()?, expected))
}

fn judge_return(used: u64, left: u64) -> Outcome {
    let evidence = format!("{used} huge pages in use, {left} after the end of the process");
    Outcome::holds(left == 0, evidence).void_if(used == 0, "no huge page was ever in use")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(limit: u64, pages: u64, signal: Option<i32>, refusals: u64) -> Touched {
        Touched { limit, pages, signal, current: pages, refusals }
    }

    #[test]
    fn exceeding_the_limit_or_not_counting_is_broken() {
        assert_eq!(judge_above(&touched(2, 2, Some(7), 1)).verdict, Verdict::Kept);
        assert_eq!(judge_above(&touched(2, 4, None, 0)).verdict, Verdict::Broken);
        assert_eq!(judge_above(&touched(2, 2, Some(9), 1)).verdict, Verdict::Broken);
        assert_eq!(judge_above(&touched(2, 2, Some(7), 0)).verdict, Verdict::Broken);
    }

    #[test]
    fn a_refusal_below_the_limit_is_broken_unless_the_host_ran_out() {
        assert_eq!(judge_below(&touched(4, 4, None, 0)).verdict, Verdict::Kept);
        assert_eq!(judge_below(&touched(4, 2, Some(7), 1)).verdict, Verdict::Broken);
        assert_eq!(judge_below(&touched(4, 2, Some(7), 0)).verdict, Verdict::Void);
    }

    #[test]
    fn pages_that_stay_in_use_are_broken() {
        assert_eq!(judge_return(4, 0).verdict, Verdict::Kept);
        assert_eq!(judge_return(4, 4).verdict, Verdict::Broken);
        assert_eq!(judge_return(0, 0).verdict, Verdict::Void);
    }

    #[test]
    fn sizes_are_named_like_interface_files() {
        assert_eq!(size_name(64), "64KB");
        assert_eq!(size_name(2048), "2MB");
        assert_eq!(size_name(1 << 20), "1GB");
    }
}
