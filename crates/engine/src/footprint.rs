//! Asking a generator how much it would take, before anything is planned.

use std::process::{Command, Stdio};

use serde_json::Value;

/// Bytes that a generator says it would take: memory of its own, and the files that it makes, which
/// the page cache would hold if nobody limited it. `command` is one of `assay_plan::to_predict`,
/// program first; it makes nothing and ends at once.
pub fn footprint(command: &[String]) -> Result<u64, String> {
    let (program, words) = command.split_first().ok_or("there is no command")?;
    let output = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(|cause| format!("starting {program} failed: {cause}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    // A prediction that does not fit this host is a prediction all the same: the limit is ours.
    read(&said).map_err(|why| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        match complaint.trim().lines().next() {
            Some(line) => line.to_owned(),
            None => why,
        }
    })
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
    fn what_the_generator_complains_about_is_the_reason() {
        let command = ["sh", "-c", "echo 'scale 99 is too large' >&2"].map(str::to_owned);
        assert_eq!(footprint(&command), Err("scale 99 is too large".to_owned()));
        let missing = [String::from("/nowhere/assay-load")];
        assert!(footprint(&missing).unwrap_err().contains("/nowhere/assay-load"));
    }
}
