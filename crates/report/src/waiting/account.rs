//! The times of one resource by group and class.

use std::collections::BTreeMap;

use assay_blame::BlockedOn;

/// Up to this many groups are shown, those that waited longest.
const GROUPS: usize = 16;

/// Up to this many other groups are told apart.
const NAMED: usize = 4;

/// Classes that are nowhere more than this part of a group's time are summed up.
const SMALL: f64 = 0.005;

/// What the small classes are called; the last in the bar.
const REST: (u8, &str) = (u8::MAX, "all else");

/// The start of the ids of figures of disks.
pub(super) const DISK: &str = "waiting-disk-";

/// The first place of threads that want no CPU.
const BLOCKED: u8 = 100;

/// A class of time, by its place in the bar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Class {
    order: u8,
    label: String,
    /// What it counts as where there is no room for its name.
    unnamed: Option<&'static str>,
}

impl Class {
    pub(super) fn fixed(order: u8, label: &str) -> Self {
        Self { order, label: label.to_owned(), unnamed: None }
    }

    pub(super) fn running() -> Self {
        Self::fixed(0, "running")
    }

    /// Threads that want no CPU come after everything that they wait for while they do.
    pub(super) fn blocked(on: BlockedOn) -> Self {
        Self::fixed(BLOCKED + on as u8, &format!("blocked: {}", on.words()))
    }

    /// A class of one other group. The next place is for those without a name.
    pub(super) fn named(order: u8, label: String, unnamed: &'static str) -> Self {
        Self { order, label, unnamed: Some(unnamed) }
    }
}

/// Times that are still being added up.
#[derive(Debug, Default)]
pub(super) struct Book {
    /// In the order of the study.
    groups: Vec<(String, BTreeMap<Class, f64>)>,
    pub(super) notes: Vec<String>,
}

/// Where the time of the groups went.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Account {
    /// For the id of its figure.
    pub(crate) part: String,
    pub(crate) title: String,
    /// Labels, in the order of the bar.
    pub(crate) classes: Vec<String>,
    pub(crate) groups: Vec<GroupTime>,
    /// Groups that are not shown.
    pub(crate) more: usize,
    /// What was left out.
    pub(crate) notes: Vec<String>,
}

/// The time of one group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GroupTime {
    pub(crate) name: String,
    /// All of it, over all repeats.
    pub(crate) seconds: f64,
    /// The part of each class of the account, as a fraction.
    pub(crate) parts: Vec<f64>,
}

impl Account {
    /// Whether its times are those of requests.
    pub(crate) fn is_of_disk(&self) -> bool {
        self.part.starts_with(DISK)
    }
}

impl Book {
    pub(super) fn add(&mut self, group: &str, class: Class, ns: u64) {
        if ns == 0 {
            return;
        }
        let known = self.groups.iter().position(|(name, _)| name == group);
        let at = known.unwrap_or_else(|| {
            self.groups.push((group.to_owned(), BTreeMap::new()));
            self.groups.len() - 1
        });
        *self.groups[at].1.entry(class).or_default() += ns as f64 * 1e-9;
    }

    /// Whether it has the whole time of threads.
    pub(super) fn has_running(&self) -> bool {
        self.groups.iter().any(|(_, times)| times.contains_key(&Class::running()))
    }

    pub(super) fn close(mut self, part: String, title: String) -> Account {
        let all = self.groups.len();
        if all > GROUPS {
            let longest = |(_, times): &(_, BTreeMap<Class, f64>)| -waited(times);
            self.groups.sort_by(|a, b| longest(a).total_cmp(&longest(b)));
            self.groups.truncate(GROUPS);
        }
        self.merge_names();
        self.merge_small();
        let mut classes: Vec<&Class> = self.groups.iter().flat_map(|(_, by)| by.keys()).collect();
        classes.sort();
        classes.dedup();
        let groups = self.groups.iter().map(|(name, times)| {
            let seconds: f64 = times.values().sum();
            let part = |class: &&Class| times.get(*class).copied().unwrap_or(0.0) / seconds;
            GroupTime { name: name.clone(), seconds, parts: classes.iter().map(part).collect() }
        });
        Account {
            part,
            title,
            groups: groups.collect(),
            classes: classes.iter().map(|class| class.label.clone()).collect(),
            more: all.saturating_sub(GROUPS),
            notes: self.notes,
        }
    }

    /// Keeps the names of the other groups that took most.
    fn merge_names(&mut self) {
        let mut named: BTreeMap<Class, f64> = BTreeMap::new();
        for (class, seconds) in self.groups.iter().flat_map(|(_, times)| times) {
            if class.unnamed.is_some() {
                *named.entry(class.clone()).or_default() += seconds;
            }
        }
        let mut named: Vec<(Class, f64)> = named.into_iter().collect();
        named.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        for (class, _) in named.into_iter().skip(NAMED) {
            let to = Class::fixed(class.order + 1, class.unnamed.unwrap_or(REST.1));
            self.merge(&class, &to);
        }
    }

    fn merge_small(&mut self) {
        let mut largest: BTreeMap<Class, f64> = BTreeMap::new();
        for (_, times) in &self.groups {
            let all: f64 = times.values().sum();
            for (class, seconds) in times {
                let part = largest.entry(class.clone()).or_default();
                *part = part.max(seconds / all);
            }
        }
        let small: Vec<Class> =
            largest.into_iter().filter(|(_, part)| *part < SMALL).map(|(class, _)| class).collect();
        if small.len() > 1 {
            small.iter().for_each(|class| self.merge(class, &Class::fixed(REST.0, REST.1)));
        }
    }

    fn merge(&mut self, from: &Class, to: &Class) {
        for (_, times) in &mut self.groups {
            if let Some(seconds) = times.remove(from) {
                *times.entry(to.clone()).or_default() += seconds;
            }
        }
    }
}

/// Everything but running and what threads do that want no CPU.
fn waited(times: &BTreeMap<Class, f64>) -> f64 {
    let is_waiting = |class: &Class| *class != Class::running() && class.order < BLOCKED;
    times.iter().filter(|(class, _)| is_waiting(class)).map(|(_, seconds)| seconds).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(book: Book) -> Account {
        book.close("part".to_owned(), "title".to_owned())
    }

    fn culprit(name: &str) -> Class {
        Class::named(3, name.to_owned(), "other groups")
    }

    #[test]
    fn parts_are_fractions_in_the_order_of_the_bar() {
        let mut book = Book::default();
        book.add("a", culprit("b"), 3_000_000_000);
        book.add("a", Class::fixed(0, "running"), 1_000_000_000);
        book.add("b", Class::fixed(0, "running"), 5_000_000_000);
        book.add("b", Class::fixed(1, "own quota"), 0);
        let account = close(book);
        assert_eq!(account.classes, ["running", "b"]);
        let shown: Vec<_> =
            account.groups.iter().map(|one| (one.name.as_str(), one.parts.clone())).collect();
        assert_eq!(shown, [("a", vec![0.25, 0.75]), ("b", vec![1.0, 0.0])]);
        assert_eq!(account.groups[0].seconds, 4.0);
    }

    #[test]
    fn of_many_culprits_the_largest_have_names() {
        let mut book = Book::default();
        for index in 1..=6_u64 {
            book.add("a", culprit(&format!("hog{index}")), index * 1_000_000);
        }
        let account = close(book);
        assert_eq!(account.classes, ["hog3", "hog4", "hog5", "hog6", "other groups"]);
        let sum: f64 = account.groups[0].parts.iter().sum();
        assert!((sum - 1.0).abs() < 1e-12);
        assert!((account.groups[0].parts[4] - 3.0 / 21.0).abs() < 1e-12);
    }

    #[test]
    fn classes_that_are_small_in_every_group_are_summed_up() {
        let mut book = Book::default();
        for (group, ns) in [("a", 1), ("b", 20)] {
            book.add(group, Class::fixed(0, "running"), 1_000);
            book.add(group, Class::fixed(6, "kernel threads"), 1);
            book.add(group, Class::fixed(7, "interrupts"), ns);
            book.add(group, Class::fixed(8, "hypervisor"), 2);
        }
        let account = close(book);
        assert_eq!(account.classes, ["running", "interrupts", "all else"]);
    }

    #[test]
    fn of_many_groups_those_are_shown_that_waited_longest() {
        let mut book = Book::default();
        for index in 0..20_u64 {
            book.add(&format!("g{index}"), Class::fixed(0, "running"), 100 - index);
            book.add(&format!("g{index}"), Class::fixed(1, "own quota"), 1 + index);
        }
        let account = close(book);
        assert_eq!((account.groups.len(), account.more), (16, 4));
        assert_eq!(account.groups[0].name, "g19");
    }
}
