//! Measures what following requests costs: fio at its highest rate on a loop disk, in turns with the eBPF programs of
//! `assay blame` at their tracepoints and without. How long the programs themselves run is what the kernel measures of them
//! in runs of their own, since it makes them slower: on all disks of the host, reading its clock included. What of that is
//! the clock is known from programs that do nothing at the same tracepoints.

use std::path::Path;
use std::process::{Command, Stdio};

use assay_bpf::{EMPTY_DISK, Programs};
use assay_host::scratch::{self, Format, ScratchSpec, Source};
use assay_host::{Ledger, gather};
use assay_kernel::bpf_info::{Ran, RunTimes};
use assay_kernel::{Root, signal};
use assay_sample::requests::{IoHierarchy, RequestWatch};
use assay_units::Bytes;
use assay_workload::fio::parse_output;

use crate::child;
use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::paired::{Pair, as_peer, in_turns};
use crate::statistics::Estimate;
use crate::with_ledger::with_ledger;

/// The targets: throughput within this part, and at most this time a request.
const MARGIN: f64 = 0.02;
const AT_MOST_NS: f64 = 600.0;

const CONFIDENCE: f64 = 0.95;

/// Duration of each fio run, in seconds.
const SECONDS: u32 = 3;

const SIZE: Bytes = Bytes::mebi(256);

const NS: Shown = Shown { factor: 1.0, unit: "ns a request", decimals: 0 };

/// Measures `rounds` rounds on a loop disk below `folder`, which is restored through the ledger there.
pub(crate) fn measure(folder: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
    with_ledger(&folder.join("requests-state"), "bench-requests", |root, ledger| {
        with_disk(folder, rounds, root, ledger)
    })
}

fn with_disk(
    folder: &Path,
    rounds: usize,
    root: &Root,
    ledger: &mut Ledger,
) -> Result<Vec<Figure>, Failure> {
    let stop = || signal::interrupted_by().is_some();
    let spec = ScratchSpec {
        name: "requests".to_owned(),
        source: Source::Loop { image_dir: folder.to_owned(), size: SIZE },
        format: Format::None,
        partitions: 0,
        scheduler: Some("none".to_owned()),
        queue: Vec::new(),
        mount_dir: folder.join("mnt"),
    };
    let disk = scratch::set_up(root, ledger, &spec, &stop, &mut |_| {})?;
    let hierarchy =
        IoHierarchy::new(&gather(root)?.cgroup).map_err(|error| Failure::from_display(&error))?;
    let device = disk.device_path.as_path();
    let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let alone = || fio(folder, device);
    let followed = || {
        let watch = RequestWatch::on_groups(root, &hierarchy, &[], std::slice::from_ref(&name));
        let mut watch = watch.map_err(|error| Failure::from_display(&error))?;
        watch.start()?;
        let iops = fio(folder, device)?;
        watch.finish()?;
        Ok(iops)
    };
    // The first run warms caches and clocks; it is discarded.
    alone()?;
    let pairs = in_turns(rounds, followed, alone)?;
    let (mut inside, mut beyond) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let watch = RequestWatch::on_groups(root, &hierarchy, &[], std::slice::from_ref(&name));
        let mut watch = watch.map_err(|error| Failure::from_display(&error))?;
        watch.start()?;
        let following = in_programs(folder, device, || watch.ran())?;
        drop(watch);
        let empty = Programs::load(root, EMPTY_DISK)?;
        beyond.push(following - in_programs(folder, device, || empty.ran())?);
        inside.push(following);
    }
    Ok(vec![
        as_peer("throughput with requests followed / without", &pairs, MARGIN, |iops| *iops)?,
        each_request(&pairs)?,
        bound("following requests, by the kernel's clock of the programs", &inside)?,
        bound("the same, beyond empty programs", &beyond)?,
    ])
}

/// Nanoseconds a request in programs, by the kernel's clock.
fn in_programs(
    folder: &Path,
    device: &Path,
    counted: impl Fn() -> Option<Ran>,
) -> Result<f64, Failure> {
    let _measured = RunTimes::measure()?;
    let requests = fio(folder, device)? * f64::from(SECONDS);
    Ok(ran(counted())?.ns as f64 / requests)
}

/// What the kernel measured of programs.
pub(crate) fn ran(ran: Option<Ran>) -> Result<Ran, Failure> {
    let unknown = || Failure::Failed("the kernel does not tell how long programs run".to_owned());
    ran.ok_or_else(unknown)
}

/// How much longer a request takes.
fn each_request(pairs: &[Pair<f64>]) -> Result<Figure, Failure> {
    let longer: Vec<f64> = pairs.iter().map(|pair| 1e9 / pair.ours - 1e9 / pair.peer).collect();
    bound("following requests", &longer)
}

fn bound(name: &str, ns: &[f64]) -> Result<Figure, Failure> {
    let estimate = Estimate::robust(ns, CONFIDENCE)
        .ok_or_else(|| Failure::Failed("too few rounds for an interval".to_owned()))?;
    Ok(Figure::bound(name, estimate, AT_MOST_NS, &NS))
}

/// Reads at random as fast as the disk allows.
fn fio(folder: &Path, device: &Path) -> Result<f64, Failure> {
    let output = folder.join("requests.json");
    let mut command = Command::new("fio");
    command
        .args(["--name=requests", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=libaio"])
        .args(["--iodepth=32", "--thread", "--time_based", "--output-format=json", "--eta=never"])
        .arg(format!("--runtime={SECONDS}"))
        .arg(format!("--filename={}", device.display()))
        .arg(format!("--output={}", output.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let failed = |cause: std::io::Error| Failure::Failed(format!("fio: {cause}"));
    let status = child::wait(&mut command.spawn().map_err(failed)?)?;
    if !status.success() {
        return Err(Failure::Failed(format!("fio ended with {status}")));
    }
    let text = std::fs::read_to_string(&output).map_err(failed)?;
    let parsed = parse_output(&text).map_err(|error| Failure::Failed(error.0))?;
    let iops = parsed.metrics.get("read_iops").copied().filter(|iops| *iops > 0.0);
    iops.ok_or_else(|| Failure::Failed("fio reported no reads".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Reached;

    #[test]
    fn half_a_microsecond_at_50_000_requests_a_second_is_within_the_target() {
        let pairs = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0]
            .map(|noise| Pair { ours: 48_780.0 + noise, peer: 50_000.0 });
        let figure = each_request(&pairs).unwrap();
        assert_eq!(figure.reached, Reached::Yes);
        assert!(figure.measured.starts_with("500"), "{}", figure.measured);
    }
}
