//! The part of a shell's grammar used by command lines in the docs: words, quotes, comments, and the end
//! of a command.

/// The words of the first command of a line, or `None` while a quote is open.
pub(crate) fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for sign in line.chars() {
        match (quote, sign) {
            (Some(open), _) if sign == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(sign),
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | ';' | '&') => break,
            (None, _) if sign.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[test]
fn words_end_where_the_command_does() {
    let split = |line: &str| words(line).unwrap();
    assert_eq!(
        split("assay run x --set \"a=1 2\"   # why"),
        ["assay", "run", "x", "--set", "a=1 2"]
    );
    assert_eq!(split("assay run --list > mine.toml"), ["assay", "run", "--list"]);
    assert_eq!(split("sh -c 'a; b' && c"), ["sh", "-c", "a; b"]);
    assert_eq!(words("sh -c 'open"), None);
}
