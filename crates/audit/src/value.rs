//! Reading the texts of interface files.

/// A limit: a number, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bound {
    /// A number in the file's unit.
    At(u64),
    /// `max`, or v1's spelling of it.
    None,
}

impl Bound {
    /// The number, if there is one.
    pub(crate) const fn at(self) -> Option<u64> {
        match self {
            Self::At(number) => Some(number),
            Self::None => None,
        }
    }
}

/// Parses a single limit: `max`, a number, or v1's -1 and largest number of whole pages.
pub(crate) fn bound(text: &str) -> Option<Bound> {
    const UNLIMITED_FROM: u64 = 0x7fff_ffff_ffff_0000;
    match text.trim() {
        "max" | "-1" => Some(Bound::None),
        number => number.parse().ok().map(|number: u64| match number >= UNLIMITED_FROM {
            true => Bound::None,
            false => Bound::At(number),
        }),
    }
}

/// The default of a weight file: `100`, or the line `default 100`.
pub(crate) fn weight(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("default ")).or(text.lines().next())?;
    line.trim_start_matches("default ").trim().parse().ok()
}

/// The lines of a keyed file that begin with a device, with the device.
pub(crate) fn device_lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (device, rest) = line.split_once(char::is_whitespace)?;
        is_device(device).then_some((device, rest.trim()))
    })
}

fn is_device(word: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(':').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// The value of `key=value` among the words of a line.
pub(crate) fn field<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    line.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// The value of a line `key value`.
pub(crate) fn keyed(text: &str, key: &str) -> Option<u64> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.filter(|(name, _)| *name == key).find_map(|(_, value)| value.trim().parse().ok())
}

/// Quota and period of `cpu.max`, in microseconds; without a quota the group has no limit.
pub(crate) fn bandwidth(text: &str) -> Option<(Option<u64>, u64)> {
    let mut words = text.split_whitespace();
    let quota = words.next()?;
    let period = words.next().map_or(Some(100_000), |word| word.parse().ok())?;
    let quota = if quota == "max" { None } else { Some(quota.parse().ok()?) };
    (period > 0).then_some((quota, period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_in_both_spellings() {
        assert_eq!(bound("max\n"), Some(Bound::None));
        assert_eq!(bound("9223372036854771712"), Some(Bound::None));
        assert_eq!(bound("-1"), Some(Bound::None));
        assert_eq!(bound("4096"), Some(Bound::At(4096)));
        assert_eq!(bound(""), None);
    }

    #[test]
    fn weights_and_devices_are_parsed() {
        let text = "default 200\n8:0 300\n";
        assert_eq!((weight(text), weight("100\n"), weight("")), (Some(200), Some(100), None));
        assert_eq!(device_lines(text).collect::<Vec<_>>(), [("8:0", "300")]);
        assert_eq!(field("rbps=max wbps=5", "wbps"), Some("5"));
        assert_eq!(keyed("populated 0\nfrozen 0\n", "populated"), Some(0));
    }

    #[test]
    fn a_bandwidth_without_a_period_has_the_usual_one() {
        assert_eq!(bandwidth("max 100000"), Some((None, 100_000)));
        assert_eq!(bandwidth("50000"), Some((Some(50_000), 100_000)));
        assert_eq!(bandwidth("5 0"), None);
    }
}
