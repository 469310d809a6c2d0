//! `assay-fuzz`: fuzzes every reader of external input (`make fuzz`).

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_fuzzer::run("assay-fuzz", &assay_fuzz::TARGETS)
}
