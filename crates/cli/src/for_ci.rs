//! Arguments for continuous integration: verdicts as JUnit XML, and which of them fail a job.

use std::path::PathBuf;

use assay_judge::FailOn;
use assay_judge::verdict::Judgement;
use assay_record::run_folder::Manifest;
use assay_sys::exit::{Code, Error};
use clap::Args;

use crate::destination::Destination;
use crate::output;
use crate::parsers::one_of;

/// What a CI job asks of a judged run.
#[derive(Debug, Args)]
pub(crate) struct CiArguments {
    /// Write the verdicts as JUnit XML
    ///
    /// A promise is a test case, undecided and void ones are skipped; `-` for stdout instead of the table.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Fail on undecided, void or broken, and worse
    ///
    /// `undecided` (the default), `void` or `broken`. Milder verdicts end with code 0.
    #[arg(long, value_name = "VERDICT", default_value = "undecided", hide_default_value = true, hide_possible_values = true, value_parser = one_of(&FailOn::ALL))]
    fail_on: FailOn,
}

/// The same with the file open, so that a path that cannot be written is refused before anything runs.
#[derive(Debug)]
pub(crate) struct ForCi {
    junit: Option<Destination>,
    has_stdout: bool,
    fail_on: FailOn,
}

impl CiArguments {
    pub(crate) fn open(&self) -> Result<ForCi, Error> {
        let has_stdout = self.junit.as_deref().is_some_and(|path| path == "-");
        let junit = self.junit.as_deref().map(Destination::open).transpose()?;
        Ok(ForCi { junit, has_stdout, fail_on: self.fail_on })
    }
}

impl ForCi {
    /// Whether the document is all that stdout gets.
    pub(crate) const fn has_stdout(&self) -> bool {
        self.has_stdout
    }

    /// Writes the document, and returns the code of the job: `code` but for tolerated verdicts, also where a reader
    /// had enough of the document.
    pub(crate) fn conclude(self, judgement: &Judgement, manifest: &Manifest, code: Code) -> Code {
        let code = match code {
            Code::Undecided => self.fail_on.code(judgement.verdict),
            code => code,
        };
        let Some(out) = self.junit else { return code };
        match out.write_text(&assay_report::export::junit(judgement, Some(manifest))) {
            Ok(()) => code,
            // The reader had enough of it.
            Err(error) if error.code == Code::Kept => code,
            Err(error) => {
                output::error(&error);
                code.worse(Code::Host)
            }
        }
    }
}
