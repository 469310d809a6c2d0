//! In which order groups are read where there may be more than are read at all: those of the host first, then those that others
//! claim, as many of one claimant as of another, so that a claimant who makes many hides only his own.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::vec::IntoIter;

use assay_host::facts::owner::Claimant;

use crate::snapshot::{MAX_GROUPS, MAX_PATHS};

/// What a group counts beside the length of its path: both are bounded, so neither many nor long ones give a claimant more.
const GROUP: usize = MAX_PATHS / MAX_GROUPS;

/// Groups that are known and not read yet.
#[derive(Debug, Default)]
pub(super) struct ReadingOrder {
    host: Unread,
    claimed: Vec<(Claimant, Unread)>,
    /// Where in `claimed` a claimant is.
    numbers: HashMap<Claimant, usize>,
    /// Claimants with groups to read, by what they have had.
    turns: BTreeSet<(usize, usize)>,
}

/// A group to be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// Its path.
    pub(super) path: String,
    /// What was said of its directory.
    pub(super) is_divided: bool,
    /// Who has named it, if not the host.
    pub(super) by: Option<Claimant>,
}

/// Groups of one claimant, one of each directory after the other: nothing that is made in one hides those of another.
#[derive(Debug, Default)]
struct Unread {
    directories: VecDeque<Below>,
    /// What was read of them.
    had: usize,
}

/// The groups in one directory.
#[derive(Debug)]
struct Below {
    /// Its path with a slash.
    base: String,
    names: IntoIter<String>,
    is_divided: bool,
}

impl ReadingOrder {
    /// Begins with one group, and who has named it, if not the host.
    pub(super) fn at(path: &str, by: Option<Claimant>) -> Self {
        let mut order = Self::default();
        order.add(by, "/", vec![path.trim_start_matches('/').to_owned()], false);
        order
    }

    /// Adds the groups in the directory of the group `above`, all of which the same one may have named.
    pub(super) fn add(
        &mut self,
        by: Option<Claimant>,
        above: &str,
        names: Vec<String>,
        is_divided: bool,
    ) {
        if names.is_empty() {
            return;
        }
        let base = format!("{}/", above.trim_end_matches('/'));
        let below = Below { base, names: names.into_iter(), is_divided };
        let Some(by) = by else { return self.host.directories.push_back(below) };
        let number = *self.numbers.entry(by.clone()).or_insert(self.claimed.len());
        if number == self.claimed.len() {
            self.claimed.push((by, Unread::default()));
        }
        let unread = &mut self.claimed[number].1;
        unread.directories.push_back(below);
        self.turns.insert((unread.had, number));
    }

    /// The group that is to be read now.
    pub(super) fn next(&mut self) -> Option<Next> {
        if let Some(next) = self.next_of_host() {
            return Some(next);
        }
        let (_, number) = self.turns.pop_first()?;
        let (by, unread) = &mut self.claimed[number];
        let (path, is_divided) = unread.next()?;
        if !unread.directories.is_empty() {
            self.turns.insert((unread.had, number));
        }
        Some(Next { path, is_divided, by: Some(by.clone()) })
    }

    /// The next group of the host.
    pub(super) fn next_of_host(&mut self) -> Option<Next> {
        let (path, is_divided) = self.host.next()?;
        Some(Next { path, is_divided, by: None })
    }

    /// How many known groups were not read: of the host, and of claimants, the most first.
    pub(super) fn left(self) -> Vec<(Option<Claimant>, usize)> {
        let mut claimed: Vec<_> =
            self.claimed.into_iter().map(|(by, unread)| (Some(by), unread.len())).collect();
        claimed.sort_by_key(|(_, left)| std::cmp::Reverse(*left));
        let all = std::iter::once((None, self.host.len())).chain(claimed);
        all.filter(|(_, left)| *left > 0).collect()
    }
}

impl Unread {
    fn next(&mut self) -> Option<(String, bool)> {
        let mut below = self.directories.pop_front()?;
        let path = format!("{}{}", below.base, below.names.next()?);
        let is_divided = below.is_divided;
        self.had += GROUP + path.len();
        if below.names.len() > 0 {
            self.directories.push_back(below);
        }
        Some((path, is_divided))
    }

    fn len(&self) -> usize {
        self.directories.iter().map(|below| below.names.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(order: &mut ReadingOrder, uid: u32, above: &str, count: usize) {
        let names = (0..count).map(|number| number.to_string()).collect();
        order.add((uid > 0).then_some(Claimant::Uid(uid)), above, names, false);
    }

    fn next(order: &mut ReadingOrder, count: usize) -> Vec<String> {
        (0..count).map_while(|_| order.next()).map(|next| next.path).collect()
    }

    #[test]
    fn the_host_comes_first_and_one_claimant_has_as_much_as_another() {
        let mut order = ReadingOrder::default();
        add(&mut order, 7, "/b", 100);
        add(&mut order, 8, "/c", 2);
        add(&mut order, 0, "/", 2);
        assert_eq!(next(&mut order, 6), ["/0", "/1", "/b/0", "/c/0", "/b/1", "/c/1"]);
        add(&mut order, 9, "/d", 4);
        assert_eq!(next(&mut order, 3), ["/d/0", "/d/1", "/b/2"], "he has had nothing so far");
        let by = |uid| Some(Claimant::Uid(uid));
        assert_eq!(order.left(), [(by(7), 97), (by(9), 2)]);
    }

    #[test]
    fn many_groups_in_one_directory_hide_none_in_another_and_long_paths_count_more() {
        let mut order = ReadingOrder::default();
        add(&mut order, 7, "/a", 100);
        add(&mut order, 7, "/b", 2);
        assert_eq!(next(&mut order, 4), ["/a/0", "/b/0", "/a/1", "/b/1"]);
        let mut order = ReadingOrder::default();
        let long = format!("/{}", "x".repeat(3 * GROUP));
        add(&mut order, 7, &long, 100);
        add(&mut order, 8, "/c", 100);
        let read = next(&mut order, 50);
        let of_long = read.iter().filter(|path| path.starts_with(&long)).count();
        assert!((9..=11).contains(&of_long), "{of_long}");
    }
}
