//! The answer about a disk as text.

use std::fmt::{Result, Write};

use assay_host::facts::Available;

use super::bfq::Bfq;
use super::{Dirtied, DiskAnswer, DiskGroup, ROOT_GROUP, Stage};
use crate::answer::Verdict;
use crate::text::time;

/// Parts below this are not shown, in percent.
const SMALL: f64 = 0.5;

/// Groups that were not asked for are shown up to this number.
const OTHERS: usize = 5;

/// The answer for a terminal.
#[must_use]
pub fn disk_text(answer: &DiskAnswer) -> String {
    let mut text = String::new();
    let _ = write_all(&mut text, answer);
    text
}

/// Disks to which a watched group had requests, or may have had; and others that were busy meanwhile.
#[must_use]
pub fn disks_text(disks: &Available<Vec<DiskAnswer>>, not_followed: &[String]) -> String {
    let disks = match disks {
        Available::NotAvailable(reason) => return format!("disks: not available: {reason}\n"),
        Available::Value(disks) => disks,
    };
    let has_requests =
        |disk: &DiskAnswer| disk.groups.iter().any(|group| group.watched && group.requests > 0);
    let text = |disk: &DiskAnswer| match &disk.reason {
        _ if has_requests(disk) => Some(disk_text(disk)),
        Some(reason) => Some(format!("{}: no request was seen; void: {reason}\n", disk.disk)),
        None => None,
    };
    let mut texts: Vec<String> = disks.iter().filter_map(text).collect();
    if texts.is_empty() {
        texts.push("disks: no request\n".to_owned());
    }
    if !not_followed.is_empty() {
        texts.push(format!("not followed, but busy meanwhile: {}\n", not_followed.join(", ")));
    }
    texts.join("\n")
}

fn write_all(out: &mut String, answer: &DiskAnswer) -> Result {
    let DiskAnswer { disk, scheduler, nr_requests, .. } = answer;
    writeln!(
        out,
        "{disk}: {scheduler}, {nr_requests} places for requests; in {:.1} s all taken for {}, device idle for {}",
        answer.seconds,
        time(answer.pool_full_ns),
        time(answer.device_idle_ns)
    )?;
    let watched = answer.groups.iter().filter(|group| group.watched);
    watched.into_iter().try_for_each(|group| write_group(out, group))?;
    let others: Vec<&DiskGroup> = answer.groups.iter().filter(|group| !group.watched).collect();
    for group in others.iter().take(OTHERS) {
        let DiskGroup { group, requests, mean_queued, mean_in_device, .. } = group;
        writeln!(
            out,
            "  {group}: {requests} requests; on average {mean_queued:.2} in the scheduler, {mean_in_device:.2} in the device"
        )?;
    }
    if others.len() > OTHERS {
        writeln!(out, "  {} more groups", others.len() - OTHERS)?;
    }
    if let Some(dirtied) = &answer.dirtied {
        write_dirtied(out, dirtied)?;
    }
    if let Available::Value(bfq) = &answer.bfq {
        write_bfq(out, bfq)?;
    }
    write_check(out, answer)
}

/// Without this a group that writes through the page cache looks innocent.
fn write_dirtied(out: &mut String, dirtied: &[Dirtied]) -> Result {
    write!(out, "  cgroup v1 charges buffered writes of any group to `{ROOT_GROUP}`; ")?;
    let shown: Vec<String> = dirtied
        .iter()
        .take(OTHERS)
        .map(|Dirtied { group, bytes }| format!("{group} up to {:.1} MiB", mebibytes(*bytes)))
        .collect();
    match shown.as_slice() {
        [] => writeln!(out, "no group was seen with many dirty pages"),
        _ => writeln!(out, "dirty pages meanwhile: {}", shown.join(", ")),
    }
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn write_group(out: &mut String, group: &DiskGroup) -> Result {
    let mib = mebibytes(group.bytes);
    write!(out, "  {}: {} requests, {mib:.1} MiB", group.group, group.requests)?;
    if group.merged + group.requeued > 0 {
        write!(out, ", {} merged, {} requeued", group.merged, group.requeued)?;
    }
    writeln!(out)?;
    let place = Stage { ns: group.place.ns, lengths: group.place.lengths.clone() };
    let stages = [
        ("a place in the pool", &place),
        ("plug", &group.plugged),
        ("scheduler", &group.scheduler),
        ("device", &group.device),
    ];
    let total: u64 = stages.iter().map(|(_, stage)| stage.ns).sum();
    for (name, stage) in stages.into_iter().filter(|(_, stage)| stage.ns > 0) {
        writeln!(
            out,
            "  {:>6.1} %  {:>10}  {name}: half below {}, 99 % below {}{}",
            stage.ns as f64 / total as f64 * 100.0,
            time(stage.ns),
            time(stage.lengths.p50_below_ns),
            time(stage.lengths.p99_below_ns),
            reasons(name, group)
        )?;
    }
    Ok(())
}

/// What held the requests up at this stage.
fn reasons(stage: &str, group: &DiskGroup) -> String {
    let parts: Vec<(f64, String)> = match stage {
        "scheduler" => group
            .served
            .iter()
            .map(|part| {
                let by = part.by.as_deref().unwrap_or("device idle");
                (part.percent, by.to_owned())
            })
            .collect(),
        "a place in the pool" => {
            let place = &group.place;
            let percent = |ns: u64| ns as f64 / place.ns as f64 * 100.0;
            let held = place.held_mean.unwrap_or(0.0);
            vec![
                (percent(place.pool_full_ns), "pool full".to_owned()),
                (percent(place.own_cap_ns), format!("own cap, holding {held:.1}")),
                (percent(place.other_ns), "other".to_owned()),
            ]
        }
        _ => Vec::new(),
    };
    let shown = parts.iter().filter(|(percent, _)| *percent >= SMALL);
    let shown: Vec<String> =
        shown.map(|(percent, name)| format!("{name} {percent:.1} %")).collect();
    if shown.is_empty() { String::new() } else { format!("; {}", shown.join(", ")) }
}

fn write_bfq(out: &mut String, bfq: &Bfq) -> Result {
    writeln!(
        out,
        "  turns under BFQ ({} samples, {} without a queue in service)",
        bfq.samples, bfq.idle_samples
    )?;
    for group in &bfq.groups {
        writeln!(
            out,
            "  {:>6.1} %  {}: empty for {:.1} % of it; {} of {} requests issued in its own turns",
            group.in_service_percent,
            group.group,
            group.idling_percent,
            group.issued_in_own_turn,
            group.issued
        )?;
    }
    for bond in &bfq.bonds {
        let (group, partner) = (&bond.group, &bond.partner);
        let samples = (bond.waker_samples, bond.woken_samples);
        writeln!(
            out,
            "            in the turns of {group}, {partner} was its waker in {} samples and woken by it in {}; set {} times",
            samples.0, samples.1, bond.set
        )?;
    }
    for pair in &bfq.injected {
        writeln!(
            out,
            "            in the turns of {}, {} had {} requests as waker, {} as woken and {} otherwise",
            pair.in_service, pair.group, pair.as_waker, pair.as_woken, pair.other
        )?;
    }
    Ok(())
}

fn write_check(out: &mut String, answer: &DiskAnswer) -> Result {
    match (answer.verdict, &answer.reason, answer.difference_percent) {
        (Verdict::Void, Some(reason), _) => writeln!(out, "  void: {reason}")?,
        (_, _, Some(percent)) => writeln!(
            out,
            "  the kernel counted {} from start to completion (/proc/diskstats): {percent:+.2} % off",
            time(answer.diskstats_ns)
        )?,
        _ => writeln!(out, "  the kernel counted no request either (/proc/diskstats)")?,
    }
    match (answer.cost.ns_per_event, answer.cost.percent_of_cpus) {
        (Some(each), Some(percent)) => {
            writeln!(out, "  cost: {each:.0} ns an event, {percent:.2} % of the CPUs")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{
        BfqCounted, DiskCost, DiskCounted, DiskNames, DiskWindow, GroupCounted, MemberCounted,
    };

    fn answer() -> DiskAnswer {
        let group = GroupCounted {
            requests: 1_000,
            bytes: 4 << 20,
            whole: 3_000_000_000,
            queued: 2_000_000_000,
            pool_full: 900_000_000,
            time: [1_000_000_000, 0, 2_000_000_000, 1_000_000_000],
            ..GroupCounted::default()
        };
        let member = MemberCounted { class: Some(1), group, charged: vec![10_000, 30_000, 60_000] };
        let other = MemberCounted { class: Some(2), ..MemberCounted::default() };
        let counted = DiskCounted { members: vec![member, other], ..DiskCounted::default() };
        let names = DiskNames { paths: vec!["/mine".to_owned(), "/hog".to_owned()], watched: 1 };
        let window = DiskWindow {
            disk: "loop0".to_owned(),
            scheduler: "bfq".to_owned(),
            nr_requests: 256,
            length_ns: 5_000_000_000,
            diskstats_ns: 3_000_000_000,
            cpus: 2,
        };
        let bfq = BfqCounted::parse(vec![0; 1 << 20]).unwrap();
        let bfq = Available::Value(bfq.disk(0, |class| names.name(class)));
        DiskAnswer::new(&window, &counted, DiskCost::default(), &names, bfq)
    }

    #[test]
    fn a_group_has_its_stages_and_who_was_served_meanwhile() {
        let text = disk_text(&answer());
        assert!(text.starts_with("loop0: bfq, 256 places for requests; in 5.0 s"), "{text}");
        assert!(text.contains("  /mine: 1000 requests, 4.0 MiB\n"), "{text}");
        assert!(text.contains("    50.0 %      2.00 s  scheduler"), "{text}");
        assert!(text.contains("; device idle 60.0 %, /hog 30.0 %, /mine 10.0 %\n"), "{text}");
        assert!(text.contains("; pool full 90.0 %, other 10.0 %\n"), "{text}");
        assert!(!text.contains("plug"), "{text}");
        assert!(text.contains("+0.00 % off"), "{text}");
    }

    /// One that goes voids itself only, and what was not followed is named.
    #[test]
    fn disks_stand_alone_and_others_are_named() {
        let mut gone = DiskAnswer { disk: "loop97".to_owned(), ..answer() };
        gone.groups.iter_mut().for_each(|group| group.requests = 0);
        let idle = DiskAnswer { disk: "sdq".to_owned(), ..gone.clone() };
        gone.note_gone("cannot read /sys/block/loop97/stat");
        let others = ["sdx".to_owned(), "sdy".to_owned()];
        let text = disks_text(&Available::Value(vec![answer(), gone, idle.clone()]), &others);
        assert!(text.starts_with("loop0: bfq, 256 places"), "{text}");
        assert!(text.contains("\nloop97: no request was seen; void: the disk is gone: "), "{text}");
        assert!(!text.contains("sdq"), "{text}");
        assert!(text.ends_with("\nnot followed, but busy meanwhile: sdx, sdy\n"), "{text}");
        assert_eq!(disks_text(&Available::Value(vec![idle]), &[]), "disks: no request\n");
    }

    /// The writer has few requests of its own.
    #[test]
    fn on_v1_the_root_may_hold_the_writes_of_others_who_are_named() {
        let mut answer = answer();
        assert!(!disk_text(&answer).contains("cgroup v1"));
        answer.dirtied = Some(vec![Dirtied { group: "/backup".to_owned(), bytes: 61 << 20 }]);
        let expected = "  cgroup v1 charges buffered writes of any group to `/`; \
                        dirty pages meanwhile: /backup up to 61.0 MiB\n";
        assert!(disk_text(&answer).contains(expected), "{}", disk_text(&answer));
        answer.dirtied = Some(Vec::new());
        assert!(disk_text(&answer).contains("no group was seen"), "{}", disk_text(&answer));
    }

    #[test]
    fn a_void_answer_says_why() {
        let mut answer = answer();
        answer.verdict = Verdict::Void;
        answer.reason = Some("it does not sum up".to_owned());
        assert!(disk_text(&answer).contains("  void: it does not sum up\n"));
    }
}
