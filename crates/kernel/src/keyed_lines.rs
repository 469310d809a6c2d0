//! Many keys of one file in one pass: /proc/vmstat, /proc/meminfo, a node's `meminfo` and
//! `numastat`, `memory.stat`.
//!
//! Looking for each key from the beginning compares every line with every key. Kernels write their
//! lines always in the same order, so keys that stand in that order are met one after the other.

use crate::counters::number;

/// The key of a line and what stands behind it. A node's `meminfo` puts `Node 0` before each key;
/// /proc/meminfo ends keys with a colon, /proc/vmstat does not.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(colon) = line.iter().position(|byte| *byte == b':') {
        let key = line[..colon].rsplit(|byte| *byte == b' ').next()?;
        return Some((key, &line[colon + 1..]));
    }
    let blank = line.iter().position(|byte| *byte == b' ')?;
    Some((&line[..blank], &line[blank + 1..]))
}

/// The number at the beginning of the rest of a line, whatever unit follows it.
fn value(rest: &[u8]) -> Option<u64> {
    let rest = rest.trim_ascii_start();
    number(rest.split(u8::is_ascii_whitespace).next()?)
}

/// The keys of these that `text` has, in the order in which it has them, as indices.
#[must_use]
pub fn order(text: &[u8], keys: &[&str]) -> Vec<usize> {
    let lines = text.split(|byte| *byte == b'\n').filter_map(split);
    lines.filter_map(|(key, _)| keys.iter().position(|wanted| wanted.as_bytes() == key)).fold(
        Vec::new(),
        |mut found, index| {
            // A key that comes twice is the first of both.
            if !found.contains(&index) {
                found.push(index);
            }
            found
        },
    )
}

/// The values of some keys, `values[i]` of `keys[i]`; `None` for what is not there or no number.
/// `order` is what [`order`] said of an earlier text of the same file. Where this text has another
/// order, what was passed over is looked for once more, so that only time is lost.
pub fn read(text: &[u8], keys: &[&str], order: &[usize], values: &mut [Option<u64>]) {
    values.fill(None);
    let mut wanted = order.iter().filter_map(|index| Some((*index, keys.get(*index)?.as_bytes())));
    let mut next = wanted.next();
    for line in text.split(|byte| *byte == b'\n') {
        let Some((index, key)) = next else { return };
        if let Some((found, rest)) = split(line)
            && found == key
        {
            if let Some(slot) = values.get_mut(index) {
                *slot = value(rest);
            }
            next = wanted.next();
        }
    }
    if next.is_some() {
        read_in_any_order(text, keys, values);
    }
}

fn read_in_any_order(text: &[u8], keys: &[&str], values: &mut [Option<u64>]) {
    for (key, slot) in keys.iter().zip(values) {
        let mut lines = text.split(|byte| *byte == b'\n').filter_map(split);
        let found = lines.find(|(found, _)| *found == key.as_bytes());
        *slot = found.and_then(|(_, rest)| value(rest));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str, keys: &[&str]) -> Vec<Option<u64>> {
        let mut values = vec![Some(9); keys.len()];
        read(text.as_bytes(), keys, &order(text.as_bytes(), keys), &mut values);
        values
    }

    #[test]
    fn all_three_kinds_of_lines_are_read() {
        let vmstat = "pgpgin 12\npgpgout 7\npgfault 99\n";
        assert_eq!(all(vmstat, &["pgfault", "pgpgin", "absent"]), [Some(99), Some(12), None]);
        let meminfo = "MemTotal:       24684084 kB\nActive(anon):  5 kB\nHugePages_Total:  0\n";
        assert_eq!(
            all(meminfo, &["HugePages_Total", "Active(anon)", "MemTotal"]),
            [Some(0), Some(5), Some(24_684_084)]
        );
        assert_eq!(all("Node 0 MemFree:  5466316 kB\n", &["MemFree"]), [Some(5_466_316)]);
    }

    #[test]
    fn a_key_is_a_whole_word() {
        assert_eq!(
            all("pgscan_direct_throttle 4\npgscan_direct 3\n", &["pgscan_direct"]),
            [Some(3)]
        );
    }

    #[test]
    fn a_text_in_another_order_is_read_all_the_same() {
        let keys = ["a", "b", "c"];
        let order = order(b"a 1\nb 2\nc 3\n", &keys);
        let mut values = [None; 3];
        read(b"c 30\nb 20\na 10\n", &keys, &order, &mut values);
        assert_eq!(values, [Some(10), Some(20), Some(30)]);
        read(b"b 5\n", &keys, &order, &mut values);
        assert_eq!(values, [None, Some(5), None], "what is gone is not the value before");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_as_one_by_one(
            text in proptest::collection::vec(
                proptest::sample::select(b"ab:\n 019k".to_vec()), 0..80),
            other in proptest::collection::vec(
                proptest::sample::select(b"ab:\n 019k".to_vec()), 0..80),
        ) {
            let keys = ["a", "b", "ab", "ba"];
            let (mut fast, mut slow) = ([None; 4], [None; 4]);
            read_in_any_order(&text, &keys, &mut slow);
            read(&text, &keys, &order(&text, &keys), &mut fast);
            prop_assert_eq!(fast, slow);
            // An order learnt from another text costs time and no value that it promises.
            let learnt = order(&other, &keys);
            read(&text, &keys, &learnt, &mut fast);
            for index in learnt {
                prop_assert_eq!(fast[index], slow[index]);
            }
        }
    }
}
