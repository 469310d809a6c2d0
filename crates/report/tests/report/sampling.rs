//! Tests of the sampler's own account: a table on every page, and a line in the text only if
//! something was late or lost.

use assay_record::run_folder::SourceCost;

use crate::cases;
use crate::page::{html, text};

#[test]
fn text_lists_only_late_or_lost_rounds() {
    let mut run = cases::kept();
    assert!(!text(&run).contains("sampling of repeat"));
    let sampler = &mut run.manifest.trials[0].repeats[1].sampler;
    (sampler.rounds, sampler.missed, sampler.late, sampler.latest_s) = (197, 3, 5, 0.0382);
    let text = text(&run);
    let line = "sampling of repeat 2: 3 of 200 rounds lost, 5 late, the latest by 38.2 ms";
    assert!(text.contains(line), "{text}");
    assert_eq!(text.matches("sampling of repeat").count(), 1);
}

#[test]
fn page_shows_sampler_affinity_wakeups_and_cost_per_source() {
    let mut run = cases::kept();
    let repeats = &mut run.manifest.trials[0].repeats;
    let sampler = &mut repeats[0].sampler;
    (sampler.cpu, sampler.group) = (Some(3), Some("/sys/fs/cgroup/cpu/x/observer".to_owned()));
    (sampler.wakeups, sampler.late) = (215, 4);
    let cost = SourceCost { period_s: 0.1, rounds: 200, rows: 800, cpu_s: 0.06 };
    sampler.sources.insert("io".to_owned(), cost);
    let why = "every CPU belongs to a measured group".to_owned();
    repeats[1].not_available.insert("sampler.cpu".to_owned(), why);
    let page = crate::page::without_names(&html(&run));
    let cost = page.split("<div id=\"cost\">").nth(1).unwrap();
    let cost = cost.split("</section>").next().unwrap();
    for part in [
        "<caption>Sampling",
        "CPU 3; /sys/fs/cgroup/cpu/x/observer",
        "no dedicated CPU: every CPU belongs to a measured group; no dedicated group",
        "<td class=\"n\">4</td><td class=\"n\">2.1</td><td class=\"n\">215</td>",
        "<code>io</code></th><td class=\"n\">200</td><td class=\"n\">800</td>",
    ] {
        assert!(cost.contains(part), "no `{part}` in {cost}");
    }
}
