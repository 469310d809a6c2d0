//! Names of systemd units (systemd.unit(5)).

/// Kinds of units that have a group.
const KINDS: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

pub(super) fn is_unit(name: &str) -> bool {
    KINDS.iter().any(|kind| name.len() > kind.len() && name.ends_with(kind))
}

/// `\x2d` is a dash. What gives no text stays as it is.
pub(super) fn unescape(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, escaped)) = rest.split_once("\\x") {
        bytes.extend(before.bytes());
        let byte = escaped.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match byte {
            Some(byte) => {
                bytes.push(byte);
                escaped.get(2..).unwrap_or_default()
            }
            None => {
                bytes.extend(b"\\x");
                escaped
            }
        };
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}
