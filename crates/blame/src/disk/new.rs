//! From what was counted at a disk to the answer, and its check against /proc/diskstats.

use assay_host::facts::Available;

use super::bfq::Bfq;
use super::counted::{DiskCost, DiskCounted, MemberCounted};
use super::{
    DISK_SCHEMA, DISK_TOLERANCE, DiskAnswer, DiskEvents, DiskGroup, OTHER_GROUPS, PlaceWait,
    ROOT_GROUP, Served, Stage,
};
use crate::answer::{Cost, Verdict};
use crate::waits::Waits;

/// /proc/diskstats counts milliseconds, each of its times for itself: differences below this void nothing.
const NEGLIGIBLE_NS: u64 = 5_000_000;

/// The kernel adds a request's time to /proc/diskstats up to this long after its completion was seen: what the programs
/// take lies between, and the end of the bios with the wake-up of who waits for them (1.8 us were seen in a virtual
/// machine, where an interrupt to another processor leaves it).
const ACCOUNTED_LATER_NS: u64 = 3_000;

/// The paths of groups, by their class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskNames {
    /// Of the classes from 1 on; 0 is the root.
    pub paths: Vec<String>,
    /// How many of the first ones are watched.
    pub watched: usize,
}

/// Of who was served while a group waited so many are named, the largest first: 256 groups have 65 000 pairs.
pub(super) const MOST_PARTS: usize = 32;

/// What was watched, and for how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskWindow {
    /// The device.
    pub disk: String,
    /// Its scheduler.
    pub scheduler: String,
    /// Places in its pool.
    pub nr_requests: u64,
    /// In nanoseconds.
    pub length_ns: u64,
    /// What /proc/diskstats has added to its times of reads, writes and discards.
    pub diskstats_ns: u64,
    /// CPUs of the host.
    pub cpus: usize,
}

impl DiskNames {
    /// The name of a class, or of all groups without one.
    #[must_use]
    pub fn name(&self, class: Option<usize>) -> String {
        match class {
            Some(0) => ROOT_GROUP.to_owned(),
            Some(class) => {
                self.paths.get(class - 1).map_or(OTHER_GROUPS, String::as_str).to_owned()
            }
            None => OTHER_GROUPS.to_owned(),
        }
    }

    fn is_watched(&self, class: Option<usize>) -> bool {
        class.is_some_and(|class| (1..=self.watched).contains(&class))
    }
}

impl DiskAnswer {
    /// What was counted, as an answer.
    #[must_use]
    pub fn new(
        window: &DiskWindow,
        counted: &DiskCounted,
        cost: DiskCost,
        names: &DiskNames,
        bfq: Available<Bfq>,
    ) -> Self {
        let sum = |value: fn(&MemberCounted) -> u64| counted.members.iter().map(value).sum::<u64>();
        let whole = sum(|member| member.group.whole);
        let events = DiskEvents {
            issued: sum(|member| member.group.issued),
            unknown_completions: sum(|member| member.group.unknown_completions),
            unseen_completions: counted.unseen,
            unknown_places: sum(|member| member.group.unknown_places),
            dropped: counted.dropped,
            contended: counted.contended,
            missed: None,
        };
        let reason = objection(whole, window.diskstats_ns, &events);
        let share = (window.diskstats_ns > 0).then(|| {
            (whole as f64 - window.diskstats_ns as f64) / window.diskstats_ns as f64 * 100.0
        });
        Self {
            schema: DISK_SCHEMA,
            disk: window.disk.clone(),
            scheduler: window.scheduler.clone(),
            nr_requests: window.nr_requests,
            seconds: window.length_ns as f64 / 1e9,
            verdict: if reason.is_none() { Verdict::Valid } else { Verdict::Void },
            reason,
            start_to_complete_ns: whole,
            diskstats_ns: window.diskstats_ns,
            difference_percent: share,
            pool_full_ns: counted.full,
            device_idle_ns: counted.idle,
            groups: groups(window, counted, names),
            dirtied: None,
            bfq,
            events,
            cost: overhead(cost, window),
        }
    }
}

/// Why the times cannot be relied on.
fn objection(whole: u64, diskstats: u64, events: &DiskEvents) -> Option<String> {
    let later = (events.issued * ACCOUNTED_LATER_NS).max(NEGLIGIBLE_NS);
    let allowed = (diskstats as f64 * DISK_TOLERANCE).max(later as f64);
    if whole.abs_diff(diskstats) as f64 > allowed {
        return Some(format!(
            "the times of all requests sum up to {:.3} s, and the kernel counted {:.3} s (/proc/diskstats)",
            whole as f64 / 1e9,
            diskstats as f64 / 1e9
        ));
    }
    let lost = events.dropped as f64 > events.issued as f64 * DISK_TOLERANCE;
    lost.then(|| format!("{} requests were dropped, for lack of room", events.dropped))
}

/// Watched groups in their order, also those without a request, then the others.
fn groups(window: &DiskWindow, counted: &DiskCounted, names: &DiskNames) -> Vec<DiskGroup> {
    let empty = MemberCounted::default();
    let find = |class: usize| {
        let known = counted.members.iter().find(|member| member.class == Some(class));
        group(window, counted, Some(class), known.unwrap_or(&empty), names)
    };
    let mut groups: Vec<DiskGroup> = (1..=names.watched).map(find).collect();
    let others = counted.members.iter().filter(|member| {
        !names.is_watched(member.class) && (member.group.requests > 0 || member.group.queued > 0)
    });
    let mut others: Vec<DiskGroup> =
        others.map(|member| group(window, counted, member.class, member, names)).collect();
    others.sort_by_key(|group| std::cmp::Reverse(group.requests));
    groups.append(&mut others);
    groups
}

fn group(
    window: &DiskWindow,
    counted: &DiskCounted,
    class: Option<usize>,
    member: &MemberCounted,
    names: &DiskNames,
) -> DiskGroup {
    let sums = &member.group;
    let stage = |index: usize| Stage {
        ns: sums.time[index],
        lengths: Waits::from_counts(&sums.lengths[index]),
    };
    let mean = |ns: u64| ns as f64 / window.length_ns.max(1) as f64;
    DiskGroup {
        group: names.name(class),
        watched: names.is_watched(class),
        requests: sums.requests,
        bytes: sums.bytes,
        merged: sums.merged,
        requeued: sums.requeued,
        place: place(window, member),
        plugged: stage(1),
        scheduler: stage(2),
        device: stage(3),
        served: served(counted, member, names),
        mean_allocated: mean(sums.allocated),
        mean_queued: mean(sums.queued),
        mean_in_device: mean(sums.in_device),
    }
}

fn place(window: &DiskWindow, member: &MemberCounted) -> PlaceWait {
    let sums = &member.group;
    let [ns, ..] = sums.time;
    let rest = ns.saturating_sub(sums.pool_full);
    let own_cap_ns = if window.scheduler == "bfq" { sums.limited.min(rest) } else { 0 };
    PlaceWait {
        ns,
        pool_full_ns: ns - rest,
        own_cap_ns,
        other_ns: rest - own_cap_ns,
        held_mean: (sums.limited > 0).then(|| sums.held as f64 / sums.limited as f64),
        lengths: Waits::from_counts(&sums.lengths[0]),
    }
}

/// The parts of the group's time in the scheduler. The clocks of the disk give their proportions; the sum is known
/// from the requests.
fn served(counted: &DiskCounted, member: &MemberCounted, names: &DiskNames) -> Vec<Served> {
    let total: u64 = member.charged.iter().sum();
    let part = |(index, charged): (usize, &u64)| {
        let share = *charged as f64 / total.max(1) as f64;
        Served {
            by: counted.members.get(index).map(|other| names.name(other.class)),
            ns: (share * member.group.queued as f64) as u64,
            percent: share * 100.0,
        }
    };
    let charged = member.charged.iter().enumerate().filter(|(_, charged)| **charged > 0);
    let mut parts: Vec<Served> = charged.map(part).collect();
    let unknown =
        Served { by: Some(OTHER_GROUPS.to_owned()), ns: member.group.queued, percent: 100.0 };
    if total == 0 && member.group.queued > 0 {
        return vec![unknown];
    }
    // The group itself and the idle device stay, whatever their part.
    let own = names.name(member.class);
    let stays = |part: &Served| part.by.as_ref().is_none_or(|by| *by == own);
    parts.sort_by_key(|part| (!stays(part), std::cmp::Reverse(part.ns)));
    let rest = parts.split_off(parts.len().min(MOST_PARTS));
    parts.extend(rest.into_iter().reduce(|sum, more| Served {
        ns: sum.ns + more.ns,
        percent: sum.percent + more.percent,
        ..unknown.clone()
    }));
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
    parts
}

fn overhead(cost: DiskCost, window: &DiskWindow) -> Cost {
    let each = (cost.timed > 0).then(|| cost.timed_ns as f64 / cost.timed as f64);
    let all = window.length_ns as f64 * window.cpus.max(1) as f64;
    Cost {
        ns_per_event: each,
        percent_of_cpus: each.map(|each| each * cost.events as f64 / all.max(1.0) * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::counted::GroupCounted;
    use super::*;

    fn names() -> DiskNames {
        DiskNames { paths: ["/a", "/b", "/other"].map(str::to_owned).into(), watched: 2 }
    }

    fn window(diskstats_ns: u64) -> DiskWindow {
        DiskWindow {
            disk: "loop0".to_owned(),
            scheduler: "bfq".to_owned(),
            nr_requests: 256,
            length_ns: 2_000_000_000,
            diskstats_ns,
            cpus: 2,
        }
    }

    /// `/b` had a request in the scheduler for a second, while `/other`, the root and nobody were served.
    fn counted() -> DiskCounted {
        let group = GroupCounted {
            requests: 10,
            issued: 10,
            whole: 1_000_000_000,
            queued: 1_000_000_000,
            limited: 300,
            pool_full: 500,
            held: 300 * 7,
            time: [1_000, 0, 1_000_000_000, 0],
            ..GroupCounted::default()
        };
        let charged = vec![0, 500_000, 250_000, 250_000];
        let asked = MemberCounted { class: Some(2), group, charged };
        let other = |class| MemberCounted { class, ..MemberCounted::default() };
        let mut busy = other(Some(3));
        busy.group.requests = 5;
        DiskCounted { members: vec![asked, busy, other(Some(0))], ..DiskCounted::default() }
    }

    fn answer(diskstats_ns: u64) -> DiskAnswer {
        let none = Available::NotAvailable("not asked for".to_owned());
        let cost = DiskCost { events: 1_000, timed: 10, timed_ns: 1_000 };
        DiskAnswer::new(&window(diskstats_ns), &counted(), cost, &names(), none)
    }

    #[test]
    fn watched_groups_come_first_and_are_there_without_requests() {
        let answer = answer(1_000_000_000);
        let shown: Vec<_> =
            answer.groups.iter().map(|group| (group.group.as_str(), group.watched)).collect();
        assert_eq!(shown, [("/a", true), ("/b", true), ("/other", false)]);
    }

    #[test]
    fn the_time_in_the_scheduler_is_divided_among_those_served() {
        let answer = answer(1_000_000_000);
        let group = answer.group("/b").unwrap();
        assert!((group.percent_served(Some("/other")) - 50.0).abs() < 1e-9);
        assert!((group.percent_served(Some("/")) - 25.0).abs() < 1e-9);
        assert!((group.percent_served(None) - 25.0).abs() < 1e-9);
        assert_eq!(group.served.iter().map(|part| part.ns).sum::<u64>(), 1_000_000_000);
        assert!((group.mean_queued - 0.5).abs() < 1e-9);
    }

    /// 39 others were served while `/39` waited, the most first; it itself and the idle device had least.
    #[test]
    fn of_many_that_were_served_the_largest_are_named_the_group_itself_and_the_idle_device() {
        let names = DiskNames { paths: (0..40).map(|at| format!("/{at}")).collect(), watched: 40 };
        let queued = GroupCounted { queued: 82_000, ..GroupCounted::default() };
        let charged = (0..40).map(|at| 40 - at).chain([1]).collect();
        let member = |at: usize| MemberCounted { class: Some(at + 1), ..MemberCounted::default() };
        let mut members: Vec<MemberCounted> = (0..40).map(member).collect();
        members[39] = MemberCounted { class: Some(40), group: queued, charged };
        let counted = DiskCounted { members, ..DiskCounted::default() };
        let parts = served(&counted, &counted.members[39], &names);
        assert_eq!(parts.len(), MOST_PARTS + 1);
        let part = |by: Option<&str>| {
            parts.iter().find(|part| part.by.as_deref() == by).map(|part| part.percent)
        };
        let hundredth = 100.0 / 821.0;
        assert!((part(Some("/39")).unwrap() - hundredth).abs() < 1e-9, "{parts:?}");
        assert!((part(None).unwrap() - hundredth).abs() < 1e-9, "{parts:?}");
        // The nine before the last: 10 + 9 + .. + 2.
        assert!((part(Some(OTHER_GROUPS)).unwrap() - 54.0 * hundredth).abs() < 1e-9, "{parts:?}");
        assert!((parts.iter().map(|part| part.percent).sum::<f64>() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn who_was_served_while_no_request_was_charged_is_not_known() {
        let queued = GroupCounted { queued: 5_000, ..GroupCounted::default() };
        let charged = vec![0; 3];
        let member = MemberCounted { class: Some(1), group: queued, charged };
        let counted = DiskCounted { members: vec![member], ..DiskCounted::default() };
        let parts = served(&counted, &counted.members[0], &names());
        let [part] = &parts[..] else { panic!("{parts:?}") };
        assert_eq!((part.by.as_deref(), part.ns), (Some(OTHER_GROUPS), 5_000));
    }

    #[test]
    fn the_wait_for_a_place_has_three_parts_and_other_schedulers_no_caps() {
        let of = |scheduler: &str| {
            let window = DiskWindow { scheduler: scheduler.to_owned(), ..window(0) };
            place(&window, &counted().members[0])
        };
        let bfq = of("bfq");
        assert_eq!((bfq.pool_full_ns, bfq.own_cap_ns, bfq.other_ns), (500, 300, 200));
        assert_eq!(bfq.held_mean, Some(7.0));
        let none = of("none");
        assert_eq!((none.pool_full_ns, none.own_cap_ns, none.other_ns), (500, 0, 500));
    }

    #[test]
    fn an_answer_that_diskstats_contradicts_is_void_with_both_sums() {
        assert_eq!(answer(1_019_000_000).verdict, Verdict::Valid);
        let void = answer(1_030_000_000);
        assert_eq!(void.verdict, Verdict::Void);
        let reason = void.reason.unwrap();
        assert!(reason.contains("1.000 s") && reason.contains("1.030 s"), "{reason}");
    }

    #[test]
    fn dropped_requests_void_it_too() {
        let mut counted = counted();
        counted.dropped = 3;
        let none = Available::NotAvailable(String::new());
        let cost = DiskCost::default();
        let answer = DiskAnswer::new(&window(1_000_000_000), &counted, cost, &names(), none);
        assert!(answer.reason.unwrap().contains("3 requests"));
    }

    #[test]
    fn many_missed_events_void_it_too() {
        let with = |missed| {
            let mut answer = answer(1_000_000_000);
            answer.events.issued = 1_000;
            answer.set_missed(missed);
            (answer.verdict, answer.reason)
        };
        assert_eq!(with(None), (Verdict::Valid, None));
        assert_eq!(with(Some(10)).0, Verdict::Valid);
        assert_eq!(with(Some(100)).1.unwrap(), "100 events were missed by the programs");
    }

    #[test]
    fn a_disk_that_went_away_voids_its_own_answer() {
        let mut answer = answer(1_000_000_000);
        answer.note_gone("cannot read /sys/block/loop9/stat");
        assert_eq!(answer.verdict, Verdict::Void);
        assert!(answer.reason.unwrap().starts_with("the disk is gone: cannot read"));
    }

    #[test]
    fn names_of_a_study_replace_paths_wherever_they_are() {
        let mut answer = answer(1_000_000_000);
        answer.names_mut().into_iter().filter(|name| *name == "/other").for_each(|name| {
            *name = "renamed".to_owned();
        });
        assert!(answer.group("renamed").is_some() && answer.group("/other").is_none());
        assert!(answer.group("/b").unwrap().percent_served(Some("renamed")) > 0.0);
    }
}
