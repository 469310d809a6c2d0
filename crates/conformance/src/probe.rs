//! Small processes that cases put into their groups: this program itself, started as `assay probe
//! NAME [KEY=VALUE..]`, a command that `--help` does not show.
//!
//! A probe prints `ready` once it is, then one line per event, and reads commands from its standard
//! input. It dies with its parent, and by itself after a minute (times `patience`), so that nothing
//! keeps spinning after an accident.

mod arguments;
mod breed;
mod delegate;
mod device;
mod echo;
mod fork;
mod huge;
mod io;
mod memory;
mod packets;
mod pages;
mod realtime;
mod spin;
mod storm;

use std::io::Write;
use std::time::Duration;

use assay_kernel::{Error, process};

pub(crate) use arguments::Arguments;

/// Maximum lifetime of a probe, before `patience`.
const LIFE: Duration = Duration::from_secs(60);

/// Runs the probe that `arguments` name and writes its output to `out`. The error is an invalid
/// argument or a kernel refusal that the probe cannot handle.
pub fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), String> {
    process::die_with_parent().map_err(|error| error.to_string())?;
    let (name, values) = arguments.split_first().ok_or("a probe has a name")?;
    let arguments = Arguments::parse(values)?;
    match name.as_str() {
        "spin" => spin::run(&arguments, out),
        "storm" => storm::run(&arguments, out),
        "echo" => echo::run(out),
        "delegate" => delegate::run(out),
        "fork" => fork::run(&arguments, out),
        "pages" => pages::run(&arguments, out),
        "realtime" => realtime::run(out),
        "device" => device::run(&arguments, out),
        "huge" => huge::run(&arguments, out),
        "io" => io::run(&arguments, out),
        "memory" => memory::run(&arguments, out),
        "packets" => packets::run(&arguments, out),
        "breed" => breed::run(&arguments, out),
        other => Err(format!("unknown probe `{other}`")),
    }
}

/// Prints one line. An error means that the reader is gone, which ends the probe.
pub(crate) fn print(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|cause| cause.to_string())
}

/// Maximum lifetime of the probe.
pub(crate) fn lifetime(arguments: &Arguments) -> Result<Duration, String> {
    Ok(LIFE.mul_f64(arguments.number("patience", 1.0)?))
}

/// The errno of the kernel's refusal, 0 if there is none.
pub(crate) fn errno(error: &Error) -> i32 {
    error.errno.unwrap_or(0)
}
