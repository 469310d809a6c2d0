//! Tests of the Content-Security-Policy: a browser runs and applies only the code a page was
//! written with, not what was injected later.

use sha2::{Digest, Sha256};

use crate::browser::{figures, opened, recording, unfolded};
use crate::page::html;
use crate::{cases, comparison, tuning};

/// Every kind of page that Assay writes.
fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("report", html(&cases::kept())),
        ("tuning", tuning::full_page()),
        ("recording", recording()),
        ("fleet", assay_report::fleet_html(&cases::fleet())),
        ("comparison", comparison::comparison()),
    ]
}

/// The policy in the page.
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

/// Decodes base64.
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

/// The hashes in a directive of the policy.
fn hashes(policy: &str, directive: &str) -> Vec<Vec<u8>> {
    let mut directives = policy.split("; ");
    let sources = directives.find_map(|one| one.strip_prefix(directive)).unwrap();
    let named = sources.split_whitespace();
    named
        .map(|source| {
            let hash = source.strip_prefix("'sha256-").and_then(|rest| rest.strip_suffix('\''));
            decoded(hash.unwrap_or_else(|| panic!("{directive} allows {source}")))
        })
        .collect()
}

#[test]
fn policy_of_every_page_allows_only_hashed_scripts_and_styles() {
    let hash = |content: &str| Sha256::digest(content).to_vec();
    for (name, page) in pages() {
        let policy = policy(&page);
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{name}: {policy}");
        assert!(!policy.contains("unsafe"), "{name}: {policy}");
        for directive in ["base-uri 'none'", "form-action 'none'"] {
            assert!(policy.contains(directive), "{name}: {policy}");
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
fn no_page_loads_anything_or_has_styles_or_scripts_in_attributes() {
    for (name, page) in pages() {
        let written = page.split("<script data-library").next().unwrap();
        for attribute in [" src=", " srcset=", "@import", "url(", "<link", "<iframe", "<base"] {
            assert!(!written.contains(attribute), "{name}: {attribute}");
        }
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

/// Possible injections, each in place of a text.
const INJECTED: &str = "<script>document.body.dataset.ran = 'script';</script>\
    <img src=\"x\" onerror=\"document.body.dataset.ran = 'handler';\">\
    <svg onload=\"document.body.dataset.ran = 'drawing';\"></svg>\
    <style>body { --ran: style; }</style><p id=\"styled\" style=\"--ran: attribute\"></p>";

/// A script that may run, and evaluates text.
const EVALUATES: &str = "<script nonce=\"test\">\
    var made = [function () { return eval('1'); }, function () { return new Function('1'); }];\
    made = made.map(function (make) { try { make(); return 'ran'; } catch (error) { return error.name; } });\
    document.body.dataset.made = made.join(' ');</script>";

#[test]
fn injected_code_does_not_run_no_text_is_evaluated_and_figures_are_drawn() {
    for (name, page) in pages() {
        // The policy allows one thing more than that of the page.
        let page = page.replacen("script-src ", "script-src 'nonce-test' ", 1);
        let attacked = page.replacen("<main", &format!("{INJECTED}{EVALUATES}<main"), 1);
        assert_ne!(attacked, page, "{name}");
        let Some(opened_page) = opened(&unfolded(&attacked), "injected_code", "", 1400) else {
            return;
        };
        assert!(!opened_page.dom.contains("data-ran="), "{name}: it ran");
        assert!(opened_page.dom.contains("data-made=\"EvalError EvalError\""), "{name}");
        for (id, inside) in figures(&opened_page.dom) {
            assert!(inside.contains("<svg"), "{name}: {id} was not drawn");
        }
        let refused =
            |what: &str| opened_page.console.iter().filter(|line| line.contains(what)).count();
        assert_eq!(refused("script-src"), 3, "{name}: {:?}", opened_page.console);
        assert_eq!(refused("style-src"), 2, "{name}: {:?}", opened_page.console);
        assert_eq!(opened_page.requests, Vec::<String>::new(), "{name}");
    }
}

/// The page has its own CSV reader, since Vega's makes a function of the column names.
#[test]
fn names_that_need_csv_quoting_are_drawn_unchanged() {
    let mut run = cases::kept();
    let name = "a, \"b\"\nc";
    for tables in run.samples.iter_mut().flatten().flatten() {
        for subject in tables.subjects.iter_mut().filter(|subject| *subject == "task1") {
            *subject = name.to_owned();
        }
    }
    run.manifest.trials[0].groups[0].name = name.to_owned();
    let page = html(&run);
    let Some(opened_page) = opened(&page, "names_that_csv", "", 1400) else { return };
    let over_time = figures(&opened_page.dom);
    let of_rates = over_time.iter().find(|(id, _)| *id == "trial-1-bandwidth-over-time").unwrap();
    let drawn = of_rates.1.split("<script").next().unwrap();
    assert!(drawn.contains("a, &quot;b&quot;"), "{drawn}");
    assert_eq!(opened_page.console, Vec::<String>::new());
}
