//! Writes the reports of synthetic runs into a folder for inspection: `cargo run -p assay-report
//! --example gallery -- FOLDER`

mod cases;
mod fixture;

use std::path::PathBuf;

/// Builds a run.
type Case = fn() -> fixture::Run;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let all: [(&str, Case); 11] = [
        ("kept", cases::kept),
        ("broken", cases::broken),
        ("broken-alone", cases::broken_alone),
        ("undecided", cases::undecided),
        ("void", cases::void),
        ("interrupted", cases::interrupted),
        ("without-samples", cases::without_samples),
        ("large", cases::large),
        ("series", cases::series),
        ("across", cases::across),
        ("with-phases", cases::with_phases),
    ];
    for (name, case) in all {
        let run = case();
        let html = assay_report::html(&run.manifest, &run.judgement, &run.samples, None);
        std::fs::write(folder.join(format!("{name}.html")), html)?;
        let text = assay_report::text(&run.manifest, &run.judgement, 100, true);
        std::fs::write(folder.join(format!("{name}.txt")), text)?;
    }
    std::fs::write(folder.join("fleet.html"), assay_report::fleet_html(&cases::fleet()))?;
    Ok(())
}
