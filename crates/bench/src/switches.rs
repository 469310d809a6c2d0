//! What the programs of `assay blame` add to a switch of threads with its wake-up, beyond programs that do nothing at
//! the same tracepoints: two threads that pass a byte back and forth through pipes, on one CPU.

use std::io::{Read, Write, pipe};
use std::time::Instant;

use assay_bpf::{EMPTY, Programs};
use assay_host::gather;
use assay_kernel::{Error, Root, affinity};
use assay_sample::waits::{CpuHierarchy, WaitWatch};

use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::statistics::Estimate;

/// Rounds of the two threads in each measurement, with two switches each.
const PASSES: usize = 20_000;

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
    for _ in 0..rounds {
        let one = |attached| with(&root, &hierarchy, attached);
        let nothing = one(Attached::Nothing)?;
        let base = one(Attached::Empty)?;
        unwatched.push(one(Attached::Unwatched)? - base);
        watched.push(one(Attached::Watched)? - base);
        empty.push(base - nothing);
    }
    let remark = format!("empty programs alone: {}", show(&empty)?);
    let figure = |name: &str, values: &[f64]| {
        let estimate = Estimate::robust(values, 0.95).ok_or_else(|| failed("too few rounds"))?;
        Ok::<_, Failure>(Figure::bound(name, estimate, TARGET, &NS))
    };
    let mut figures = vec![
        figure("a switch with its wake-up, not watched, beyond empty programs", &unwatched)?,
        figure("a switch with its wake-up, watched, beyond empty programs", &watched)?,
    ];
    figures.iter_mut().for_each(|figure| figure.remarks.push(remark.clone()));
    Ok(figures)
}

fn show(values: &[f64]) -> Result<String, Failure> {
    let estimate = Estimate::robust(values, 0.95).ok_or_else(|| failed("too few rounds"))?;
    Ok(NS.interval(estimate))
}

/// Nanoseconds a switch while these programs are attached.
fn with(root: &Root, hierarchy: &CpuHierarchy, attached: Attached) -> Result<f64, Failure> {
    let process = |id| {
        let mut watch = WaitWatch::on_process(root, hierarchy, id).map_err(failed)?;
        watch.start()?;
        Ok::<_, Failure>(watch)
    };
    match attached {
        Attached::Nothing => ping_pong(),
        Attached::Empty => {
            let _programs = Programs::load(root, EMPTY)?;
            ping_pong()
        }
        Attached::Unwatched => {
            let _watch = process(1)?;
            ping_pong()
        }
        Attached::Watched => {
            let _watch = process(std::process::id())?;
            ping_pong()
        }
    }
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
            Ok(begun.elapsed().as_nanos() as f64 / (2 * PASSES) as f64)
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
