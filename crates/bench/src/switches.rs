//! What the programs of `assay blame` add to a switch of threads with its wake-up, beyond programs that do nothing at
//! the same tracepoints: two threads that pass a byte back and forth through pipes, on one CPU.

use std::io::{Read, Write, pipe};
use std::time::Instant;

use assay_bpf::{EMPTY, Programs};
use assay_host::gather;
use assay_kernel::bpf_info::{Ran, RunTimes};
use assay_kernel::{Error, Root, affinity};
use assay_sample::waits::{CpuHierarchy, WaitWatch};

use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::requests::ran;
use crate::statistics::Estimate;

/// Rounds of the two threads in each measurement, with two switches each.
const PASSES: usize = 20_000;
const SWITCHES: usize = 2 * PASSES;

/// Nanoseconds that are allowed.
const TARGET: f64 = 120.0;

const NS: Shown = Shown { factor: 1.0, unit: "ns", decimals: 0 };

/// What is at the tracepoints.
#[derive(Debug, Clone, Copy)]
enum Attached {
    Nothing,
    Empty,
    Unwatched,
    Watched,
}

/// All of them in turns, `rounds` times; differences are taken within a round.
pub(crate) fn measure(rounds: usize) -> Result<Vec<Figure>, Failure> {
    let root = Root::real();
    let hierarchy = CpuHierarchy::new(&gather(&root)?).map_err(failed)?;
    let (mut empty, mut unwatched, mut watched) = (Vec::new(), Vec::new(), Vec::new());
    let (mut unwatched_inside, mut watched_inside) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let one = |attached| with(&root, &hierarchy, attached);
        let nothing = one(Attached::Nothing)?;
        let base = one(Attached::Empty)?;
        unwatched.push(one(Attached::Unwatched)?.passing - base.passing);
        watched.push(one(Attached::Watched)?.passing - base.passing);
        empty.push(base.passing - nothing.passing);
        // Apart, since each program takes longer while the kernel measures it.
        let _measured = RunTimes::measure()?;
        let base = one(Attached::Empty)?;
        unwatched_inside.push(one(Attached::Unwatched)?.inside - base.inside);
        watched_inside.push(one(Attached::Watched)?.inside - base.inside);
    }
    let remark = format!("empty programs alone: {}", NS.interval(estimate(&empty)?));
    let figure = |name: &str, values: &[f64]| {
        Ok::<_, Failure>(Figure::bound(name, estimate(values)?, TARGET, &NS))
    };
    let mut figures = vec![
        figure("a switch with its wake-up, not watched, beyond empty programs", &unwatched)?,
        figure("a switch with its wake-up, watched, beyond empty programs", &watched)?,
    ];
    figures.iter_mut().for_each(|figure| figure.remarks.push(remark.clone()));
    // Of programs on all CPUs, while only these switches are counted.
    figures.extend([
        figure("the same, not watched, by the kernel's clock of the programs", &unwatched_inside)?,
        figure("the same, watched, by the kernel's clock of the programs", &watched_inside)?,
    ]);
    Ok(figures)
}

fn estimate(values: &[f64]) -> Result<Estimate, Failure> {
    Estimate::robust(values, 0.95).ok_or_else(|| failed("too few rounds"))
}

/// Nanoseconds a switch with its wake-up.
struct Switch {
    /// Of the clock on the wall.
    passing: f64,
    /// In programs: 0 unless the kernel measures them.
    inside: f64,
}

/// What a switch takes while these programs are attached.
fn with(root: &Root, hierarchy: &CpuHierarchy, attached: Attached) -> Result<Switch, Failure> {
    let process = |id| {
        let mut watch = WaitWatch::on_process(root, hierarchy, id).map_err(failed)?;
        watch.start()?;
        Ok::<_, Failure>(watch)
    };
    match attached {
        Attached::Nothing => Ok(Switch { passing: ping_pong()?, inside: 0.0 }),
        Attached::Empty => {
            let programs = Programs::load(root, EMPTY)?;
            passed(|| programs.ran())
        }
        Attached::Unwatched => {
            let watch = process(1)?;
            passed(|| watch.ran())
        }
        Attached::Watched => {
            let watch = process(std::process::id())?;
            passed(|| watch.ran())
        }
    }
}

fn passed(counted: impl Fn() -> Option<Ran>) -> Result<Switch, Failure> {
    let before = ran(counted())?.ns;
    let passing = ping_pong()?;
    let inside = (ran(counted())?.ns - before) as f64 / SWITCHES as f64;
    Ok(Switch { passing, inside })
}

fn ping_pong() -> Result<f64, Failure> {
    let (mut there_read, mut there_write) = pipe().map_err(failed)?;
    let (mut back_read, mut back_write) = pipe().map_err(failed)?;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || -> Result<(), Failure> {
            bind()?;
            let mut byte = [0];
            for _ in 0..PASSES {
                there_read.read_exact(&mut byte).map_err(failed)?;
                back_write.write_all(&byte).map_err(failed)?;
            }
            Ok(())
        });
        let this = scope.spawn(move || -> Result<f64, Failure> {
            bind()?;
            let begun = Instant::now();
            let mut byte = [0];
            for _ in 0..PASSES {
                there_write.write_all(&byte).map_err(failed)?;
                back_read.read_exact(&mut byte).map_err(failed)?;
            }
            Ok(begun.elapsed().as_nanos() as f64 / SWITCHES as f64)
        });
        let ended = other.join().map_err(|_| failed("the other thread has ended"))?;
        let measured = this.join().map_err(|_| failed("the thread has ended"))?;
        ended.and(measured)
    })
}

fn bind() -> Result<(), Error> {
    affinity::bind_self(&[0])
}

fn failed(reason: impl std::fmt::Display) -> Failure {
    Failure::Failed(reason.to_string())
}
