//! Property files as Java reads them, and errors with their positions.

use super::*;

fn read(text: &str) -> Properties {
    let mut properties = Properties::default();
    properties.load("file", text.as_bytes()).unwrap();
    properties
}

fn refused(text: &str) -> String {
    Properties::default().load("file", text.as_bytes()).unwrap_err().to_string()
}

/// The examples from the documentation of `Properties.load`, and some corner cases.
#[test]
fn lines_are_split_as_in_java() {
    for (text, key, value) in [
        ("Truth = Beauty", "Truth", "Beauty"),
        ("  Truth:Beauty", "Truth", "Beauty"),
        ("Truth                    :Beauty", "Truth", "Beauty"),
        ("Truth Beauty", "Truth", "Beauty"),
        ("Truth\t=\t = Beauty ", "Truth", "= Beauty "),
        ("cheeses", "cheeses", ""),
        ("a\\:b\\=c\\ d=e", "a:b=c d", "e"),
        ("a=\\u0041\\t\\q\\\\", "a", "A\tq\\"),
        (
            "fruits  apple, banana, \\\n   pear, \\\r\n  mango",
            "fruits",
            "apple, banana, pear, mango",
        ),
        ("a=b\\", "a", "b"),
        ("a=1\\\n#2", "a", "1#2"),
        ("a=b\\\\\nc=d", "a", "b\\"),
        ("a=1\na=2", "a", "2"),
        ("a=1\r\ra=3\r", "a", "3"),
    ] {
        assert_eq!(read(text).get(key), Some(value), "{text:?}");
    }
}

#[test]
fn comments_and_blank_lines_are_ignored() {
    let properties = read("# one=1\n  ! two=2\n\n \t\nthree=3 # not a comment\n# no \\\nfour=4");
    let names: Vec<&str> = properties.names().map(|(name, _)| name).collect();
    assert_eq!(names, ["four", "three"]);
    assert_eq!(properties.get("three"), Some("3 # not a comment"));
}

#[test]
fn bytes_beyond_ascii_are_latin_1() {
    let mut properties = Properties::default();
    properties.load("file", b"a=\xe9").unwrap();
    assert_eq!(properties.get("a"), Some("\u{e9}"));
}

#[test]
fn an_invalid_escape_is_refused_with_line_column_and_remedy() {
    for (text, position) in [("a=1\nb=x\\u12g4", "file:2:4"), ("\\u12", "file:1:1")] {
        let message = refused(text);
        assert!(message.starts_with(position) && message.contains("hint: write four"), "{message}");
    }
}

#[test]
fn an_invalid_value_is_refused_with_its_position() {
    let properties = read("# x\n  recordcount = 1e6\nreadallfields=ture\nd=uniforn\nw=-1\nz=0");
    let number = properties.number::<u64>("recordcount", 0).unwrap_err().to_string();
    assert!(number.starts_with("file:2:17: `recordcount=1e6`\n  hint: expected"), "{number}");
    let flag = properties.flag("readallfields", true).unwrap_err().to_string();
    assert!(flag.contains("file:3:15") && flag.contains("`true` or `false`"), "{flag}");
    let word = properties.choice("d", "uniform", &[("uniform", 1), ("zipfian", 2)]);
    assert!(word.unwrap_err().to_string().contains("`uniform`, `zipfian`"));
    assert!(properties.weight("w", 0.0).is_err());
    assert!(properties.positive("z", 1).is_err());
    assert_eq!(properties.number("absent", 7u64), Ok(7));
}

#[test]
fn the_command_line_overrides_files_and_is_named_in_errors() {
    let mut properties = read("a=1");
    properties.set("a", "x");
    let error = properties.number::<u64>("a", 0).unwrap_err().to_string();
    assert!(error.starts_with("command line: `a=x`"), "{error}");
}
