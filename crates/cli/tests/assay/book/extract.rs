//! The blocks of code in the docs, and the command lines in them.

use std::path::{Path, PathBuf};

use crate::book::shell::words;

/// A block of code.
#[derive(Debug)]
pub(crate) struct Block {
    /// The page, from the root of the workspace.
    pub(crate) page: String,
    /// The line after the opening fence.
    pub(crate) line: usize,
    /// The text after the opening fence.
    pub(crate) language: String,
    pub(crate) text: String,
}

/// A command line of `assay` or `assay-load`.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    /// `docs/cli.md:56`.
    pub(crate) place: String,
    /// Its words, the program first.
    pub(crate) words: Vec<String>,
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every page for users: the README and all pages in docs.
pub(crate) fn pages() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every block of every page.
pub(crate) fn blocks() -> Vec<Block> {
    pages().iter().flat_map(|path| blocks_of(path)).collect()
}

fn blocks_of(path: &Path) -> Vec<Block> {
    let page = path.strip_prefix(root()).unwrap().display().to_string();
    let text = std::fs::read_to_string(path).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside;
            if inside {
                let language = language.trim().to_owned();
                let (page, text) = (page.clone(), String::new());
                blocks.push(Block { page, line: index + 2, language, text });
            }
        } else if let (true, Some(block)) = (inside, blocks.last_mut()) {
            block.text.push_str(line);
            block.text.push('\n');
        }
    }
    assert!(!inside, "{page}: a block of code is not closed");
    blocks
}

/// Every command line of every block.
pub(crate) fn command_lines() -> Vec<CommandLine> {
    blocks().iter().flat_map(command_lines_of).collect()
}

fn command_lines_of(block: &Block) -> Vec<CommandLine> {
    let mut found = Vec::new();
    let mut lines = block.text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let Some(start) = command(line) else { continue };
        let mut whole = start.to_owned();
        // A backslash or an open quote goes on in the next line.
        while whole.ends_with('\\') || words(&whole).is_none() {
            let Some((_, next)) = lines.next() else { break };
            whole = format!("{} {}", whole.trim_end_matches('\\'), next.trim_start_matches("> "));
        }
        let words = words(&whole).unwrap_or_else(|| panic!("{}: {whole}", block.page));
        found.push(CommandLine { place: format!("{}:{}", block.page, block.line + index), words });
    }
    found
}

/// The part of a line that is one of our commands: after the prompt, `sudo` and `systemd-run`, and before
/// an explanation separated by spaces.
fn command(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let mut rest = line.strip_prefix("$ ").unwrap_or(line);
    rest = rest.strip_prefix("sudo ").unwrap_or(rest);
    if rest.starts_with("systemd-run ") {
        rest = &rest[rest.find(" assay ")? + 1..];
    }
    let (program, arguments) = rest.split_once(' ')?;
    // `assay exec: exit code 0` is output of the program.
    if !matches!(program, "assay" | "assay-load") || arguments.split(' ').next()?.ends_with(':') {
        return None;
    }
    let explained = rest.find("    ").filter(|_| !rest.contains('#'));
    let rest = &rest[..explained.unwrap_or(rest.len())];
    let quoted = rest.find(" `").unwrap_or(rest.len());
    Some(rest[..quoted].trim_end())
}

#[test]
fn commands_are_extracted_without_prompts_and_explanations() {
    assert_eq!(command("$ sudo assay run x"), Some("assay run x"));
    assert_eq!(command("assay judge A    a file a group"), Some("assay judge A"));
    assert_eq!(command("assay lab conform `assay conform` there"), Some("assay lab conform"));
    assert_eq!(command("assay exec: exit code 0"), None);
    assert_eq!(command("systemd-run --user --scope assay exec -- X"), Some("assay exec -- X"));
    assert_eq!(command("cargo run"), None);
}
