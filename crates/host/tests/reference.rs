//! The pages in the documentation have a row for each entry of the tables, and no other.

use std::collections::BTreeSet;

use assay_host::knob::{HostSetting, all, host_settings};

#[test]
fn the_page_of_knobs_has_a_row_for_each() {
    let page = include_str!("../../../docs/reference/knobs.md");
    assert_eq!(rows(page), all().iter().map(|knob| knob.name).collect());
}

#[test]
fn the_page_of_settings_has_a_row_for_each() {
    let page = include_str!("../../../docs/reference/settings.md");
    assert_eq!(rows(page), host_settings().iter().map(HostSetting::key).collect());
}

/// What the first cells of the tables' rows name.
fn rows(page: &str) -> BTreeSet<&str> {
    page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}
