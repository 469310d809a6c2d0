//! The answer as text.

use std::fmt::Write;

use assay_host::facts::owner::shown;

use crate::answer::{Answer, Frozen, Verdict};
use crate::culprit::Culprit;
use crate::longest::LongestWait;
use crate::part::Part;
use crate::thread_time::{BlockedOn, ThreadTime};
use crate::waits::Bucket;

/// The longest bar of the histogram, in characters.
const BAR: u64 = 40;

/// Waits below this are shown in one row.
const SHORT_NS: u64 = 1 << 10;

/// Parts below this are summed up in one line, in percent.
const SMALL: f64 = 0.05;

/// The answer for a terminal.
#[must_use]
pub fn text(answer: &Answer) -> String {
    let mut text = String::new();
    let _ = write_all(&mut text, answer);
    text
}

fn write_all(out: &mut String, answer: &Answer) -> std::fmt::Result {
    writeln!(
        out,
        "{}: waited {} for a CPU in {:.1} s",
        answer.target,
        time(answer.waited_ns),
        answer.seconds
    )?;
    if let Some(Frozen { file, processes, of }) = &answer.frozen {
        writeln!(
            out,
            "frozen by {file}: its processes do not run until it is thawed ({processes} of {of})"
        )?;
    }
    write_parts(out, &answer.parts)?;
    if answer.idle_elsewhere_ns > 0 {
        let time = time(answer.idle_elsewhere_ns);
        writeln!(out, "for {time} of it another CPU was idle that the thread may use")?;
    }
    write_check(out, answer)?;
    if answer.cpus.iter().filter(|cpu| cpu.waited_ns > 0).count() > 1 {
        writeln!(out, "\nby CPU")?;
        for cpu in answer.cpus.iter().filter(|cpu| cpu.waited_ns > 0) {
            let main = cpu.parts.iter().take(3).map(|part| {
                format!("{} {:.0} %", name(part.culprit, part.group.as_deref()), part.percent)
            });
            writeln!(
                out,
                "  {:>3}  {:>10}  {}",
                cpu.cpu,
                time(cpu.waited_ns),
                main.collect::<Vec<_>>().join(", ")
            )?;
        }
    }
    if let Some(time) = &answer.thread_time {
        write_thread_time(out, time)?;
    }
    write_waits(out, answer)?;
    write_events(out, answer)
}

/// The whole time of the threads, of which the waiting above is a part.
fn write_thread_time(out: &mut String, whole: &ThreadTime) -> std::fmt::Result {
    let ThreadTime { threads, total_ns, ran_ns, could_run_ns, .. } = whole;
    let total = time(*total_ns);
    match threads {
        0 => writeln!(out, "\n{total} of threads that have ended")?,
        1 => writeln!(out, "\n{total} of 1 thread at the end")?,
        _ => writeln!(
            out,
            "\n{total} of {threads} threads at the end, and of those that ended before"
        )?,
    }
    if let Some(reason) = &whole.reason {
        return writeln!(out, "void: {reason}");
    }
    let percent = |ns: u64| ns as f64 / (*total_ns).max(1) as f64 * 100.0;
    let mut line =
        |ns: u64, what: &str| writeln!(out, "  {:>6.1} %  {:>10}  {what}", percent(ns), time(ns));
    line(*ran_ns, "ran")?;
    line(*could_run_ns, "could run, and waited for a CPU")?;
    for part in &whole.blocked {
        match part.on {
            BlockedOn::Unseen => line(part.ns, part.on.words())?,
            on => line(part.ns, &format!("blocked: {}", on.words()))?,
        }
        let is_shown = |held: &&Part| part.on == BlockedOn::Kernel && held.percent >= SMALL;
        for held in whole.locks.iter().filter(is_shown) {
            let by = shown(held.owner.as_ref(), &name(held.culprit, held.group.as_deref()));
            line(held.ns, &format!("  of it for a lock held by {by}"))?;
        }
    }
    Ok(())
}

fn write_parts(out: &mut String, parts: &[Part]) -> std::fmt::Result {
    let (large, small): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.percent >= SMALL);
    for part in large {
        let name = shown(part.owner.as_ref(), &name(part.culprit, part.group.as_deref()));
        writeln!(out, "  {:>6.1} %  {:>10}  {name}", part.percent, time(part.ns))?;
    }
    if small.is_empty() {
        return Ok(());
    }
    let ns = small.iter().map(|part| part.ns).sum();
    let percent: f64 = small.iter().map(|part| part.percent).sum();
    writeln!(out, "  {percent:>6.1} %  {:>10}  {} more", time(ns), small.len())
}

fn write_check(out: &mut String, answer: &Answer) -> std::fmt::Result {
    match (answer.verdict, &answer.reason, answer.difference_percent) {
        (Verdict::Void, Some(reason), _) => {
            writeln!(out, "void: {reason}")?;
            match answer.events.unseen_waits {
                0 => Ok(()),
                unseen => writeln!(
                    out,
                    "  hint: the kernel did not show how {unseen} waits began; some virtual machines hide switches of process 1"
                ),
            }
        }
        (_, _, Some(percent)) => writeln!(
            out,
            "the kernel counted {} of waiting that is over (run_delay): {percent:+.3} % off",
            time(answer.run_delay_ns)
        ),
        _ => writeln!(out, "the kernel counted no waiting either (run_delay)"),
    }
}

fn write_waits(out: &mut String, answer: &Answer) -> std::fmt::Result {
    let waits = &answer.waits;
    let rows = rows(&waits.histogram);
    let Some(most) = rows.iter().map(|row| row.count).max() else { return Ok(()) };
    writeln!(
        out,
        "\n{} waits: half below {}, 99 % below {}",
        waits.count,
        time(waits.p50_below_ns),
        time(waits.p99_below_ns)
    )?;
    for Bucket { from_ns, below_ns, count } in rows {
        let bar = "#".repeat((count * BAR).div_ceil(most.max(1)) as usize);
        let line = format!("  {:>8} - {:<8} {count:>8}  {bar}", time(from_ns), time(below_ns));
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "\nlongest waits")?;
    answer.longest.iter().try_for_each(|wait| write_wait(out, wait))
}

/// The rows of the histogram. Waits of some nanoseconds, such as of a thread that is woken and moved at once,
/// are one row.
fn rows(histogram: &[Bucket]) -> Vec<Bucket> {
    let (short, long): (Vec<_>, Vec<_>) =
        histogram.iter().copied().partition(|bucket| bucket.below_ns <= SHORT_NS);
    let count = short.iter().map(|bucket| bucket.count).sum();
    let short = Bucket { from_ns: 0, below_ns: SHORT_NS, count };
    Some(short).filter(|row| row.count > 0).into_iter().chain(long).collect()
}

fn write_wait(out: &mut String, wait: &LongestWait) -> std::fmt::Result {
    let LongestWait { ended_s, cpu, thread, thread_id, .. } = wait;
    let mut reasons = Vec::new();
    if wait.quota_ns > 0 {
        reasons.push(format!("own quota {}", time(wait.quota_ns)));
    }
    // What the CPU did while the group was throttled was no reason to wait.
    if wait.quota_ns * 2 < wait.length_ns {
        let ran = wait.ran.iter().take(3);
        reasons.extend(
            ran.map(|ran| format!("{} {}", name(ran.culprit, ran.group.as_deref()), time(ran.ns))),
        );
        if wait.earlier_ns > 0 {
            reasons.push(format!("earlier {}", time(wait.earlier_ns)));
        }
    }
    if wait.idle_elsewhere_ns > 0 {
        reasons.push(format!("another CPU idle for {}", time(wait.idle_elsewhere_ns)));
    }
    let length = time(wait.length_ns);
    writeln!(
        out,
        "  {length:>10}  at {ended_s:.3} s on CPU {cpu}  {thread} ({thread_id}): {}",
        reasons.join(", ")
    )
}

fn write_events(out: &mut String, answer: &Answer) -> std::fmt::Result {
    let events = &answer.events;
    writeln!(
        out,
        "\n{} switches, {} wake-ups and {} moves seen; {} switches hidden, {} waits begun unseen, {} dropped{}",
        events.switches,
        events.wakeups,
        events.moves,
        events.hidden_switches,
        events.unseen_waits,
        events.dropped_waits,
        missed(events.missed)
    )?;
    match (answer.cost.ns_per_event, answer.cost.percent_of_cpus) {
        (Some(each), Some(percent)) => {
            writeln!(out, "cost: {each:.0} ns an event, {percent:.2} % of the CPUs")
        }
        _ => writeln!(out, "cost: too few events to measure it"),
    }
}

/// Events that programs missed, if any.
pub(crate) fn missed(events: Option<u64>) -> String {
    events
        .filter(|missed| *missed > 0)
        .map(|missed| format!(", {missed} missed"))
        .unwrap_or_default()
}

fn name(culprit: Culprit, group: Option<&str>) -> String {
    match (culprit, group) {
        (Culprit::Group, Some(path)) => path.to_owned(),
        _ => culprit.words().to_owned(),
    }
}

/// A time with three digits.
pub(crate) fn time(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "us"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::{Counted, CountedCpu};
    use crate::culprit::{FIRST_GROUP, Names, OWN};

    fn answer(run_delay: u64) -> Answer {
        let mut cpu = CountedCpu { run_delay, last: 1, ..CountedCpu::default() };
        cpu.charged = vec![0; 16];
        cpu.charged[OWN as usize] = 250_000_000;
        cpu.charged[FIRST_GROUP as usize] = 750_000_000;
        cpu.lengths = vec![0, 0, 4, 1];
        let counted = Counted { cpus: vec![(0, cpu)] };
        Answer::new("/mine", 5.0, &counted, &Names(vec!["/hog".to_owned()]))
    }

    #[test]
    fn the_table_names_culprits_and_says_how_well_it_sums_up() {
        let text = text(&answer(1_000_000_000));
        assert!(text.starts_with("/mine: waited 1.00 s for a CPU in 5.0 s\n"), "{text}");
        assert!(text.contains("    75.0 %      750 ms  /hog\n"), "{text}");
        assert!(text.contains("    25.0 %      250 ms  own other threads\n"), "{text}");
        assert!(text.contains("+0.000 % off"), "{text}");
    }

    #[test]
    fn a_frozen_target_is_said_to_be_frozen() {
        let mut answer = answer(0);
        answer.frozen =
            Some(Frozen { file: "/cg/x/cgroup.freeze".to_owned(), processes: 1, of: 1 });
        let text = text(&answer);
        assert!(text.contains("\nfrozen by /cg/x/cgroup.freeze: its processes do not run until it is thawed (1 of 1)\n"), "{text}");
    }

    #[test]
    fn owners_stand_beside_their_paths() {
        let mut answer = answer(1_000_000_000);
        answer.set_owners(|_| assay_host::facts::owner::owner("/nginx.service"));
        let text = text(&answer);
        assert!(text.contains("    75.0 %      750 ms  unit nginx.service  /hog\n"), "{text}");
        assert!(text.contains("    25.0 %      250 ms  own other threads\n"), "{text}");
    }

    #[test]
    fn a_void_answer_says_so_with_both_sums() {
        let mut answer = answer(2_000_000_000);
        answer.events.unseen_waits = 10;
        let text = text(&answer);
        assert!(text.contains("how 10 waits began"), "{text}");
        assert!(
            text.contains(
                "void: the parts sum up to 1.000000 s, and the kernel counted 2.000000 s"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_wait_for_the_quota_names_nobody_who_ran_meanwhile() {
        let ran = crate::longest::Ran { culprit: Culprit::IdleCpu, group: None, ns: 60 };
        let mut wait = LongestWait {
            length_ns: 70,
            ended_s: 1.0,
            cpu: 0,
            thread: "w".to_owned(),
            thread_id: 5,
            quota_ns: 69,
            idle_elsewhere_ns: 0,
            ran: vec![ran],
            earlier_ns: 10,
        };
        let line = |wait: &LongestWait| {
            let mut line = String::new();
            write_wait(&mut line, wait).unwrap();
            line
        };
        assert!(line(&wait).ends_with("w (5): own quota 69 ns\n"), "{}", line(&wait));
        wait.quota_ns = 0;
        wait.idle_elsewhere_ns = 50;
        let expected = "w (5): idle CPU 60 ns, earlier 10 ns, another CPU idle for 50 ns\n";
        assert!(line(&wait).ends_with(expected), "{}", line(&wait));
    }

    #[test]
    fn the_shortest_waits_are_one_row() {
        let mut answer = answer(1_000_000_000);
        answer.waits.histogram.push(Bucket { from_ns: 1 << 10, below_ns: 1 << 11, count: 2 });
        let text = text(&answer);
        assert!(text.contains("0 ns - 1.02 us         5  ####"), "{text}");
        assert!(text.contains("1.02 us - 2.05 us         2  ####"), "{text}");
    }

    #[test]
    fn times_have_three_digits() {
        let shown: Vec<_> = [999, 1_500, 15_000, 150_000_000, 15_000_000_000].map(time).into();
        assert_eq!(shown, ["999 ns", "1.50 us", "15.0 us", "150 ms", "15.0 s"]);
    }
}
