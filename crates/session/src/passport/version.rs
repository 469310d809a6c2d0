//! Which Assay: results of another one's cases are not mixed with these.

use sha2::{Digest, Sha256};

/// The version, with a fingerprint of the cases' names and promises.
pub(super) fn assay() -> String {
    let mut promises = Sha256::new();
    for case in assay_conformance::all() {
        for text in [case.controller, case.behaviour, case.promise] {
            promises.update(text);
            promises.update([0]);
        }
    }
    let print: String = promises.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} (cases {print})", env!("CARGO_PKG_VERSION"))
}
