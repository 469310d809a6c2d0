//! Judgements of synthetic runs, through the public interface.
// A panic in shared test code is a failure of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod across;
mod causes;
mod checks;
mod compare_grain;
mod compare_placement;
mod compare_runs;
mod compare_unlike;
mod cpu;
mod cpu_proofs;
mod document;
mod left_out;
mod lost;
mod memory;
mod overrides;
mod placement;
mod progress;
mod proofs;
mod recorded;
mod repeats;
mod rule;
mod shipped;
mod spared;
mod surroundings;
mod synthetic;
mod verdicts;
