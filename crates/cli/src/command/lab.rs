//! `assay lab`

mod options;
pub(crate) mod study;

use std::io::Write;
use std::process::ExitCode;

use assay_kernel::signal;
use assay_lab::{Cache, Ended, Errand, GuestSpec, Kernel, KernelChoice, Shown, Watcher, Word};
use assay_study::DiskChoice;
use clap::{Args, Subcommand};

use crate::args::StudyArguments;
use crate::exit::Code;
use crate::output;
use options::GuestArguments;

/// What can be done in a guest.
#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Run a study in a guest and bring its run folder back
    Run(LabRunArguments),
    /// Open a shell in a guest
    Shell(LabShellArguments),
    /// Run a command in a guest and end with its exit code
    Exec(LabExecArguments),
    /// Run `assay conform` in a guest
    Conform(LabConformArguments),
    /// List the kernels of the cache and those that can be fetched
    Kernels(LabKernelsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct LabRunArguments {
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    study: StudyArguments,
    /// The run folder; `runs/<time>-<study>` by default
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
    /// The command with its own options, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LabConformArguments {
    #[command(flatten)]
    guest: GuestArguments,
    #[command(flatten)]
    disks: DiskArguments,
    /// What `assay conform` takes: controllers, and its options after `--`
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
    /// Bring the newest kernel of this name into the cache
    #[arg(long, value_name = "KERNEL")]
    fetch: Option<KernelChoice>,
}

#[derive(Debug, Args)]
struct DiskArguments {
    /// A disk for the guest: `null_blk:iops=500,depth=32`, `nvme:2GiB` or `virtio:2GiB`; may be
    /// repeated. Its device node is in $ASSAY_LAB_DISK_1, $ASSAY_LAB_DISK_2, ...
    #[arg(long = "disk", value_name = "DISK")]
    disks: Vec<DiskChoice>,
}

/// Carries out one of them.
pub(crate) fn run(command: &LabCommand) -> ExitCode {
    let cache = Cache::usual();
    match command {
        LabCommand::Run(arguments) => study::run(arguments, &cache),
        LabCommand::Shell(arguments) => shell(arguments, &cache),
        LabCommand::Exec(arguments) => {
            let words = arguments.command.iter().cloned().map(Word::Text).collect();
            let errand = Errand { command: words, ..errand() };
            visit(&arguments.guest.spec(&arguments.disks.disks), &errand, &cache)
        }
        LabCommand::Conform(arguments) => conform(arguments, &cache),
        LabCommand::Kernels(arguments) => kernels(arguments, &cache),
    }
}

fn shell(arguments: &LabShellArguments, cache: &Cache) -> ExitCode {
    if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        output::error(&"a shell needs a terminal\n  hint: `assay lab exec -- COMMAND` needs none");
        return Code::Usage.into();
    }
    let spec = arguments.guest.spec(&arguments.disks.disks);
    match assay_lab::shell(&spec, &errand(), cache, &mut Terminal) {
        Ok(0) => Code::Kept.into(),
        Ok(_) => Code::Host.into(),
        Err(error) => refuse(&error),
    }
}

fn conform(arguments: &LabConformArguments, cache: &Cache) -> ExitCode {
    let (program, shown) = match program() {
        Ok(found) => found,
        Err(error) => return refuse(&error),
    };
    let mut words = vec![program, "conform".to_owned()];
    words.extend(arguments.json.then(|| "--json".to_owned()));
    words.extend(arguments.options.iter().chain(&arguments.arguments).cloned());
    let errand = Errand {
        command: words.into_iter().map(Word::Text).collect(),
        shown: vec![shown],
        ..errand()
    };
    visit(&arguments.guest.spec(&arguments.disks.disks), &errand, cache)
}

fn kernels(arguments: &LabKernelsArguments, cache: &Cache) -> ExitCode {
    if let Some(choice) = &arguments.fetch {
        return match Kernel::provide(choice, cache, true, &mut |text| output::say(text)) {
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
        lines.push("  none yet; one is fetched when a guest needs it".to_owned());
    }
    lines.push("names for --kernel, and the newest release that apt offers:".to_owned());
    for (name, newest) in assay_lab::available() {
        let newest = newest.unwrap_or_else(|error| format!("not available: {}", error.what));
        lines.push(format!("  {name:<12} {newest}"));
    }
    lines.push("or the path of a vmlinuz with its modules".to_owned());
    output::data(&lines.join("\n"));
    Code::Kept.into()
}

/// An errand in the directory of the caller, with what bears on how programs talk.
fn errand() -> Errand {
    let passed = ["NO_COLOR", "TERM", "LANG"];
    let environment = passed
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
        .collect();
    Errand { directory: std::env::current_dir().ok(), environment, ..Errand::default() }
}

/// This program as the guest sees it: its own folder is shown there, so that a build below a
/// folder that guests hide is found as well.
fn program() -> Result<(String, Shown), String> {
    const PLACE: &str = "/run/assay/program";
    let path = std::env::current_exe().map_err(|cause| format!("cannot find assay: {cause}"))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let folder = path.parent().map(std::path::Path::to_owned);
    let (Some(name), Some(host)) = (name, folder) else {
        return Err(format!("{} is no place for a program", path.display()));
    };
    Ok((format!("{PLACE}/{name}"), Shown { guest: PLACE.into(), host }))
}

/// Runs an errand and ends with its exit code.
fn visit(spec: &GuestSpec, errand: &Errand, cache: &Cache) -> ExitCode {
    signal::note_interruptions();
    match assay_lab::run(spec, errand, cache, &mut Terminal) {
        Ok(ended) => code(&ended),
        Err(error) => refuse(&error),
    }
}

fn code(ended: &Ended) -> ExitCode {
    output::say(&format!(
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

/// Passes on what a guest says: its output as it is, the lab's own words as talk.
struct Terminal;

impl Watcher for Terminal {
    fn output(&mut self, bytes: &[u8]) {
        // A reader that has gone away is no error.
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    fn errors(&mut self, bytes: &[u8]) {
        let _ = std::io::stderr().lock().write_all(bytes);
    }

    fn remark(&mut self, text: &str) {
        output::say(&format!("lab: {text}"));
    }
}
