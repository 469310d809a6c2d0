//! Files with one key and one value per line: /proc/meminfo, /proc/PID/status, os-release.

/// The value of `key:`, trimmed (/proc/PID/status, /proc/meminfo).
#[must_use]
pub fn colon<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

/// An amount in KiB (written `kB`) from /proc/meminfo or a node's meminfo, in bytes.
#[must_use]
pub fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        // A node's meminfo puts `Node 0` before each key.
        (name.split_whitespace().last() == Some(key)).then_some(value)
    })?;
    let number: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// A value of os-release(5) without its quotes.
#[must_use]
pub fn shell<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().trim_matches(|quote| quote == '"' || quote == '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_the_machine_and_of_a_node_are_read_in_bytes() {
        assert_eq!(kibibytes("MemTotal:       24684084 kB\n", "MemTotal"), Some(24_684_084 << 10));
        assert_eq!(kibibytes("Node 0 MemTotal:   5466316 kB\n", "MemTotal"), Some(5_466_316 << 10));
        assert_eq!(kibibytes("HugePages_Total: 0\n", "HugePages_Total"), None);
        assert_eq!(kibibytes("SwapTotal: 1 kB\n", "MemTotal"), None);
    }

    #[test]
    fn values_are_read_without_blanks_and_quotes() {
        assert_eq!(colon("Uid:\t0\t0\t0\t0\n", "Uid"), Some("0\t0\t0\t0"));
        assert_eq!(shell("A=1\nPRETTY_NAME=\"Debian 12\"\n", "PRETTY_NAME"), Some("Debian 12"));
    }
}
