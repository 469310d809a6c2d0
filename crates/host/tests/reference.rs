//! The pages in the documentation match the tables.

// Clippy does not recognize functions shared by tests as tests.
#![allow(clippy::unwrap_used)]

use std::path::Path;

#[test]
fn the_page_of_knobs_in_the_documentation_is_up_to_date() {
    compare("knobs.md", &assay_host::knob::reference());
}

#[test]
fn the_page_of_settings_in_the_documentation_is_up_to_date() {
    compare("settings.md", &assay_host::knob::settings_reference());
}

#[track_caller]
fn compare(page: &str, current: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    if std::env::var_os("ASSAY_BLESS").is_some() {
        std::fs::write(&path, current).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == current,
        "run `ASSAY_BLESS=1 cargo test -p assay-host` to write {}",
        path.display()
    );
}
