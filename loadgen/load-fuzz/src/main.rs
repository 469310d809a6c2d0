//! `assay-load-fuzz`: fuzzes the readers of `assay-load` (`make fuzz`).

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_fuzzer::run("assay-load-fuzz", &assay_load_fuzz::TARGETS)
}
