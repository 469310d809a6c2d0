//! What should stand in a file, in the ways in which the kernel may show it.

use std::fmt;

use assay_host::knob::{Limit, bandwidth, device_lines, field, limit, weight};
use assay_sys::units::IdSet;

use crate::conversion::runtime::systemd_quota;
use crate::tree::cpu_count;

/// Limits of memory are kept in whole pages of one of these sizes, rounded down, or up on v1. A snapshot does not say which.
const PAGES: [u64; 3] = [4096, 16_384, LARGEST_PAGE];
const LARGEST_PAGE: u64 = 65_536;

/// What a file should say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One of several, which different versions of a manager write, or which something rounds on its way.
    AnyOf(Vec<Self>),
    /// A weight, or a default of weights.
    Weight(u64),
    /// A number of bytes.
    Bytes(u64),
    /// A number.
    Number(u64),
    /// No limit.
    Unlimited,
    /// Quota and period of `cpu.max`, in microseconds.
    Bandwidth(Option<u64>, u64),
    /// A list of CPUs or nodes.
    List(String),
    /// So many CPUs.
    Cpus(u64),
    /// One of the lines.
    Line(String),
    /// A key in the line of a device; the number behind it where the key is empty.
    Device { device: String, key: &'static str, value: u64 },
}

impl Wanted {
    /// A quota that a runtime's library writes: as it is, or rounded up to 1 % of a CPU, where it asks systemd and then writes the
    /// same to the file (opencontainers/cgroups, `addCPUQuota`).
    pub(super) fn quota_of_container(quota: u64, period: u64, is_v2: bool) -> Self {
        let wanted = |quota| match is_v2 {
            true => Self::Bandwidth(Some(quota), period),
            false => Self::Number(quota),
        };
        let per_second = u128::from(systemd_quota(quota, period));
        let rounded = u64::try_from(per_second * u128::from(period) / 1_000_000);
        Self::any_of([wanted(quota), wanted(rounded.unwrap_or(u64::MAX))])
    }

    /// One of several, each said once.
    pub(super) fn any_of(all: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<Self> = all.into_iter().collect();
        all.dedup();
        Self::AnyOf(all)
    }

    /// A list of CPUs or nodes, if it is one.
    pub(super) fn list(text: &str) -> Option<Self> {
        ids(text).map(|_| Self::List(text.to_owned()))
    }

    /// Whether a text says it.
    pub(super) fn is_met(&self, text: &str) -> bool {
        match self {
            Self::AnyOf(all) => all.iter().any(|one| one.is_met(text)),
            Self::Weight(number) => weight(text) == Some(*number),
            Self::Bytes(bytes) => limit(text)
                .and_then(Limit::amount)
                .is_some_and(|found| PAGES.iter().any(|page| is_rounded(found, *bytes, *page))),
            Self::Number(number) => limit(text) == Some(Limit::At(*number)),
            Self::Unlimited => limit(text) == Some(Limit::None),
            Self::Bandwidth(quota, period) => match bandwidth(text) {
                Some((found, of)) => found == *quota && (quota.is_none() || of == *period),
                None => false,
            },
            Self::List(list) => ids(list).is_some_and(|wanted| ids(text) == Some(wanted)),
            Self::Cpus(number) => cpu_count(text) == Some(*number),
            Self::Line(line) => text.lines().any(|own| own.trim() == line),
            Self::Device { device, key, value } => device_lines(text)
                .filter(|(own, _)| own == device)
                .any(|(_, line)| said(line, key).is_some_and(|found| found == value.to_string())),
        }
    }

    /// Whether a text says it but for what is rounded between a manager's files and the kernel's: a page, or one percent
    /// of a CPU.
    pub(super) fn is_nearly_met(&self, text: &str) -> bool {
        match self {
            Self::Bytes(bytes) => limit(text)
                .and_then(Limit::amount)
                .is_some_and(|found| found.abs_diff(*bytes) <= LARGEST_PAGE),
            Self::Bandwidth(Some(quota), period) => match bandwidth(text) {
                Some((Some(found), of)) => of == *period && found.abs_diff(*quota) <= period / 100,
                _ => false,
            },
            _ => self.is_met(text),
        }
    }
}

/// In `rbps=1 wbps=2` the value of a key; in the lines of v1, which have one value only, that.
fn said<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    if line.contains('=') { field(line, key) } else { line.split_whitespace().next_back() }
}

const fn is_rounded(found: u64, bytes: u64, page: u64) -> bool {
    let (down, up) = (bytes / page * page, bytes.div_ceil(page).saturating_mul(page));
    // Less than a page is not as good as nothing.
    found == bytes || found == up || found == down && down > 0
}

/// The numbers of a list such as `0-3,8`, which systemd also takes with blanks.
fn ids(list: &str) -> Option<IdSet> {
    list.trim().replace(' ', ",").parse().ok()
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AnyOf(all) => {
                let words: Vec<String> = all.iter().map(Self::to_string).collect();
                f.write_str(&words.join(" or "))
            }
            Self::Weight(number) | Self::Bytes(number) | Self::Number(number) => {
                write!(f, "{number}")
            }
            Self::Unlimited => f.write_str("max"),
            Self::Bandwidth(None, _) => f.write_str("max"),
            Self::Bandwidth(Some(quota), period) => write!(f, "{quota} {period}"),
            Self::List(list) | Self::Line(list) => f.write_str(list),
            Self::Cpus(number) => write!(f, "{number} CPUs"),
            Self::Device { device, key: "", value } => write!(f, "{device} {value}"),
            Self::Device { device, key, value } => write!(f, "{device} {key}={value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_met_in_each_way_in_which_the_kernel_shows_it() {
        let device =
            |key: &'static str| Wanted::Device { device: "8:0".to_owned(), key, value: 1024 };
        for (wanted, yes, no) in [
            (Wanted::any_of([39, 100].map(Wanted::Weight)), "default 100\n8:0 5", "10"),
            (Wanted::Bytes(5000), "4096", "12288"),
            (Wanted::Bytes(5000), "8192", "max"),
            (Wanted::Bytes(100_000), "65536", "4096"),
            (Wanted::Bytes(100_000), "131072", "0"),
            (Wanted::Bytes(0), "0", "4096"),
            (Wanted::Number(5), "5\n", "6"),
            (Wanted::Unlimited, "9223372036854771712", "0"),
            (Wanted::Bandwidth(Some(50_000), 100_000), "50000 100000", "max 100000"),
            (Wanted::Bandwidth(None, 100_000), "max 50000", "1000 100000"),
            (Wanted::List("0-2,5".to_owned()), "0-2,5", "0-2"),
            (Wanted::List("1 0".to_owned()), "0-1\n", "x"),
            (device("wbps"), "8:0 rbps=max wbps=1024", "8:0 rbps=1024 wbps=max"),
            (device("wbps"), "8:16 9\n8:0 1024", "8:16 1024"),
        ] {
            assert!(wanted.is_met(yes), "{wanted} {yes}");
            assert!(!wanted.is_met(no), "{wanted} {no}");
        }
        let near = |found: &str| Wanted::Bytes(10 << 20).is_nearly_met(found);
        assert!(near("10420224") && !near("10354688"));
        assert!(Wanted::list("0-2 5").is_some() && Wanted::list("%i").is_none());
        assert!(!Wanted::List("0-99999999999".to_owned()).is_met("0"));
        // No list names each CPU that often; one of a million parts would exhaust the memory.
        assert!(!Wanted::List("0-8191,".repeat(33)).is_met("0-8191"));
    }
}
