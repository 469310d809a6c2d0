//! Injects ten faults into real runs and counts how many are named first.

use std::path::Path;

use assay_kernel::signal;
use assay_test_support::{Fault, Named};

use crate::failure::Failure;
use crate::figure::Figure;
use crate::idle_wait;
use crate::progress;
use crate::statistics::Reached;

/// Target, of ten.
const TARGET: usize = 9;

/// Runs every fault once, while the host is as idle as possible.
pub(crate) fn measure(assay: &Path, folder: &Path) -> Result<Figure, Failure> {
    let stop = || signal::interrupted_by().is_some();
    let assay = assay
        .canonicalize()
        .map_err(|cause| Failure::Failed(format!("cannot run {}: {cause}", assay.display())))?;
    let faults = Fault::all().map_err(Failure::Failed)?;
    let (mut first, mut busy, mut busiest) = (0, 0, 0.0_f64);
    let mut remarks = Vec::new();
    for fault in &faults {
        busiest = busiest.max(idle_wait::wait()?);
        let run = fault.inject(&assay, folder, &stop).map_err(Failure::Failed)?;
        let outcome = fault.outcome(&assay, &run, &stop).map_err(Failure::Failed)?;
        let named = fault.named(&outcome);
        first += usize::from(named == Named::First);
        busy += usize::from(named == Named::TooBusy);
        let result = match named {
            Named::First => "named first",
            Named::No => "not named first",
            Named::TooBusy => "the host was too busy",
        };
        let mut line =
            format!("{}: {result}; {}, {}", fault.what, outcome.verdict, outcome.causes.join(" "));
        if !outcome.explained.is_empty() {
            line.push_str(&format!("; explained: {}", outcome.explained.join(" ")));
        }
        progress(&line);
        remarks.push(line);
        // The remaining files are small, but no longer needed.
        let _ = std::fs::remove_dir_all(run);
    }
    remarks.extend(idle_wait::remark(busiest));
    Ok(Figure {
        name: "injected faults named first".to_owned(),
        measured: format!("{first} of {}", faults.len()),
        target: format!("at least {TARGET} of {}", faults.len()),
        of_target: None,
        reached: match () {
            () if first >= TARGET => Reached::Yes,
            () if first + busy >= TARGET => Reached::Undecided,
            () => Reached::No,
        },
        remarks,
    })
}
