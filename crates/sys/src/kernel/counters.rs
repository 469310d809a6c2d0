//! Parsers of the counter files that are read many times a second. They parse the bytes returned by a
//! [`RereadFile`](crate::kernel::RereadFile), do not allocate, and return `None` for missing values.

/// Cumulative I/O of a group on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadWrite {
    /// Reads: bytes or requests, depending on the file.
    pub read: u64,
    /// Writes: bytes or requests, depending on the file.
    pub write: u64,
}

/// The counters of `device` (`7:0`) in `blkio.*.io_service_bytes` or `io_serviced` (cgroup v1). A
/// device without I/O of the group has no line, which means zero and not absence
/// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
#[must_use]
pub fn blkio(text: &[u8], device: &str) -> ReadWrite {
    let mut counts = ReadWrite::default();
    for line in lines(text) {
        let Some(rest) = line.strip_prefix(device.as_bytes()) else { continue };
        if let Some(value) = rest.strip_prefix(b" Read ") {
            counts.read = number(value).unwrap_or(0);
        } else if let Some(value) = rest.strip_prefix(b" Write ") {
            counts.write = number(value).unwrap_or(0);
        }
    }
    counts
}

/// The counters of `device` in `io.stat` (cgroup v2): bytes, then requests. A device without I/O has no
/// line (Documentation/admin-guide/cgroup-v2.rst).
#[must_use]
pub fn io_stat(text: &[u8], device: &str) -> (ReadWrite, ReadWrite) {
    let (mut bytes, mut requests) = (ReadWrite::default(), ReadWrite::default());
    let line =
        lines(text).find_map(|line| line.strip_prefix(device.as_bytes())?.strip_prefix(b" "));
    for field in line.unwrap_or_default().split(|byte| *byte == b' ') {
        let value = |key: &[u8]| field.strip_prefix(key).and_then(number);
        bytes.read = value(b"rbytes=").unwrap_or(bytes.read);
        bytes.write = value(b"wbytes=").unwrap_or(bytes.write);
        requests.read = value(b"rios=").unwrap_or(requests.read);
        requests.write = value(b"wios=").unwrap_or(requests.write);
    }
    (bytes, requests)
}

/// The value of `key` in a file of `key value` lines (`cpu.stat`, `memory.stat`).
#[must_use]
pub fn keyed(text: &[u8], key: &str) -> Option<u64> {
    lines(text).find_map(|line| number(line.strip_prefix(key.as_bytes())?.strip_prefix(b" ")?))
}

/// `total=` microseconds of `some` or `full` in a pressure file (Documentation/accounting/psi.rst).
#[must_use]
pub fn pressure(text: &[u8], kind: &str) -> Option<u64> {
    let line = lines(text).find_map(|line| line.strip_prefix(kind.as_bytes()))?;
    line.split(|byte| *byte == b' ').find_map(|field| number(field.strip_prefix(b"total=")?))
}

/// The first `N` numbers of a line, after `label` if it has one: `/sys/block/X/stat`, or the `cpu` line
/// of /proc/stat. `None` if there are fewer.
#[must_use]
pub fn fields<const N: usize>(text: &[u8], label: &str) -> Option<[u64; N]> {
    let line = lines(text).find_map(|line| line.strip_prefix(label.as_bytes()))?;
    let mut values = [0; N];
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    for value in &mut values {
        *value = number(words.next()?)?;
    }
    Some(values)
}

/// A file that contains a single number.
#[must_use]
pub fn number(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blkio_counts_one_device_and_a_missing_line_as_zero() {
        let text = b"7:0 Read 4096\n7:0 Write 512\n7:0 Total 4608\n254:0 Read 9\nTotal 4617\n";
        assert_eq!(blkio(text, "7:0"), ReadWrite { read: 4096, write: 512 });
        assert_eq!(blkio(text, "7:1"), ReadWrite::default());
        assert_eq!(blkio(text, "54:0"), ReadWrite::default(), "a suffix is another device");
        assert_eq!(blkio(b"Total 0\n", "7:0"), ReadWrite::default());
    }

    #[test]
    fn io_stat_reads_keys_in_any_order_and_skips_unknown_ones() {
        let text = b"8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n\
                     259:0 cost.usage=7 rbytes=10 wbytes=20 rios=30 wios=40 dbytes=0 dios=0\n";
        let (bytes, requests) = io_stat(text, "259:0");
        assert_eq!(bytes, ReadWrite { read: 10, write: 20 });
        assert_eq!(requests, ReadWrite { read: 30, write: 40 });
        assert_eq!(io_stat(text, "8:1").0, ReadWrite::default());
    }

    #[test]
    fn keys_are_whole_words() {
        let text = b"usage_usec 12\nuser_usec 7\n";
        assert_eq!(keyed(text, "user_usec"), Some(7));
        assert_eq!(keyed(text, "user"), None);
    }

    #[test]
    fn pressure_gives_the_total_of_the_kind() {
        let text = b"some avg10=0.00 avg60=0.04 avg300=0.21 total=1726683\n\
                     full avg10=0.00 avg60=0.03 avg300=0.20 total=1657328\n";
        assert_eq!(pressure(text, "some"), Some(1_726_683));
        assert_eq!(pressure(text, "full"), Some(1_657_328));
        assert_eq!(pressure(b"", "some"), None);
    }

    #[test]
    fn fields_require_the_full_count() {
        assert_eq!(fields::<3>(b"  1 2 3 4\n", ""), Some([1, 2, 3]));
        assert_eq!(fields::<2>(b"cpu  10 20 30\ncpu0 1 2 3\n", "cpu "), Some([10, 20]));
        assert_eq!(fields::<5>(b"1 2 3", ""), None);
    }

    #[test]
    fn a_number_that_does_not_fit_is_none() {
        assert_eq!(number(b"18446744073709551615\n"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b"-1"), None);
        assert_eq!(number(b"max"), None);
    }
}
