//! Requests of a disk, from the answer about it.

use assay_blame::{Bfq, Bond, DiskAnswer, DiskGroup, OTHER_GROUPS, Verdict};
use assay_host::facts::Available;
use assay_judge::repeat::is_part;

use super::{DiskUse, GroupRequests};

/// What these groups did on the disk with this device, or why it is not known.
pub(super) fn requests(
    answers: &Available<Vec<DiskAnswer>>,
    device: Option<&str>,
    names: &[String],
) -> Result<DiskUse, String> {
    let answers = match answers {
        Available::Value(answers) => answers,
        Available::NotAvailable(why) => return Err(why.clone()),
    };
    let device = device.ok_or("no group uses a disk")?;
    let answer = answers.iter().find(|answer| answer.disk == device);
    let answer = answer.ok_or_else(|| format!("the events do not cover {device}"))?;
    if answer.verdict == Verdict::Void {
        return Err(answer.reason.clone().unwrap_or_default());
    }
    let bfq = match &answer.bfq {
        Available::Value(bfq) => Some(bfq),
        Available::NotAvailable(_) => None,
    };
    if let Some(name) = lumped(answer, names) {
        return Err(format!(
            "the events do not tell `{name}` from other groups: 31 groups have numbers, and 511 where one or two disks are \
             watched"
        ));
    }
    // A group without an entry had no request.
    let of = |name: &String| {
        let parts = answer.groups.iter().filter(|group| is_part(&group.group, name));
        parts
            .map(|group| requests_of(group, answer.seconds))
            .reduce(|sum, more| added(&sum, &more))
            .unwrap_or_default()
    };
    let mut groups: Vec<GroupRequests> = names.iter().map(of).collect();
    if let Some(bfq) = bfq {
        add_turns(&mut groups, bfq, names);
    }
    let samples = bfq.map_or(0.0, |bfq| bfq.samples as f64);
    let injects = bfq.is_some_and(|bfq| bfq.groups.iter().any(|one| one.inject_limit_max > 0));
    let pool = answer.nr_requests as f64;
    Ok(DiskUse { seconds: answer.seconds, groups, samples, pool, injects })
}

/// The first of these groups of which requests may be among those of all for which there was no number left.
fn lumped<'n>(answer: &DiskAnswer, names: &'n [String]) -> Option<&'n String> {
    let is_used =
        |group: &&DiskGroup| group.requests > 0 || group.mean_queued > 0.0 || group.place.ns > 0;
    let used: Vec<&str> =
        answer.groups.iter().filter(is_used).map(|group| group.group.as_str()).collect();
    // The programs that know whose turn it is have numbers of their own.
    let turns: Vec<&str> = match &answer.bfq {
        Available::Value(bfq) => bfq.groups.iter().map(|group| group.group.as_str()).collect(),
        Available::NotAvailable(_) => Vec::new(),
    };
    // Of a group with others inside it, some may have a number and others none.
    let missing = |known: &[&str]| {
        known
            .contains(&OTHER_GROUPS)
            .then(|| names.iter().find(|name| !known.contains(&name.as_str())))?
    };
    missing(&used).or_else(|| missing(&turns))
}

/// A group that gets nothing has requests in the scheduler that never leave it, so their mean number counts there and
/// not the times that are over. The mean number in the device is too high by each request whose end was not seen.
fn requests_of(group: &DiskGroup, over: f64) -> GroupRequests {
    let seconds = |ns: u64| ns as f64 * 1e-9;
    GroupRequests {
        requests: group.requests as f64,
        bytes: group.bytes as f64,
        pool_full: seconds(group.place.pool_full_ns),
        own_cap: seconds(group.place.own_cap_ns),
        other_place: seconds(group.place.other_ns),
        held: group.place.held_mean,
        plugged: seconds(group.plugged.ns),
        scheduler: group.mean_queued * over,
        device: seconds(group.device.ns),
        ..GroupRequests::default()
    }
}

/// The requests of two groups as those of the one around them.
fn added(sum: &GroupRequests, more: &GroupRequests) -> GroupRequests {
    GroupRequests {
        requests: sum.requests + more.requests,
        bytes: sum.bytes + more.bytes,
        pool_full: sum.pool_full + more.pool_full,
        own_cap: sum.own_cap + more.own_cap,
        other_place: sum.other_place + more.other_place,
        // What each held when it waited does not say what they held together.
        held: None,
        plugged: sum.plugged + more.plugged,
        scheduler: sum.scheduler + more.scheduler,
        device: sum.device + more.device,
        ..GroupRequests::default()
    }
}

/// Turns among the groups of the study, and what was issued in those of others.
fn add_turns(groups: &mut [GroupRequests], bfq: &Bfq, names: &[String]) {
    let percent = |name: &String| -> f64 {
        let parts = bfq.groups.iter().filter(|group| is_part(&group.group, name));
        parts.map(|group| group.in_service_percent).sum()
    };
    let all: f64 = names.iter().map(percent).sum();
    for (group, name) in groups.iter_mut().zip(names) {
        // What a group wakes of its own has its own weight.
        let is_with_another =
            |bond: &&Bond| is_part(&bond.group, name) && !is_part(&bond.partner, name);
        let bonds: Vec<&Bond> = bfq.bonds.iter().filter(is_with_another).collect();
        let bonds_with = |other: &String| {
            bonds.iter().filter(|bond| is_part(&bond.partner, other)).collect::<Vec<_>>()
        };
        let own_samples = percent(name) / 100.0 * bfq.samples as f64;
        let partner = |other: &String| -> f64 {
            let samples: u64 =
                bonds_with(other).iter().map(|bond| bond.waker_samples + bond.woken_samples).sum();
            (samples as f64 / own_samples.max(1.0)).min(1.0)
        };
        let injected = bfq
            .injected
            .iter()
            .filter(|one| is_part(&one.group, name) && !is_part(&one.in_service, name));
        for one in injected {
            group.injected_as_partner += (one.as_waker + one.as_woken) as f64;
            group.injected_otherwise += one.other as f64;
            let by_limit = one.by_limit.unwrap_or_else(|| {
                let holder = bfq.group(&one.in_service);
                holder.map_or(0, |holder| if holder.inject_limit_max > 0 { one.other } else { 0 })
            });
            group.injected_by_limit += by_limit as f64;
        }
        group.in_service = percent(name) / all.max(f64::MIN_POSITIVE);
        let parts = bfq.groups.iter().filter(|one| is_part(&one.group, name));
        let idle: f64 = parts.map(|one| one.timer_percent * one.in_service_percent / 100.0).sum();
        group.idle = idle / percent(name).max(f64::MIN_POSITIVE);
        group.partners = names.iter().map(partner).collect();
        group.bonded =
            names.iter().map(|other| bonds_with(other).iter().any(|bond| bond.set > 0)).collect();
    }
}
