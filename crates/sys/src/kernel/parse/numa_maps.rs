//! /proc/PID/numa_maps (numa(7)): the NUMA nodes of a process's pages.

use std::collections::BTreeMap;

/// Bytes of anonymous memory on each node. Lines without anonymous pages are left out: the placement of
/// file pages depends on who read them first.
#[must_use]
pub fn anonymous(text: &str) -> BTreeMap<u16, u64> {
    let mut nodes = BTreeMap::new();
    for line in text.lines().filter(|line| line.split(' ').any(|word| word.starts_with("anon="))) {
        let page = line
            .split(' ')
            .find_map(|word| word.strip_prefix("kernelpagesize_kB=")?.parse::<u64>().ok())
            .unwrap_or(4);
        for (node, pages) in line.split(' ').filter_map(on_node) {
            let bytes = nodes.entry(node).or_insert(0_u64);
            *bytes = bytes.saturating_add(pages.saturating_mul(page).saturating_mul(1024));
        }
    }
    nodes
}

/// Bytes of anonymous memory by the policy of their area, as the kernel spells it: `interleave:0-1`,
/// but also `weighted interleave:0-1` and `prefer (many):0` with a blank inside.
#[must_use]
pub fn anonymous_by_policy(text: &str) -> BTreeMap<String, u64> {
    let mut policies = BTreeMap::new();
    for line in text.lines() {
        let bytes = anonymous(line).values().fold(0_u64, |sum, one| sum.saturating_add(*one));
        let Some((_, rest)) = line.split_once(' ').filter(|_| bytes > 0) else { continue };
        let two_words = rest.starts_with("weighted ") || rest.starts_with("prefer (");
        let words: Vec<&str> = rest.split(' ').take(if two_words { 2 } else { 1 }).collect();
        let sum = policies.entry(words.join(" ")).or_insert(0_u64);
        *sum = sum.saturating_add(bytes);
    }
    policies
}

/// Bytes of mapped files, by path and node, without pages copied by a private mapping, which are
/// anonymous. A blank in a path is `\040`, as the kernel writes it.
#[must_use]
pub fn files(text: &str) -> BTreeMap<String, BTreeMap<u16, u64>> {
    let mut files: BTreeMap<String, BTreeMap<u16, u64>> = BTreeMap::new();
    for line in text.lines() {
        let word = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key));
        let (Some(path), None) = (word("file="), word("anon=")) else { continue };
        let page = word("kernelpagesize_kB=").and_then(|size| size.parse::<u64>().ok());
        let page = page.unwrap_or(4).saturating_mul(1024);
        for (node, pages) in line.split(' ').filter_map(on_node) {
            let bytes = files.entry(path.to_owned()).or_default().entry(node).or_default();
            *bytes = bytes.saturating_add(pages.saturating_mul(page));
        }
    }
    files
}

/// A memory policy, as far as the placement of an area depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The policy of the thread that touches it first.
    Default,
    /// The node of the touching CPU (MPOL_LOCAL).
    Local,
    /// Some nodes are preferred.
    Preferred,
    /// Only these nodes.
    Bind,
    /// Interleaved over these nodes, weighted or not.
    Interleave,
}

/// One mapped area of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// Its policy; `None` for an unknown name.
    pub policy: Option<Policy>,
    /// Whether its pages are anonymous rather than those of a file.
    pub anonymous: bool,
    /// Bytes on each node.
    pub on: Vec<(u16, u64)>,
}

/// All areas that have pages, each with its policy and its bytes by node. A private file mapping counts
/// as anonymous if most of its pages have been written to, and so copied.
pub fn areas(text: &str) -> impl Iterator<Item = Area> {
    text.lines().filter_map(area)
}

fn area(line: &str) -> Option<Area> {
    let number = |key: &str| -> Option<u64> {
        line.split(' ').find_map(|word| word.strip_prefix(key)?.parse().ok())
    };
    let page = number("kernelpagesize_kB=").unwrap_or(4).saturating_mul(1024);
    let on: Vec<(u16, u64)> = line
        .split(' ')
        .filter_map(on_node)
        .map(|(node, pages)| (node, pages.saturating_mul(page)))
        .collect();
    if on.is_empty() {
        return None;
    }
    let anonymous = number("anon=").unwrap_or(0).saturating_mul(2) > number("mapped=").unwrap_or(0);
    Some(Area { policy: policy(line.split_once(' ')?.1), anonymous, on })
}

/// Two of the names contain a blank, and flags may precede the colon (`bind=static:0`).
fn policy(rest: &str) -> Option<Policy> {
    let known = [
        ("default", Policy::Default),
        ("local", Policy::Local),
        ("prefer", Policy::Preferred),
        ("bind", Policy::Bind),
        ("interleave", Policy::Interleave),
        ("weighted interleave", Policy::Interleave),
    ];
    known.into_iter().find(|(name, _)| rest.starts_with(name)).map(|(_, policy)| policy)
}

/// `N0=17`.
fn on_node(word: &str) -> Option<(u16, u64)> {
    let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
    Some((node.parse().ok()?, pages.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_pages_are_counted_on_their_nodes_in_bytes() {
        let text = "7f01 interleave:0-1 anon=5 dirty=5 N0=2 N1=3 kernelpagesize_kB=4\n\
                    7f02 default file=/usr/bin/Name mapped=9 N0=9 kernelpagesize_kB=4\n\
                    7f03 default heap anon=1 dirty=1 N1=1 kernelpagesize_kB=2048\n";
        let nodes = anonymous(text);
        assert_eq!(nodes, BTreeMap::from([(0, 8192), (1, 12_288 + (2 << 20))]));
        assert!(anonymous("").is_empty());
        let policies = anonymous_by_policy(
            "7f01 weighted interleave:0-1 anon=5 N0=5 kernelpagesize_kB=4\n\
             7f02 default file=/usr/bin/Name mapped=9 N0=9 kernelpagesize_kB=4\n\
             7f03 prefer (many):0 heap anon=1 N1=1 kernelpagesize_kB=4\n\
             7f04 bind:0 anon=1 N0=1 kernelpagesize_kB=4\n",
        );
        let parsed: Vec<(&str, u64)> =
            policies.iter().map(|(policy, bytes)| (policy.as_str(), *bytes)).collect();
        assert_eq!(
            parsed,
            [("bind:0", 4096), ("prefer (many):0", 4096), ("weighted interleave:0-1", 20_480)]
        );
    }

    #[test]
    fn files_are_counted_by_path_without_copied_pages() {
        let text = "7f01 bind:0 file=/data/a\\040b mapped=9 N0=4 N1=5 kernelpagesize_kB=4\n\
                    7f02 bind:0 file=/data/a\\040b anon=2 dirty=2 N0=2 kernelpagesize_kB=4\n\
                    7f03 bind:0 file=/data/a\\040b mapped=1 N1=1 kernelpagesize_kB=4\n\
                    7f04 bind:0 heap anon=1 dirty=1 N1=1 kernelpagesize_kB=4\n";
        let parsed = files(text);
        assert_eq!(parsed.len(), 1, "{parsed:?}");
        assert_eq!(parsed["/data/a\\040b"], BTreeMap::from([(0, 4 * 4096), (1, 6 * 4096)]));
    }

    #[test]
    fn huge_numbers_do_not_overflow() {
        let most = u64::MAX;
        let line = format!("7f00 default anon={most} N0={most} kernelpagesize_kB={most}\n");
        assert_eq!(areas(&line).next().unwrap().on, [(0, most)]);
        assert!(anonymous(&line).len() < 2 && anonymous_by_policy(&line).len() < 2);
    }

    #[test]
    fn every_area_has_a_policy_and_bytes_by_node() {
        let text = "7f01 weighted interleave:0-1 anon=5 dirty=5 N0=2 N1=3 kernelpagesize_kB=4\n\
                    7f02 bind=static:0 file=/usr/bin/N0=7\\040x mapped=9 N0=9 kernelpagesize_kB=4\n\
                    7f03 prefer (many):0-1 heap anon=1 dirty=1 N1=1 kernelpagesize_kB=2048\n\
                    7f04 default\n";
        let parsed: Vec<Area> = areas(text).collect();
        assert_eq!(parsed.len(), 3, "an area without pages is left out: {parsed:?}");
        assert_eq!(parsed[0].policy, Some(Policy::Interleave));
        assert_eq!(parsed[0].on, [(0, 8192), (1, 12_288)]);
        assert_eq!((parsed[1].policy, parsed[1].anonymous), (Some(Policy::Bind), false));
        assert_eq!((parsed[2].policy, parsed[2].anonymous), (Some(Policy::Preferred), true));
        assert_eq!(parsed[2].on, [(1, 2 << 20)]);
    }
}
