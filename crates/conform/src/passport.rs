//! What several kernels do in the same cases: the running one, and others in guests of the lab.

mod assemble;
mod columns;
mod document;
#[cfg(test)]
#[path = "passport/tests/fake.rs"]
mod fake;
mod folder;
mod page;
mod results;

use std::path::PathBuf;

use assay_lab::{Cache, GuestSpec};
use assay_run::context::Context;
use assay_sys::exit::{Code, Error};
use assay_sys::files::Trust;
use assay_sys::kernel::signal;

use crate::{Case, Verdict};
use assemble::{Column, assay_version, assemble};
use columns::{Guests, run_on_host};
use folder::{Conditions, Folder};
use results::KernelResults;

pub use assemble::PassportKernelName;
pub use document::{Passport, PassportCase, PassportKernel};
pub use page::page;

/// Tells the user of progress, from any thread.
pub type Say = fn(&str);

/// What a passport is made of.
#[derive(Debug)]
pub struct PassportOptions<'o> {
    /// The kernels.
    pub kernels: Vec<PassportKernelName>,
    /// The cases.
    pub cases: Vec<&'o Case>,
    /// The folder, in which earlier results count.
    pub out: PathBuf,
    /// Whether a folder is used that other users may change.
    pub trust: Trust,
    /// Whether they are removed instead.
    pub fresh: bool,
    /// The guests, but for their kernel.
    pub guest: GuestSpec,
    /// Factor for windows and time limits.
    pub patience: Option<f64>,
}

/// How a kernel's cases ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Interrupted,
    NotRestored,
}

/// A passport, and where it is.
#[derive(Debug)]
pub struct MadePassport {
    /// The passport, as far as it got.
    pub passport: Passport,
    /// Its document.
    pub document: PathBuf,
    /// How the command ends.
    pub code: Code,
}

/// Runs the cases that have no result yet, kernel by kernel, and writes the passport after each.
///
/// # Errors
/// The folder holds something else, or results of other conditions; a guest cannot be made as specified; the cases
/// cannot run on this host.
pub fn make_passport(
    context: &Context,
    options: &PassportOptions<'_>,
    cache: &Cache,
    say: Say,
) -> Result<MadePassport, Error> {
    let kernels = without_repeats(&options.kernels)?;
    if kernels.iter().any(|name| name.choice.is_some()) {
        options.guest.check().map_err(Error::usage)?;
        assay_lab::ready(cache).map_err(Error::host)?;
    }
    let asked = conditions(options);
    let folder = Folder::open(&options.out, options.trust, &asked, options.fresh)?;
    signal::note_interruptions();
    let mut columns = Vec::new();
    for name in &kernels {
        columns.push((*name, folder.results(name)?));
    }
    let mut outcome = Outcome::Done;
    for (at, name) in kernels.iter().enumerate() {
        let ended = run_kernel(context, options, cache, say, name, folder.results(name)?);
        columns[at].1 = folder.results(name)?;
        write(&folder, &assembled(&columns, &options.cases))?;
        outcome = ended?;
        if outcome != Outcome::Done {
            break;
        }
    }
    let passport = assembled(&columns, &options.cases);
    let code = match outcome {
        Outcome::NotRestored => Code::RestoreIncomplete,
        Outcome::Interrupted => Code::Interrupted,
        Outcome::Done => passport_code(&passport),
    };
    Ok(MadePassport { passport, document: folder.document(), code })
}

fn run_kernel(
    context: &Context,
    options: &PassportOptions<'_>,
    cache: &Cache,
    say: Say,
    name: &PassportKernelName,
    results: KernelResults,
) -> Result<Outcome, Error> {
    let Some(choice) = &name.choice else {
        return run_on_host(context, &options.cases, options.patience, results, say);
    };
    let guests = Guests {
        spec: GuestSpec { kernel: choice.clone(), ..options.guest.clone() },
        cases: &options.cases,
        patience: options.patience,
        cache,
        say,
    };
    guests.run(&name.to_string(), results)
}

/// Each kernel once. Two names that have one folder would have one column.
fn without_repeats(kernels: &[PassportKernelName]) -> Result<Vec<&PassportKernelName>, Error> {
    let mut once: Vec<&PassportKernelName> = Vec::new();
    for name in kernels {
        match once.iter().find(|known| known.folder() == name.folder()) {
            None => once.push(name),
            Some(known) if *known == name => {}
            Some(known) => {
                let what = format!("{known} and {name} would share the folder {}", name.folder());
                let hint = "hint: make two passports, each with its own --out";
                return Err(Error::usage(format!("{what}\n  {hint}")));
            }
        }
    }
    Ok(once)
}

fn conditions(options: &PassportOptions<'_>) -> Conditions {
    let guest = &options.guest;
    Conditions {
        schema: 1,
        assay: assay_version(),
        layout: guest.layout.word().to_owned(),
        cpus: guest.cpus,
        nodes: guest.nodes,
        memory: guest.memory,
        swap: guest.swap,
        patience: options.patience,
    }
}

fn assembled(columns: &[(&PassportKernelName, KernelResults)], cases: &[&Case]) -> Passport {
    let columns: Vec<Column<'_>> =
        columns.iter().map(|(name, results)| Column { name, results }).collect();
    assemble(&columns, cases)
}

fn write(folder: &Folder, passport: &Passport) -> Result<(), Error> {
    let document = serde_json::to_string_pretty(passport).map_err(Error::host)?;
    folder.write(&document)
}

/// The exit code of a passport: broken before undecided, void and missing; unavailable cases do not count.
fn passport_code(passport: &Passport) -> Code {
    let verdicts = || passport.cases.iter().flat_map(|case| case.results.values());
    let has = |wanted| verdicts().any(|result| result.verdict == wanted);
    let is_open = passport.kernels.iter().any(|kernel| kernel.missing > 0)
        || has(Verdict::Undecided)
        || has(Verdict::Void);
    match (has(Verdict::Broken), is_open) {
        (true, _) => Code::Broken,
        (false, true) => Code::Undecided,
        (false, false) => Code::Kept,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_counts_once_and_two_of_one_folder_are_refused() {
        let names = |texts: &[&str]| -> Vec<PassportKernelName> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let twice = names(&["host", "./k/vmlinuz", "host", "./k/vmlinuz"]);
        assert_eq!(without_repeats(&twice).unwrap().len(), 2);
        for other in ["../k/vmlinuz", "/k/vmlinuz"] {
            let error = without_repeats(&names(&["./k/vmlinuz", other])).unwrap_err().to_string();
            assert!(error.contains(other) && error.contains("--out"), "{error}");
        }
    }
}
