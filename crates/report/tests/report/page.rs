//! Tests of the HTML page: offline, safe, complete, small.

use serde_json::Value;

use crate::cases;
use crate::fixture::Run;

pub(crate) fn html(run: &Run) -> String {
    assay_report::html(&run.manifest, &run.judgement, &run.samples, None)
}

pub(crate) fn text(run: &Run) -> String {
    assay_report::text(&run.manifest, &run.judgement, 400, false)
}

/// The page without embedded code: what was written for this run.
fn written(run: &Run) -> String {
    let html = html(run);
    // The template engine also escapes slashes; undo it for readability.
    html.split("<script data-library").next().unwrap().to_owned()
}

/// The page without the names of columns that its cells bear for narrow screens.
pub(crate) fn without_names(page: &str) -> String {
    let mut parts = page.split(" data-name=\"");
    let first = parts.next().unwrap().to_owned();
    first + &parts.map(|part| part.split_once('"').unwrap().1).collect::<String>()
}

/// Id and content of every spec.
fn specs(page: &str) -> Vec<(String, Value)> {
    let opened = page.split("<script type=\"application/json\" id=\"").skip(1);
    opened
        .map(|rest| {
            let (id, rest) = rest.split_once("\">").unwrap();
            let (json, _) = rest.split_once("</script>").unwrap();
            let spec = serde_json::from_str(json).unwrap_or_else(|error| panic!("{id}: {error}"));
            (id.to_owned(), spec)
        })
        .collect()
}

pub(crate) fn spec(page: &str, id: &str) -> Value {
    specs(page).into_iter().find(|(found, _)| found == id).map(|(_, spec)| spec).unwrap()
}

/// Number of rows of a spec's data, CSV or JSON.
fn rows(spec: &Value) -> usize {
    match &spec["data"]["values"] {
        Value::Array(rows) => rows.len(),
        Value::String(csv) => csv.lines().count() - 1,
        other => panic!("no data: {other}"),
    }
}

fn all_cases() -> Vec<Run> {
    vec![
        cases::kept(),
        cases::broken(),
        cases::undecided(),
        cases::void(),
        cases::interrupted(),
        cases::without_samples(),
        cases::across(),
    ]
}

#[test]
fn links_lead_into_the_page_and_to_logs() {
    for run in all_cases() {
        let page = written(&run);
        for link in page.split("href=\"").skip(1) {
            let target = link.split('"').next().unwrap();
            assert!(target.starts_with('#') || target.starts_with("./logs/"), "{target}");
        }
        // The only URLs are schema names and those in licence texts.
        let before = page.split("<footer>").next().unwrap();
        for address in before.split("http").skip(1).filter(|rest| rest.starts_with("s://")) {
            assert!(address.starts_with("s://vega.github.io/schema/"), "{}", &address[..40]);
        }
    }
}

#[test]
fn every_figure_has_a_valid_spec_with_data() {
    for run in all_cases() {
        let page = written(&run);
        let specs = specs(&page);
        for (id, spec) in &specs {
            assert!(rows(spec) > 0, "{id}");
            assert!(page.contains(&format!("data-spec=\"{id}\"")), "{id} has no element");
        }
        assert_eq!(page.matches("<figure id=").count(), specs.len());
    }
}

#[test]
fn promise_across_trials_has_section_figure_and_headline() {
    let page = written(&cases::across());
    let spec = spec(&page, "comparison-1-levels-spec");
    assert_eq!(rows(&spec), 2);
    assert_eq!(spec["encoding"]["x"]["sort"], serde_json::json!(["0.6", "2.0"]));
    let theirs = spec["layer"].as_array().unwrap().last().unwrap();
    assert_eq!(theirs["data"]["values"][0]["level"], "2.0", "a reference at its level");
    assert!(page.contains("href=\"#comparison-1\""), "a line of the headline links to it");
    assert!(page.contains("held: threads = 2") && page.contains("About 7 repeats"));
    assert!(page.contains("not available: <code>box.bfs</code> failed"));
    assert!(page.contains("2.723e9 TEPS") && page.contains("no comparable number"));
    assert!(page.contains("this run: 1.960e8"));
    assert!(!written(&cases::kept()).contains("Published numbers"));
}

#[test]
fn user_texts_are_escaped() {
    let evil = "</script><script>alert(1)</script><b>&\"'";
    let mut run = cases::broken();
    run.manifest.title = evil.to_owned();
    run.manifest.question = Some(evil.to_owned());
    run.manifest.study_text = evil.to_owned();
    run.manifest.command = vec![evil.to_owned()];
    run.manifest.host.cpus.model = evil.to_owned();
    run.manifest.changes[0].what = evil.to_owned();
    let trial = &mut run.judgement.trials[1];
    trial.validity[0].evidence = evil.to_owned();
    trial.promises[0].reason = evil.to_owned();
    trial.promises[0].groups[0].name = evil.to_owned();
    trial.promises[0].causes[0].evidence[0] = evil.to_owned();
    run.manifest.trials[1].groups[0].name = evil.to_owned();
    run.manifest.trials[1].groups[0].workloads[0].name = evil.to_owned();
    for tables in run.samples[1].iter_mut().flatten() {
        if tables.subjects.len() > 1 {
            tables.subjects[0] = evil.to_owned();
        }
    }
    let page = written(&run);
    assert!(!page.contains("alert(1)</script>") && !page.contains("<script>alert"));
    assert!(!page.contains("<b>"));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"), "the text itself is shown");
    let bars = spec(&page, "trial-2-bandwidth-spec");
    let groups = bars["data"]["values"].as_array().unwrap();
    assert!(groups.iter().any(|row| row["group"] == evil), "the data keep the name");
    let over_time = spec(&page, "trial-2-bandwidth-over-time-spec");
    let csv = over_time["data"]["values"].as_str().unwrap();
    assert!(csv.contains("<b>&\"\"'\""), "quoted as CSV asks");
}

#[test]
fn bars_hold_the_judgement_in_base_units() {
    let mut run = cases::kept();
    // The starts of a group may use unlike amounts: its part of all of them is not the mean of its shares.
    run.judgement.trials[0].promises[0].groups[0].rate *= 0.9;
    let bars = spec(&written(&run), "trial-1-bandwidth-spec");
    let promise = &run.judgement.trials[0].promises[0];
    let total = promise.total_rate.unwrap();
    for group in &promise.groups {
        let rows = bars["data"]["values"].as_array().unwrap();
        let row = rows.iter().find(|row| row["group"] == group.name.as_str()).unwrap();
        for (field, expected) in [
            ("rate", group.share * total),
            ("promised", group.expected_share * total),
            ("low", group.low * total),
            ("high", group.high * total),
            ("margin_low", group.expected_share * total * 0.9),
        ] {
            let value = row[field].as_f64().unwrap();
            assert!((value / expected - 1.0).abs() < 1e-12, "{field}: {value}, not {expected}");
        }
        assert_eq!(row["verdict"], "kept");
    }
}

#[test]
fn bars_without_a_promise_are_labelled_as_measured() {
    let run = cases::kept();
    let page = written(&run);
    let bars = spec(&page, "trial-1-iops-spec");
    for (row, group) in bars["data"]["values"]
        .as_array()
        .unwrap()
        .iter()
        .zip(&run.judgement.trials[0].promises[0].groups)
    {
        let measured = row["rate"].as_f64().unwrap();
        assert!((measured / (group.rate / 4096.0) - 1.0).abs() < 0.02, "{row}");
        assert!(row.get("low").is_none(), "no interval was judged");
    }
    assert!(page.contains("Interval: none."));
}

#[test]
fn curves_preserve_the_bytes_of_the_samples() {
    let run = cases::kept();
    let over_time = spec(&written(&run), "trial-1-bandwidth-over-time-spec");
    let csv = over_time["data"]["values"].as_str().unwrap();
    let mut sum = 0.0;
    let mut count = 0.0;
    for line in
        csv.lines().skip(1).filter(|line| line.starts_with("1,") && line.contains(",task4,"))
    {
        sum += line.split(',').nth(4).unwrap().parse::<f64>().unwrap();
        count += 1.0;
    }
    let io = run.samples[0][0].iter().find(|table| table.source == "io").unwrap();
    let counter: Vec<(u64, u64)> = io.series("task4", "read_bytes").collect();
    let (first, last) = (counter[0], counter[counter.len() - 1]);
    let mean = (last.1 - first.1) as f64 / ((last.0 - first.0) as f64 / 1e9);
    assert!((sum / count / mean - 1.0).abs() < 1e-3, "{} against {mean}", sum / count);
}

#[test]
fn workload_curves_are_drawn_with_their_marks() {
    let mut run = cases::kept();
    assert!(!written(&run).contains("trial-1-curves"), "no workload has any");
    let curve = |name: &str, y: &str| assay_record::run_folder::Curve {
        name: name.to_owned(),
        x: "working set, bytes".to_owned(),
        y: y.to_owned(),
        logarithmic: true,
        points: vec![[4096.0, 1.0], [65536.0, 4.0]],
        marks: vec![assay_record::run_folder::Mark { x: 32768.0, label: "L1 <b>".to_owned() }],
    };
    for repeat in &mut run.manifest.trials[0].repeats {
        repeat.workloads[0].curves = vec![curve("random", "ns"), curve("sequential", "ns")];
    }
    run.manifest.trials[0].repeats[0].workloads[0].curves.push(curve("other", "MB/s"));
    let page = written(&run);
    let drawn = spec(&page, "trial-1-curves-spec");
    let repeats = run.manifest.trials[0].repeats.len();
    assert_eq!(rows(&drawn["layer"][0]), 2 * 2 * repeats);
    assert_eq!(rows(&drawn["layer"][1]), 1, "a position is marked once");
    assert_eq!(drawn["layer"][2]["data"]["values"][0]["label"], "L1 <b>");
    assert_eq!(rows(&spec(&page, "trial-1-curves-2-spec")["layer"][0]), 2);
}

#[test]
fn page_has_the_command_to_repeat_the_run() {
    let mut run = cases::kept();
    run.manifest.command =
        ["/opt/bin/assay", "run", "my study.toml", "--out", "runs/full", "--repeats=3"]
            .map(str::to_owned)
            .into();
    let page = written(&run);
    let again = "assay run &#39;my study.toml&#39; --repeats=3 --seed 7243551</code>";
    assert!(page.contains(again), "{}", page.split("id=\"again\"").nth(1).unwrap());
    for version in ["Recorded by", "Kernel", "Workloads ran by"] {
        assert!(page.contains(&format!("<dt>{version}</dt>")), "{version}");
    }
    run.manifest.seed = 9;
    run.manifest.command = ["assay", "run", "io-weight", "--seed", "9"].map(str::to_owned).into();
    assert!(written(&run).contains("<code>assay run io-weight --seed 9</code>"));
}

#[test]
fn void_trial_is_greyed_after_its_reason() {
    let page = written(&cases::void());
    let reason = page.find("The disk was idle for 62").unwrap();
    let bars = page.find("greyed\"").unwrap();
    assert!(reason < bars);
    assert!(page.contains("void, proves nothing"));
    assert!(!written(&cases::kept()).contains("greyed\""));
}

#[test]
fn interrupted_run_shows_missing_trials_and_unrestored_changes() {
    let page = written(&cases::interrupted());
    assert!(page.contains("ended early: interrupted by SIGINT"));
    assert!(page.contains("In the trials that took place"));
    assert!(page.contains("stopped by SIGINT after 4.2 s") || page.contains("Stopped by SIGINT"));
    assert!(page.contains("no repeat of this trial took place"));
    assert!(page.contains("Restored: no.") && page.contains("EBUSY on write"));
    assert!(page.contains("assay restore"));
}

#[test]
fn missing_samples_show_the_reason_of_the_host() {
    let page = written(&cases::without_samples());
    let reason = "(this kernel was built without CONFIG_BLK_CGROUP)";
    assert_eq!(page.matches(reason).count(), 3, "IOPS bars and both curves");
    assert!(page.contains("no workload of a measured group reported latency"));
    assert!(specs(&page).iter().any(|(id, _)| id == "trial-1-bandwidth-spec"), "bars were judged");
}

#[test]
fn knob_with_a_different_value_read_back_is_marked() {
    let mut run = cases::kept();
    assert!(!written(&run).contains("\u{2260} written"));
    run.manifest.trials[0].repeats[1].knobs[0].at_end =
        assay_host::facts::Available::Value("500".to_owned());
    let page = written(&run);
    assert!(page.contains("100 / 500"), "both answers are shown");
    assert!(page.contains("\u{2260} written"));
}

#[test]
fn page_of_many_groups_stays_small() {
    let run = cases::large();
    let page = written(&run);
    let whole = html(&run);
    assert!(page.len() < 700_000, "{} bytes written", page.len());
    assert!(whole.len() < 1_600_000, "{} bytes with the code", whole.len());
    let bars = spec(&page, "trial-1-bandwidth-spec");
    assert_eq!(rows(&bars), 128, "every group has its bar");
    let over_time = spec(&page, "trial-1-bandwidth-over-time-spec");
    assert!(rows(&over_time) <= 300 * 4, "four weights, 300 points each");
    assert!(page.contains("All 128 groups"));
}

#[test]
fn figures_have_a_limited_number_of_points() {
    let run = cases::series();
    for (id, spec) in specs(&written(&run)) {
        assert!(rows(&spec) <= 6_000, "{id}: {}", rows(&spec));
    }
}

#[test]
fn trials_by_weight_are_drawn_per_weight_against_the_promise() {
    let page = written(&cases::broken());
    let shares = spec(&page, "classes-spec");
    let rates = spec(&page, "rates-spec");
    assert_eq!((rows(&shares), rows(&rates)), (8, 8), "four weights in two trials");
    for row in shares["data"]["values"].as_array().unwrap() {
        let [part, low, high] = ["part", "low", "high"].map(|key| row[key].as_f64().unwrap());
        assert!(low <= part && part <= high, "{row}");
    }
    // A single trial cannot be compared.
    let one = written(&cases::kept());
    assert!(!specs(&one).iter().any(|(id, _)| id == "classes-spec"));
}
