//! Small processes that cases put into their groups: this program itself, started as `assay
//! probe-process NAME [KEY=VALUE..]`, a command that `--help` does not show. `echo` sleeps, and repeats each line that it reads.
//!
//! A probe prints `ready` once it is, then one line per event, and reads commands from its standard
//! input. It dies with its parent, and by itself after a minute (times `patience`), so that nothing
//! keeps spinning after an accident.

mod device;
mod fork;
mod hold;
mod huge;
mod io;
mod memory;
mod spin;
mod storm;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::hint::black_box;
use std::io::{BufRead, Read, Write};
use std::str::FromStr;
use std::time::Duration;

use assay_sys::kernel::{Error, Root, affinity, process};

/// The command of this program that is a probe.
pub const COMMAND: &str = "probe-process";

/// Maximum lifetime of a probe, before `patience`.
const LIFE: Duration = Duration::from_secs(60);

/// Runs the probe that `arguments` name and writes its output to `out`. The error is an invalid
/// argument or a kernel refusal that the probe cannot handle.
pub fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), String> {
    process::die_with_parent().map_err(shown)?;
    let (name, values) = arguments.split_first().ok_or("a probe has a name")?;
    let arguments = Arguments::parse(values)?;
    // Not by the one who starts it: /proc may be of another namespace, where its number is that of somebody else.
    if let Some(first) = arguments.text("oom_score_adj") {
        Root::real().write("/proc/self/oom_score_adj", first).map_err(shown)?;
    }
    match name.as_str() {
        "spin" => spin::run(&arguments, out),
        "storm" => storm::run(&arguments, out),
        "echo" => serve(out, |words, _| Ok(Some(words.join(" ")))),
        "delegate" => device::delegate(out),
        "fork" => fork::run(&arguments, out),
        "pages" => pages(&arguments, out),
        "realtime" => realtime(out),
        "device" => device::run(out),
        "hold" => hold::run(&arguments, out),
        "huge" => huge::run(&arguments, out),
        "io" => io::run(&arguments, out),
        "memory" => memory::run(&arguments, out),
        "breed" => fork::breed(&arguments, out),
        other => Err(format!("unknown probe `{other}`")),
    }
}

/// How long a probe with these words lives at most.
pub(crate) fn lifetime(words: &[String]) -> Duration {
    let values = words.get(1..).unwrap_or_default();
    Arguments::parse(values).and_then(|arguments| arguments.lifetime()).unwrap_or(LIFE)
}

/// Prints one line. An error means that the reader is gone, which ends the probe.
fn print(out: &mut dyn Write, line: &str) -> Result<(), String> {
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(shown)
}

/// Prints `ready`, and answers commands.
fn serve(
    out: &mut dyn Write,
    answers: impl FnMut(&[&str], &mut dyn Write) -> Result<Option<String>, String>,
) -> Result<(), String> {
    print(out, "ready")?;
    answer(out, answers)
}

/// Answers the words of each line until the end of the input. `None` means that the probe has no such command.
fn answer(
    out: &mut dyn Write,
    mut answers: impl FnMut(&[&str], &mut dyn Write) -> Result<Option<String>, String>,
) -> Result<(), String> {
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(shown)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = answers(&words, out)?;
        print(out, &answer.ok_or_else(|| format!("unknown probe command `{line}`"))?)?;
    }
    Ok(())
}

/// `refused ERRNO` if the kernel refused, with 0 for an error without one; else these words.
fn refused_or<T>(result: Result<T, Error>, done: &str) -> String {
    match result {
        Ok(_) => done.to_owned(),
        Err(error) => format!("refused {}", error.errno.unwrap_or(0)),
    }
}

fn shown(error: impl Display) -> String {
    error.to_string()
}

fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

/// `realtime`: requests the lowest real-time priority. Prints `granted` or `refused ERRNO`.
fn realtime(out: &mut dyn Write) -> Result<(), String> {
    print(out, "ready")?;
    print(out, &refused_or(process::become_real_time(), "granted"))
}

/// `pages bytes=N`: allocates memory, touches every page and keeps it until the end of its input.
fn pages(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let mut memory = vec![0_u8; arguments.number("bytes", 1 << 20)?];
    // The smallest page size of any Linux architecture.
    for place in memory.iter_mut().step_by(4096) {
        *place = black_box(1);
    }
    print(out, "ready")?;
    std::io::stdin().lock().read_to_end(&mut Vec::new()).map_err(shown)?;
    black_box(&memory);
    Ok(())
}

/// Arguments by key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arguments(BTreeMap<String, String>);

impl Arguments {
    /// Reads `key=value` words.
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let pair = |word: &String| {
            let (key, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE"))?;
            Ok((key.to_owned(), value.to_owned()))
        };
        arguments.iter().map(pair).collect::<Result<_, _>>().map(Self)
    }

    /// The text behind `key`, if it is there.
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The value behind `key`, or `usual` where it is not given.
    fn number<T: FromStr>(&self, key: &str, usual: T) -> Result<T, String> {
        match self.text(key) {
            None => Ok(usual),
            Some(text) => text.parse().map_err(|_| format!("`{key}={text}` is not a number")),
        }
    }

    /// The numbers behind `key`, separated by commas; none where it is not given.
    fn numbers<T: FromStr>(&self, key: &str) -> Result<Vec<T>, String> {
        let text = self.text(key).unwrap_or_default();
        let parts = text.split(',').filter(|part| !part.is_empty());
        parts.map(|part| part.parse().map_err(|_| format!("`{key}={text}`: {part}?"))).collect()
    }

    /// Binds the probe to the CPUs of `cpu`, if it is given.
    fn bind(&self) -> Result<(), String> {
        let cpus = self.numbers::<u16>("cpu")?;
        if cpus.is_empty() { Ok(()) } else { affinity::bind_self(&cpus).map_err(shown) }
    }

    /// Maximum lifetime of the probe.
    fn lifetime(&self) -> Result<Duration, String> {
        Ok(LIFE.mul_f64(self.number("patience", 1.0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_by_key_with_defaults() {
        let arguments = Arguments::parse(&["cpu=1,3".to_owned(), "threads=2".to_owned()]).unwrap();
        assert_eq!(arguments.numbers::<u16>("cpu").unwrap(), [1, 3]);
        assert_eq!(arguments.number("threads", 1), Ok(2));
        assert_eq!(arguments.number("duty", 100), Ok(100));
        assert!(arguments.number::<u32>("cpu", 1).is_err());
        assert!(Arguments::parse(&["x".to_owned()]).is_err());
    }
}
