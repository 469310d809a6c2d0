//! Several hosts running one study.

use assay_host::facts::Available;
use assay_judge::verdict::{
    FleetComparison, FleetHost, FleetJudgement, FleetPromise, FleetTrial, Spread,
};
use assay_sys::escape::page::{Cell, PAGE, Page, Parts, Rows, Section, Table, Tag, Tone, Verdict};

use crate::figure;
use crate::html::{self, FIGURES};
use crate::number::{self, NONE, Unit};
use crate::wording;

/// The page of a fleet: the verdict of each host, the spread between hosts, and their differences.
#[must_use]
pub fn html(judgement: &FleetJudgement) -> String {
    html::document(&page(judgement), &FIGURES)
}

/// The same for a terminal of `width` columns, with ANSI colours if `color`.
#[must_use]
pub fn text(judgement: &FleetJudgement, width: usize, color: bool) -> String {
    page(judgement).text(width, color)
}

fn page(judgement: &FleetJudgement) -> Page {
    let FleetJudgement { title, study, started_at, verdict, hosts, .. } = judgement;
    let mut sections = vec![hosts_section(judgement), differences(judgement)];
    if !judgement.comparisons.is_empty() {
        sections.push(Section::new("across", "Across trials", |page| {
            judgement.comparisons.iter().for_each(|one| comparison(one, page));
        }));
    }
    let trials = judgement.trials.iter().enumerate();
    sections.extend(trials.map(|(index, one)| trial(index + 1, one)));
    sections.push(Section::new("again", "Judge or run it again", |page| {
        page.on_page(|page| {
            page.text(
                "This page belongs to the fleet folder, next to the run of every host. In that folder:",
            );
            page.code(
                "assay fleet collect .    # this page, written again from the runs\n\
                 assay report RUN         # the report of one of the runs above, written again\n\
                 assay fleet resume .     # submit tasks without a verdict again",
            );
        });
    }));
    Page {
        title: format!("{}: {title}, on {} hosts", verdict.word(), hosts.len()),
        kicker: vec!["assay fleet".to_owned(), study.clone(), started_at.clone()],
        heading: title.clone(),
        question: judgement.question.clone(),
        verdict: Some(Verdict::new(wording::tag(*verdict), wording::sentence(&judgement.reason))),
        head: Parts::default(),
        sections,
    }
}

fn hosts_section(judgement: &FleetJudgement) -> Section {
    Section::new("hosts", "Hosts", |page| {
        page.table(table_of_hosts(&judgement.hosts));
        let whys = judgement
            .hosts
            .iter()
            .filter_map(|host| Some(format!("{}: {}", host.node, host.why.as_ref()?)));
        page.list(whys);
        page.text(crate::page::restored(judgement.restored));
    })
}

fn table_of_hosts(hosts: &[FleetHost]) -> Table {
    let verdict = |host: &FleetHost| {
        host.verdict.map_or_else(|| Tag::new(Tone::Void, NONE, "no verdict"), wording::tag)
    };
    let restored = |host: &FleetHost| match host.restored {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    // Not a link: a page in there may be anybody's.
    let run = |host: &FleetHost| match &host.run {
        None => Cell::from("none"),
        Some(run) => Cell::from(format!("`{run}`")),
    };
    Rows::new(hosts)
        .left("host", 0, |host| host.node.clone())
        .left("verdict", 0, verdict)
        .left("restored", 2, restored)
        .right("seed", 3, |host| host.seed.to_string())
        .left("run", PAGE, run)
        .into()
}

fn differences(judgement: &FleetJudgement) -> Section {
    Section::new("differences", "Differences between hosts", |page| {
        if judgement.differences.is_empty() {
            page.styled(
                "note fine",
                "All hosts with a run agree in kernel, control groups, topology, caches, memory, schedulers and tools.",
            );
        }
        for one in &judgement.differences {
            let others: Vec<String> = one.others.iter().map(|other| format!("{}: {}", other.node, other.is)).collect();
            let alike = wording::count(one.alike, "host");
            page.text(format!("{} differs: {alike}: {}; {}", one.what, one.usual, others.join("; ")));
        }
        for (what, why) in &judgement.not_available {
            page.styled("note missing", format!("not available: {what}: {why}"));
        }
    })
    .listed("Differences")
}

fn comparison(judged: &FleetComparison, page: &mut Parts) {
    let group = judged.group.as_ref().map(|group| format!(" of {group}")).unwrap_or_default();
    let held = match judged.held.is_empty() {
        true => String::new(),
        false => format!(", held: {}", wording::factors(&judged.held)),
    };
    let over = judged.over.join(", ");
    let text = format!("{}{group} is {} over {over}{held}", judged.measure, judged.is);
    page.tagged("says", text, Some(wording::tag(judged.verdict)));
    page.table(
        Rows::new(&judged.hosts)
            .left("host", 0, |host| host.node.clone())
            .left("verdict", 0, |host| wording::tag(host.verdict))
            .prose("why", |host| wording::sentence(&host.reason)),
    );
}

fn trial(number: usize, trial: &FleetTrial) -> Section {
    let anchor = format!("trial-{number}");
    Section::new(&anchor, wording::factors(&trial.factors), |page| {
        page.styled("says", format!("on {}", wording::count(trial.hosts, "host")));
        for (index, one) in trial.promises.iter().enumerate() {
            promise(format!("{anchor}-errors-{}", index + 1), one, page);
        }
    })
    .tagged(wording::tag(trial.verdict))
}

fn promise(figure: String, promise: &FleetPromise, page: &mut Parts) {
    page.tagged("says", wording::fleet_promise(promise), Some(wording::tag(promise.verdict)));
    page.figures(vec![figure::errors_of_hosts(figure, promise)]);
    page.on_page(|page| {
        page.styled(
            "reading",
            "Each host gives one number. The mean over hosts is geometric for rates and shares and arithmetic for \
             errors; its interval is Student's t over hosts. The ratio is the highest over the lowest.",
        );
    });
    page.table(spreads(promise));
    let error = |error: f64| format!("{} %", number::percent(error, 1));
    page.table(
        Rows::new(&promise.hosts)
            .left("host", 0, |host| host.node.clone())
            .left("verdict", 0, |host| wording::tag(host.verdict))
            .right("worst error", 0, |host| number::or_none(host.worst_error, error))
            .prose("why", |host| wording::sentence(&host.reason)),
    );
    let not_kept =
        promise.hosts.iter().filter(|host| host.verdict != assay_judge::verdict::Verdict::Kept);
    page.on_terminal(|page| {
        page.list(not_kept.take(REASONS).map(|host| format!("{}: {}", host.node, host.reason)));
    });
}

/// Maximum number of hosts whose reasons a terminal shows; all are in the page and in fleet-verdict.json.
const REASONS: usize = 8;

/// Maximum number of groups shown: those farthest from their expected values.
const GROUPS: usize = 16;

/// Numbers of a promise over hosts: its rate, its error, and its groups.
fn spreads(promise: &FleetPromise) -> Table {
    type Number<'s> = (String, &'s Available<Spread>, &'s dyn Fn(f64) -> String);
    let largest = promise.total_rate.value().map_or(0.0, |spread| spread.highest.value);
    let unit = Unit::for_rate(&promise.measure, largest);
    let (rate, percent) =
        (|rate| unit.with_label(rate), |part| format!("{} %", number::percent(part, 1)));
    let mut rows: Vec<Number<'_>> = vec![
        ("total rate".to_owned(), &promise.total_rate, &rate),
        ("worst error".to_owned(), &promise.worst_error, &percent),
    ];
    let mut groups: Vec<_> = promise.groups.iter().collect();
    if groups.len() > GROUPS {
        let distance = |spread: &Available<Spread>| {
            spread.value().map_or(f64::INFINITY, |spread| spread.value.ln().abs())
        };
        groups.sort_by(|a, b| distance(&b.to_expected).total_cmp(&distance(&a.to_expected)));
        groups.truncate(GROUPS);
    }
    rows.extend(groups.into_iter().map(|group| -> Number<'_> {
        (format!("{} / expected", group.name), &group.to_expected, &number::three)
    }));
    let cell = |of: fn(&Spread, &dyn Fn(f64) -> String) -> Option<String>| {
        move |(_, spread, write): &Number<'_>| {
            number::or_none(spread.value().and_then(|spread| of(spread, write)), |text| text)
        }
    };
    Rows::new(&rows)
        .left("over hosts", 0, |(what, ..)| what.clone())
        .right("mean", 0, cell(|one, write| Some(write(one.value))))
        .right(
            "interval",
            1,
            cell(|one, write| Some(format!("{} .. {}", write(one.low?), write(one.high?)))),
        )
        .right("ratio", 2, cell(|one, _| Some(number::three(one.ratio?))))
        .right(
            "lowest",
            3,
            cell(|one, write| Some(format!("{} {}", write(one.lowest.value), one.lowest.node))),
        )
        .right(
            "highest",
            3,
            cell(|one, write| Some(format!("{} {}", write(one.highest.value), one.highest.node))),
        )
        .right("hosts", 4, cell(|one, _| Some(one.hosts.to_string())))
        .missing(|(_, spread, _)| spread.reason().map(ToString::to_string))
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_judge::verdict::{
        Differs, Extreme, FleetGroup, HostDifference, PromiseOnHost, Verdict,
    };

    use super::*;

    fn spread(low: f64, high: f64) -> Available<Spread> {
        Available::Value(Spread {
            hosts: 2,
            value: (low * high).sqrt(),
            low: Some(low / 2.0),
            high: Some(high * 2.0),
            ratio: Some(high / low),
            lowest: Extreme { node: "alpha".to_owned(), value: low },
            highest: Extreme { node: "beta".to_owned(), value: high },
        })
    }

    /// Two hosts that ended, one with another kernel, and one that was lost.
    fn three_hosts() -> FleetJudgement {
        let host = |node: &str, verdict: Option<Verdict>| FleetHost {
            task: 0,
            node: node.to_owned(),
            why: verdict.is_none().then(|| "its node failed (<NodeDown>)".to_owned()),
            verdict,
            code: None,
            seed: 7,
            run: Some("tasks/00/job-1/run".to_owned()),
            restored: verdict.map(|_| true),
            traits: BTreeMap::new(),
        };
        let on_host = |node: &str, verdict, error| PromiseOnHost {
            node: node.to_owned(),
            verdict,
            reason: "task4 got less".to_owned(),
            worst_error: Some(error),
            total_rate: Some(1e6),
        };
        let promise = FleetPromise {
            measure: "io.bytes".to_owned(),
            is: "proportional".to_owned(),
            to: Some("io.weight".to_owned()),
            within: 0.1,
            verdict: Verdict::Broken,
            hosts: vec![
                on_host("alpha", Verdict::Kept, 0.02),
                on_host("beta", Verdict::Broken, 0.3),
            ],
            total_rate: spread(1e6, 2e6),
            worst_error: spread(0.02, 0.3),
            groups: vec![FleetGroup { name: "task1".to_owned(), to_expected: spread(0.9, 1.1) }],
        };
        FleetJudgement {
            schema: 1,
            study: "io-weight".to_owned(),
            title: "Weights & <disks>".to_owned(),
            question: None,
            started_at: "2026-11-21T10:00:00Z".to_owned(),
            verdict: Verdict::Broken,
            reason: "broken on 1 of 3 hosts (beta), no verdict from 1 (gamma)".to_owned(),
            restored: None,
            hosts: vec![
                host("alpha", Some(Verdict::Kept)),
                host("beta", Some(Verdict::Broken)),
                host("gamma", None),
            ],
            differences: vec![HostDifference {
                what: "kernel".to_owned(),
                usual: "6.1.0".to_owned(),
                alike: 1,
                others: vec![Differs { node: "beta".to_owned(), is: "6.12.0".to_owned() }],
            }],
            trials: vec![FleetTrial {
                factors: [("groups".to_owned(), 4.into())].into(),
                verdict: Verdict::Broken,
                hosts: 2,
                promises: vec![promise],
            }],
            comparisons: Vec::new(),
            not_available: [("folder /copies/x".to_owned(), "it has no manifest.json".to_owned())]
                .into(),
        }
    }

    #[test]
    fn text_has_hosts_spreads_and_reasons() {
        insta::assert_snapshot!(text(&three_hosts(), 120, false));
    }

    #[test]
    fn page_is_complete_and_escapes_user_texts() {
        let page = html(&three_hosts());
        assert!(page.contains("Weights &amp; &lt;disks&gt;") && !page.contains("<NodeDown>"));
        assert!(page.contains("6.12.0") && page.trim_end().ends_with("</html>"));
    }
}
