//! ycsb: Assay compared with the Java client and its RocksDB binding, on data directories that each
//! has loaded with the same records, interleaved in one run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use assay_kernel::{clock, process, signal};
use rustix::process::Signal;

use crate::assay::write;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::paired::{Pair, in_turns, of_peer};
use crate::peer_programs::Programs;

/// Target as a fraction of the peer's time and CPU time per operation.
const PART_OF_PEER: f64 = 0.5;

/// Workload, read and update proportion.
const WORKLOADS: [(&str, &str, &str); 2] = [("c", "1", "0"), ("a", "0.5", "0.5")];
const THREADS: [&str; 2] = ["1", "2"];

/// Both programs and their storage.
pub(crate) struct Comparison {
    ours: PathBuf,
    peer: PathBuf,
    folder: PathBuf,
    records: u64,
}

/// Result of one run: seconds and CPU seconds per operation.
#[derive(Debug, Clone, Copy)]
struct Measured {
    time: f64,
    cpu: f64,
}

impl Comparison {
    /// The peer is the program named by `PEER_YCSB`, called like YCSB's `bin/ycsb`; ours is next to
    /// `assay`. `None` if the variable is not set.
    pub(crate) fn find(assay: &Path, folder: &Path, records: u64) -> Result<Option<Self>, Failure> {
        let programs = Programs::program(
            "PEER_YCSB",
            "a program that takes the arguments of YCSB's bin/ycsb",
            assay,
        )?;
        Ok(programs.map(|Programs { ours, peer }| Self {
            ours,
            peer,
            folder: folder.to_owned(),
            records,
        }))
    }

    /// Both load, then both run interleaved, with alternating order.
    pub(crate) fn measure(&self, rounds: usize) -> Result<Vec<Figure>, Failure> {
        let busy = idle_wait::wait()?;
        for (workload, read, update) in WORKLOADS {
            let properties = format!(
                "recordcount={0}\noperationcount={0}\n\
                 workload=site.ycsb.workloads.CoreWorkload\nreadallfields=true\n\
                 readproportion={read}\nupdateproportion={update}\nscanproportion=0\n\
                 insertproportion=0\nrequestdistribution=zipfian\n",
                self.records
            );
            write(&self.file(workload), &properties)?;
        }
        for (name, program) in self.programs() {
            self.go(name, program, "load", WORKLOADS[0].0, THREADS[0])?;
        }
        let mut figures = Vec::new();
        for (workload, _, _) in WORKLOADS {
            for threads in THREADS {
                let [ours, peer] = self.programs().map(|(name, program)| {
                    move || self.go(name, program, "run", workload, threads)
                });
                let pairs = in_turns(rounds, ours, peer)?;
                for mut figure in of(workload, threads, &pairs)? {
                    figure.remarks.push(format!(
                        "{} records and operations, {rounds} interleaved rounds",
                        self.records
                    ));
                    figure.remarks.extend(idle_wait::remark(busy));
                    figures.push(figure);
                }
            }
        }
        Ok(figures)
    }

    fn programs(&self) -> [(&'static str, &Path); 2] {
        [("ours", &self.ours), ("peer", &self.peer)]
    }

    fn file(&self, workload: &str) -> PathBuf {
        self.folder.join(format!("ycsb-{workload}"))
    }

    fn go(
        &self,
        name: &str,
        program: &Path,
        phase: &str,
        workload: &str,
        threads: &str,
    ) -> Result<Measured, Failure> {
        let wrong = |cause: std::io::Error| Failure::Failed(format!("{name}: {cause}"));
        let output = self.folder.join(format!("ycsb-{name}.out"));
        let data = self.folder.join(format!("ycsb-{name}"));
        let mut command = Command::new(program);
        if name == "ours" {
            command.arg("ycsb");
        }
        command.args([phase, "rocksdb", "-threads", threads, "-P"]).arg(self.file(workload));
        command.arg("-p").arg(format!("rocksdb.dir={}", data.display()));
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command.stdout(File::create(&output).map_err(wrong)?);
        let cpu = cpu_of(&mut command).map_err(wrong)??;
        let text = std::fs::read_to_string(&output).map_err(wrong)?;
        let line =
            text.lines().find_map(|line| line.strip_prefix("[OVERALL], Throughput(ops/sec), "));
        let rate: Option<f64> = line.and_then(|rate| rate.parse().ok());
        match rate.filter(|rate| *rate > 0.0) {
            Some(rate) => Ok(Measured { time: rate.recip(), cpu: cpu / self.records as f64 }),
            None => Err(Failure::Failed(format!("{name}: the {phase} has no throughput: {text}"))),
        }
    }
}

/// Runs it to its end; returns the CPU seconds of all its threads, as last read before the end.
fn cpu_of(command: &mut Command) -> std::io::Result<Result<f64, Failure>> {
    let mut child = command.spawn()?;
    let mut cpu = 0;
    loop {
        cpu = clock::process_cpu_ns(child.id()).unwrap_or(cpu);
        if child.try_wait()?.is_some() {
            return Ok(match signal::interrupted_by() {
                Some(name) => Err(Failure::Interrupted(name)),
                None => Ok(cpu as f64 / 1e9),
            });
        }
        if signal::interrupted_by().is_some() {
            // A child that has just ended needs no signal.
            let _ = process::send(child.id(), Signal::TERM);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn of(workload: &str, threads: &str, pairs: &[Pair<Measured>]) -> Result<Vec<Figure>, Failure> {
    let figure = |what: &str, value: fn(&Measured) -> f64| {
        let name = format!("ycsb {workload}, {threads} threads: {what} per operation");
        of_peer(&name, pairs, PART_OF_PEER, value)
    };
    Ok(vec![figure("time", |found| found.time)?, figure("CPU time", |found| found.cpu)?])
}
