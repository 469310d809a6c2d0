//! Reads the reason for a guest's end from its console log.

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;

/// Number of console lines shown in an error.
const SHOWN: usize = 12;

/// Number of bytes read from the end of a console; the guest controls its length.
const MOST: u64 = 1 << 20;

/// The end of a log.
fn end_of(log: &Path) -> Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST)))?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a log, without the terminal's control sequences.
pub(crate) fn tail(log: &Path, more: &str) -> Vec<String> {
    let text = end_of(log).unwrap_or_default();
    let lines: Vec<String> = plain(&text)
        .lines()
        .chain(plain(more).lines())
        .map(|line| line.trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    lines[lines.len().saturating_sub(SHOWN)..].to_vec()
}

/// The reason for the guest's end, if its console shows it.
pub(crate) fn cause(log: &Path) -> Option<String> {
    let text = plain(&end_of(log).ok()?);
    let line = text.lines().find(|line| {
        ["Kernel panic", "Out of memory and no killable", "Unable to mount root"]
            .iter()
            .any(|sign| line.contains(sign))
    })?;
    // A console line begins with a time in brackets.
    Some(line.split_once("] ").map_or(line, |(_, rest)| rest).trim().to_owned())
}

/// Removes non-printable characters, so that a guest's console cannot control the terminal.
fn plain(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_short_and_plain_and_contains_the_panic() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let mut text: String =
            (0..40).map(|line| format!("[    {line}.0] line {line}\r\n")).collect();
        text.push_str(
            "\x1b[31m[   41.0] Kernel panic - not syncing: Attempted to kill init!\r\n\n",
        );
        std::fs::write(log.path(), text).unwrap();
        let tail = tail(log.path(), "");
        assert_eq!(tail.len(), SHOWN);
        assert!(tail.iter().all(|line| !line.contains('\r') && !line.contains('\x1b')));
        assert_eq!(
            cause(log.path()).unwrap(),
            "Kernel panic - not syncing: Attempted to kill init!"
        );
        assert_eq!(cause(Path::new("/no/such/log")), None);
    }

    #[test]
    fn only_the_end_of_a_long_console_is_read() {
        use std::io::Write;
        let mut log = tempfile::NamedTempFile::new().unwrap();
        log.write_all(b"[ 1.0] Kernel panic - long ago\n").unwrap();
        log.as_file().set_len(60 << 30).unwrap();
        log.seek(SeekFrom::End(0)).unwrap();
        log.write_all(b"\n[ 9.0] Kernel panic - now\n").unwrap();
        assert_eq!(end_of(log.path()).unwrap().len() as u64, MOST);
        assert_eq!(cause(log.path()).unwrap(), "Kernel panic - now");
        assert_eq!(tail(log.path(), ""), ["[ 9.0] Kernel panic - now"]);
    }
}
