//! `assay lab`

mod options;
mod study;

use std::io::Write;
use std::process::ExitCode;

use assay_kernel::signal;
use assay_lab::{Argument, Cache, Ended, GuestSpec, GuestTask, Kernel, KernelChoice, Watcher};
use assay_session::program_in_guest;
use assay_study::DiskOverride;
use clap::{Args, Subcommand};

use crate::args::StudyArguments;
use crate::exit::Code;
use crate::output;
use options::GuestArguments;

/// Subcommands of `assay lab`.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a study in a guest and copy its run folder back
    Run(LabRunArguments),
    /// Open a shell in a guest
    Shell(LabShellArguments),
    /// Run a command in a guest and exit with its exit code
    Exec(LabExecArguments),
    /// Run `assay conform` in a guest
    Conform(LabConformArguments),
    /// List cached kernels and those that can be fetched
    Kernels(LabKernelsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct LabRunArguments {
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    study: StudyArguments,
    /// Run folder [default: `runs/<time>-<study>`]
    #[arg(long, value_name = "DIR")]
    out: Option<std::path::PathBuf>,
    /// Print verdict.json instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabShellArguments {
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    disks: DiskArguments,
}

#[derive(Debug, Args)]
pub(crate) struct LabExecArguments {
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    disks: DiskArguments,
    /// Command with its own options, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LabConformArguments {
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    disks: DiskArguments,
    /// Controllers or cases, as in `assay conform`
    #[arg(value_name = "ARGUMENT")]
    arguments: Vec<String>,
    /// Print the table as JSON
    #[arg(long)]
    json: bool,
    /// Further options of `assay conform`, after `--`
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LabKernelsArguments {
    /// Fetch the newest kernel of this name into the cache
    #[arg(long, value_name = "KERNEL")]
    fetch: Option<KernelChoice>,
}

#[derive(Debug, Args)]
struct DiskArguments {
    /// Disk for the guest: `null_blk:iops=500,depth=32`, `nvme:2GiB` or `virtio:2GiB`; may be repeated.
    /// The device nodes are in $ASSAY_LAB_DISK_1, $ASSAY_LAB_DISK_2, ...
    #[arg(long = "disk", value_name = "DISK")]
    disks: Vec<DiskOverride>,
}

/// Runs a subcommand.
pub(crate) fn run(command: &LabCommand) -> ExitCode {
    let cache = Cache::usual();
    match command {
        LabCommand::Run(arguments) => study::run(arguments, &cache),
        LabCommand::Shell(arguments) => shell(arguments, &cache),
        LabCommand::Exec(arguments) => {
            let words = arguments.command.iter().cloned().map(Argument::Text).collect();
            let task = GuestTask { command: words, ..guest_task() };
            run_in_guest(&arguments.guest.spec(&arguments.disks.disks), &task, &cache)
        }
        LabCommand::Conform(arguments) => conform(arguments, &cache),
        LabCommand::Kernels(arguments) => kernels(arguments, &cache),
    }
}

fn shell(arguments: &LabShellArguments, cache: &Cache) -> ExitCode {
    if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        output::error(&"a shell needs a terminal\n  hint: `assay lab exec -- COMMAND` does not");
        return Code::Usage.into();
    }
    let spec = arguments.guest.spec(&arguments.disks.disks);
    match assay_lab::shell(&spec, &guest_task(), cache, &mut Terminal) {
        Ok(0) => Code::Kept.into(),
        Ok(_) => Code::Host.into(),
        Err(error) => refuse(&error),
    }
}

fn conform(arguments: &LabConformArguments, cache: &Cache) -> ExitCode {
    let (program, shown) = match program_in_guest() {
        Ok(program) => program,
        Err(error) => return crate::observer::refuse(&error).into(),
    };
    let mut words = vec![program, "conform".to_owned()];
    words.extend(arguments.json.then(|| "--json".to_owned()));
    words.extend(arguments.options.iter().chain(&arguments.arguments).cloned());
    let task = GuestTask {
        command: words.into_iter().map(Argument::Text).collect(),
        mounts: vec![shown],
        ..guest_task()
    };
    run_in_guest(&arguments.guest.spec(&arguments.disks.disks), &task, cache)
}

fn kernels(arguments: &LabKernelsArguments, cache: &Cache) -> ExitCode {
    if let Some(choice) = &arguments.fetch {
        return match Kernel::provide(choice, cache, true, &mut |text| output::message(text)) {
            Ok(kernel) => {
                output::data(&format!("{}  {}", kernel.release, kernel.image.display()));
                Code::Kept.into()
            }
            Err(error) => refuse(&error),
        };
    }
    let mut lines = vec![format!("in {}:", cache.path().join("kernels").display())];
    let cached = assay_lab::cached(cache);
    lines.extend(cached.iter().map(|kernel| format!("  {}", kernel.release)));
    if cached.is_empty() {
        lines.push("  none; a kernel is fetched when a guest needs it".to_owned());
    }
    lines.push("names for --kernel, with the newest release that apt offers:".to_owned());
    for (name, newest) in assay_lab::available() {
        let newest = newest.unwrap_or_else(|error| format!("not available: {}", error.what));
        lines.push(format!("  {name:<12} {newest}"));
    }
    lines.push("or the path of a vmlinuz with its modules".to_owned());
    output::data(&lines.join("\n"));
    Code::Kept.into()
}

/// A task in the directory of the caller, with what bears on how programs talk.
fn guest_task() -> GuestTask {
    let inherited = ["NO_COLOR", "TERM", "LANG"];
    let environment = inherited
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect();
    GuestTask { directory: std::env::current_dir().ok(), environment, ..GuestTask::default() }
}

/// Runs a task and ends with its exit code.
fn run_in_guest(spec: &GuestSpec, task: &GuestTask, cache: &Cache) -> ExitCode {
    signal::note_interruptions();
    match assay_lab::run(spec, task, cache, &mut Terminal) {
        Ok(ended) => code(&ended),
        Err(error) => refuse(&error),
    }
}

fn code(ended: &Ended) -> ExitCode {
    output::message(&format!(
        "guest {}: {:.1} s to boot, {:.1} s for the command",
        ended.guest.line(),
        ended.boot.as_secs_f64(),
        ended.command.as_secs_f64()
    ));
    if ended.interrupted.is_some() {
        return Code::Interrupted.into();
    }
    ExitCode::from(u8::try_from(ended.code).unwrap_or(u8::MAX))
}

fn refuse(error: &dyn std::fmt::Display) -> ExitCode {
    output::error(error);
    Code::Host.into()
}

/// Prints a guest's output unchanged, and remarks of the lab as messages.
struct Terminal;

impl Watcher for Terminal {
    fn output(&mut self, bytes: &[u8]) {
        // A closed pipe is not an error.
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    fn errors(&mut self, bytes: &[u8]) {
        let _ = std::io::stderr().lock().write_all(bytes);
    }

    fn remark(&mut self, text: &str) {
        output::message(&format!("lab: {text}"));
    }
}
