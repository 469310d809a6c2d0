//! Small processes that cases put into their groups: this program itself, started as
//! `assay probe NAME [KEY=VALUE..]`, a command that `--help` does not show.
//!
//! A probe says `ready` when it is, then one line for each thing that happens, and hears lines on
//! its standard input. It dies with the process that started it, and by itself after a minute
//! (times `patience`), so that nothing spins on after an accident.

mod breed;
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
mod words;

use std::io::Write;
use std::time::Duration;

use assay_kernel::{Error, process};

pub(crate) use words::Words;

/// How long a probe lives at most, before `patience`.
const LIFE: Duration = Duration::from_secs(60);

/// Runs the probe that `arguments` name, talking on `out`. An error says what is wrong with the
/// arguments, or what the kernel refused that the probe cannot do without.
pub fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), String> {
    process::die_with_parent().map_err(|error| error.to_string())?;
    let (name, words) = arguments.split_first().ok_or("a probe has a name")?;
    let words = Words::parse(words)?;
    match name.as_str() {
        "spin" => spin::run(&words, out),
        "echo" => echo::run(out),
        "fork" => fork::run(&words, out),
        "pages" => pages::run(&words, out),
        "realtime" => realtime::run(out),
        "device" => device::run(&words, out),
        "huge" => huge::run(&words, out),
        "io" => io::run(&words, out),
        "memory" => memory::run(&words, out),
        "packets" => packets::run(&words, out),
        "breed" => breed::run(&words, out),
        other => Err(format!("there is no probe `{other}`")),
    }
}

/// Says one line. A reader that has gone is where the probe ends.
pub(crate) fn say(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|cause| cause.to_string())
}

/// How long the probe may live.
pub(crate) fn life(words: &Words) -> Result<Duration, String> {
    Ok(LIFE.mul_f64(words.number("patience", 1.0)?))
}

/// The number of the kernel's refusal, 0 where it gave none.
pub(crate) fn errno(error: &Error) -> i32 {
    error.errno.unwrap_or(0)
}
