//! Names of systemd units (systemd.unit(5)).

use std::borrow::Cow;

/// Kinds of units that have a group.
const KINDS: [&str; 6] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];

/// Whether this is the name of a unit that has a group.
#[must_use]
pub fn is_unit(name: &str) -> bool {
    KINDS.iter().any(|kind| name.len() > kind.len() && name.ends_with(kind))
}

/// The unit whose group this is, if only slices are above it: then the system's manager made it, and no user's or container's.
#[must_use]
pub fn unit_of_system(path: &str) -> Option<&str> {
    let (above, name) = path.rsplit_once('/')?;
    let is_ours = above.split('/').skip(1).all(|part| part.ends_with(".slice"));
    (is_ours && is_unit(name)).then_some(name)
}

/// `\x2d` is a dash. What gives no text stays as it is, and so does what gives a newline or another control character: the
/// kernel refuses one in the name of a group, and a user who names a unit would write lines of his own into a page.
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
    let is_harmless = |text: &String| matches!(assay_sys::escape::line(text), Cow::Borrowed(_));
    String::from_utf8(bytes).ok().filter(is_harmless).unwrap_or_else(|| name.to_owned())
}
