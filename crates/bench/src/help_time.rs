//! Measures the duration of `assay --help`, which users wait for at a prompt.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::failure::Failure;
use crate::figure::{Figure, Shown};
use crate::idle_wait;
use crate::starts::median;

/// Target in seconds.
const TARGET: f64 = 0.020;

const MILLISECONDS: Shown = Shown { factor: 1e3, unit: "ms", decimals: 1 };

/// Runs `assay --help` this many times.
pub(crate) fn measure(program: &Path, times: usize) -> Result<Figure, Failure> {
    let busy = idle_wait::wait()?;
    let mut seconds = Vec::new();
    for _ in 0..times {
        let began = Instant::now();
        let status = Command::new(program)
            .arg("--help")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(|cause| Failure::Failed(format!("cannot start {program:?}: {cause}")))?;
        seconds.push(began.elapsed().as_secs_f64());
        if !status.success() {
            return Err(Failure::Failed(format!("`assay --help` ended with {status}")));
        }
    }
    let mut figure = Figure::bound("assay --help", median(&seconds)?, TARGET, &MILLISECONDS);
    figure.remarks.push(format!("median [smallest, largest] of {times} processes"));
    figure.remarks.extend(idle_wait::remark(busy));
    Ok(figure)
}
