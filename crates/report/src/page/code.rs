//! Embedded style and scripts of a page, and the policy that lets a browser apply only these.

use minijinja::Value as Markup;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::vendor::{self, Library};

/// The code of one page.
#[derive(Serialize)]
pub(crate) struct Code {
    /// Content-Security-Policy (CSP level 3): nothing is loaded from outside, evaluated from text,
    /// or run from within the markup. Allowed code is identified by its hash, so anything injected
    /// into a page stays text.
    policy: Markup,
    style: Markup,
    /// In loading order.
    libraries: Vec<Library>,
    /// Licences of packages bundled in the libraries.
    bundled: &'static str,
    /// Runs last.
    script: Markup,
}

impl Code {
    /// Code of a page with figures.
    pub(crate) fn for_figures() -> Self {
        let style = include_str!("../templates/style.css");
        Self::new(style, vendor::libraries(), include_str!("../templates/script.js"))
    }

    /// Code of the list of runs.
    pub(crate) fn for_index() -> Self {
        let style =
            concat!(include_str!("../templates/style.css"), include_str!("../templates/index.css"));
        Self::new(style, Vec::new(), include_str!("../templates/index.js"))
    }

    /// Code of a page that is only read.
    pub(crate) fn without_scripts() -> Self {
        Self::new(include_str!("../templates/style.css"), Vec::new(), "")
    }

    fn new(style: &str, libraries: Vec<Library>, script: &str) -> Self {
        let scripts = libraries.iter().map(|library| library.code.as_str().unwrap_or_default());
        let scripts: String = scripts.chain([script]).map(source).collect();
        let policy = format!(
            "default-src 'none'; script-src{scripts}; style-src{}; base-uri 'none'; \
             form-action 'none'",
            source(style)
        );
        Self {
            policy: Markup::from_safe_string(policy),
            style: Markup::from_safe_string(style.to_owned()),
            libraries,
            bundled: vendor::BUNDLED,
            script: Markup::from_safe_string(script.to_owned()),
        }
    }
}

/// The hash source of an element's content, with a leading blank.
fn source(content: &str) -> String {
    format!(" 'sha256-{}'", base64(&Sha256::digest(content)))
}

/// Base64 of RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits = part.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte));
        let bits = bits << (8 * (3 - part.len()));
        for index in 0..4 {
            let letter = ALPHABET[bits >> (18 - 6 * index) & 63] as char;
            text.push(if index <= part.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_matches_the_rfc() {
        // The test vectors of RFC 4648, section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn code_has_no_bytes_that_a_browser_changes_before_hashing() {
        for code in [Code::for_figures(), Code::for_index()] {
            let libraries = code.libraries.iter().map(|library| &library.code);
            for text in libraries.chain([&code.style, &code.script]) {
                let text = text.as_str().unwrap();
                assert!(!text.is_empty() && !text.contains(['\r', '\0']));
            }
        }
    }
}
