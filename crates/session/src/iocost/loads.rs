//! The loads as a study of one group, one at a time on the whole disk.

use std::time::Duration;

use assay_intervention::iocost::{Load, SMALL};
use assay_plan::{Plan, Trial};
use assay_study::{DiskOverride, Scalar, Study, override_disk, parse, permit_erasing};

use crate::error::Error;
use crate::prepare::only_trial;

/// The factor that names the load of a trial.
const LOAD: &str = "load";

/// Without a scheduler, and with requests as small as they are sent: one that is merged with its neighbour would
/// count as one. Each load is this study with other options of fio.
const STUDY: &str = r#"# What a disk does under one load after the other, for the parameters of iocost (assay tune --iocost).
title = "What the disk does under one load after the other"

[factors]
rw      = ["read"]
bs      = ["16M"]
iodepth = [4]
rate    = [0]

[design]
repeats = 1
at_most = "10 s"
stop    = "at_most"

[disks.scratch]
use       = "loop"
size      = "1 GiB"
scheduler = "none"
queue     = { nomerges = 1 }

[[groups]]
name = "load"
run  = "load"

[workloads.load]
use  = "fio"
args = { rw = "{rw}", bs = "{bs}", iodepth = "{iodepth}", rate_iops = "{rate}", ioengine = "libaio", direct = 1 }
"#;

/// Requests outstanding where their number counts, as in the kernel's script.
const DEPTH: u32 = 64;

/// Large requests, of which a few are outstanding, so that the device always has the next one.
const LARGE: (&str, u32) = ("16M", 4);

/// Makes the trials of loads.
pub(super) struct LoadFactory<'a> {
    pub(super) study: &'a Study,
    pub(super) length: Duration,
    /// Plans a study for this host.
    pub(super) plan: &'a dyn Fn(&Study) -> Plan,
}

/// The study of the loads on a disk, and its text.
pub(super) fn study(disk: &DiskOverride, erase: Option<&str>) -> Result<(Study, String), Error> {
    let (study, findings) = parse("iocost", STUDY, &|_| Err(String::new()));
    let mut study = study.ok_or_else(|| {
        let all: Vec<String> = findings.iter().map(|one| one.message.clone()).collect();
        Error::host(format!("the study of the loads has mistakes: {}", all.join("; ")))
    })?;
    let usage = |why: String| Error::usage(format!("--iocost: {why}"));
    override_disk(&mut study, disk).map_err(usage)?;
    if let Some(word) = erase {
        permit_erasing(&mut study, word).map_err(usage)?;
    }
    Ok((study, STUDY.to_owned()))
}

/// Whether a disk is written to: an own image holds nothing, and a disk of the user is written to with permission.
pub(super) fn may_write(disk: &DiskOverride, erase: Option<&str>) -> bool {
    erase.is_some() || !matches!(disk, DiskOverride::Block(_))
}

impl LoadFactory<'_> {
    /// The trial of a load; `pace` are the requests per second of a load that measures latencies.
    pub(super) fn trial(&self, load: Load, pace: Option<u64>) -> Result<Trial, String> {
        let mut study = self.study.clone();
        study.design.at_most = self.length;
        let small = SMALL.to_string();
        let (bs, depth) = match load {
            Load::Bytes(_) => LARGE,
            Load::Sequential(_) | Load::Random(_) | Load::Latency(_) => (small.as_str(), DEPTH),
        };
        let random = match load {
            Load::Bytes(_) | Load::Sequential(_) => "",
            Load::Random(_) | Load::Latency(_) => "rand",
        };
        let rw = format!("{random}{}", load.direction().word());
        let number = |number: u64| Scalar::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        for (name, value) in [
            ("rw", Scalar::Text(rw)),
            ("bs", Scalar::Text(bs.to_owned())),
            ("iodepth", number(depth.into())),
            ("rate", number(pace.unwrap_or(0))),
        ] {
            let factor = study.factors.iter_mut().find(|factor| factor.name == name);
            factor.ok_or_else(|| format!("the study has no factor `{name}`"))?.values = vec![value];
        }
        let mut trial = only_trial((self.plan)(&study))?;
        trial.factors.insert(LOAD.to_owned(), Scalar::Text(load.key()));
        Ok(trial)
    }
}
