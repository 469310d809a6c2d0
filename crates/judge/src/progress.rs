//! Promises that a group that wants to run never waits longer than a time for CPU time: `progress`
//! `within` a time, which is given or follows from the weights and quotas of the trial.
//!
//! Like `every` this is about each span of time and not about a mean; but one span without progress
//! breaks it, so that the longest is searched instead of a part of spans.

mod bound;
mod wanting;

use crate::verdict::{GroupJudgement, Interval, Observation, PromiseJudgement, Verdict};
use assay_record::run_folder::{PromiseRecord, RelationRecord};
use assay_record::terms::Side;
use assay_stats::progress::{Lag, Stall, longest_stall};
use assay_stats::rule::{FEWEST, Starts, rarer_than_one_in_s};

use crate::found::{Found, without_numbers};
use crate::judged::Judged;
use crate::reason;
use crate::repeat::Repeat;
use crate::subject::Subject;
use bound::Bound;

/// One group in one repeat.
struct Seen {
    /// Number of the repeat, from 1.
    repeat: usize,
    stall: Stall,
    bound: Bound,
}

impl Seen {
    fn verdict(&self) -> Verdict {
        match () {
            () if self.stall.least_s > self.bound.seconds + self.bound.at_once_s => Verdict::Broken,
            () if self.stall.most_s <= self.bound.seconds => Verdict::Kept,
            () => Verdict::Undecided,
        }
    }

    /// Whether the wait was too long for certain, but what others took at once may explain it.
    fn may_be_others(&self) -> bool {
        self.verdict() == Verdict::Undecided && self.stall.least_s > self.bound.seconds
    }

    /// The certain error, and the largest that the readings allow.
    fn error(&self) -> Interval {
        let error = |seconds| Side::Above.error(seconds, self.bound.seconds);
        let least = error(self.stall.least_s);
        Interval { value: least, low: least, high: error(self.stall.most_s) }
    }
}

/// The numbers of a promise with the relation `within`.
pub(crate) fn judge(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    judged_by: Judged<'_, '_>,
) -> Found {
    let repeats = judged_by.repeats;
    let groups = match of_groups(subject, promise, repeats) {
        Ok(groups) if groups.iter().all(|(_, seen)| !seen.is_empty()) => groups,
        Ok(_) => return Found::nothing(promise, "no repeat can be judged".to_owned()),
        Err(why) => return Found::nothing(promise, why),
    };
    let observed = Verdict::worst(groups.iter().flat_map(|(_, seen)| seen).map(Seen::verdict));
    let is_short = repeats.len() < FEWEST;
    let was = was(judged_by, &groups, observed);
    let mut reason = sentence(&groups, observed);
    if observed == Verdict::Kept {
        reason = format!("{reason}; {}", rarity(was.seconds));
    }
    let judged = PromiseJudgement {
        verdict: match observed {
            Verdict::Broken if is_short => Verdict::Undecided,
            found => found,
        },
        reason: format!("{reason}; {}", reason::of_starts(was.starts())),
        was: Some(was),
        worst_error: worst(&groups).map(|(_, seen)| seen.error()),
        errors: errors(&groups, repeats.len()),
        groups: groups.iter().filter_map(|(name, seen)| row(name, seen)).collect(),
        ..without_numbers(promise)
    };
    Found {
        is_open: is_short,
        names_objection: observed == Verdict::Kept,
        needs: (is_short.then_some(FEWEST), None),
        ..Found::new(judged)
    }
}

/// Which group waited longer in these repeats, if one did.
pub(crate) fn broken(
    subject: &Subject<'_>,
    promise: &PromiseRecord,
    repeats: &[Repeat<'_>],
) -> Result<Option<String>, String> {
    let alone = of_groups(subject, promise, repeats)?;
    let broken = |seen: &Seen| seen.verdict() == Verdict::Broken;
    let outside = alone.iter().find(|(_, seen)| seen.iter().any(broken));
    Ok(outside.map(|(name, _)| format!("`{name}` waited longer")))
}

/// What none in so many seconds excludes, and how long it takes to say more.
fn rarity(seconds: f64) -> String {
    let one_in_s = rarer_than_one_in_s(seconds);
    let more_s = [60.0, 600.0, 3600.0, 86_400.0].into_iter().find(|more| *more > one_in_s);
    let more = more_s.map_or_else(String::new, |more_s| {
        format!(", and {:.0} s would exclude one in {more_s:.0} s", seconds * more_s / one_in_s)
    });
    format!("none longer in {seconds:.0} s: rarer than one in {one_in_s:.0} s (95 %){more}")
}

type Groups<'r> = Vec<(&'r str, Vec<Seen>)>;

/// Each measured group in each of these repeats.
fn of_groups<'r>(
    subject: &Subject<'r>,
    promise: &PromiseRecord,
    repeats: &[Repeat<'_>],
) -> Result<Groups<'r>, String> {
    let RelationRecord::Within(given) = &promise.is else {
        return Err("`progress` has no other relation than `within`".to_owned());
    };
    let one = |name: &str, repeat: &Repeat<'_>| -> Result<Seen, String> {
        let cpus = bound::parallel(subject, repeat, name)?;
        let bound = match given {
            Some(seconds) => Bound::given(*seconds),
            None => Bound::derived(subject, repeat, name)?,
        };
        let stall = longest_stall(&wanting::readings(subject, repeat, name, cpus)?, cpus);
        Ok(Seen { repeat: repeat.number, stall: to_a_tick(stall), bound })
    };
    let of_group = |name: &&'r str| -> Result<(&'r str, Vec<Seen>), String> {
        let seen: Result<Vec<Seen>, String> =
            repeats.iter().map(|repeat| one(name, repeat)).collect();
        Ok((*name, seen?))
    };
    subject.groups.iter().map(of_group).collect()
}

/// The kernel adds the time of a task that runs alone to the counter only at a tick. So a group may have run for up to
/// one before the last of equal readings, and what was added between two readings may have been used before the first.
fn to_a_tick(stall: Stall) -> Stall {
    let tick_s = Lag::LONGEST.tick_s;
    Stall { least_s: (stall.least_s - tick_s).max(0.0), most_s: stall.most_s + tick_s, ..stall }
}

/// The group and repeat furthest beyond what was promised.
fn worst<'g>(groups: &'g Groups<'_>) -> Option<(&'g str, &'g Seen)> {
    let all = groups.iter().flat_map(|(name, seen)| seen.iter().map(move |one| (*name, one)));
    all.max_by(|(_, one), (_, other)| order(one, other))
}

/// By the certain error; without one, by the largest that the readings allow.
fn order(one: &Seen, other: &Seen) -> std::cmp::Ordering {
    let key = |seen: &Seen| {
        (seen.stall.least_s / seen.bound.seconds - 1.0).max(0.0)
            + 1e-6 * seen.stall.most_s / seen.bound.seconds
    };
    key(one).total_cmp(&key(other))
}

fn errors(groups: &Groups<'_>, repeats: usize) -> Vec<f64> {
    let of_repeat = |index: usize| {
        let errors = groups.iter().filter_map(|(_, seen)| Some(seen.get(index)?.error().value));
        errors.fold(0.0, f64::max)
    };
    (0..repeats).map(of_repeat).collect()
}

/// The row of a group is that of its worst repeat; times in seconds.
fn row(name: &str, seen: &[Seen]) -> Option<GroupJudgement> {
    let worst = seen.iter().max_by(|one, other| order(one, other))?;
    let Stall { least_s, most_s, .. } = worst.stall;
    Some(GroupJudgement {
        name: name.to_owned(),
        expected_share: worst.bound.seconds,
        share: least_s,
        low: least_s,
        high: most_s,
        rate: least_s,
        verdict: Verdict::worst(seen.iter().map(Seen::verdict)),
        was: Some(Interval { value: least_s, low: least_s, high: most_s }),
        ..GroupJudgement::default()
    })
}

fn was(judged_by: Judged<'_, '_>, groups: &Groups<'_>, verdict: Verdict) -> Observation {
    let repeats = judged_by.repeats;
    let (group, error) = worst(groups).map_or_else(
        || (String::new(), Interval { value: 0.0, low: 0.0, high: 0.0 }),
        |(name, seen)| (name.to_owned(), seen.error()),
    );
    let inside = |index: usize| {
        let seen = |(_, seen): &(&str, Vec<Seen>)| seen.get(index).map(Seen::verdict);
        groups.iter().all(|group| seen(group) == Some(Verdict::Kept))
    };
    let starts = judged_by.starts(Starts::count((0..repeats.len()).map(inside)));
    let seconds = repeats.iter().map(Repeat::window_s).sum();
    Observation { verdict, error, ..Observation::new(&group, error.value, 0.0, seconds, starts) }
}

fn sentence(groups: &Groups<'_>, observed: Verdict) -> String {
    let Some((name, seen)) = worst(groups) else { return String::new() };
    let (least, most) = (ms(seen.stall.least_s), ms(seen.stall.most_s));
    let promised = &seen.bound;
    let span = match seen.stall.least_s > 0.0 {
        true => format!("for at least {least} and at most {most}"),
        false => format!("for at most {most}"),
    };
    let all: usize = groups.iter().map(|(_, seen)| seen.len()).max().unwrap_or(0);
    let open = match observed {
        Verdict::Undecided if seen.may_be_others() => {
            "; what others and the hypervisor took of the CPUs explains it if they took it at once"
        }
        Verdict::Undecided => "; samples are too far apart to tell: use a shorter `interval`",
        _ => "",
    };
    format!(
        "`{name}` wanted to run and made no progress {span} (repeat {} of {all}), where {} was \
         promised{}{open}",
        seen.repeat,
        ms(promised.seconds),
        promised.derivation.as_ref().map_or_else(String::new, |text| format!(" ({text})")),
    )
}

fn ms(seconds: f64) -> String {
    format!("{:.0} ms", seconds * 1e3)
}
