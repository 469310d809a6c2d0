//! What a browser may run and apply of each page: what the page was written with, and nothing that got into
//! it later.

use sha2::{Digest, Sha256};

use crate::browser::{figures, opened, recording};
use crate::{cases, index, tuning};

fn kept() -> String {
    let run = cases::kept();
    assay_report::html(&run.manifest, &run.judgement, &run.samples).unwrap()
}

/// Every kind of page that Assay writes.
fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("report", kept()),
        ("tuning", tuning::whole()),
        ("recording", recording()),
        ("fleet", assay_report::fleet_html(&cases::fleet()).unwrap()),
        ("comparison", index::comparison()),
        ("list of runs", index::index()),
    ]
}

/// The policy as it stands in the page.
fn policy(page: &str) -> &str {
    let (_, rest) = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
    rest.split_once('"').unwrap().0
}

/// Attributes and content of each element of this name.
fn elements<'p>(page: &'p str, name: &str) -> Vec<(&'p str, &'p str)> {
    let (opens, closes) = (format!("<{name}"), format!("</{name}>"));
    let opened = page.split(&opens).skip(1);
    opened
        .map(|rest| {
            let (attributes, rest) = rest.split_once('>').unwrap();
            (attributes, rest.split_once(&closes).unwrap().0)
        })
        .collect()
}

/// The bytes that a base64 text stands for.
fn decoded(text: &str) -> Vec<u8> {
    let value = |sign: u8| match sign {
        b'A'..=b'Z' => sign - b'A',
        b'a'..=b'z' => sign - b'a' + 26,
        b'0'..=b'9' => sign - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other} in {text}"),
    };
    let signs: Vec<u8> = text.trim_end_matches('=').bytes().map(value).collect();
    let part = |four: &[u8]| {
        let bits = four.iter().fold(0_u32, |bits, six| bits << 6 | u32::from(*six));
        let bits = bits << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    };
    signs.chunks(4).flat_map(part).collect()
}

/// The hashes that a directive of the policy names.
fn hashes(policy: &str, directive: &str) -> Vec<Vec<u8>> {
    let mut directives = policy.split("; ");
    let found = directives.find_map(|one| one.strip_prefix(directive)).unwrap();
    let named = found.split_whitespace();
    named
        .map(|source| {
            let hash = source.strip_prefix("'sha256-").and_then(|rest| rest.strip_suffix('\''));
            decoded(hash.unwrap_or_else(|| panic!("{directive} allows {source}")))
        })
        .collect()
}

#[test]
fn the_policy_of_every_page_names_each_script_and_style_by_its_hash_and_allows_no_other() {
    let hash = |content: &str| Sha256::digest(content).to_vec();
    for (name, page) in pages() {
        let policy = policy(&page);
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{name}: {policy}");
        assert!(!policy.contains("unsafe"), "{name}: {policy}");
        for wanted in ["base-uri 'none'", "form-action 'none'"] {
            assert!(policy.contains(wanted), "{name}: {policy}");
        }
        let runs = |(attributes, _): &(&str, &str)| !attributes.contains("application/json");
        let scripts = elements(&page, "script").into_iter().filter(runs);
        let scripts: Vec<_> = scripts.map(|(_, content)| hash(content)).collect();
        assert_eq!(scripts, hashes(policy, "script-src"), "{name}");
        let styles = elements(&page, "style").into_iter();
        let styles: Vec<_> = styles.map(|(_, content)| hash(content)).collect();
        assert_eq!(styles, hashes(policy, "style-src"), "{name}");
        assert!(page.find("Content-Security-Policy") < page.find("<style"), "{name}");
    }
}

#[test]
fn no_page_has_a_style_or_a_program_in_an_attribute() {
    for (name, page) in pages() {
        let written = page.split("<script data-library").next().unwrap();
        for tag in written.split('<').filter_map(|tag| tag.split('>').next()) {
            let handler = |rest: &str| {
                rest.trim_start_matches(|sign: char| sign.is_ascii_lowercase()).starts_with('=')
            };
            assert!(!tag.contains(" style="), "{name}: {tag}");
            assert!(!tag.split(" on").skip(1).any(handler), "{name}: {tag}");
            assert!(!tag.contains("javascript:"), "{name}: {tag}");
        }
    }
}

/// What somebody could have got into a page, each in the place of a text.
const SLIPPED_IN: &str = "<script>document.body.dataset.ran = 'script';</script>\
    <img src=\"x\" onerror=\"document.body.dataset.ran = 'handler';\">\
    <svg onload=\"document.body.dataset.ran = 'drawing';\"></svg>\
    <style>body { --ran: style; }</style><p id=\"styled\" style=\"--ran: attribute\"></p>";

#[test]
fn what_was_slipped_into_a_page_does_not_run_and_its_figures_are_drawn_all_the_same() {
    for (name, page) in pages() {
        let attacked = page.replacen("<main", &format!("{SLIPPED_IN}<main"), 1);
        assert_ne!(attacked, page, "{name}");
        let Some(seen) = opened(&attacked, "what_was_slipped_into", "", 1400) else { return };
        assert!(!seen.dom.contains("data-ran="), "{name}: it ran");
        for (id, inside) in figures(&seen.dom) {
            assert!(inside.contains("<svg"), "{name}: {id} was not drawn");
        }
        let refused = |what: &str| seen.console.iter().filter(|line| line.contains(what)).count();
        assert_eq!(refused("script-src"), 3, "{name}: {:?}", seen.console);
        assert_eq!(refused("style-src"), 2, "{name}: {:?}", seen.console);
        assert_eq!(seen.requests, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn text_is_never_made_into_a_program() {
    const TRIES: &str = "<script nonce=\"test\">\
        var made = [function () { return eval('1'); }, function () { return new Function('1'); }];\
        made = made.map(function (make) { try { make(); return 'ran'; } catch (error) { return error.name; } });\
        document.body.dataset.made = made.join(' ');</script><main";
    for (name, page) in pages() {
        let page = page.replacen("script-src ", "script-src 'nonce-test' ", 1);
        let page = page.replacen("<main", TRIES, 1);
        let Some(seen) = opened(&page, "text_is_never_made", "", 1400) else { return };
        assert!(seen.dom.contains("data-made=\"EvalError EvalError\""), "{name}");
    }
}

/// The reader of the page stands in for Vega's, which makes a function of the names of columns.
#[test]
fn names_that_csv_has_to_quote_are_drawn_as_they_are() {
    let mut run = cases::kept();
    let name = "a, \"b\"\nc";
    for tables in run.samples.iter_mut().flatten().flatten() {
        for subject in tables.subjects.iter_mut().filter(|subject| *subject == "task1") {
            *subject = name.to_owned();
        }
    }
    run.manifest.trials[0].groups[0].name = name.to_owned();
    let page = assay_report::html(&run.manifest, &run.judgement, &run.samples).unwrap();
    let Some(seen) = opened(&page, "names_that_csv", "", 1400) else { return };
    let over_time = figures(&seen.dom);
    let of_rates = over_time.iter().find(|(id, _)| *id == "trial-1-bandwidth-over-time").unwrap();
    let drawn = of_rates.1.split("<script").next().unwrap();
    assert!(drawn.contains("a, &quot;b&quot;"), "{drawn}");
    assert_eq!(seen.console, Vec::<String>::new());
}

#[test]
fn the_menu_of_a_figure_saves_it_and_opens_nothing() {
    let Some(seen) = opened(&kept(), "the menu of a figure", "", 1400) else { return };
    for (id, inside) in figures(&seen.dom) {
        for entry in ["Save as SVG", "Save as PNG", "Save as Vega-Lite"] {
            assert_eq!(inside.matches(entry).count(), 1, "{id}: {entry}");
        }
        assert!(!inside.contains("View Source"), "{id}");
    }
}
