//! Property tests: no text makes the checker panic, and an accepted study is sound.

use assay_study::{Study, combinations, parse, render, shipped, shipped_file};
use assay_sys::diagnostic::{Severity, document};
use proptest::prelude::*;

/// Parses and renders a text; neither may panic.
fn parse_and_render(text: &str) -> Option<Study> {
    let (study, findings) = parse("any", text, &|_| Err("nothing is there".to_owned()));
    let rendered = render(&findings, "any.toml", text, true);
    assert_eq!(rendered.is_empty(), findings.is_empty());
    assert_eq!(document(&findings, "any.toml", text).diagnostics.len(), findings.len());
    let sound = findings.iter().all(|finding| finding.severity != Severity::Error);
    assert_eq!(study.is_some(), sound);
    study
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn arbitrary_text_is_read_without_panic(text in "\\PC{0,200}") {
        parse_and_render(&text);
    }

    #[test]
    fn arbitrary_toml_like_text_is_read_without_panic(
        text in "([a-z]{1,8}|\\[\\[?(groups|disks\\.a|promises|workloads\\.b|factors)\\]\\]?|[={}\"\\[\\],.\n 0-9-]){0,60}"
    ) {
        parse_and_render(&text);
    }

    #[test]
    fn a_shipped_study_with_a_piece_replaced_is_read_without_panic(
        which in any::<prop::sample::Index>(),
        start in any::<prop::sample::Index>(),
        length in 0usize..40,
        piece in "([a-z0-9{}\"=\\[\\]\\.\n -]|99999999999999999999|-1|inf){0,12}",
    ) {
        let text = which.get(shipped()).text;
        let start = floor_boundary(text, start.index(text.len()));
        let end = floor_boundary(text, start + length).max(start);
        parse_and_render(&format!("{}{piece}{}", &text[..start], &text[end..]));
    }

    #[test]
    fn a_study_with_a_line_removed_resolves_wherever_it_is_accepted(
        which in any::<prop::sample::Index>(),
        line in any::<prop::sample::Index>(),
    ) {
        let lines: Vec<&str> = which.get(shipped()).text.lines().collect();
        let line = line.index(lines.len());
        let mut kept = lines.clone();
        kept.remove(line);
        let (study, _) = parse("less", &kept.join("\n"), &shipped_file);
        for bindings in study.iter().flat_map(combinations) {
            for group in study.iter().flat_map(|study| &study.groups) {
                prop_assert!(group.count.resolve(&bindings).is_ok());
                for value in group.knobs.iter().flat_map(|(_, values)| values) {
                    prop_assert!(value.resolve(&bindings).is_ok());
                }
            }
        }
    }
}
