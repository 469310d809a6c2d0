//! One line of `devices.allow` or `devices.deny`, in the format of cgroup v1.

use std::fmt;
use std::str::FromStr;

/// The effect of a rule on a matching request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// The device may be used in these ways.
    Allow,
    /// The device may not be used in any of these ways.
    Deny,
}

/// `{a|b|c} MAJOR:MINOR [r][w][m]`, where a number may be `*`
/// (Documentation/admin-guide/cgroup-v1/devices.rst). `a` alone means every device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRule {
    /// `BPF_DEVCG_DEV_BLOCK` (1), `BPF_DEVCG_DEV_CHAR` (2), or both.
    pub(super) kind: Option<u32>,
    pub(super) major: Option<u32>,
    pub(super) minor: Option<u32>,
    /// `BPF_DEVCG_ACC_MKNOD` (1), `_READ` (2) and `_WRITE` (4), combined.
    pub(super) access: u32,
}

pub(super) const MKNOD: u32 = 1;
pub(super) const READ: u32 = 2;
pub(super) const WRITE: u32 = 4;
const BLOCK: u32 = 1;
const CHAR: u32 = 2;

impl DeviceRule {
    /// Whether it is about reading this device.
    #[must_use]
    pub fn is_about_reading(&self, is_block: bool, (major, minor): (u32, u32)) -> bool {
        let kind = if is_block { BLOCK } else { CHAR };
        let is = |rule: Option<u32>, number: u32| rule.is_none_or(|rule| rule == number);
        is(self.kind, kind)
            && is(self.major, major)
            && is(self.minor, minor)
            && self.access & READ != 0
    }
}

impl FromStr for DeviceRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a device rule: write `a`, or `b` or `c`, MAJOR:MINOR (each a number \
                 or `*`) and some of `rwm`, such as `c 1:3 rwm`"
            )
        };
        let mut words = text.split_whitespace();
        let kind = match words.next() {
            Some("a") => None,
            Some("b") => Some(BLOCK),
            Some("c") => Some(CHAR),
            _ => return Err(wrong()),
        };
        let (numbers, access) = (words.next(), words.next());
        if words.next().is_some() {
            return Err(wrong());
        }
        // For the kernel `a` means every device and every access, whatever follows.
        if kind.is_none() {
            return Ok(Self { kind, major: None, minor: None, access: MKNOD | READ | WRITE });
        }
        let (major, minor) = numbers.and_then(|text| text.split_once(':')).ok_or_else(wrong)?;
        Ok(Self {
            kind,
            major: number(major).ok_or_else(wrong)?,
            minor: number(minor).ok_or_else(wrong)?,
            access: ways(access.unwrap_or_default()).ok_or_else(wrong)?,
        })
    }
}

impl fmt::Display for DeviceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            None => return f.write_str("a"),
            Some(BLOCK) => 'b',
            Some(_) => 'c',
        };
        let number = |number: Option<u32>| number.map_or("*".to_owned(), |one| one.to_string());
        write!(f, "{kind} {}:{} ", number(self.major), number(self.minor))?;
        for (letter, way) in [('r', READ), ('w', WRITE), ('m', MKNOD)] {
            if self.access & way != 0 {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// `None` for `*`. Device numbers have 12 and 20 bits (include/linux/kdev_t.h).
fn number(text: &str) -> Option<Option<u32>> {
    const MINOR_BITS: u32 = 20;
    match text {
        "*" => Some(None),
        digits => digits.parse().ok().filter(|number| *number < 1 << MINOR_BITS).map(Some),
    }
}

fn ways(text: &str) -> Option<u32> {
    let mut access = 0;
    for letter in text.chars() {
        access |= match letter {
            'r' => READ,
            'w' => WRITE,
            'm' => MKNOD,
            _ => return None,
        };
    }
    (access != 0).then_some(access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_formatted_as_written() {
        for text in ["a", "c 1:3 rwm", "b 8:* r", "c *:* m", "c 136:1048575 rw"] {
            assert_eq!(text.parse::<DeviceRule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_rule_is_about_the_devices_that_it_names() {
        let is = |text: &str| text.parse::<DeviceRule>().unwrap().is_about_reading(false, (1, 11));
        assert!(["a", "c 1:11 r", "c *:11 rw", "c 1:* rwm"].into_iter().all(is));
        assert!(!["b 1:11 r", "c 1:3 r", "c 1:11 wm"].into_iter().any(is));
    }

    #[test]
    fn an_invalid_rule_is_refused_with_the_format() {
        for text in
            ["", "d 1:3 r", "c 1 r", "c 1:3", "c 1:3 x", "c 1:-1 r", "b 8:1048576 r", "c 1:3 r w"]
        {
            let error = text.parse::<DeviceRule>().unwrap_err();
            assert!(error.contains("c 1:3 rwm"), "{text}: {error}");
        }
    }
}
