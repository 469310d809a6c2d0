//! The interface of a load generator: arguments, a footprint that is known before anything is
//! allocated, and a run that ends with a report.

use assay_sys::kernel::Root;
use clap::{ArgMatches, Args, Command};
use serde_json::{Value, json};

use crate::arguments::{Shared, generator_command};
use crate::failure::Failure;
use crate::footprint::{Footprint, format_bytes};
use crate::headroom::Headroom;
use crate::measured::{self, Backing, known};
use crate::output::Reporter;
use crate::placement;

/// A generator. Its own arguments are its fields, parsed by clap.
pub trait Generator: Args {
    /// The name on the command line, as in the original program.
    const NAME: &'static str;
    /// One line for the list of generators.
    const ABOUT: &'static str;

    /// Checks the arguments and predicts the memory of a run. Allocates nothing large.
    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure>;

    /// Predicted disk space for `--predict`; none for a generator without files.
    fn storage(&self, _: &Shared) -> Result<Option<Value>, Failure> {
        Ok(None)
    }

    /// Runs the load to its end and validates it. Calls `shared.ready()` exactly once, before the first
    /// operation that counts. With a duration, SIGINT ends it early with a report of the results so far.
    fn run(&self, shared: &Shared, reporter: &dyn Reporter) -> Result<Finished, Failure>;
}

/// The outcome of a generator's run.
#[derive(Debug)]
pub struct Finished {
    /// Its own result.
    pub report: Report,
    /// How its memory was backed, read while it was still allocated.
    pub backing: Backing,
}

/// The result of a run for stdout, in both forms.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// For people, and for parsers of the original's output.
    pub text: String,
    /// For scripts: an object; the framework adds `generator`, `schema`, `footprint`, `backing`
    /// and, with `--interleave`, `placement`.
    pub json: Value,
}

/// A generator in the registry.
#[derive(Debug)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// Its clap command.
    pub command: fn() -> Command,
    /// Parses its arguments and runs it: footprint, check, run, measured peak.
    pub start: fn(&ArgMatches, &Root, &dyn Reporter) -> Result<Report, Failure>,
}

impl Entry {
    /// The entry of a generator.
    #[must_use]
    pub const fn new<G: Generator>() -> Self {
        Self { name: G::NAME, command: generator_command::<G>, start: start::<G> }
    }
}

fn start<G: Generator>(
    matches: &ArgMatches,
    root: &Root,
    reporter: &dyn Reporter,
) -> Result<Report, Failure> {
    let read = |error: clap::Error| Failure::usage(error.to_string());
    let generator = G::from_arg_matches(matches).map_err(read)?;
    let shared = <Shared as clap::FromArgMatches>::from_arg_matches(matches).map_err(read)?;
    let footprint = generator.footprint(&shared)?.with_base(measured::resident(root));
    let headroom = Headroom::read(root);
    if shared.predict {
        let mut report = prediction(G::NAME, &footprint, &headroom);
        if let Some(storage) = generator.storage(&shared)? {
            report.text.push_str(&format!("storage: {storage}\n"));
            report.json["storage"] = storage;
        }
        return Ok(report);
    }
    reporter.line(&format!("footprint: {} predicted, {headroom}", format_bytes(footprint.peak())));
    if !shared.anyway {
        headroom.check(&footprint)?;
    }
    let nodes =
        shared.interleave.as_deref().map(|list| placement::nodes(root, list)).transpose()?;
    if let Some(nodes) = &nodes {
        placement::interleave(nodes)?;
    }
    let Finished { mut report, backing } = generator.run(&shared, reporter)?;
    complete(&mut report, G::NAME, &footprint, root, reporter);
    report.json["backing"] = backing.to_json();
    if let Some(nodes) = &nodes {
        report.json["placement"] = placement::verify(nodes, &backing, reporter);
    }
    Ok(report)
}

/// The output of `--predict`.
fn prediction(name: &str, footprint: &Footprint, headroom: &Headroom) -> Report {
    let mut text = format!("footprint_bytes: {}\n", footprint.peak());
    for phase in footprint.phases() {
        text.push_str(&format!("\n{}: {} bytes\n", phase.name, footprint.phase_bytes(phase)));
        for (part, bytes) in &phase.parts {
            text.push_str(&format!("  {part}: {bytes}\n"));
        }
    }
    text.push_str(&format!("\n{headroom}\n"));
    let json = json!({
        "schema": 1,
        "generator": name,
        "footprint": { "predicted_bytes": footprint.peak(), "phases": footprint.to_json() },
        "headroom": headroom.to_json(),
    });
    Report { text, json }
}

/// Reports the prediction together with the measured peak.
fn complete(
    report: &mut Report,
    name: &str,
    footprint: &Footprint,
    root: &Root,
    reporter: &dyn Reporter,
) {
    let mut record = json!({
        "predicted_bytes": footprint.peak(),
        "phases": footprint.to_json(),
    });
    let peak = measured::peak(root);
    record["measured_peak_bytes"] = known(peak.as_ref().map(|peak| json!(peak)));
    match peak {
        Ok(peak) => {
            let part = footprint.peak() as f64 / peak as f64;
            reporter
                .line(&format!("peak: {} (predicted / measured = {part:.3})", format_bytes(peak)));
        }
        Err(reason) => reporter.line(&format!("peak: not available: {reason}")),
    }
    report.json["schema"] = 1.into();
    report.json["generator"] = name.into();
    report.json["footprint"] = record;
}
