//! Percent-encodes folder names for links. A Linux file name is any bytes, not only text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A name as one segment of a relative link (RFC 3986): every byte outside the unreserved set is
/// percent-encoded.
pub(crate) fn link(name: &OsStr) -> String {
    let mut link = String::with_capacity(name.len());
    for byte in name.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                link.push(char::from(*byte));
            }
            other => link.push_str(&format!("%{other:02X}")),
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf8_keep_their_bytes() {
        assert_eq!(link(OsStr::new("20260101T000000Z-io-weight")), "20260101T000000Z-io-weight");
        assert_eq!(link(OsStr::from_bytes(b"a \xff/#\"")), "a%20%FF%2F%23%22");
    }
}
