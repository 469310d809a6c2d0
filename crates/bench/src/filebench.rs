//! fileserver: Assay compared with filebench 1.5, the same script on the same file system,
//! interleaved.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_kernel::Root;

use crate::assay::write;
use crate::child;
use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::paired::{in_turns, of_peer};
use crate::peer_programs::Programs;

const FILES: u32 = 2000;
const THREADS: u32 = 16;
/// Long enough that creating the files, which both include in their CPU time, matters little.
const SECONDS: u32 = 20;

/// Target: at least the peer's operations per second, so at most its time per operation.
const TIME_OF_PEER: f64 = 1.0;
const CPU_OF_PEER: f64 = 0.7;

/// Both programs.
pub(crate) struct Comparison {
    ours: PathBuf,
    peer: PathBuf,
}

/// Result of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Measured {
    ops: f64,
    ops_per_s: f64,
    cpu_s: f64,
}

impl Comparison {
    /// The peer is the program named by `PEER_FILEBENCH`, ours is next to `assay`. `None` if the
    /// variable is not set.
    pub(crate) fn find(assay: &Path) -> Result<Option<Self>, Failure> {
        let programs = Programs::program("PEER_FILEBENCH", "the program filebench of 1.5", assay)?;
        Ok(programs.map(|Programs { ours, peer }| Self { ours, peer }))
    }

    /// Rounds of one run each, with alternating order. Files are created below `folder`, so that
    /// both are measured on its file system.
    pub(crate) fn measure(&self, folder: &Path, rounds: usize) -> Result<Vec<Figure>, Failure> {
        let busy = idle_wait::wait()?;
        let script = folder.join("fileserver.f");
        write(&script, &fileserver(folder))?;
        let pairs = in_turns(rounds, || self.ours(&script), || self.peer(&script))?;
        let mut figures = vec![
            of_peer("fileserver: time per operation", &pairs, TIME_OF_PEER, |found| {
                found.ops_per_s.recip()
            })?,
            of_peer("fileserver: CPU per operation", &pairs, CPU_OF_PEER, |found| {
                found.cpu_s / found.ops
            })?,
        ];
        for figure in &mut figures {
            figure.remarks.push(format!(
                "{FILES} files, {THREADS} threads, {SECONDS} s a run, {rounds} interleaved rounds"
            ));
            figure.remarks.extend(idle_wait::remark(busy));
        }
        Ok(figures)
    }

    fn ours(&self, script: &Path) -> Result<Measured, Failure> {
        run(Command::new(&self.ours).arg("filebench").arg(script))
    }

    /// Its processes need a shared segment at one address, which randomisation would move.
    fn peer(&self, script: &Path) -> Result<Measured, Failure> {
        run(Command::new("setarch").arg("-R").arg(&self.peer).arg("-f").arg(script))
    }
}

/// The published operations of fileserver.
fn fileserver(folder: &Path) -> String {
    let set = "filesetname=bigfileset";
    let path = folder.display();
    format!(
        "define fileset name=bigfileset,path=\"{path}\",size=128k,entries={FILES},dirwidth=20,prealloc=80\n\
         define process name=p,instances=1\n{{\n  thread name=t,memsize=10m,instances={THREADS}\n  {{\n\
         flowop createfile name=createfile1,{set},fd=1\n\
         flowop writewholefile name=wrtfile1,srcfd=1,fd=1,iosize=1m\n\
         flowop closefile name=closefile1,fd=1\n\
         flowop openfile name=openfile1,{set},fd=1\n\
         flowop appendfilerand name=appendfilerand1,iosize=16k,fd=1\n\
         flowop closefile name=closefile2,fd=1\n\
         flowop openfile name=openfile2,{set},fd=1\n\
         flowop readwholefile name=readfile1,fd=1,iosize=1m\n\
         flowop closefile name=closefile3,fd=1\n\
         flowop deletefile name=deletefile1,{set}\n\
         flowop statfile name=statfile1,{set}\n  }}\n}}\nrun {SECONDS}\n"
    )
}

fn run(command: &mut Command) -> Result<Measured, Failure> {
    let before = cpu_of_children()?;
    let ended = child::output(command);
    let output =
        ended.map_err(|cause| Failure::Failed(format!("cannot start {command:?}: {cause}")))??;
    let cpu_s = cpu_of_children()? - before;
    let text = String::from_utf8_lossy(&output.stdout);
    match summary(&text) {
        Some((ops, ops_per_s)) if output.status.success() => Ok(Measured { ops, ops_per_s, cpu_s }),
        _ => Err(Failure::Failed(format!("{command:?} ended with {}", output.status))),
    }
}

/// Parses operations and operations per second from "IO Summary:  9460 ops 9441.862 ops/s ...".
fn summary(text: &str) -> Option<(f64, f64)> {
    let (_, rest) = text.rsplit_once("IO Summary:")?;
    let mut words = rest.split_whitespace();
    let ops = words.next()?.parse().ok()?;
    let rate = words.nth(1)?.parse().ok()?;
    Some((ops, rate))
}

/// CPU seconds of all reaped children and their children (`cutime` and `cstime` of
/// proc_pid_stat(5)).
fn cpu_of_children() -> Result<f64, Failure> {
    let text =
        Root::real().read("/proc/self/stat").map_err(|error| Failure::Failed(error.to_string()))?;
    let ticks = ticks_of_children(&text)
        .ok_or_else(|| Failure::Failed("/proc/self/stat lacks cutime".to_owned()))?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

fn ticks_of_children(stat: &str) -> Option<u64> {
    // The name may contain spaces and parentheses; fields are counted after the last one.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_summary_counts() {
        let text = "2.088: IO Summary:  9460 ops 9441.862 ops/s 1451/1454 rd/wr  33.0mb/s 0.382ms/op\n\
            4.092: IO Summary: 49034 ops 16313.475 ops/s 2510/2511 rd/wr  59.5mb/s 0.216ms/op\n";
        assert_eq!(summary(text), Some((49034.0, 16313.475)));
        assert_eq!(summary("NO VALID RESULTS!"), None);
    }

    #[test]
    fn time_of_children_is_parsed_after_the_name() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 0 10 20 30 40 5 6 700 80 20 0 1 0";
        assert_eq!(ticks_of_children(stat), Some(780));
    }
}
