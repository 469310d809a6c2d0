//! `assay blame --watch`: where the waiting for CPUs of all groups goes, again and again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_bpf::FEW;
use assay_host::Owners;
use assay_host::facts::owner::{Owner, claimant};
use assay_sys::exit::Error;
use assay_sys::kernel::{Root, clock};
use serde::Serialize;

use super::naming::owner_of;
use super::{explain, host};
use crate::watch::waits::{CpuHierarchy, WaitWatch};
use crate::{Answer, Culprit, Part};

/// Groups that are watched: each with a quota in its path takes a place of the programs, of which there are 64.
const MOST: usize = 48;

/// Groups that keep a sum of their own among those for which a group waited, of each container and user one. What others did
/// is one sum, so that nobody who may make groups can fill a monitor.
const CULPRITS: usize = 4;

/// Other groups are looked for this often: attaching the programs again takes a moment that nobody sees.
const LOOK_FOR_GROUPS: Duration = Duration::from_secs(60);

/// Bytes of a list of processes that tell whether it is empty.
const SOME: u64 = 64;

/// The whole host, while it is watched.
pub struct NodeWatch {
    root: Root,
    hierarchy: CpuHierarchy,
    watch: WaitWatch,
    groups: Vec<String>,
    not_watched: usize,
    attached: Instant,
    before: Vec<Answer>,
    own_cpu_ns: u64,
    totals: Totals,
}

/// What happened since the look before.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeLook {
    /// How long ago that was.
    pub seconds: f64,
    /// Groups whose threads waited, those that waited most first.
    pub groups: Vec<NodeGroup>,
    /// Groups with processes that are not watched, since there is no room for them.
    pub not_watched: usize,
    /// What the programs took, of one CPU, in percent; null if too few events were timed.
    pub programs_percent: Option<f64>,
    /// What this process took, of one CPU, in percent.
    pub own_percent: f64,
}

/// The waiting of a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeGroup {
    /// Its path.
    pub group: String,
    /// Whose it is, if its path tells.
    pub owner: Option<Owner>,
    /// How long its threads ran, in nanoseconds.
    pub ran_ns: u64,
    /// How long they waited for a CPU.
    pub waited_ns: u64,
    /// Where that went, the largest part first.
    pub parts: Vec<Part>,
    /// Why the parts cannot be relied on.
    pub void: Option<String>,
}

impl NodeWatch {
    /// Attaches the programs for all groups that have processes, as many as there is room for.
    ///
    /// # Errors
    /// There are none, or the kernel or its policy refuses the programs.
    pub fn start(root: &Root) -> Result<Self, Error> {
        let (_, hierarchy) = host(root)?;
        let all = populated(root, &hierarchy);
        let (watch, groups) = attach(root, &hierarchy, &all)?;
        Ok(Self {
            root: root.clone(),
            hierarchy,
            watch,
            not_watched: all.len() - groups.len(),
            groups,
            attached: Instant::now(),
            before: Vec::new(),
            own_cpu_ns: own_cpu_ns(),
            totals: Totals::default(),
        })
    }

    /// What happened since the look before, or the start.
    ///
    /// # Errors
    /// The memory of the programs cannot be read, or they cannot be attached for other groups.
    pub fn look(&mut self) -> Result<NodeLook, Error> {
        let now = self.watch.so_far().map_err(Error::host)?;
        let look = self.since_before(&now);
        self.before = now;
        look.groups.iter().for_each(|group| self.totals.add(group));
        if self.attached.elapsed() >= LOOK_FOR_GROUPS {
            self.attach_again()?;
        }
        Ok(look)
    }

    /// Nanoseconds of waiting since the start, by group and by whom: a group's path, or a word of the answer. Of groups that are
    /// watched now.
    #[must_use]
    pub fn totals(&self) -> &BTreeMap<(String, String), u64> {
        &self.totals.0
    }

    fn since_before(&mut self, now: &[Answer]) -> NodeLook {
        let seconds = |answers: &[Answer]| answers.first().map_or(0.0, |answer| answer.seconds);
        let passed = seconds(now) - seconds(&self.before);
        let owners = Owners::new(&self.root);
        let mut groups: Vec<NodeGroup> = now
            .iter()
            .enumerate()
            .map(|(index, answer)| since(answer, self.before.get(index)))
            .filter(|group| group.waited_ns > 0)
            .collect();
        for group in &mut groups {
            group.owner = owner_of(&owners, &self.hierarchy, &group.group);
            for part in &mut group.parts {
                let path = part.group.as_deref();
                part.owner = path.and_then(|path| owner_of(&owners, &self.hierarchy, path));
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.waited_ns));
        let own = own_cpu_ns();
        let own_ns = own.saturating_sub(std::mem::replace(&mut self.own_cpu_ns, own));
        let cost = now.first().map(|answer| (answer.cost, answer.cpus.len() as f64));
        NodeLook {
            seconds: passed,
            groups,
            not_watched: self.not_watched,
            programs_percent: cost.and_then(|(cost, cpus)| Some(cost.percent_of_cpus? * cpus)),
            own_percent: own_ns as f64 / 1e7 / passed.max(1e-3),
        }
    }

    fn attach_again(&mut self) -> Result<(), Error> {
        self.attached = Instant::now();
        let is_there = |path: &str| self.root.is_directory(self.hierarchy.directory(path));
        self.totals.forget_culprits_but(is_there);
        let all = populated(&self.root, &self.hierarchy);
        let is_watched = |group: &&String| self.groups.contains(group);
        if all.iter().filter(is_watched).count() == self.groups.len().min(all.len())
            && all.len() - self.groups.len().min(all.len()) == self.not_watched
        {
            return Ok(());
        }
        let (watch, groups) = attach(&self.root, &self.hierarchy, &all)?;
        self.totals.0.retain(|(group, _), _| groups.contains(group));
        self.not_watched = all.len() - groups.len();
        (self.watch, self.groups, self.before) = (watch, groups, Vec::new());
        Ok(())
    }
}

/// What others than the first culprits of a group did.
const OTHERS: &str = "others";

/// Nanoseconds by the group that waited and by whom.
#[derive(Default)]
struct Totals(BTreeMap<(String, String), u64>);

impl Totals {
    /// Adds what a group waited.
    fn add(&mut self, group: &NodeGroup) {
        for part in &group.parts {
            let mut by = by(part);
            if part.culprit == Culprit::Group && !self.has_place(&group.group, &by) {
                by = OTHERS.to_owned();
            }
            *self.0.entry((group.group.clone(), by)).or_default() += part.ns;
        }
    }

    /// Whether a culprit has a sum of its own, or may have one.
    fn has_place(&self, group: &str, by: &str) -> bool {
        let from = (group.to_owned(), "/".to_owned());
        let own = self.0.range(from..).map(|(key, _)| key);
        // All paths of groups begin like this, and no word does.
        let own = own.take_while(|(of, path)| of == group && path.starts_with('/'));
        let others: Vec<&str> = own.map(|(_, path)| path.as_str()).collect();
        let claims = claimant(by, None);
        let is_of_same = |other: &&str| claims.is_some() && claimant(other, None) == claims;
        others.contains(&by) || others.len() < CULPRITS && !others.iter().any(is_of_same)
    }

    /// The sums of culprits that have gone count as those of others.
    fn forget_culprits_but(&mut self, is_there: impl Fn(&str) -> bool) {
        for ((group, by), ns) in std::mem::take(&mut self.0) {
            let has_gone = by.starts_with('/') && !is_there(&by);
            let by = if has_gone { OTHERS.to_owned() } else { by };
            *self.0.entry((group, by)).or_default() += ns;
        }
    }
}

/// Who a part names.
fn by(part: &Part) -> String {
    match (&part.group, part.culprit) {
        (Some(path), Culprit::Group) => path.clone(),
        (_, culprit) => culprit.words().to_owned(),
    }
}

/// The waiting since an earlier answer about the same group.
fn since(now: &Answer, before: Option<&Answer>) -> NodeGroup {
    let earlier = |part: &Part| {
        let parts = before.into_iter().flat_map(|answer| &answer.parts);
        let same = parts.filter(|one| (one.culprit, &one.group) == (part.culprit, &part.group));
        same.map(|one| one.ns).sum::<u64>()
    };
    let mut parts: Vec<Part> = now
        .parts
        .iter()
        .map(|part| Part { ns: part.ns.saturating_sub(earlier(part)), ..part.clone() })
        .filter(|part| part.ns > 0)
        .collect();
    let waited_ns = parts.iter().map(|part| part.ns).sum();
    for part in &mut parts {
        part.percent = part.ns as f64 / waited_ns as f64 * 100.0;
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
    let ran = |answer: &Answer| answer.cpus.iter().filter_map(|cpu| cpu.ran_ns).sum::<u64>();
    NodeGroup {
        group: now.target.clone(),
        owner: None,
        ran_ns: ran(now).saturating_sub(before.map_or(0, ran)),
        waited_ns,
        parts,
        void: now.reason.clone(),
    }
}

/// The groups with processes, those of the host first and then one of each user in turn.
fn populated(root: &Root, hierarchy: &CpuHierarchy) -> Vec<String> {
    let mut groups = hierarchy.groups(root);
    groups.retain(|path| {
        let processes = hierarchy.directory(path).join("cgroup.procs");
        root.read_at_most(processes, SOME).is_ok_and(|text| !text.trim().is_empty())
    });
    groups
}

/// The programs for as many of these groups as the kernel accepts.
fn attach(
    root: &Root,
    hierarchy: &CpuHierarchy,
    all: &[String],
) -> Result<(WaitWatch, Vec<String>), Error> {
    if all.is_empty() {
        return Err(Error::host("no group of the controller `cpu` has a process"));
    }
    let mut most = MOST;
    loop {
        let groups = all.iter().take(most).cloned().collect();
        let groups = WaitWatch::fitting(root, hierarchy, groups);
        most = most.min(groups.len().max(1));
        match WaitWatch::on_groups(root, hierarchy, &groups) {
            Ok(mut watch) => {
                watch.start().map_err(Error::host)?;
                return Ok((watch, groups));
            }
            // Older kernels accept only the programs for a few.
            Err(refused) if most == 1 => return Err(explain(&refused)),
            Err(_) => most = if most > FEW { (most / 2).max(FEW) } else { most / 2 },
        }
    }
}

fn own_cpu_ns() -> u64 {
    let (user, kernel) = clock::own_cpu_ns();
    user + kernel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counted, CountedCpu, FIRST_GROUP, Names};

    fn answer(charged: &[(u32, u64)]) -> Answer {
        let mut cpu = CountedCpu { last: 1, ..CountedCpu::default() };
        cpu.charged = vec![0; 16];
        charged.iter().for_each(|(class, ns)| cpu.charged[*class as usize] = *ns);
        let names = Names(vec!["/hog".to_owned(), "/other".to_owned()]);
        Answer::new("/mine", 1.0, &Counted { cpus: vec![(0, cpu)] }, &names)
    }

    /// A user fills no monitor, and takes no place of others.
    #[test]
    fn groups_of_a_user_take_one_place_of_a_group_s_culprits() {
        let of_user = |name: &str| format!("/user.slice/user-1000.slice/user@1000.service/{name}");
        let paths: Vec<String> = ["a", "b", "c", "d", "e"].map(of_user).to_vec();
        let waits = |paths: &[String]| {
            let part = |(at, path): (usize, &String)| Part {
                group: Some(path.clone()),
                culprit: Culprit::Group,
                ..answer(&[(at as u32, 5)]).parts[0].clone()
            };
            NodeGroup {
                parts: paths.iter().enumerate().map(part).collect(),
                ..since(&answer(&[]), None)
            }
        };
        let mut totals = Totals::default();
        totals.0.insert(("/mine".to_owned(), "own quota".to_owned()), 7);
        totals.add(&waits(&paths));
        let hosts = ["/1", "/2", "/3", "/4"].map(str::to_owned);
        totals.add(&waits(&hosts));
        let shown = |totals: &Totals| -> Vec<(String, u64)> {
            totals.0.iter().map(|((_, by), ns)| (by.clone(), *ns)).collect()
        };
        let named = |by: &str, ns: u64| (by.to_owned(), ns);
        let first = [
            named("/1", 5),
            named("/2", 5),
            named("/3", 5),
            named(&paths[0], 5),
            named("others", 25),
        ];
        assert_eq!(shown(&totals), [&first[..], &[named("own quota", 7)]].concat());
        totals.forget_culprits_but(|path| path == "/1");
        totals.add(&waits(&hosts[3..]));
        let later = ["/1", "/4"].map(|path| named(path, 5));
        let rest = [named("others", 40), named("own quota", 7)];
        assert_eq!(shown(&totals), [later, rest].concat());
    }

    #[test]
    fn a_look_has_what_came_since_the_one_before() {
        let before = answer(&[(FIRST_GROUP, 400), (FIRST_GROUP + 1, 50)]);
        let now = answer(&[(FIRST_GROUP, 500), (FIRST_GROUP + 1, 350)]);
        let group = since(&now, Some(&before));
        let shown: Vec<_> =
            group.parts.iter().map(|part| (by(part), part.ns, part.percent)).collect();
        assert_eq!(shown, [("/other".to_owned(), 300, 75.0), ("/hog".to_owned(), 100, 25.0)]);
        assert_eq!((group.waited_ns, since(&now, None).waited_ns), (400, 850));
    }
}
