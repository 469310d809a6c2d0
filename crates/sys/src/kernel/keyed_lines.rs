//! Reads many keys of one file in one pass: /proc/vmstat, /proc/meminfo, a node's `meminfo` and
//! `numastat`, `memory.stat`.
//!
//! Searching for each key from the start compares every line with every key. Kernels always write their
//! lines in the same order, so keys in that order are met one after the other.

use crate::kernel::counters::number;

/// Splits a line into its key and the rest. A node's `meminfo` puts `Node 0` before each key;
/// /proc/meminfo ends keys with a colon, /proc/vmstat does not.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(colon) = line.iter().position(|byte| *byte == b':') {
        let key = line[..colon].rsplit(|byte| *byte == b' ').next()?;
        return Some((key, &line[colon + 1..]));
    }
    let blank = line.iter().position(|byte| *byte == b' ')?;
    Some((&line[..blank], &line[blank + 1..]))
}

/// The number at the start of the rest of a line, whatever unit follows it.
fn value(rest: &[u8]) -> Option<u64> {
    let rest = rest.trim_ascii_start();
    number(rest.split(u8::is_ascii_whitespace).next()?)
}

/// The indices of those keys that `text` contains, in the order of `text`.
#[must_use]
pub fn order(text: &[u8], keys: &[&str]) -> Vec<usize> {
    let lines = text.split(|byte| *byte == b'\n').filter_map(split);
    lines.filter_map(|(key, _)| keys.iter().position(|candidate| candidate.as_bytes() == key)).fold(
        Vec::new(),
        |mut indices, index| {
            // Of a repeated key the first counts.
            if !indices.contains(&index) {
                indices.push(index);
            }
            indices
        },
    )
}

/// The values of some keys, `values[i]` of `keys[i]`; `None` for missing or non-numeric ones. `order`
/// is the result of [`order`] for an earlier text of the same file. If this text has another order,
/// skipped keys are searched again, which only costs time.
pub fn read(text: &[u8], keys: &[&str], order: &[usize], values: &mut [Option<u64>]) {
    values.fill(None);
    let mut expected =
        order.iter().filter_map(|index| Some((*index, keys.get(*index)?.as_bytes())));
    let mut next = expected.next();
    for line in text.split(|byte| *byte == b'\n') {
        let Some((index, key)) = next else { return };
        if let Some((line_key, rest)) = split(line)
            && line_key == key
        {
            if let Some(slot) = values.get_mut(index) {
                *slot = value(rest);
            }
            next = expected.next();
        }
    }
    if next.is_some() {
        read_in_any_order(text, keys, values);
    }
}

fn read_in_any_order(text: &[u8], keys: &[&str], values: &mut [Option<u64>]) {
    for (key, slot) in keys.iter().zip(values) {
        let mut lines = text.split(|byte| *byte == b'\n').filter_map(split);
        let line = lines.find(|(line_key, _)| *line_key == key.as_bytes());
        *slot = line.and_then(|(_, rest)| value(rest));
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
    fn a_text_in_another_order_is_read_correctly() {
        let keys = ["a", "b", "c"];
        let order = order(b"a 1\nb 2\nc 3\n", &keys);
        let mut values = [None; 3];
        read(b"c 30\nb 20\na 10\n", &keys, &order, &mut values);
        assert_eq!(values, [Some(10), Some(20), Some(30)]);
        read(b"b 5\n", &keys, &order, &mut values);
        assert_eq!(values, [None, Some(5), None], "a missing key does not keep its previous value");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_as_if_key_by_key(
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
            // An order from another text costs time but gives no wrong value.
            let other_order = order(&other, &keys);
            read(&text, &keys, &other_order, &mut fast);
            for index in other_order {
                prop_assert_eq!(fast[index], slow[index]);
            }
        }
    }
}
