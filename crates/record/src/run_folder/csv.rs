//! CSV as samples are written in while a repeat runs (RFC 4180): a field is quoted only where it must be, and
//! read as it was written, unlike `assay_sys::escape::csv`, which spreadsheets read.

use std::borrow::Cow;

/// Appends a field. A line is a row, so that damage to one changes no other: line feeds in a name become spaces.
pub(crate) fn push(text: &mut Vec<u8>, field: &str) {
    if field.bytes().any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r')) {
        text.push(b'"');
        text.extend_from_slice(field.replace('"', "\"\"").replace('\n', " ").as_bytes());
        text.push(b'"');
    } else {
        text.extend_from_slice(field.as_bytes());
    }
}

/// The first whole line, without its end, and what follows it.
pub(crate) fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    Some((&text[..end], &text[end + 1..]))
}

/// The fields of a line.
pub(crate) fn fields(line: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut quoted = false;
    let fields = line.split(move |letter| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    });
    fields.map(|field| match field.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"').unwrap_or(rest).replace("\"\"", "\"").into(),
        None => field.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_survives_as_a_field() {
        let names = ["a", "", "a,b", "say \"x\"", "\"", "line\r", ",\"x\",", "g\u{fc}n"];
        let mut text = Vec::new();
        for name in names {
            push(&mut text, name);
            text.push(b',');
        }
        text.extend_from_slice(b"1\nrest");
        let (first, rest) = line(&text).unwrap();
        let read: Vec<_> = fields(std::str::from_utf8(first).unwrap()).collect();
        assert_eq!((&read[..8], &*read[8], rest), (&names.map(Cow::from)[..], "1", &b"rest"[..]));
        assert_eq!(line(rest), None, "no whole line");
        text.clear();
        push(&mut text, "two\nlines");
        assert_eq!(text, b"\"two lines\"");
    }
}
