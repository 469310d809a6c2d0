//! `assay lab`

mod options;
mod study;

use std::process::ExitCode;

use assay_lab::kernels::{kernels_document, kernels_text};
use assay_lab::study::{guest_task, this_program_in_guest};
use assay_lab::{Argument, Cache, Ended, GuestSpec, GuestTask, Kernel, KernelChoice, Watcher};
use assay_study::DiskOverride;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::signal;
use assay_sys::kernel::stream::write_data;
use clap::{Args, Subcommand};

use crate::output;
use crate::shared_arguments::{FormatArguments, StudyArguments};
use options::GuestArguments;

/// Subcommands of `assay lab`.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a study in a guest and copy its run folder back
    Run(LabRunArguments),
    /// Open a shell in a guest
    Shell(GuestWithDisks),
    /// Run a command in a guest and exit with its exit code
    Exec(LabExecArguments),
    /// Run `assay conform` in a guest
    Conform(LabConformArguments),
    /// List cached kernels and those that can be fetched
    Kernels(KernelsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct KernelsArguments {
    /// Fetch the newest kernel of this name into the cache; may be repeated
    #[arg(long, value_name = "KERNEL")]
    fetch: Vec<KernelChoice>,
    /// Read which kernels other Debian releases have (a download of some 13 MB)
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LabRunArguments {
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    study: StudyArguments,
    /// Run folder
    ///
    /// By default `runs/<time>-<study>`.
    #[arg(long, value_name = "DIR")]
    out: Option<std::path::PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LabExecArguments {
    #[command(flatten)]
    guest: GuestWithDisks,
    /// Command with its own options, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LabConformArguments {
    #[command(flatten)]
    guest: GuestWithDisks,
    /// Controllers or cases, as in `assay conform`
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    #[command(flatten)]
    format: FormatArguments,
    /// Further options of `assay conform`, after `--`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct GuestWithDisks {
    #[command(flatten)]
    guest: GuestArguments,
    /// Disk: `null_blk:iops=500`, `nvme:2GiB`, ...
    ///
    /// `null_blk:iops=500,depth=32`, `nvme:2GiB` or `virtio:2GiB`; may be repeated. The device nodes are
    /// in $ASSAY_LAB_DISK_1, $ASSAY_LAB_DISK_2, ...
    #[arg(long = "disk", value_name = "DISK")]
    disks: Vec<DiskOverride>,
}

impl GuestWithDisks {
    fn spec(&self) -> GuestSpec {
        self.guest.spec(&self.disks)
    }
}

/// Runs a subcommand.
pub(crate) fn run(command: &LabCommand) -> Result<ExitCode, Error> {
    let cache = Cache::usual();
    match command {
        LabCommand::Run(arguments) => study::run(arguments, &cache),
        LabCommand::Shell(guest) => shell(&guest.spec(), &cache),
        LabCommand::Exec(arguments) => {
            let words = arguments.command.iter().cloned().map(Argument::Text).collect();
            let task = GuestTask { command: words, ..guest_task() };
            run_in_guest(&arguments.guest.spec(), &task, &cache)
        }
        LabCommand::Conform(arguments) => {
            let json = arguments.format.is_json().then(|| "-ojson".to_owned());
            let words = arguments.options.iter().chain(&arguments.arguments).cloned();
            let words =
                ["conform", "--yes"].map(str::to_owned).into_iter().chain(json).chain(words);
            let spec = arguments.guest.spec();
            run_in_guest(&spec, &this_program_in_guest(words)?, &cache)
        }
        LabCommand::Kernels(arguments) => kernels(arguments, &cache),
    }
}

fn shell(spec: &GuestSpec, cache: &Cache) -> Result<ExitCode, Error> {
    if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        let hint = "`assay lab exec -- COMMAND` does not";
        return Err(Error::usage(format!("a shell needs a terminal\n  hint: {hint}")));
    }
    let mut remark = |text: &str| Terminal::default().remark(text);
    let code = assay_lab::shell(spec, &guest_task(), cache, &mut remark).map_err(Error::host)?;
    Ok(if code == 0 { Code::Kept.into() } else { Code::Host.into() })
}

fn kernels(arguments: &KernelsArguments, cache: &Cache) -> Result<ExitCode, Error> {
    signal::note_interruptions();
    let mut progress = |text: &str| output::message(text);
    if arguments.update {
        assay_lab::read_package_lists(cache, &mut progress).map_err(Error::host)?;
    }
    for choice in &arguments.fetch {
        let kernel = Kernel::provide(choice, cache, true, &mut progress).map_err(Error::host)?;
        if !arguments.format.is_json() {
            output::data(&format!("{}  {}", kernel.release, kernel.image.display()));
        }
    }
    if arguments.format.is_json() {
        output::json(&kernels_document(cache))?;
    } else if arguments.fetch.is_empty() {
        output::data(&kernels_text(cache));
    }
    Ok(Code::Kept.into())
}

/// Runs a task and ends with its exit code.
fn run_in_guest(spec: &GuestSpec, task: &GuestTask, cache: &Cache) -> Result<ExitCode, Error> {
    signal::note_interruptions();
    assay_lab::run(spec, task, cache, Terminal::default())
        .map(|ended| code(&ended))
        .map_err(Error::host)
}

fn code(ended: &Ended) -> ExitCode {
    output::message(&format!(
        "guest {}: {:.1} s to boot, {:.1} s for the command",
        ended.guest.line(),
        ended.boot.as_secs_f64(),
        ended.command.as_secs_f64()
    ));
    match ended.interrupted {
        Some(_) => Code::Interrupted.into(),
        None => ExitCode::from(u8::try_from(ended.code).unwrap_or(u8::MAX)),
    }
}

/// Prints a guest's output unchanged, and remarks of the lab as messages. A stream that is closed, or that nobody has read after a
/// signal, gets nothing more: what else the guest has printed would wait as long each.
#[derive(Default)]
struct Terminal {
    is_over: [bool; 2],
}

impl Watcher for Terminal {
    fn output(&mut self, bytes: &[u8]) {
        self.is_over[0] = self.is_over[0] || write_data(std::io::stdout(), bytes).is_err();
    }

    fn errors(&mut self, bytes: &[u8]) {
        self.is_over[1] = self.is_over[1] || write_data(std::io::stderr(), bytes).is_err();
    }

    fn remark(&mut self, text: &str) {
        output::message(&format!("lab: {text}"));
    }
}
