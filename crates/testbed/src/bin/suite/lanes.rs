//! What runs beside what: tests that only compute on all CPUs; beside them, one after the other, tests of
//! the host that a busy CPU does not change; and when nothing computes any more, those that measure.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::Choice;
use crate::binary::Binary;
use crate::pass::{Pass, Which};

/// Binaries whose tests compute at the same time.
const SIDE_BY_SIDE: usize = 2;

/// Tests of one binary that have the host.
struct Job<'b> {
    binary: &'b Binary,
    names: Vec<String>,
}

/// What is to be done, and what came of what is done.
struct Board<'b> {
    computing: VecDeque<(&'b Binary, Option<String>)>,
    /// Binaries whose tests compute now.
    computing_now: usize,
    busy: VecDeque<Job<'b>>,
    quiet: VecDeque<Job<'b>>,
    passes: Vec<Pass>,
}

struct Lanes<'b> {
    board: Mutex<Board<'b>>,
    changed: Condvar,
    quick: bool,
}

/// Runs all tests that were chosen.
pub(crate) fn run(binaries: &[Binary], choice: &Choice) -> Vec<Pass> {
    let board = Board {
        computing: binaries.iter().map(|binary| (binary, filter(binary, choice))).collect(),
        computing_now: 0,
        busy: VecDeque::new(),
        quiet: VecDeque::new(),
        passes: Vec::new(),
    };
    let lanes = Lanes { board: Mutex::new(board), changed: Condvar::new(), quick: choice.quick };
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| lanes.compute());
        }
        scope.spawn(|| lanes.have_the_host());
    });
    lanes.board.into_inner().unwrap_or_else(PoisonError::into_inner).passes
}

/// What the names of a binary's tests must contain.
fn filter(binary: &Binary, choice: &Choice) -> Option<String> {
    choice.only.clone().filter(|only| only != binary.room())
}

impl<'b> Lanes<'b> {
    fn board(&self) -> MutexGuard<'_, Board<'b>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compute(&self) {
        let cpus = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = cpus.div_ceil(SIDE_BY_SIDE);
        loop {
            let mut board = self.board();
            let Some((binary, filter)) = board.computing.pop_front() else { return };
            board.computing_now += 1;
            drop(board);
            let pass = one(binary, &Which::Computing { filter, threads });
            let mut board = self.board();
            board.computing_now -= 1;
            let (quiet, busy): (Vec<_>, Vec<_>) = pass.later.iter().partition(|later| later.quiet);
            let job = |later: Vec<&crate::pass::Later>| {
                let names: Vec<String> =
                    later.into_iter().map(|later| later.name.clone()).collect();
                (!names.is_empty()).then_some(Job { binary, names })
            };
            board.busy.extend(job(busy));
            board.quiet.extend(job(quiet));
            board.passes.push(pass);
            self.changed.notify_all();
        }
    }

    fn have_the_host(&self) {
        while let Some(job) = self.next().filter(|_| !self.quick) {
            let pass = one(job.binary, &Which::These(job.names));
            self.board().passes.push(pass);
        }
    }

    /// The next tests that may have the host now, as soon as there are any.
    fn next(&self) -> Option<Job<'b>> {
        let mut board = self.board();
        loop {
            let computes = board.computing_now > 0 || !board.computing.is_empty();
            if let Some(job) = board.busy.pop_front() {
                return Some(job);
            }
            if !computes {
                return board.quiet.pop_front();
            }
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Runs tests of a binary and says so in a line.
fn one(binary: &Binary, which: &Which) -> Pass {
    let begun = Instant::now();
    let pass = Pass::run(binary, which);
    let ran = pass.passed + pass.failed - pass.later.len().min(pass.passed);
    let of_host = matches!(which, Which::These(_));
    if ran > 0 {
        let seconds = begun.elapsed().as_secs_f64();
        let what = if of_host { " of the host" } else { "" };
        println!("{seconds:6.1} s  {}: {ran} tests{what}, {} failed", binary.name, pass.failed);
    }
    pass
}
