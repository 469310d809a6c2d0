//! Asks a load generator for its predicted footprint, before anything is planned.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time limit of a prediction, which does none of the actual work.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time limit for a killed generator to end.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// Bytes that a generator predicts to use: its own memory and the files it creates, which the page cache
/// would hold if not limited. `command` is one from `assay_plan::prediction_commands`, program first; it creates
/// nothing and ends at once.
pub fn footprint(command: &[String]) -> Result<u64, String> {
    footprint_within(command, PATIENCE)
}

fn footprint_within(command: &[String], limit: Duration) -> Result<u64, String> {
    let end = Instant::now() + limit;
    let (program, words) = command.split_first().ok_or("there is no command")?;
    let failed = |cause: std::io::Error| format!("starting {program} failed: {cause}");
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    // Both outputs are read in parallel, up to a limit: an unknown program may write to both without end.
    let (answer, error_output) =
        (read_in_background(child.stdout.take()), read_in_background(child.stderr.take()));
    let remaining = || end.saturating_duration_since(Instant::now());
    let output = answer.recv_timeout(remaining());
    let error_output = error_output.recv_timeout(remaining()).unwrap_or_default();
    kill(&mut child).map_err(failed)?;
    let output = output.map_err(|_| {
        format!("{program} did not report its footprint within {limit:?} and was killed")
    })?;
    // A prediction that exceeds this host's resources is still valid: the caller decides about limits.
    read(&output).map_err(|why| match error_output.trim().lines().next() {
        Some(line) => line.to_owned(),
        None => why,
    })
}

/// Kills the generator, whatever state it is in. One that hangs in the kernel is left behind.
fn kill(child: &mut Child) -> std::io::Result<()> {
    let _ = child.kill();
    let end = Instant::now() + AFTER_KILL;
    while child.try_wait()?.is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Limit on the size of an answer; a prediction has a few thousand bytes.
const MOST_OUTPUT: u64 = 1 << 20;

/// Reads the output of a program on a thread of its own; the thread is left behind if another process keeps
/// the pipe open.
fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (to, heard) = channel();
    std::thread::spawn(move || {
        // The receiver may be gone.
        let _ = to.send(start_of(pipe));
    });
    heard
}

/// The output of a program up to its end or the size limit.
fn start_of(pipe: Option<impl Read>) -> String {
    let mut output = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MOST_OUTPUT).read_to_end(&mut output);
    }
    String::from_utf8_lossy(&output).into_owned()
}

fn read(text: &str) -> Result<u64, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|cause| format!("its answer cannot be read: {cause}"))?;
    let bytes = |value: &Value| value["predicted_bytes"].as_u64();
    let own = bytes(&document["footprint"]).ok_or("its answer has no `footprint`")?;
    let files = document["storage"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(own + files.iter().filter_map(bytes).sum::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_files_are_added_up() {
        let text = r#"{"footprint": {"predicted_bytes": 100},
                       "storage": [{"predicted_bytes": 20}, {"predicted_bytes": 3}]}"#;
        assert_eq!(read(text), Ok(123));
        assert_eq!(read(r#"{"footprint": {"predicted_bytes": 7}}"#), Ok(7));
        assert!(read("{}").unwrap_err().contains("footprint"));
        assert!(read("no").unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn the_size_of_an_answer_is_limited() {
        for endless in ["yes", "yes >&2; yes", "yes & yes >&2"] {
            let command = ["sh", "-c", endless].map(str::to_owned);
            assert!(footprint(&command).is_err(), "{endless}");
        }
    }

    #[test]
    fn a_generator_without_an_answer_is_killed_and_named_in_the_error() {
        let begun = Instant::now();
        for quiet in ["exec sleep 100", "sleep 5 & echo x; exit", "echo no >&2; exec sleep 100"] {
            let command = ["sh", "-c", quiet].map(str::to_owned);
            let error = footprint_within(&command, Duration::from_millis(200)).unwrap_err();
            assert!(error.contains("sh did not report its footprint within 200ms"), "{error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn the_error_output_of_the_generator_is_the_reason() {
        let command = ["sh", "-c", "echo 'scale 99 is too large' >&2"].map(str::to_owned);
        assert_eq!(footprint(&command), Err("scale 99 is too large".to_owned()));
        let missing = [String::from("/nowhere/assay-load")];
        assert!(footprint(&missing).unwrap_err().contains("/nowhere/assay-load"));
    }
}
