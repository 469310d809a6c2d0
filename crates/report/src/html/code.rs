//! Embedded style and scripts of a page, and the policy that lets a browser apply only these.
//! Origin and hashes of the plotting code: `docs/supply-chain.md`.

use assay_sys::escape::html as escaped;
use sha2::{Digest, Sha256};

/// The plotting code in loading order, each with its licence, which must accompany it (BSD-3-Clause, condition 2).
const LIBRARIES: [(&str, &str, &str); 3] = [
    ("vega", include_str!("../../vendor/vega.min.js"), include_str!("../../vendor/LICENSE.vega")),
    (
        "vega-lite",
        include_str!("../../vendor/vega-lite.min.js"),
        include_str!("../../vendor/LICENSE.vega-lite"),
    ),
    (
        "vega-embed",
        include_str!("../../vendor/vega-embed.min.js"),
        include_str!("../../vendor/LICENSE.vega-embed"),
    ),
];

/// The licences of packages bundled in these libraries: each must accompany the code.
const BUNDLED: &str = include_str!("../../vendor/LICENSE.bundled");

/// The code of one page.
pub(crate) struct Code {
    pub(crate) style: &'static str,
    /// Names, code and licences.
    libraries: &'static [(&'static str, &'static str, &'static str)],
    /// Runs last.
    script: &'static str,
}

/// Code of a page with figures.
pub(crate) const FIGURES: Code = Code {
    style: include_str!("../templates/style.css"),
    libraries: &LIBRARIES,
    script: include_str!("../templates/script.js"),
};

/// Code of a page that is only read.
pub(crate) const TEXT: Code =
    Code { style: include_str!("../templates/style.css"), libraries: &[], script: "" };

impl Code {
    /// Whether it draws figures.
    pub(crate) const fn draws(&self) -> bool {
        !self.libraries.is_empty()
    }

    /// Content-Security-Policy (CSP level 3): nothing is loaded from outside, evaluated from text,
    /// or run from within the markup. Allowed code is identified by its hash, so anything injected
    /// into a page stays text.
    pub(crate) fn policy(&self) -> String {
        let scripts = self.libraries.iter().map(|(_, code, _)| embedded(code)).chain([self.script]);
        let scripts: String = scripts.map(source).collect();
        format!(
            "default-src 'none'; script-src{scripts}; style-src{}; base-uri 'none'; form-action 'none'",
            source(self.style)
        )
    }

    /// The scripts at the end of the body.
    pub(crate) fn scripts(&self) -> String {
        let library = |(name, code, _): &(&str, &str, &str)| {
            format!("<script data-library=\"{name}\">{}</script>\n", embedded(code))
        };
        let own = if self.script.is_empty() {
            String::new()
        } else {
            format!("<script>{}</script>\n", self.script)
        };
        self.libraries.iter().map(library).chain([own]).collect()
    }

    /// The licences at the end of a page with figures.
    pub(crate) fn licences(&self) -> String {
        if !self.draws() {
            return String::new();
        }
        let all = self.libraries.iter().map(|(name, _, licence)| (*name, *licence));
        let licences = all.chain([("Bundled packages", BUNDLED)]).map(|(name, licence)| {
            format!("<h3>{name}</h3>\n<pre tabindex=\"0\">{}</pre>\n", escaped(licence))
        });
        format!(
            "<footer>\n<details><summary>Licences of Vega, Vega-Lite and Vega-Embed, which draw the figures</summary>\n\
             {}</details>\n</footer>\n",
            licences.collect::<String>()
        )
    }
}

/// Without its last line, which points to a source map next to the file: a page has none, and developer
/// tools would try to load it.
fn embedded(code: &str) -> &str {
    code.split("\n//# sourceMappingURL=").next().unwrap_or(code)
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
        let libraries = FIGURES.libraries.iter().map(|(_, code, _)| embedded(code));
        for text in libraries.chain([FIGURES.style, FIGURES.script]) {
            assert!(!text.is_empty() && !text.contains(['\r', '\0']));
        }
    }
}
