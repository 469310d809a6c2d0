//! Device rules: which devices a group may read, write and create.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// Kinds of devices of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// Block and character devices with any numbers: `a`.
    All,
    /// Block devices: `b`.
    Block,
    /// Character devices: `c`.
    Character,
}

/// A rule in the format of v1's `devices.allow` and `devices.deny`, `c 1:3 rwm`
/// (Documentation/admin-guide/cgroup-v1/devices.rst). On v2 a device program decides instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DeviceRule {
    /// The kinds of devices.
    pub kind: DeviceKind,
    /// The major number; `None` stands for `*`.
    pub major: Option<u32>,
    /// The minor number; `None` stands for `*`.
    pub minor: Option<u32>,
    /// Whether it applies to opening for reading.
    pub read: bool,
    /// Whether it applies to opening for writing.
    pub write: bool,
    /// Whether it applies to creating device files.
    pub mknod: bool,
}

impl DeviceRule {
    /// Parses the rules of a value, separated by commas or semicolons; `None` if one is invalid.
    #[must_use]
    pub fn parse_all(value: &str) -> Option<Vec<Self>> {
        value.split([',', ';']).map(|rule| rule.parse().ok()).collect()
    }
}

impl FromStr for DeviceRule {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if matches!(words[..], ["a"] | ["a", "*:*", "rwm"]) {
            let kind = DeviceKind::All;
            return Ok(Self {
                kind,
                major: None,
                minor: None,
                read: true,
                write: true,
                mknod: true,
            });
        }
        let [kind, numbers, access] = words[..] else { return Err(()) };
        let kind = match kind {
            "b" => DeviceKind::Block,
            "c" => DeviceKind::Character,
            _ => return Err(()),
        };
        let (major, minor) = numbers.split_once(':').ok_or(())?;
        if access.is_empty() || access.chars().any(|letter| !"rwm".contains(letter)) {
            return Err(());
        }
        Ok(Self {
            kind,
            major: number(major)?,
            minor: number(minor)?,
            read: access.contains('r'),
            write: access.contains('w'),
            mknod: access.contains('m'),
        })
    }
}

fn number(text: &str) -> Result<Option<u32>, ()> {
    if text == "*" { Ok(None) } else { text.parse().map(Some).map_err(|_| ()) }
}

impl fmt::Display for DeviceRule {
    /// In the kernel's format.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            // The kernel ignores everything after an `a`.
            DeviceKind::All => return f.write_str("a"),
            DeviceKind::Block => 'b',
            DeviceKind::Character => 'c',
        };
        let number = |number: Option<u32>| number.map_or("*".to_owned(), |n| n.to_string());
        write!(f, "{kind} {}:{} ", number(self.major), number(self.minor))?;
        for (is_set, letter) in [(self.read, "r"), (self.write, "w"), (self.mknod, "m")] {
            f.write_str(if is_set { letter } else { "" })?;
        }
        Ok(())
    }
}

/// The rules in the kernel's format, separated by commas.
pub(crate) fn normal(value: &str) -> Option<String> {
    let rules = DeviceRule::parse_all(value)?;
    Some(rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_normalized_to_the_kernel_s_format() {
        for (text, normalized) in [
            ("a", "a"),
            ("a *:* rwm", "a"),
            ("c 1:3 mr", "c 1:3 rm"),
            ("b 8:* w, c *:* m", "b 8:* w, c *:* m"),
        ] {
            assert_eq!(normal(text).as_deref(), Some(normalized), "{text}");
        }
        for text in ["", "c", "c 1:3", "c 1 rwm", "c 1:3 x", "d 1:3 r", "c 1:3 r,", "a 1:3 r"] {
            assert_eq!(normal(text), None, "{text}");
        }
    }
}
