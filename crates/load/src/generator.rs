//! What a load generator is: arguments, a footprint that is known before anything is allocated,
//! and a run that ends with a report.

use assay_kernel::Root;
use clap::{ArgMatches, Args, Command};
use serde_json::{Value, json};

use crate::arguments::{Shared, command_of};
use crate::failure::Failure;
use crate::footprint::{Footprint, shown};
use crate::headroom::Headroom;
use crate::measured::{self, Backing, known};
use crate::output::Reporter;
use crate::placement;

/// A generator. Its own arguments are its fields, read by clap.
pub trait Generator: Args {
    /// The name on the command line, as its founders wrote it.
    const NAME: &'static str;
    /// One line for the list of generators.
    const ABOUT: &'static str;

    /// Checks the arguments and says how much memory a run will touch. Allocates nothing.
    fn footprint(&self, shared: &Shared) -> Result<Footprint, Failure>;

    /// Room that it will take on disk, for `--predict`: none where it makes no files.
    fn storage(&self, _: &Shared) -> Result<Option<Value>, Failure> {
        Ok(None)
    }

    /// Runs the load to its end and validates it.
    fn run(&self, shared: &Shared, talk: &dyn Reporter) -> Result<Finished, Failure>;
}

/// What a generator hands over when it is done.
#[derive(Debug)]
pub struct Finished {
    /// Its own result.
    pub report: Report,
    /// What its memory was, read while it was still there.
    pub backing: Backing,
}

/// What a run has to say on stdout, in both forms.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// For people, and for parsers of the original's output.
    pub text: String,
    /// For scripts: an object; the frame adds `generator`, `schema`,
    /// `footprint`, `backing` and, where it was asked for, `placement`.
    pub json: Value,
}

/// A generator as the registry knows it.
#[derive(Debug)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// Its clap command.
    pub command: fn() -> Command,
    /// Reads its arguments and runs it: footprint, check, run, measured peak.
    pub start: fn(&ArgMatches, &Root, &dyn Reporter) -> Result<Report, Failure>,
}

impl Entry {
    /// The entry of a generator.
    #[must_use]
    pub const fn of<G: Generator>() -> Self {
        Self { name: G::NAME, command: command_of::<G>, start: start::<G> }
    }
}

fn start<G: Generator>(
    matches: &ArgMatches,
    root: &Root,
    talk: &dyn Reporter,
) -> Result<Report, Failure> {
    let read = |error: clap::Error| Failure::usage(error.to_string());
    let generator = G::from_arg_matches(matches).map_err(read)?;
    let shared = <Shared as clap::FromArgMatches>::from_arg_matches(matches).map_err(read)?;
    let footprint = generator.footprint(&shared)?.on_top_of(measured::resident(root));
    let headroom = Headroom::read(root);
    if shared.predict {
        let mut report = prediction(G::NAME, &footprint, &headroom);
        if let Some(storage) = generator.storage(&shared)? {
            report.text.push_str(&format!("storage: {storage}\n"));
            report.json["storage"] = storage;
        }
        return Ok(report);
    }
    talk.say(&format!("footprint: {} predicted, {headroom}", shown(footprint.peak())));
    if !shared.anyway {
        headroom.check(&footprint)?;
    }
    let nodes =
        shared.interleave.as_deref().map(|asked| placement::nodes(root, asked)).transpose()?;
    if let Some(nodes) = &nodes {
        placement::interleave(nodes)?;
    }
    let Finished { mut report, backing } = generator.run(&shared, talk)?;
    complete(&mut report, G::NAME, &footprint, root, talk);
    report.json["backing"] = backing.to_json();
    if let Some(nodes) = &nodes {
        report.json["placement"] = placement::proof(nodes, &backing, talk);
    }
    Ok(report)
}

/// The answer to `--predict`.
fn prediction(name: &str, footprint: &Footprint, headroom: &Headroom) -> Report {
    let mut text = format!("footprint_bytes: {}\n", footprint.peak());
    for phase in footprint.phases() {
        text.push_str(&format!("\n{}: {} bytes\n", phase.name, footprint.of(phase)));
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

/// Sets the prediction beside what was really used.
fn complete(
    report: &mut Report,
    name: &str,
    footprint: &Footprint,
    root: &Root,
    talk: &dyn Reporter,
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
            talk.say(&format!("peak: {} (predicted / measured = {part:.3})", shown(peak)));
        }
        Err(reason) => talk.say(&format!("peak: not available: {reason}")),
    }
    report.json["schema"] = 1.into();
    report.json["generator"] = name.into();
    report.json["footprint"] = record;
}
