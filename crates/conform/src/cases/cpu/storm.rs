//! Progress beside a storm of wake-ups: tens of thousands of times a second a task of a group falls
//! asleep and another one wakes up.
//!
//! Linux 6.13 to 7.0 weigh a group anew on each of these occasions if it has tasks on several CPUs, and
//! place it as if it had just come (commit 6d71a9c61604, reverted by 101f3498b4bd): it never has to
//! wait, and what competes with it on its CPUs gets nothing.

use std::time::Duration;

use assay_stats::progress::{Lag, Reading, Stall, longest_stall};
use assay_sys::kernel::{clock, process};

use super::*;

const STORM: Topic = CPU
    .documented_in("Documentation/scheduler/sched-eevdf.rst")
    .needing(&[Need::Controller("cpu"), Need::Cpus(2)]);
/// What to expect of a kernel that breaks these promises.
const STARVES: &str = "on some kernels this leaves all other work on two CPUs without any CPU time \
                       for a second, three in an emulated machine; it ends by itself";

pub(crate) const CASES: &[Case] = &[
    STORM
        .case(
            "a-storm-of-wakeups-leaves-siblings-the-cpu",
            "A group makes progress beside a sibling of equal weight in which, two levels down, two \
             pairs of processes on two CPUs wake each other.",
            |fixture| storm(fixture, &NESTED, &[["s/b/a", "s/b/r"]; 2]),
        )
        .warning(STARVES),
    STORM
        .case(
            "a-flat-storm-of-wakeups-leaves-siblings-the-cpu",
            "The same with both pairs directly in the sibling.",
            |fixture| storm(fixture, &["s"], &[["s", "s"]; 2]),
        )
        .warning(STARVES),
    STORM.case(
        "a-storm-of-wakeups-in-a-group-for-each-cpu",
        "The same with a group for each pair, so that no group has tasks on two CPUs.",
        |fixture| storm(fixture, &["s", "t"], &[["s", "s"], ["t", "t"]]),
    ),
    STORM.case(
        "a-storm-of-one-pair-leaves-siblings-the-cpu",
        "A group makes progress beside a sibling in which, two levels down, one pair of processes \
         wakes each other.",
        // On the victim's CPU.
        |fixture| storm(fixture, &NESTED, &[["s/b/a", "s/b/r"]]),
    ),
];

/// Groups deeper than the victim, with those above them.
const NESTED: [&str; 4] = ["s", "s/b", "s/b/a", "s/b/r"];
/// Length of a turn in seconds, after which the storm ends by itself.
const TURN: f64 = 1.0;
/// A slow machine gets longer turns, but not any length: nothing else may run in them.
const MOST_PATIENCE: f64 = 3.0;
/// Turns without a long wait before the promise counts as kept.
const TURNS: usize = 3;
/// A storm with fewer wake-ups per second shows nothing.
const LEAST_WAKEUPS: f64 = 20_000.0;
/// The part of each of their CPUs that storm and victim must have used together.
const LEAST_USE: f64 = 0.75;
/// A wait this many times as long as the longest that weights explain is no noise, if it is also
/// longer than [`LEAST_BROKEN`] seconds.
const BROKEN: f64 = 4.0;
const LEAST_BROKEN: f64 = 0.5;
/// Weight of the case's groups over that of anybody else at the top (`Fixture::go_first`): 262144
/// shares of v1 against 1024; v2's 10000 against 100.
const FIRST: f64 = 100.0;
/// The weights of all that compete with the victim on its CPU over its own: the storm's group has the
/// same one.
const BESIDE: f64 = 2.0;

/// One pair of processes: the groups of its two ends.
type Pair = [&'static str; 2];

/// What was seen in one turn.
#[derive(Debug, Clone, Copy)]
struct Turn {
    seconds: f64,
    stall: Stall,
    /// CPU time of the victim and of the storm.
    victim_s: f64,
    storm_s: f64,
    wakeups: f64,
    /// The longest wait that weights explain.
    bound_s: f64,
}

/// Starts the pairs, each on a CPU of its own, and a victim on the CPU of the first; ends after the
/// first turn that shows a broken promise.
fn storm(fixture: &Fixture, groups: &[&str], pairs: &[Pair]) -> Result<Outcome, Stop> {
    fixture.go_first()?;
    for group in groups.iter().chain(&["victim"]) {
        let is_parent = groups.iter().any(|other| other.starts_with(&format!("{group}/")));
        if is_parent { fixture.make_parent(group)? } else { fixture.make(group)? }
    }
    let cpus = fixture.cpus();
    let mut storms = Vec::new();
    for ([first, second], cpu) in pairs.iter().zip(cpus.iter().rev()) {
        let mut pair = fixture.start(first, &format!("storm cpu={cpu}"))?;
        let partner: u32 = pair.value("partner ")?;
        fixture.write(second, "cgroup.procs", &partner.to_string())?;
        storms.push((pair, partner));
    }
    let victim = [fixture.start_bound("victim", "spin")?];
    fixture.pause(0.1)?;
    let mut turns = Vec::new();
    let mut outcome = Outcome::void("no turn was made");
    while turns.len() < TURNS {
        turns.push(turn(fixture, &mut storms, &victim)?);
        outcome = judge(&turns, pairs.len());
        if !outcome.reason.is_empty() {
            break;
        }
        fixture.pause(0.1)?;
    }
    Ok(outcome)
}

/// One storm, watched at real-time priority where the host allows it: a watcher is starved, too.
fn turn(
    fixture: &Fixture,
    storms: &mut [(Running, u32)],
    victim: &[Running],
) -> Result<Turn, Error> {
    let patience = fixture.patience.min(MOST_PATIENCE);
    let length = Duration::from_secs_f64(TURN * patience);
    let before = (storm_s(storms)?, others(fixture));
    let stolen_s = fixture.time_of_cpu(fixture.cpu())?.stolen_s;
    let (readings, trips) = process::with_real_time_priority(|| {
        for (pair, _) in storms.iter_mut() {
            pair.send(&format!("go {}", length.as_millis()));
        }
        let readings = watch(fixture, victim, length.as_secs_f64())?;
        let trips = storms.iter_mut().map(|(pair, _)| pair.value::<f64>("trips "));
        Ok::<_, Error>((readings, trips.sum::<Result<f64, Error>>()?))
    })?;
    let grown = |value: fn(&Reading) -> f64| {
        readings.last().map_or(0.0, value) - readings.first().map_or(0.0, value)
    };
    let seconds = grown(|reading| reading.at_s);
    let at_top = 1.0 + before.1.max(others(fixture)) / FIRST;
    let mut stall = longest_stall(&readings, 1.0);
    // A CPU that the hypervisor had stopped ran nobody.
    let stolen_s = fixture.time_of_cpu(fixture.cpu())?.stolen_s - stolen_s;
    stall.least_s = (stall.least_s - stolen_s).max(0.0);
    Ok(Turn {
        seconds,
        stall,
        victim_s: grown(|reading| reading.used_s),
        storm_s: storm_s(storms)? - before.0,
        wakeups: 2.0 * trips / seconds,
        bound_s: Lag::LONGEST.longest_wait(&[at_top, BESIDE], 0.0) * patience,
    })
}

/// Readings of the victim's CPU time, every few milliseconds.
fn watch(fixture: &Fixture, victim: &[Running], seconds: f64) -> Result<Vec<Reading>, Error> {
    let began = clock::monotonic_ns();
    let mut readings = Vec::new();
    loop {
        let used = cpu_times(victim)?.iter().sum::<u64>() as f64 / 1e9;
        let at_s = clock::monotonic_ns().saturating_sub(began) as f64 / 1e9;
        readings.push(Reading { at_s, used_s: used });
        if at_s >= seconds && readings.len() > 1 {
            return Ok(readings);
        }
        fixture.pause(0.002)?;
    }
}

fn storm_s(storms: &[(Running, u32)]) -> Result<f64, Error> {
    let mut sum = 0;
    for (pair, partner) in storms {
        sum += pair.cpu_ns()? + clock::process_cpu_ns(*partner).unwrap_or(0);
    }
    Ok(sum as f64 / 1e9)
}

/// Tasks of the whole machine that can run at this moment (proc(5), /proc/loadavg).
fn others(fixture: &Fixture) -> f64 {
    let text = fixture.root.read("/proc/loadavg").unwrap_or_default();
    let running = text.split_whitespace().nth(3).and_then(|word| word.split('/').next());
    running.and_then(|count| count.parse().ok()).unwrap_or(0.0)
}

fn judge(turns: &[Turn], cpus: usize) -> Outcome {
    let longest = turns.iter().max_by(|a, b| a.stall.least_s.total_cmp(&b.stall.least_s));
    let Some(longest) = longest else { return Outcome::void("no turn was made") };
    let most = turns.iter().map(|turn| turn.stall.most_s).fold(0.0, f64::max);
    let evidence = format!(
        "longest time without progress {:.0} ms (at most {:.0} ms; weights explain {:.0} ms), {}. \
         In that turn of {:.2} s the waiting group got {:.0} ms, the storm {:.2} CPUs with {:.0} \
         wake-ups a second",
        longest.stall.least_s * 1e3,
        most * 1e3,
        longest.bound_s * 1e3,
        if turns.len() == 1 { "one turn".to_owned() } else { format!("{} turns", turns.len()) },
        longest.seconds,
        longest.victim_s * 1e3,
        longest.storm_s / longest.seconds,
        longest.wakeups
    );
    if let Some(why) = turns.iter().find_map(|turn| turn.shows_nothing(cpus)) {
        return Outcome::void(why).with(evidence);
    }
    if longest.stall.least_s >= (BROKEN * longest.bound_s).max(LEAST_BROKEN) {
        return Outcome::broken("a group that wanted to run was left without any CPU")
            .with(evidence);
    }
    if turns.iter().all(|turn| turn.stall.most_s <= turn.bound_s) {
        return Outcome::kept(evidence);
    }
    Outcome::undecided("it waited longer than weights explain, but not much").with(evidence)
}

impl Turn {
    fn shows_nothing(&self, cpus: usize) -> Option<String> {
        let used = (self.storm_s + self.victim_s) / self.seconds / cpus as f64;
        if self.wakeups < LEAST_WAKEUPS {
            return Some(format!(
                "the storm was too weak: {:.0} wake-ups a second, fewer than {LEAST_WAKEUPS}",
                self.wakeups
            ));
        }
        (used < LEAST_USE).then(|| {
            format!("other work got the CPU: storm and victim used {:.0} % of it", used * 100.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn of one second on two CPUs.
    fn turn(least_s: f64, most_s: f64, victim_s: f64) -> Turn {
        Turn {
            seconds: 1.0,
            stall: Stall { least_s, most_s, began_s: 0.0 },
            victim_s,
            storm_s: 1.99 - victim_s,
            wakeups: 200_000.0,
            bound_s: 0.110,
        }
    }

    #[test]
    fn a_sibling_without_any_cpu_is_broken() {
        // As seen on Linux 6.18.44: 3 ms in a second.
        assert_eq!(judge(&[turn(0.997, 0.998, 0.003)], 2).verdict, Verdict::Broken);
        assert_eq!(judge(&[turn(0.004, 0.010, 0.49); 3], 2).verdict, Verdict::Kept);
        assert_eq!(judge(&[turn(0.2, 0.25, 0.4)], 2).verdict, Verdict::Undecided);
        let late = [turn(0.004, 0.010, 0.49), turn(0.9, 0.95, 0.05)];
        let outcome = judge(&late, 2);
        assert_eq!(outcome.verdict, Verdict::Broken);
        assert!(outcome.evidence[0].contains("900 ms") && outcome.evidence[0].contains("2 turns"));
    }

    #[test]
    fn one_pair_that_takes_the_cpu_is_broken() {
        let turn = |storm_s| Turn { storm_s, ..turn(0.9, 0.95, 0.05) };
        assert_eq!(judge(&[turn(0.94)], 1).verdict, Verdict::Broken);
        let half =
            Turn { stall: Stall { most_s: 0.05, ..Stall::default() }, victim_s: 0.5, ..turn(0.49) };
        assert_eq!(judge(&[half; 3], 1).verdict, Verdict::Kept);
        assert_eq!(judge(&[turn(0.2)], 1).verdict, Verdict::Void, "others had the CPU");
    }

    #[test]
    fn a_weak_storm_and_a_cpu_that_others_used_are_void() {
        let weak = Turn { wakeups: 9000.0, ..turn(0.9, 0.95, 0.05) };
        assert_eq!(judge(&[weak], 2).verdict, Verdict::Void);
        let taken = Turn { storm_s: 0.8, ..turn(0.9, 0.95, 0.05) };
        assert_eq!(judge(&[taken], 2).verdict, Verdict::Void);
    }
}
