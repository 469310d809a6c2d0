//! The vendored code can be embedded in a page. `crates/tidy` tests that it matches
//! docs/supply-chain.md.

use std::path::Path;

/// Name and text of each file of the folder.
fn vendored() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.file_name().unwrap().to_string_lossy().into_owned(), text)
    };
    files.map(read).collect()
}

#[test]
fn vendored_files_cannot_close_their_script_element_and_have_a_licence() {
    let all = vendored();
    let scripts: Vec<_> = all.iter().filter(|(name, _)| name.ends_with(".js")).collect();
    assert_eq!(scripts.len(), 3);
    for (name, text) in scripts {
        let text = text.to_lowercase();
        assert!(!text.contains("</script") && !text.contains("<!--"), "{name}");
        let licence = format!("LICENSE.{}", name.trim_end_matches(".min.js"));
        let (_, licence) = all.iter().find(|(name, _)| *name == licence).unwrap();
        assert!(licence.contains("Redistribution and use in source and binary forms"));
    }
}

/// Without it the page would load but draw nothing; this test explains why.
#[test]
fn vega_embed_contains_the_expression_interpreter() {
    let all = vendored();
    let (_, embed) = all.iter().find(|(name, _)| name == "vega-embed.min.js").unwrap();
    assert!(embed.contains("could lead to insecure code execution"), "no interpreter inside");
}

#[test]
fn bundled_packages_have_a_licence() {
    let all = vendored();
    let (_, bundled) = all.iter().find(|(name, _)| name == "LICENSE.bundled").unwrap();
    for package in ["d3-array", "delaunator", "topojson-client", "fast-json-patch", "semver"] {
        assert!(bundled.lines().any(|line| line.starts_with(&format!("{package} "))), "{package}");
    }
}
