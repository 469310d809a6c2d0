//! One line of a ledger: a JSON object, a tab, and the seal (checksum) of the text before the tab.
//!
//! ```text
//! {"begin":{"format":3,"run":"...","pid":812,"boot":"..."}}<TAB>9f86d081
//! {"intend":{"entry":0,"boot":"6f1c...","change":{"make_dir":{"path":"/a"}}}}<TAB>1b4f0e98
//! {"made":{"entry":0,"device":2049,"inode":131}}<TAB>...
//! {"back":{"entry":0}}<TAB>60303ae2
//! ```
//!
//! The seal is the first 32 bits of SHA-256 in hex. Without it a flipped bit in a path would send
//! `assay restore` to a file that Assay never touched. It detects accidents, not forgery: write access
//! is checked when the file is opened, and only a closed list of changes is restored (`allowed.rs`).

use std::collections::BTreeMap;

use assay_sys::files::Identity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::change::Change;

/// Version of the format, in the first line of every ledger.
pub(super) const FORMAT: u32 = 3;

/// Identifies the run of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) format: u32,
    pub(super) run: String,
    pub(super) pid: u32,
    /// Start time of that process, in ticks since boot: its id may be reused later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) started: Option<u64>,
    /// /proc/sys/kernel/random/boot_id, to recognise a ledger from before a reboot.
    pub(super) boot: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    Begin(Header),
    Intend {
        entry: u32,
        /// The boot again, in case the first line is damaged.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        boot: String,
        change: Change,
    },
    /// The identity of the directory or file that an intention created.
    Made {
        entry: u32,
        device: u64,
        inode: u64,
    },
    Back {
        entry: u32,
    },
}

impl Line {
    /// The line with its seal and line end.
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(self)?;
        let seal = seal(json.as_bytes());
        Ok(format!("{json}\t{seal}\n"))
    }
}

fn seal(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// The seal of a line written by a test.
#[cfg(test)]
pub(super) fn seal_of(json: &str) -> String {
    seal(json.as_bytes())
}

/// A line of a ledger that cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damaged {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: &'static str,
    /// As much of it as can be shown.
    pub text: String,
}

impl Damaged {
    fn new(index: usize, why: &'static str, raw: &[u8]) -> Self {
        const SHOWN: usize = 300;
        let text = String::from_utf8_lossy(raw);
        let mut shown = String::new();
        for letter in text.trim_end_matches('\n').chars().take(SHOWN) {
            // Escape control characters, so that garbage cannot control the terminal.
            match letter.is_control() {
                true => shown.extend(letter.escape_default()),
                false => shown.push(letter),
            }
        }
        Self { line: index + 1, why, text: shown }
    }
}

/// A change that was intended and not restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intention {
    pub(super) change: Change,
    /// The identity of the directory or file it created, if it got that far.
    pub(super) made: Option<Identity>,
    /// The boot in which it was made, where known.
    pub(super) boot: Option<String>,
}

/// The parsed contents of a ledger's file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) header: Option<Header>,
    /// In the order they were made.
    pub(super) open: BTreeMap<u32, Intention>,
    pub(super) damaged: Vec<Damaged>,
    /// Whether the last line lacks its end, so that the next append must start a new line.
    pub(super) lacks_end: bool,
}

impl Contents {
    /// The format, if this version does not support it (older formats included).
    pub(super) fn newer_format(&self) -> Option<u32> {
        self.header.as_ref().map(|header| header.format).filter(|format| *format != FORMAT)
    }

    /// Whether it is complete and every change in it was restored.
    pub(super) fn is_finished(&self) -> bool {
        self.header.as_ref().is_some_and(|header| header.format == FORMAT)
            && self.open.is_empty()
            && self.damaged.is_empty()
    }

    fn apply(&mut self, line: Line) {
        match line {
            Line::Begin(header) => self.header = Some(header),
            Line::Intend { entry, boot, change } => {
                let known = self.header.as_ref().map(|header| header.boot.clone());
                let boot = Some(boot).filter(|boot| !boot.is_empty()).or(known);
                self.open.insert(entry, Intention { change, made: None, boot });
            }
            Line::Made { entry, device, inode } => {
                if let Some(open) = self.open.get_mut(&entry) {
                    open.made = Some(Identity { device, inode });
                }
            }
            Line::Back { entry } => {
                self.open.remove(&entry);
            }
        }
    }
}

/// Counts the changes not yet restored in a ledger's bytes, and the lines that cannot be trusted.
#[must_use]
pub fn count_changes(bytes: &[u8]) -> (usize, usize) {
    let contents = parse(bytes);
    (contents.open.len(), contents.damaged.len())
}

/// Parses a whole ledger. Accepts any byte sequence; lines that cannot be trusted are in `damaged`.
pub(super) fn parse(bytes: &[u8]) -> Contents {
    let mut contents =
        Contents { lacks_end: !bytes.is_empty() && !bytes.ends_with(b"\n"), ..Contents::default() };
    if bytes.is_empty() {
        contents.damaged.push(Damaged::new(0, "the ledger is empty", bytes));
    }
    for (index, raw) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match read(raw) {
            Ok(line) => contents.apply(line),
            Err(why) => contents.damaged.push(Damaged::new(index, why, raw)),
        }
        if contents.newer_format().is_some() {
            return contents;
        }
    }
    if contents.header.is_none() && contents.damaged.is_empty() {
        contents.damaged.push(Damaged::new(0, "it does not name its run", b""));
    }
    contents
}

fn read(raw: &[u8]) -> Result<Line, &'static str> {
    let (body, torn) = match raw.strip_suffix(b"\n") {
        Some(body) => (body, false),
        None => (raw, true),
    };
    let wrong = if torn { "it is cut off" } else { "it is damaged" };
    let tab = body.iter().rposition(|byte| *byte == b'\t').ok_or(wrong)?;
    let (json, found_seal) = (&body[..tab], &body[tab + 1..]);
    if found_seal != seal(json).as_bytes() {
        return Err(wrong);
    }
    // The seal matches, so an Assay wrote this line, though perhaps another version.
    serde_json::from_slice(json).or_else(|_| {
        let value: serde_json::Value = serde_json::from_slice(json).map_err(|_| wrong)?;
        let header = &value["begin"];
        let format = header["format"].as_u64().and_then(|format| u32::try_from(format).ok());
        format.filter(|format| *format != FORMAT).map_or(
            Err("unknown kind of line in this version of Assay"),
            |format| {
                Ok(Line::Begin(Header {
                    format,
                    run: header["run"].as_str().unwrap_or_default().to_owned(),
                    pid: 0,
                    started: None,
                    boot: String::new(),
                }))
            },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(format: u32) -> Line {
        Line::Begin(Header {
            format,
            run: "r".to_owned(),
            pid: 1,
            started: None,
            boot: "b".to_owned(),
        })
    }

    fn intention(entry: u32) -> Line {
        let path = format!("/sys/fs/cgroup/cpu/assay-{entry}").into();
        Line::Intend { entry, boot: "b".to_owned(), change: Change::MakeGroup { path } }
    }

    fn ledger() -> Vec<u8> {
        let lines = [header(FORMAT), intention(0), intention(1), Line::Back { entry: 0 }];
        lines.iter().map(|line| line.to_text().unwrap()).collect::<String>().into_bytes()
    }

    /// No change is reported that was not written: at worst a line is missing.
    fn assert_no_invented_changes(contents: &Contents, when: &str) {
        let whole = [intention(0), intention(1)];
        for (entry, intention) in &contents.open {
            let Line::Intend { boot, change, .. } = &whole[*entry as usize] else { unreachable!() };
            assert_eq!(&intention.change, change, "{when}");
            assert_eq!(intention.boot.as_ref(), Some(boot), "{when}");
        }
    }

    #[test]
    fn a_restored_change_is_no_longer_open() {
        let contents = parse(&ledger());
        assert_eq!(contents.open.into_keys().collect::<Vec<_>>(), [1]);
        assert!(contents.damaged.is_empty());
    }

    #[test]
    fn a_cut_ledger_keeps_its_complete_lines_and_names_the_torn_one() {
        let bytes = ledger();
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let contents = parse(cut);
            let whole = cut.iter().filter(|byte| **byte == b'\n').count();
            // If a line lost only its line end, it is still known.
            let known = whole + usize::from(bytes[length] == b'\n');
            let torn = length == 0 || length > 0 && cut[length - 1] != b'\n' && known == whole;
            assert_eq!(contents.damaged.len(), usize::from(torn), "cut at {length}");
            assert!(contents.damaged.iter().all(|line| line.line == whole + 1), "cut at {length}");
            assert_eq!(contents.open.len(), [0, 0, 1, 2, 1][known], "cut at {length}");
            assert_no_invented_changes(&contents, &format!("cut at {length}"));
        }
    }

    #[test]
    fn a_corrupted_line_is_never_trusted() {
        let bytes = ledger();
        for position in 0..bytes.len() {
            for flip in 1..=255 {
                let mut damaged = bytes.clone();
                damaged[position] ^= flip;
                let contents = parse(&damaged);
                let when = format!("byte {position} ^ {flip}");
                assert_no_invented_changes(&contents, &when);
                // A last line that lost only its line end is complete.
                let last = position + 1 == bytes.len();
                assert!(!contents.damaged.is_empty() || last, "{when}");
            }
        }
    }

    #[test]
    fn a_line_without_a_seal_is_never_trusted_in_any_format() {
        for format in [1, 2, FORMAT] {
            let mut text = String::new();
            for line in [header(format), intention(0), Line::Back { entry: 7 }] {
                text += &format!("{}\n", serde_json::to_string(&line).unwrap());
            }
            let contents = parse(text.as_bytes());
            assert_eq!((contents.damaged.len(), contents.open.len()), (3, 0), "format {format}");
        }
    }

    #[test]
    fn a_ledger_of_an_older_format_is_recognised_and_ignored() {
        let text = header(FORMAT - 1).to_text().unwrap() + &intention(0).to_text().unwrap();
        let contents = parse(text.as_bytes());
        assert_eq!(contents.newer_format(), Some(FORMAT - 1));
        assert!(contents.open.is_empty());
    }

    #[test]
    fn a_newer_format_is_recognised_although_its_lines_are_not() {
        let json = r#"{"begin":{"format":9,"run":"later","owner":"someone"}}"#;
        let text = format!("{json}\t{}\nwhatever it says\n", seal(json.as_bytes()));
        let contents = parse(text.as_bytes());
        assert_eq!(contents.newer_format(), Some(9));
        assert_eq!(contents.header.unwrap().run, "later");
        assert!(contents.damaged.is_empty());
    }

    #[test]
    fn an_unknown_kind_of_change_is_named_and_the_others_are_read() {
        let json = r#"{"intend":{"entry":1,"change":{"make_coffee":{}}}}"#;
        let mut text = header(FORMAT).to_text().unwrap() + &intention(0).to_text().unwrap();
        text += &format!("{json}\t{}\n", seal(json.as_bytes()));
        let contents = parse(text.as_bytes());
        assert_eq!(contents.open.len(), 1);
        assert_eq!((contents.damaged.len(), contents.damaged[0].line), (1, 3));
        assert!(contents.damaged[0].text.contains("make_coffee"));
    }
}
