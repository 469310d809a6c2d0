//! hugetlb: how many huge pages a group may use, and how many it may set aside.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use assay_kernel::{Error, Root};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::case::Case;
use crate::errno_name::words;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::outcome::Outcome;
use crate::running::Running;

const DOCUMENT: &str = "Documentation/admin-guide/cgroup-v1/hugetlb.rst and cgroup-v2.rst, HugeTLB";
const NEEDS: &[Need] = &[Need::Controller("hugetlb"), Need::Root];

const fn case(
    behaviour: &'static str,
    promise: &'static str,
    run: fn(&mut Fixture) -> Result<Outcome, Error>,
) -> Case {
    Case { controller: "hugetlb", behaviour, promise, documented: DOCUMENT, needs: NEEDS, run }
}

pub(super) const CASES: &[Case] = &[
    case(
        "touch-above-the-limit-ends-in-sigbus",
        "The touch of a huge page above the limit ends in SIGBUS, and is counted.",
        above,
    ),
    case("touch-below-the-limit-succeeds", "Huge pages below the limit can all be used.", below),
    case(
        "reservation-above-the-limit-is-refused",
        "An mmap that sets more huge pages aside than rsvd allows ends in ENOMEM.",
        reserve_above,
    ),
    case(
        "reservation-below-the-limit-succeeds",
        "An mmap that sets as many huge pages aside as rsvd allows succeeds.",
        reserve_below,
    ),
    case("use-returns-with-the-process", "Huge pages are given back with their process.", returns),
];

const POOLS: &str = "/sys/kernel/mm/hugepages";
/// How many huge pages a case uses at most.
const PAGES: u64 = 4;

/// Huge pages of one size, enough of them free.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pool {
    bytes: u64,
    /// As the names of interface files have it: `2MB`.
    name: String,
}

/// Huge pages to use: those that are free, or more for as long as the case takes. The reason
/// where there are none.
fn pool(ground: &mut Fixture) -> Result<Result<Pool, String>, Error> {
    let root = ground.root().clone();
    let Some((kibibytes, directory)) = smallest(&root) else {
        return Ok(Err("this kernel has no huge pages".to_owned()));
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
        ground.ledger().write_file(&root, &directory.join("nr_hugepages"), &all.to_string())?;
    }
    let free = available()?;
    if free < PAGES {
        return Ok(Err(format!(
            "memory is too fragmented: {free} of {PAGES} huge pages of {} could be had",
            pool.name
        )));
    }
    Ok(Ok(pool))
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

/// A group with a limit of so many huge pages, and a probe inside.
fn limited(
    ground: &Fixture,
    pool: &Pool,
    kind: &str,
    pages: u64,
) -> Result<Result<Running, String>, Error> {
    ground.make("a")?;
    let last = ground.by_version("limit_in_bytes", "max");
    let file = format!("hugetlb.{}.{kind}{last}", pool.name);
    if !ground.has("a", &file) {
        return Ok(Err(format!("this kernel has no {file}")));
    }
    ground.write("a", &file, &(pages * pool.bytes).to_string())?;
    ground.start("a", &format!("huge page={}", pool.bytes)).map(Ok)
}

fn current(ground: &Fixture, pool: &Pool) -> Result<u64, Error> {
    let last = ground.by_version("usage_in_bytes", "current");
    Ok(ground.number("a", &format!("hugetlb.{}.{last}", pool.name))? / pool.bytes)
}

fn refusals(ground: &Fixture, pool: &Pool) -> Result<u64, Error> {
    if ground.is_v2() {
        ground.keyed("a", &format!("hugetlb.{}.events", pool.name), "max")
    } else {
        ground.number("a", &format!("hugetlb.{}.failcnt", pool.name))
    }
}

/// What became of a process that touched four huge pages.
#[derive(Debug, Clone, Copy)]
struct Touched {
    limit: u64,
    pages: u64,
    signal: Option<i32>,
    current: u64,
    refusals: u64,
}

fn touch(ground: &mut Fixture, limit: u64) -> Result<Result<Touched, String>, Error> {
    let pool = match pool(ground)? {
        Ok(pool) => pool,
        Err(why) => return Ok(Err(why)),
    };
    let mut probe = match limited(ground, &pool, "", limit)? {
        Ok(probe) => probe,
        Err(why) => return Ok(Err(why)),
    };
    probe.say(&format!("promise {PAGES}"));
    probe.line()?;
    probe.say("touch");
    let mut pages = 0;
    let mut all = false;
    while let Some(line) = probe.line()? {
        all = line == "touched";
        if all {
            break;
        }
        pages += 1;
    }
    let ended = if all { None } else { probe.ended_within(ground.time(5.0)) };
    Ok(Ok(Touched {
        limit,
        pages,
        signal: ended.as_ref().and_then(ExitStatus::signal),
        current: current(ground, &pool)?,
        refusals: refusals(ground, &pool)?,
    }))
}

impl Touched {
    fn seen(&self) -> String {
        let end = match self.signal {
            None => "lives".to_owned(),
            Some(7) => "was ended by SIGBUS".to_owned(),
            Some(other) => format!("was ended by signal {other}"),
        };
        format!(
            "limit {} huge pages, {PAGES} wanted: {} touched, then the process {end}; in use {}, \
             refusals counted {}",
            self.limit, self.pages, self.current, self.refusals
        )
    }
}

fn above(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(touch(ground, 2)?.map_or_else(Outcome::not_available, |seen| judge_above(&seen)))
}

fn judge_above(seen: &Touched) -> Outcome {
    let bus = seen.signal == Some(Signal::BUS.as_raw());
    Outcome::holds(bus && seen.pages == seen.limit && seen.refusals > 0, seen.seen())
}

fn below(ground: &mut Fixture) -> Result<Outcome, Error> {
    Ok(touch(ground, PAGES)?.map_or_else(Outcome::not_available, |seen| judge_below(&seen)))
}

/// Somebody else may take the free pages of the host, which ends in SIGBUS too; the group's own
/// counter tells that apart.
fn judge_below(seen: &Touched) -> Outcome {
    if seen.signal.is_some() && seen.refusals == 0 {
        return Outcome::void("the host had no free huge page any more").with(seen.seen());
    }
    let all = seen.pages == PAGES && seen.current == PAGES;
    Outcome::holds(all && seen.signal.is_none() && seen.refusals == 0, seen.seen())
}

/// What came of an mmap of so many pages with this limit of reservations.
fn reserve(ground: &mut Fixture, limit: u64) -> Result<Result<Option<Errno>, String>, Error> {
    let pool = match pool(ground)? {
        Ok(pool) => pool,
        Err(why) => return Ok(Err(why)),
    };
    let mut probe = match limited(ground, &pool, "rsvd.", limit)? {
        Ok(probe) => probe,
        Err(why) => return Ok(Err(why)),
    };
    probe.say(&format!("map {PAGES}"));
    let line = probe.line()?.unwrap_or_default();
    let number = line.strip_prefix("refused ").and_then(|text| text.parse().ok());
    Ok(Ok(number.map(Errno::from_raw_os_error)))
}

fn reserve_above(ground: &mut Fixture) -> Result<Outcome, Error> {
    let judge = |answer| judge_reserved(2, answer, Some(Errno::NOMEM));
    Ok(reserve(ground, 2)?.map_or_else(Outcome::not_available, judge))
}

fn reserve_below(ground: &mut Fixture) -> Result<Outcome, Error> {
    let judge = |answer| judge_reserved(PAGES, answer, None);
    Ok(reserve(ground, PAGES)?.map_or_else(Outcome::not_available, judge))
}

fn judge_reserved(limit: u64, answer: Option<Errno>, wanted: Option<Errno>) -> Outcome {
    let seen = format!(
        "rsvd limit {limit} huge pages, mmap of {PAGES} that sets them aside: {}",
        words(answer)
    );
    Outcome::holds(answer == wanted, seen)
}

fn returns(ground: &mut Fixture) -> Result<Outcome, Error> {
    let pool = match pool(ground)? {
        Ok(pool) => pool,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    let mut probe = match limited(ground, &pool, "", PAGES)? {
        Ok(probe) => probe,
        Err(why) => return Ok(Outcome::not_available(why)),
    };
    probe.say(&format!("map {PAGES}"));
    probe.line()?;
    probe.say("touch");
    while probe.line()?.is_some_and(|line| line != "touched") {}
    let used = current(ground, &pool)?;
    drop(probe);
    ground.wait_for(2.0, || Ok(current(ground, &pool)? == 0))?;
    Ok(judge_return(used, current(ground, &pool)?))
}

fn judge_return(used: u64, left: u64) -> Outcome {
    let seen = format!("{used} huge pages in use, {left} after the end of the process");
    if used == 0 {
        return Outcome::void("no huge page was ever in use").with(seen);
    }
    Outcome::holds(left == 0, seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict;

    fn touched(limit: u64, pages: u64, signal: Option<i32>, refusals: u64) -> Touched {
        Touched { limit, pages, signal, current: pages, refusals }
    }

    #[test]
    fn a_kernel_that_gives_more_or_ends_otherwise_or_does_not_count_is_broken() {
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
    fn reservations_and_returns_are_judged_by_what_came_of_them() {
        assert_eq!(judge_reserved(2, None, Some(Errno::NOMEM)).verdict, Verdict::Broken);
        let kept = judge_reserved(2, Some(Errno::NOMEM), Some(Errno::NOMEM));
        assert_eq!(kept.verdict, Verdict::Kept);
        assert_eq!(judge_return(4, 0).verdict, Verdict::Kept);
        assert_eq!(judge_return(4, 4).verdict, Verdict::Broken);
        assert_eq!(judge_return(0, 0).verdict, Verdict::Void);
    }

    #[test]
    fn sizes_are_named_as_the_interface_files_are() {
        assert_eq!(size_name(64), "64KB");
        assert_eq!(size_name(2048), "2MB");
        assert_eq!(size_name(1 << 20), "1GB");
    }
}
