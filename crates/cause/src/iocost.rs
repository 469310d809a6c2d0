//! The parameters of iocost for a disk, from what it did under one load after the other.
//!
//! The definitions are those of the kernel's tools/cgroup/iocost_coef_gen.py; docs/tuning.md names the differences.

mod page;

use std::collections::BTreeMap;

use assay_judge::verdict::Verdict;
use serde::{Deserialize, Serialize};

pub use page::render as text;

/// A load that shows one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// The kernel's key of its parameter, `rrandiops`.
    pub key: &'static str,
    /// What fio does, `randread`.
    pub rw: &'static str,
    /// What counts.
    pub shows: Shows,
}

/// What counts of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// Bytes per second of large requests.
    Bytes,
    /// Requests per second, of 4 KiB.
    Requests,
    /// How long they take at nine tenths of the rate that the disk has: that of the load before.
    Latency,
}

/// Reads, in the order in which they run.
pub const READS: [Load; 4] = [
    Load { key: "rbps", rw: "read", shows: Shows::Bytes },
    Load { key: "rseqiops", rw: "read", shows: Shows::Requests },
    Load { key: "rrandiops", rw: "randread", shows: Shows::Requests },
    Load { key: "rlat", rw: "randread", shows: Shows::Latency },
];

/// Writes.
pub const WRITES: [Load; 4] = [
    Load { key: "wbps", rw: "write", shows: Shows::Bytes },
    Load { key: "wseqiops", rw: "write", shows: Shows::Requests },
    Load { key: "wrandiops", rw: "randwrite", shows: Shows::Requests },
    Load { key: "wlat", rw: "randwrite", shows: Shows::Latency },
];

/// The part of the highest rate at which latencies are taken.
const PACE: f64 = 0.9;

/// How much longer than its percentile a request may take before iocost slows the disk down.
const PATIENCE: f64 = 1.5;

/// The rate of requests, in percent of the model, that iocost may choose.
const SLOWEST: f64 = 60.0;
const FASTEST: f64 = 100.0;

/// What a load measured, in the unit of its parameter: bytes or requests per second, or microseconds.
pub type Values = BTreeMap<String, f64>;

/// `iocost.json`, schema 1: the parameters of iocost for a disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IoCost {
    /// Version of this format.
    pub schema: u32,
    /// The disk as the caller named it.
    pub disk: String,
    /// The kernel's name of it, without that of a partition.
    pub device: String,
    /// Its numbers, `8:16`. A loop device had them only while it was there.
    pub numbers: String,
    /// Its model, by which systemd's hardware database knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// What was measured, by the kernel's keys; `rlat` and `wlat` are percentiles, in microseconds.
    pub measured: BTreeMap<String, f64>,
    /// The percentile of `rlat` and `wlat`: 95, or 50 on a disk that rotates.
    pub percentile: u32,
    /// The line of `io.cost.model`; `None` if nothing was measured.
    pub model: Option<String>,
    /// The line of `io.cost.qos`.
    pub qos: Option<String>,
    /// The lines of systemd's hardware database.
    pub hwdb: Vec<String>,
    /// What a study of weights showed under them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// Parameters and parts that are missing, with the reason.
    pub not_available: BTreeMap<String, String>,
    /// Whether it was ended before its last step.
    pub ended_early: bool,
}

/// What a study of weights showed under measured parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The study.
    pub study: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// The reason of its first promise.
    pub reason: String,
    /// The number of repeats.
    pub repeats: usize,
}

/// The requests per second at which latencies are taken.
#[must_use]
pub fn pace(randiops: f64) -> u64 {
    ((randiops * PACE) as u64).max(1)
}

/// The percentile of latencies for a disk.
#[must_use]
pub const fn percentile(rotational: bool) -> u32 {
    if rotational { 50 } else { 95 }
}

/// The parameters of a linear model, as they follow the device's numbers and `ctrl=user model=linear`; `None`
/// without any. Keys that are left out keep their values in the kernel (blk-iocost.c, `ioc_cost_model_write`).
#[must_use]
pub fn model_words(measured: &Values) -> Option<String> {
    let throughputs = READS.iter().chain(&WRITES).filter(|load| load.shows != Shows::Latency);
    let words = throughputs.filter_map(|Load { key, .. }| {
        let value = measured.get(*key).filter(|value| value.is_finite() && **value >= 1.0)?;
        Some(format!("{key}={}", value.round() as u64))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// The parameters of the quality of service, as they follow `enable=1 ctrl=user`. A direction whose latency was not
/// measured gives no reason to slow the disk down.
#[must_use]
pub fn qos_words(measured: &Values, percentile: u32) -> String {
    let of = |letter: char| match measured.get(&format!("{letter}lat")) {
        Some(value) if value.is_finite() && *value > 0.0 => {
            let target = (value * PATIENCE).round().max(1.0) as u64;
            format!("{letter}pct={percentile}.00 {letter}lat={target}")
        }
        _ => format!("{letter}pct=0.00 {letter}lat=0"),
    };
    let (reads, writes) = (of('r'), of('w'));
    format!("{reads} {writes} min={SLOWEST:.2} max={FASTEST:.2}")
}

/// The whole line of `io.cost.model` for a device, or a template of it.
#[must_use]
pub fn model_line(numbers: &str, words: &str) -> String {
    format!("{numbers} ctrl=user model=linear {words}")
}

/// The whole line of `io.cost.qos`.
#[must_use]
pub fn qos_line(numbers: &str, words: &str) -> String {
    format!("{numbers} enable=1 ctrl=user {words}")
}

/// The entry of systemd's hardware database (90-iocost.hwdb) for a model of disks. systemd writes `enable=1`,
/// `ctrl=user` and `model=linear` itself (src/udev/iocost).
#[must_use]
pub fn hwdb(model_name: &str, model: &str, qos: &str) -> Vec<String> {
    vec![
        format!("block:*:name:{}:*", pattern(model_name)),
        " IOCOST_SOLUTIONS=assay".to_owned(),
        format!(" IOCOST_MODEL_ASSAY={model}"),
        format!(" IOCOST_QOS_ASSAY={qos}"),
    ]
}

/// A name as a pattern that matches it: what would be special or end the line matches any sign instead.
fn pattern(name: &str) -> String {
    let plain = |sign: char| match sign {
        '*' | '?' | '[' | ']' | '\\' | ':' => '?',
        sign if sign.is_control() || !sign.is_ascii() => '?',
        sign => sign,
    };
    name.trim().chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, f64)]) -> Values {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
    }

    fn disk() -> Values {
        values(&[
            ("rbps", 1_091_439_492.4),
            ("rseqiops", 52286.2),
            ("rrandiops", 63784.0),
            ("rlat", 5871.3),
            ("wbps", 192_329_466.0),
            ("wseqiops", 12309.0),
            ("wrandiops", 16119.0),
            ("wlat", 39348.9),
        ])
    }

    /// The format of the lines is that of the knobs, and of the entry in systemd's database.
    #[test]
    fn lines_have_the_kernels_keys_in_its_units() {
        let words = model_words(&disk()).unwrap();
        let expected = "rbps=1091439492 rseqiops=52286 rrandiops=63784 wbps=192329466 wseqiops=12309 wrandiops=16119";
        assert_eq!(words, expected);
        assert_eq!(model_line("8:0", &words), format!("8:0 ctrl=user model=linear {expected}"));
        let qos = qos_words(&disk(), percentile(false));
        assert_eq!(qos, "rpct=95.00 rlat=8807 wpct=95.00 wlat=59023 min=60.00 max=100.00");
        assert_eq!(qos_line("8:0", &qos), format!("8:0 enable=1 ctrl=user {qos}"));
        let entry = hwdb("HFS256GD9TNG-62A0A", &words, &qos);
        assert_eq!(entry[0], "block:*:name:HFS256GD9TNG-62A0A:*");
        assert!(entry[1..].iter().all(|line| line.starts_with(" IOCOST_")), "{entry:?}");
        assert_eq!(entry[2], format!(" IOCOST_MODEL_ASSAY={expected}"));
    }

    #[test]
    fn what_was_not_measured_is_left_out_and_slows_nothing_down() {
        let reads = values(&[("rbps", 1e6), ("rseqiops", f64::NAN), ("rrandiops", 0.2)]);
        assert_eq!(model_words(&reads).as_deref(), Some("rbps=1000000"));
        assert_eq!(model_words(&values(&[("rlat", 7.0)])), None);
        let qos = qos_words(&values(&[("rlat", 0.2)]), percentile(true));
        assert_eq!(qos, "rpct=50.00 rlat=1 wpct=0.00 wlat=0 min=60.00 max=100.00");
    }

    #[test]
    fn the_name_of_a_disk_cannot_add_lines_or_match_others() {
        assert_eq!(pattern(" a*b\n IOCOST_SOLUTIONS=x: "), "a?b? IOCOST_SOLUTIONS=x?");
    }

    #[test]
    fn latencies_are_taken_below_the_highest_rate() {
        assert_eq!((pace(1000.0), pace(0.5)), (900, 1));
    }
}
