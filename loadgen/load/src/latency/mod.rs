//! latency: the latency of loads while other threads use the memory, from none to as much as they
//! can, laid out as in Intel's Memory Latency Checker. docs/load/memory.md describes what is
//! measured.

mod curve;
mod measure;
mod output;
mod pressure;

use assay_load_memory::pointer_ring::LINE;
use assay_sys::kernel::{Root, affinity, signal};
use assay_sys::units::{Bytes, CpuSet};
use clap::Args;

use crate::arguments::Shared;
use crate::caches;
use crate::chase;
use crate::failure::Failure;
use crate::footprint::{Footprint, Phase};
use crate::generator::{Finished, Generator};
use crate::output::Reporter;
use measure::Job;
use pressure::Traffic;

/// Size of working sets as a multiple of the last-level caches.
const CACHE_MULTIPLE: u64 = 4;
/// Assumed last-level cache if the kernel reports none.
const UNKNOWN_CACHE: u64 = 64 << 20;
/// Minimum memory of an aggressor, so that its own caches do not hold it.
const MIN_LOAD: u64 = 8 << 20;
/// Touched part of a thread's stack.
const THREAD_BYTES: u64 = 24 << 10;
/// Program code and data touched only during the run.
const PROGRAM_BYTES: u64 = 128 << 10;

/// Command-line arguments.
#[derive(Debug, Clone, Args)]
pub(crate) struct Latency {
    /// Computing steps of an aggressor after each line of 64 bytes; one point of the curve each
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    #[arg(default_value = "20000,5000,2500,1000,700,500,400,300,200,100,50,25,15,8,4,2,0")]
    delays: Vec<u64>,
    /// What the aggressors do
    #[arg(long, value_enum, default_value_t = Traffic::Read)]
    traffic: Traffic,
    /// Working set of the victim [default: four times the last cache]
    #[arg(long, value_name = "BYTES")]
    size: Option<Bytes>,
    /// Memory of all aggressors together [default: four times their last caches]
    #[arg(long, value_name = "BYTES")]
    load_size: Option<Bytes>,
    /// Samples of each point; their median counts
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    samples: u32,
    /// Length of a sample in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=60_000))]
    sample_ms: u64,
}

impl Latency {
    fn job(&self, root: &Root, shared: &Shared) -> Result<Job, Failure> {
        let allowed = affinity::allowed_cpus(std::process::id())?;
        let cpus = cpus(root, &allowed, shared.threads.map(usize::from))?;
        let default = |cpus: &[u16]| match caches::last_level_bytes(root, cpus) {
            0 => CACHE_MULTIPLE * UNKNOWN_CACHE,
            bytes => CACHE_MULTIPLE * bytes,
        };
        let aggressors = cpus.len() as u64 - 1;
        let size = self.size.map_or_else(|| default(&cpus[..1]), Bytes::get);
        let load = self
            .load_size
            .map_or_else(|| default(&cpus[1..]).max(MIN_LOAD * aggressors), Bytes::get);
        if size < 4096 || load < 4096 * aggressors {
            return Err(Failure::usage(
                "--size and --load-size: must be at least 4096 bytes for each thread",
            ));
        }
        Ok(Job {
            cpus,
            delays: self.delays.clone(),
            traffic: self.traffic,
            size: size / LINE as u64 * LINE as u64,
            load,
            samples: self.samples,
            sample_ns: self.sample_ms * 1_000_000,
        })
    }
}

/// The victim's CPU, and one for each aggressor. An SMT sibling of the victim's core is left out:
/// it would compete for its first-level caches and not for the memory.
fn cpus(root: &Root, allowed: &[u16], threads: Option<usize>) -> Result<Vec<u16>, Failure> {
    let victim = allowed.first().copied().unwrap_or(0);
    let file = format!("/sys/devices/system/cpu/cpu{victim}/topology/thread_siblings_list");
    let siblings: Option<CpuSet> = root.read_trimmed(file).ok().and_then(|list| list.parse().ok());
    let is_free =
        |cpu: &u16| *cpu != victim && !siblings.as_ref().is_some_and(|all| all.contains(*cpu));
    let mut cpus = vec![victim];
    cpus.extend(allowed.iter().copied().filter(is_free));
    let threads_needed = threads.unwrap_or(cpus.len());
    if threads_needed < 2 {
        return match threads {
            Some(_) => Err(Failure::usage("--threads: a victim and at least one aggressor")),
            None => Err(Failure::Unable {
                what: "no CPU for an aggressor outside the victim's core".to_owned(),
                remedy: "allow CPUs of at least two cores".to_owned(),
            }),
        };
    }
    if threads_needed > cpus.len() {
        return Err(Failure::Unable {
            what: format!(
                "{threads_needed} threads need a CPU each, and {} are available outside the victim's core",
                cpus.len() - 1
            ),
            remedy: "use fewer --threads, or allow more CPUs".to_owned(),
        });
    }
    cpus.truncate(threads_needed);
    Ok(cpus)
}

impl Generator for Latency {
    const NAME: &'static str = "latency";
    const ABOUT: &'static str =
        "The latency of loads under increasing memory traffic of other threads";

    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure> {
        let job = self.job(&Root::real(), shared)?;
        let threads = THREAD_BYTES * job.cpus.len() as u64;
        let linking = vec![
            ("lines", job.size),
            ("order", chase::linking_bytes(job.size)),
            ("program", PROGRAM_BYTES),
        ];
        let loaded = vec![
            ("lines", job.size),
            ("aggressors", job.load),
            ("threads", threads),
            ("program", PROGRAM_BYTES),
        ];
        Ok(Footprint::new(vec![
            Phase { name: "linking", parts: linking },
            Phase { name: "curve", parts: loaded },
        ]))
    }

    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure> {
        signal::note_interruptions();
        let root = Root::real();
        let job = self.job(&root, shared)?;
        let (curve, backing) = measure::run(&job, shared, &root, reporter)?;
        Ok(Finished { report: output::report(&job, &curve), backing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(siblings: &str) -> tempfile::TempDir {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("sys/devices/system/cpu/cpu0/topology");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("thread_siblings_list"), format!("{siblings}\n")).unwrap();
        tree
    }

    #[test]
    fn the_sibling_of_the_victim_is_not_an_aggressor() {
        let tree = host("0,4");
        let root = Root::at(tree.path());
        assert_eq!(cpus(&root, &[0, 1, 4, 5], None).unwrap(), [0, 1, 5]);
        assert_eq!(cpus(&root, &[0, 1, 4, 5], Some(2)).unwrap(), [0, 1]);
        let failure = cpus(&root, &[0, 1, 4, 5], Some(4)).unwrap_err();
        assert!(failure.to_string().contains("4 threads need a CPU each"), "{failure}");
    }

    #[test]
    fn without_a_second_core_the_remedy_is_named() {
        let tree = host("0-1");
        let failure = cpus(&Root::at(tree.path()), &[0, 1], None).unwrap_err();
        assert_eq!(failure.exit_code(), 4);
        let one = cpus(&Root::at(tree.path()), &[0, 1, 2], Some(1)).unwrap_err();
        assert_eq!(one.exit_code(), 2);
    }
}
