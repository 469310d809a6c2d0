//! Asks a load generator for its predicted footprint, before anything is planned.

use std::process::Command;
use std::time::Duration;

use assay_study::plan::Footprint;
use assay_sys::kernel::program::{self, Excess, Limits, Unfinished};
use assay_sys::kernel::signal;
use serde_json::Value;

/// Time limit of a prediction, which does none of the actual work.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a generator predicts to use. `command` is one from `assay_study::plan::prediction_commands`, program first; it creates
/// nothing and ends at once.
pub fn footprint(command: &[String]) -> Result<Footprint, String> {
    footprint_within(command, PATIENCE)
}

fn footprint_within(command: &[String], limit: Duration) -> Result<Footprint, String> {
    let (program, words) = command.split_first().ok_or("there is no command")?;
    let limits = Limits { time: limit, output: MOST_OUTPUT, stop: &signal::interrupted_twice };
    let ended = program::run(Command::new(program).args(words), "", &limits);
    let output = ended.map_err(|why| match why {
        Unfinished::Failed(cause) => format!("starting {program} failed: {cause}"),
        Unfinished::Killed { why: Excess::Time, .. } => {
            format!("{program} did not report its footprint within {limit:?} and was killed")
        }
        why => format!("{program} did not report its footprint: {why}"),
    })?;
    // A prediction that exceeds this host's resources is still valid: the caller decides about limits.
    read(&String::from_utf8_lossy(&output.stdout)).map_err(|why| {
        match String::from_utf8_lossy(&output.stderr).trim().lines().next() {
            Some(line) => line.to_owned(),
            None => why,
        }
    })
}

/// Limit on the size of an answer; a prediction has a few thousand bytes.
const MOST_OUTPUT: u64 = 1 << 20;

fn read(text: &str) -> Result<Footprint, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|cause| format!("its answer cannot be read: {cause}"))?;
    let bytes = |value: &Value| value["predicted_bytes"].as_u64();
    let own = bytes(&document["footprint"]).ok_or("its answer has no `footprint`")?;
    // A list is of files that the page cache holds; a single file is read and written in other ways, too.
    let storage = &document["storage"];
    let cached = storage.as_array().map_or(&[][..], Vec::as_slice);
    let cached = cached.iter().filter_map(bytes).sum::<u64>();
    Ok(Footprint { memory: own + cached, files: bytes(storage).unwrap_or(cached), own })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_files_are_added_up() {
        let text = r#"{"footprint": {"predicted_bytes": 100},
                       "storage": [{"predicted_bytes": 20}, {"predicted_bytes": 3}]}"#;
        assert_eq!(read(text), Ok(Footprint { memory: 123, files: 23, own: 100 }));
        let one = r#"{"footprint": {"predicted_bytes": 7}, "storage": {"predicted_bytes": 5}}"#;
        assert_eq!(read(one), Ok(Footprint { memory: 7, files: 5, own: 7 }));
        let none = r#"{"footprint": {"predicted_bytes": 7}}"#;
        assert_eq!(read(none), Ok(Footprint { memory: 7, files: 0, own: 7 }));
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
        let begun = std::time::Instant::now();
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
