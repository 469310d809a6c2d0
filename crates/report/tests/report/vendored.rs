//! The vendored code is what its README says it is.

use std::path::Path;

use sha2::{Digest, Sha256};

fn vendor() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor")
}

/// `(file, version, sha256)` of each row of the README's table.
fn listed() -> Vec<(String, String, String)> {
    let readme = std::fs::read_to_string(vendor().join("README.md")).unwrap();
    let rows = readme.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(|c| c.trim().trim_matches('`')).collect();
        (cells[1].to_owned(), cells[3].to_owned(), cells[5].to_owned())
    })
    .collect()
}

#[test]
fn every_vendored_file_has_the_hash_and_the_version_of_the_readme() {
    let listed = listed();
    assert_eq!(listed.len(), 3);
    for (file, version, hash) in listed {
        let bytes = std::fs::read(vendor().join(&file)).unwrap();
        let seen: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(seen, hash, "{file}");
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(&format!("\"{version}\"")), "{file} is not {version}");
    }
}

#[test]
fn no_vendored_file_can_end_its_script_element_and_each_brings_its_licence() {
    for (file, _, _) in listed() {
        let text = std::fs::read_to_string(vendor().join(&file)).unwrap().to_lowercase();
        assert!(!text.contains("</script") && !text.contains("<!--"), "{file}");
        let licence = vendor().join(format!("LICENSE.{}", file.trim_end_matches(".min.js")));
        let licence = std::fs::read_to_string(licence).unwrap();
        assert!(licence.contains("Redistribution and use in source and binary forms"));
    }
}
