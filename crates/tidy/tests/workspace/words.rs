//! Words that were replaced throughout the workspace and must not come back (docs/glossary.md).

use crate::tree::{files, root, shown};

/// Phrases, in any case, with what to write instead. Phrases across a line break are not found.
const PHRASES: [(&str, &str); 11] = [
    ("whoever", "a concrete noun: user, process, reader"),
    ("taken back", "restored"),
    ("put back", "restored"),
    ("took back", "restored"),
    ("is no knob", "unknown knob `x`"),
    ("nobody to follow", "no target given"),
    ("this room", "this crate"),
    ("the room `", "the crate `"),
    ("pure room", "pure crate"),
    ("rooms", "crates"),
    ("house", "workspace"),
];

/// Identifiers of Rust code, with what to write instead.
const IDENTIFIERS: [(&str, &str); 8] = [
    ("told", "command_line, messages, or what the value is"),
    ("shelf", "runs_dir"),
    ("glance", "summary"),
    ("Kitchen", "WorkloadPlanner"),
    ("Recipe", "WorkloadTemplate"),
    ("rooms", "crates"),
    ("house", "workspace"),
    ("FLOORS", "LAYERS"),
];

/// Recorded data, history, and this list.
const EXEMPT: [&str; 5] = [
    "crates/test-support/faults/",
    "crates/fuzz/corpus/",
    "loadgen/load-fuzz/corpus/",
    "CHANGELOG.md",
    "crates/tidy/tests/workspace/words.rs",
];

/// Whether `line` contains `word` and no neighbouring character belongs to it as well.
fn contains(line: &str, word: &str, is_part: fn(char) -> bool) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

fn is_of_identifier(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || sign == '_'
}

/// The length of the comment, string or character literal at the start of some Rust code; 0 if there is none.
fn literal(code: &str) -> usize {
    let to_end = |from: usize, end: &str| {
        code.get(from..)
            .and_then(|rest| rest.find(end))
            .map_or(code.len(), |at| from + at + end.len())
    };
    if code.starts_with("//") {
        return code.find('\n').unwrap_or(code.len());
    }
    if let Some(raw) = code.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return to_end(hashes + 2, &format!("\"{}", "#".repeat(hashes)));
        }
    }
    if let Some(rest) = code.strip_prefix('"') {
        let mut is_escaped = false;
        let end = rest.find(|sign| {
            let is_end = sign == '"' && !is_escaped;
            is_escaped = sign == '\\' && !is_escaped;
            is_end
        });
        return end.map_or(code.len(), |at| at + 2);
    }
    match code.as_bytes() {
        [b'\'', b'\\', ..] => to_end(3, "'"),
        [b'\'', _, b'\'', ..] => 3,
        _ => 0,
    }
}

/// Rust code without comments and literals; its lines keep their numbers.
fn without_literals(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(sign) = rest.chars().next() {
        let (skipped, next) = rest.split_at(literal(rest));
        kept.extend(skipped.chars().map(|sign| if sign == '\n' { '\n' } else { ' ' }));
        rest = next;
        if skipped.is_empty() {
            kept.push(sign);
            rest = &rest[sign.len_utf8()..];
        }
    }
    kept
}

/// The replaced words in a line, with their replacements. `code` is the line without literals.
fn replaced(line: &str, code: &str) -> Vec<(&'static str, &'static str)> {
    let lower = line.to_lowercase();
    let phrases = PHRASES.iter().filter(|(word, _)| {
        // A phrase may end in punctuation, behind which no word continues.
        let is_part = if word.ends_with('`') { |_| false } else { is_of_identifier };
        contains(&lower, word, is_part)
    });
    let identifiers = IDENTIFIERS.iter().filter(|(word, _)| contains(code, word, is_of_identifier));
    phrases.chain(identifiers).copied().collect()
}

#[test]
fn no_file_contains_replaced_words() {
    let mut hits = Vec::new();
    let mut checked = 0;
    for extension in ["rs", "toml", "md"] {
        for path in files(&root(), extension) {
            let name = shown(&path);
            if EXEMPT.iter().any(|exempt| name.starts_with(exempt)) {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = if extension == "rs" { without_literals(&text) } else { String::new() };
            let mut code = code.lines();
            for (number, line) in (1..).zip(text.lines()) {
                let found = replaced(line, code.next().unwrap_or_default());
                hits.extend(
                    found.into_iter().map(|(word, instead)| {
                        format!("{name}:{number}: `{word}`, write: {instead}")
                    }),
                );
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} files were found");
    assert!(hits.is_empty(), "{} replaced words:\n{}", hits.len(), hits.join("\n"));
}

#[test]
fn words_are_found_at_their_boundaries_only() {
    let words = |line: &str| -> Vec<&str> {
        replaced(line, &without_literals(line)).into_iter().map(|(word, _)| word).collect()
    };
    assert_eq!(
        words("// Whoever has put back the room `x`"),
        ["whoever", "put back", "the room `"]
    );
    assert_eq!(words("let told = untold(\"told\"); // told"), ["told"]);
    assert_eq!(words("#[serde(alias = \"told\")]"), Vec::<&str>::new());
}

#[test]
fn literals_and_comments_are_left_out_of_code() {
    let code = "a('\"', b'\\'', r#\"told \" x\"#, \"\\\"told\\\\\") // told\n'l: loop {}\n\"told\ntold\" b";
    let kept = without_literals(code);
    assert!(
        !kept.contains("told") && kept.ends_with(" b") && kept.contains("'l: loop {}"),
        "{kept}"
    );
    assert_eq!(kept.lines().count(), code.lines().count());
}
