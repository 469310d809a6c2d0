//! What runs beside what: tests that only compute on all CPUs; beside them, one after the other, tests of
//! the host that a busy CPU does not change, and tests that have a guest; and when nothing of this runs
//! any more, those that measure.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::Choice;
use crate::binary::Binary;
use crate::pass::{Later, Pass, Turn, Which};

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
    guests: VecDeque<Job<'b>>,
    /// Whether a test has a guest now.
    guest_now: bool,
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
        guests: VecDeque::new(),
        guest_now: false,
        quiet: VecDeque::new(),
        passes: Vec::new(),
    };
    let lanes = Lanes { board: Mutex::new(board), changed: Condvar::new(), quick: choice.quick };
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| lanes.compute());
        }
        scope.spawn(|| lanes.have_guests());
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
            let job = |turn: Turn| {
                let of_turn = |later: &&Later| later.turn == turn;
                let names: Vec<String> =
                    pass.later.iter().filter(of_turn).map(|later| later.name.clone()).collect();
                (!names.is_empty()).then_some(Job { binary, names })
            };
            board.busy.extend(job(Turn::Busy));
            board.guests.extend(job(Turn::Guest));
            board.quiet.extend(job(Turn::Quiet));
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

    fn have_guests(&self) {
        while let Some(job) = self.next_guest().filter(|_| !self.quick) {
            let pass = one(job.binary, &Which::These(job.names));
            let mut board = self.board();
            board.guest_now = false;
            board.passes.push(pass);
            self.changed.notify_all();
        }
    }

    /// The next tests that may have the host now, as soon as there are any.
    fn next(&self) -> Option<Job<'b>> {
        let mut board = self.board();
        loop {
            if let Some(job) = board.busy.pop_front() {
                return Some(job);
            }
            let has_guests = board.guest_now || !board.guests.is_empty();
            if !board.computes() && (self.quick || !has_guests) {
                return board.quiet.pop_front();
            }
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The next tests that have a guest.
    fn next_guest(&self) -> Option<Job<'b>> {
        let mut board = self.board();
        loop {
            if let Some(job) = board.guests.pop_front() {
                board.guest_now = true;
                return Some(job);
            }
            if !board.computes() {
                return None;
            }
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Board<'_> {
    fn computes(&self) -> bool {
        self.computing_now > 0 || !self.computing.is_empty()
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
