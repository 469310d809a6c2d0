//! The plotting code embedded in every report. Origin and hashes: `docs/supply-chain.md`.

use serde::Serialize;

/// One vendored library.
#[derive(Serialize)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    /// Its code, minified, for a `<script>` element.
    pub(crate) code: minijinja::Value,
    /// Its licence, which must accompany the code (BSD-3-Clause, condition 2).
    pub(crate) licence: &'static str,
}

/// The licences of packages bundled in these libraries: each must accompany the code.
pub(crate) const BUNDLED: &str = include_str!("../vendor/LICENSE.bundled");

/// All libraries in loading order.
pub(crate) fn libraries() -> Vec<Library> {
    vec![
        library(
            "vega",
            include_str!("../vendor/vega.min.js"),
            include_str!("../vendor/LICENSE.vega"),
        ),
        library(
            "vega-lite",
            include_str!("../vendor/vega-lite.min.js"),
            include_str!("../vendor/LICENSE.vega-lite"),
        ),
        library(
            "vega-embed",
            include_str!("../vendor/vega-embed.min.js"),
            include_str!("../vendor/LICENSE.vega-embed"),
        ),
    ]
}

fn library(name: &'static str, code: &str, licence: &'static str) -> Library {
    // The last line points to a source map next to the file, which a page does not have; developer
    // tools would try to load it.
    let code = code.split("\n//# sourceMappingURL=").next().unwrap_or(code);
    Library { name, code: minijinja::Value::from_safe_string(code.to_owned()), licence }
}
