//! `assay explain`

use std::path::PathBuf;
use std::time::Duration;

use assay_session::{ExplainOptions, explain, explain_code, is_code};
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::observer::{Terminal, this_host};
use crate::output;
use crate::parsers::repeat_length;
use crate::shared_arguments::TrustArguments;

/// Arguments of `assay explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// Run folder; or a code that Assay printed, such as `C-TAG-CAP`, `A-ANCESTOR` or `A0102`
    #[arg(value_name = "RUN|CODE")]
    run: PathBuf,
    /// Explain this trial of the run, by its number [default: the smallest that failed]
    #[arg(long, value_name = "N")]
    trial: Option<usize>,
    /// Maximum length of a repeat [default: 3s, or that of the run if shorter]
    #[arg(long, value_name = "DURATION", value_parser = repeat_length)]
    at_most: Option<Duration>,
    /// Number of rounds, in each of which every change and the unchanged trial run once; changes that
    /// helped get two more rounds of their own. One round is enough for a failed check; a broken
    /// promise needs 2 or more [default: 4 to 8, until a cause is found]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// Test only this cause or change; may be repeated
    #[arg(long, value_name = "CAUSE")]
    only: Vec<String>,
    /// Folder of the interventions [default: `runs/<time>-<study>-explain`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    /// Start the study even if the run folder comes from another host or another user
    #[arg(long = "trust")]
    trust_run: bool,
    /// Print explain.json instead of text
    #[arg(long)]
    json: bool,
}

/// Columns of running text.
const READABLE: usize = 100;

/// Repeats the smallest failed trial, or the one that was asked for, with one change at a time,
/// interleaved with the unchanged trial, and reports which change moved the error. Of a code prints what it means.
pub(crate) fn run(arguments: &ExplainArguments) -> Result<Code, Error> {
    let code = arguments.run.to_str().filter(|text| is_code(text) && !arguments.run.exists());
    if let Some(code) = code {
        let text = explain_code(code)?;
        let width = output::width().min(READABLE);
        let lines = text
            .lines()
            .flat_map(|line| assay_sys::escape::page::wrap(line, width.max(40), "    "));
        output::data(&lines.collect::<Vec<_>>().join("\n"));
        return Ok(Code::Kept);
    }
    let options = ExplainOptions {
        trial: arguments.trial,
        at_most: arguments.at_most,
        rounds: arguments.rounds,
        only: arguments.only.clone(),
        destination: arguments.trust.destination(arguments.out.as_deref()),
        trust_run: arguments.trust_run,
    };
    let explained = explain(&this_host(), &arguments.run, &options, &mut Terminal)?;
    if arguments.json {
        output::json(&explained.explanation)?;
    } else {
        output::data(&assay_report::explanation_text(&explained.explanation, output::width()));
        output::data(&format!("details: {}", explained.folder.file("explain.json").display()));
    }
    Ok(explained.code)
}
