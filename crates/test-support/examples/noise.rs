//! `cargo run -p assay-test-support --example noise -- 600`: foreign groups, loop devices, mounts and processes that
//! come and go, and one busy CPU, for this many seconds; the suite must pass beside it.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::spin_loop;
use std::time::{Duration, Instant};

fn main() {
    let seconds = std::env::args().nth(1).unwrap().parse().unwrap();
    let noise = assay_test_support::Noise::start();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds) {
        spin_loop();
    }
    println!("{} rounds", noise.rounds());
}
