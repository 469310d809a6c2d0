//! Watching a command in a group of its own, under limits if wanted.

use std::path::Path;

use assay_blame::Answer;
use assay_exec::{Failure, Outcome, Request, Watcher, exec_watched};
use assay_host::gather;
use assay_kernel::{Error as KernelError, Root};

use super::classes::Hierarchy;
use super::{Watch, hierarchy};
use crate::code::Code;
use crate::context::Context;
use crate::error::Error;

/// A command that was run and watched.
#[derive(Debug)]
pub struct BlamedCommand {
    /// Where its waiting went.
    pub answer: Answer,
    /// How it ended, and what it used.
    pub outcome: Outcome,
}

/// Runs a command in a group of its own, as `assay exec` does, and watches that group meanwhile.
///
/// ```no_run
/// # fn example(request: &assay_exec::Request) -> Result<(), assay_session::Error> {
/// use assay_session::{Context, blame_command};
/// let context = Context::of_this_host(Vec::new());
/// let watched = blame_command(&context, request, &mut |message| eprintln!("{message}"))?;
/// println!("{}", assay_blame::text(&watched.answer));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The command cannot be run, or the kernel or its policy refuses the programs; the host is restored.
pub fn blame_command(
    context: &Context,
    request: &Request,
    notify: &mut dyn FnMut(&str),
) -> Result<BlamedCommand, Error> {
    let hierarchy = hierarchy(context)?;
    let facts = gather(&context.root).map_err(Error::host)?;
    let mut watcher =
        CommandWatcher { root: &context.root, hierarchy: &hierarchy, watch: None, answer: None };
    let outcome =
        exec_watched(request, &facts, notify, &mut watcher).map_err(|failure| explain(&failure))?;
    let answer = watcher.answer.ok_or_else(|| Error::host("the command was not watched"))?;
    let answer = answer.map_err(Error::host)?;
    Ok(BlamedCommand { answer, outcome })
}

struct CommandWatcher<'c> {
    root: &'c Root,
    hierarchy: &'c Hierarchy,
    watch: Option<Watch>,
    answer: Option<Result<Answer, KernelError>>,
}

impl Watcher for CommandWatcher<'_> {
    fn begin(&mut self, directory: Option<&Path>) -> Result<(), KernelError> {
        let lacking =
            |reason: String| KernelError::unexpected("watch", Path::new("the group"), reason);
        let directory =
            directory.ok_or_else(|| lacking("it has no controller `cpu`".to_owned()))?;
        let path = directory.display().to_string();
        let watch = Watch::on_group(self.root, self.hierarchy, &path);
        let mut watch = watch.map_err(|error| lacking(error.to_string()))?;
        watch.start()?;
        self.watch = Some(watch);
        Ok(())
    }

    fn end(&mut self) {
        self.answer = self.watch.take().map(Watch::finish);
    }
}

fn explain(failure: &Failure) -> Error {
    match failure {
        Failure::Refused(refused) => {
            let reasons = refused.iter().map(ToString::to_string).collect::<Vec<_>>();
            Error::usage(reasons.join("\n"))
        }
        Failure::NotRunnable(error) => Error::usage(error),
        Failure::Host(error) => Error::host(error),
        Failure::Interrupted(_) => Error::ended(Code::Interrupted),
        Failure::NotRestored(why, errors) => {
            let mut reasons = explain(why).reasons;
            reasons.extend(errors.iter().map(|error| format!("not restored: {error}")));
            Error { reasons, ..Error::ended(Code::RestoreIncomplete) }
        }
    }
}
