//! `assay run`

use assay_runner::Request;
use assay_session::{
    Code, Ended, Error, ErrorRecord, RunOptions, conclude, execute, open_run, prepare, update_index,
};

use crate::args::RunArguments;
use crate::command::check::check;
use crate::command::compare;
use crate::command::export::{finish_live, start_live};
use crate::command::judge::show;
use crate::observer::{Terminal, load, this_host};

/// Runs a study from its file to its verdict.
pub(crate) fn run(arguments: &RunArguments) -> Result<Code, Error> {
    let mut observer = ErrorRecord::new(Terminal);
    let result = carry_out(arguments, &mut observer);
    match &arguments.errors_json {
        Some(out) => observer.write(out, result),
        None => result,
    }
}

fn carry_out(
    arguments: &RunArguments,
    observer: &mut ErrorRecord<Terminal>,
) -> Result<Code, Error> {
    if arguments.dry_run {
        return check(&arguments.study, arguments.json);
    }
    if let Some(baseline) = &arguments.baseline {
        // A baseline that cannot be read is refused before it costs a run.
        open_run(baseline, observer)?;
    }
    let context = this_host();
    let loaded = load(&arguments.study.choice(), arguments.json)?;
    let options = RunOptions {
        destination: arguments.trust.destination(arguments.out.as_deref()),
        predict: arguments.predict,
        shard: arguments.shard,
    };
    let request = prepare(&context, loaded, &options, observer)?;
    let live = arguments.live_jsonl.as_deref();
    let live = live.map(|out| start_live(&request.folder, out)).transpose()?;
    let finished = execute(&context, &request, observer);
    if let Some(live) = live {
        finish_live(live);
    }
    let finished = finished?;
    let ended = conclude(&request, &finished, observer);
    if let Some(judgement) = &ended.judgement {
        show(&request.folder, &finished.manifest, judgement, arguments.json);
    }
    update_index(&request.folder, observer);
    Ok(with_baseline(arguments, &request, &ended))
}

/// The exit code of the run, or of its comparison with the baseline.
fn with_baseline(arguments: &RunArguments, request: &Request, ended: &Ended) -> Code {
    match (&arguments.baseline, ended.code) {
        (Some(baseline), Code::Kept | Code::Broken | Code::Undecided) => {
            compare::after_run(baseline, &request.folder, ended.code)
        }
        (_, code) => code,
    }
}
