//! /proc/PID/numa_maps (numa(7)): on which nodes the pages of a process are.

use std::collections::BTreeMap;

/// Bytes of anonymous memory on each node. Lines without anonymous pages are left out: pages of
/// files belong to whoever read them first.
#[must_use]
pub fn anonymous(text: &str) -> BTreeMap<u16, u64> {
    let mut nodes = BTreeMap::new();
    for line in text.lines().filter(|line| line.split(' ').any(|word| word.starts_with("anon="))) {
        let page = line
            .split(' ')
            .find_map(|word| word.strip_prefix("kernelpagesize_kB=")?.parse::<u64>().ok())
            .unwrap_or(4);
        for (node, pages) in line.split(' ').filter_map(on_node) {
            *nodes.entry(node).or_insert(0) += pages * page * 1024;
        }
    }
    nodes
}

/// Bytes of anonymous memory by the policy of their area, as the kernel spells it:
/// `interleave:0-1`, but also `weighted interleave:0-1` and `prefer (many):0` with a blank inside.
#[must_use]
pub fn anonymous_by_policy(text: &str) -> BTreeMap<String, u64> {
    let mut policies = BTreeMap::new();
    for line in text.lines() {
        let bytes: u64 = anonymous(line).values().sum();
        let Some((_, rest)) = line.split_once(' ').filter(|_| bytes > 0) else { continue };
        let two_words = rest.starts_with("weighted ") || rest.starts_with("prefer (");
        let words: Vec<&str> = rest.split(' ').take(if two_words { 2 } else { 1 }).collect();
        *policies.entry(words.join(" ")).or_insert(0) += bytes;
    }
    policies
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
        let found: Vec<(&str, u64)> =
            policies.iter().map(|(policy, bytes)| (policy.as_str(), *bytes)).collect();
        assert_eq!(
            found,
            [("bind:0", 4096), ("prefer (many):0", 4096), ("weighted interleave:0-1", 20_480)]
        );
    }
}
