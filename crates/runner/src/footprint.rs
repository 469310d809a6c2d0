//! Asking a generator how much it would take, before anything is planned.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long an answer may take. It says what would be done, and does nothing of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long one that was killed may take to end.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// Bytes that a generator says it would take: memory of its own, and the files that it makes, which
/// the page cache would hold if nobody limited it. `command` is one of `assay_plan::to_predict`,
/// program first; it makes nothing and ends at once.
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
    // A program that says more, on both at once or without end, is none of ours.
    let (answer, complaint) = (listen(child.stdout.take()), listen(child.stderr.take()));
    let left = || end.saturating_duration_since(Instant::now());
    let said = answer.recv_timeout(left());
    let complaint = complaint.recv_timeout(left()).unwrap_or_default();
    put_away(&mut child).map_err(failed)?;
    let said = said.map_err(|_| {
        format!("{program} did not say within {limit:?} what it would take, and was ended")
    })?;
    // A prediction that does not fit this host is a prediction all the same: the limit is ours.
    read(&said).map_err(|why| match complaint.trim().lines().next() {
        Some(line) => line.to_owned(),
        None => why,
    })
}

/// Ends it, whatever it still does. One that hangs in the kernel is left behind.
fn put_away(child: &mut Child) -> std::io::Result<()> {
    let _ = child.kill();
    let end = Instant::now() + AFTER_KILL;
    while child.try_wait()?.is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Bytes of an answer; a prediction has a few thousand.
const MOST_SAID: u64 = 1 << 20;

/// Hears what a program says, on a thread that is left behind where somebody keeps the pipe open.
fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (to, heard) = channel();
    std::thread::spawn(move || {
        // Nobody may listen any more.
        let _ = to.send(start_of(pipe));
    });
    heard
}

/// What a program says until it ends, or says too much and is cut off.
fn start_of(pipe: Option<impl Read>) -> String {
    let mut said = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(MOST_SAID).read_to_end(&mut said);
    }
    String::from_utf8_lossy(&said).into_owned()
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
    fn a_generator_that_never_ends_its_answer_is_cut_off() {
        for endless in ["yes", "yes >&2; yes", "yes & yes >&2"] {
            let command = ["sh", "-c", endless].map(str::to_owned);
            assert!(footprint(&command).is_err(), "{endless}");
        }
    }

    #[test]
    fn a_generator_that_says_nothing_is_named_and_ended() {
        let begun = Instant::now();
        for quiet in ["exec sleep 100", "sleep 5 & echo x; exit", "echo no >&2; exec sleep 100"] {
            let command = ["sh", "-c", quiet].map(str::to_owned);
            let error = footprint_within(&command, Duration::from_millis(200)).unwrap_err();
            assert!(error.contains("sh did not say within 200ms"), "{error}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }

    #[test]
    fn what_the_generator_complains_about_is_the_reason() {
        let command = ["sh", "-c", "echo 'scale 99 is too large' >&2"].map(str::to_owned);
        assert_eq!(footprint(&command), Err("scale 99 is too large".to_owned()));
        let missing = [String::from("/nowhere/assay-load")];
        assert!(footprint(&missing).unwrap_err().contains("/nowhere/assay-load"));
    }
}
