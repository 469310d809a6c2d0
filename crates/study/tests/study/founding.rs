//! The founding documents' numbers, as this table has them, are those that the studies show beside their own
//! results: none is missing, none is another one, and what makes one mean less is said with it.

use assay_study::{Study, has_published, parse, parse_published, shipped, shipped_file};

/// A study, a number of a document with its unit, and words that must stand with it.
type Row = (&'static str, f64, &'static str, &'static [&'static str]);

const TABLE: &[Row] = &[
    // Control groups and memory limits: fileserver.f and graph500 -s 24 -e 29 under three limits.
    ("memory-limit", 2.930e9, "TEPS", &["omp-csr", "15 GB", "did not hold it"]),
    ("memory-limit", 2.594e9, "TEPS", &["omp-csr", "20 GB"]),
    ("memory-limit", 2.723e9, "TEPS", &["omp-csr", "25 GB"]),
    ("memory-limit", 3466.0, "ops/s", &["15 GB"]),
    ("memory-limit", 3507.0, "ops/s", &["20 GB"]),
    ("memory-limit", 3479.0, "ops/s", &["25 GB"]),
    ("memory-limit", 955.8, "MiB/s", &["15 GB"]),
    ("memory-limit", 967.7, "MiB/s", &["20 GB"]),
    ("memory-limit", 961.8, "MiB/s", &["25 GB"]),
    ("memory-limit", 14.410, "ms/op", &["15 GB"]),
    ("memory-limit", 14.244, "ms/op", &["20 GB"]),
    ("memory-limit", 14.356, "ms/op", &["25 GB"]),
    // The only figures that follow the limit.
    ("memory-limit", 35.0, "s", &["construction", "15 GB"]),
    ("memory-limit", 34.6, "s", &["construction", "20 GB"]),
    ("memory-limit", 33.9, "s", &["construction", "25 GB"]),
    // 16361472 kB, more than 15e9 bytes.
    ("memory-limit", 0.0, "GiB", &["AnonHugePages before", "15 GB"]),
    ("memory-limit", 15.60, "GiB", &["15 GB", "at most", "more than the limit"]),
    ("memory-limit", 15.8, "GiB", &["20 GB", "at most"]),
    ("memory-limit", 15.8, "GiB", &["25 GB", "at most"]),
    ("memory-limit", 5.1, "GiB", &["15 GB", "at least"]),
    ("memory-limit", 3.0, "GiB", &["20 GB", "at least"]),
    ("memory-limit", 15.3, "GiB", &["25 GB", "at least"]),
    // The paper on NUMA of 2015.
    ("numa-placement", 1.2, "times", &["streamcluster"]),
    ("numa-placement", 1.02, "times", &["blackscholes"]),
    // stressapptest, whose log says that it saw one node.
    ("numa-local-remote", 13639.0, "MB/s", &["--local_numa", "saw one node"]),
    ("numa-local-remote", 13978.0, "MB/s", &["--remote_numa"]),
    ("numa-local-remote", 1.025, "times", &["saw one node"]),
    // The memory hierarchy.
    ("cache-ladder", 0.33, "ns", &["up to 32 KiB"]),
    ("cache-ladder", 0.89, "ns", &["from 64 KiB"]),
    ("cache-ladder", 1.1, "ns", &["from 512 KiB", "lower end"]),
    ("cache-ladder", 1.5, "ns", &["from 512 KiB", "upper end"]),
    ("cache-ladder", 2.8, "ns", &["from 8 MiB", "lower end"]),
    ("cache-ladder", 4.3, "ns", &["from 8 MiB", "upper end"]),
    ("page-cache", 961e6, "bytes/s", &["1 GiB in 1.117 s"]),
    ("page-cache", 8.01e9, "bytes/s", &["1 GiB in 0.134 s"]),
    ("page-cache", 0.448, "of its time", &["time in the kernel", "0.5 of 1.117 s"]),
    ("page-cache", 1.273e9, "bytes/s", &["buffered", "1 GiB in 0.8437 s"]),
    ("page-cache", 429e6, "bytes/s", &["direct", "1 GiB in 2.50 s"]),
    ("cache-drop", 1.63, "GiB", &["by 3"]),
    ("smt", 93.0, "s", &["without SMT"]),
    ("smt", 73.0, "s", &["with SMT"]),
    ("smt", 1.274, "times", &["73 s against 93 s"]),
    // The thesis of 2020: the figure of 4.1 is a run of 180 s, and 46.1 % of the reads of 4.2 found nothing.
    ("io-weight", 6594.0, "IOPS", &["weight 100", "180 s"]),
    ("io-weight", 13113.0, "IOPS", &["weight 200", "180 s"]),
    ("io-weight-job", 6594.0, "IOPS", &["weight 100", "180 s"]),
    ("io-weight-job", 13113.0, "IOPS", &["weight 200", "180 s"]),
    ("io-weight-ycsb", 1748.0, "IOPS", &["weight 100"]),
    ("io-weight-ycsb", 3545.0, "IOPS", &["weight 200"]),
    ("io-weight-ycsb", 7124.0, "IOPS", &["weight 400"]),
    ("io-weight-ycsb", 14200.0, "IOPS", &["weight 800"]),
    ("io-weight-ycsb", 99300.0, "IOPS", &["without YCSB"]),
    ("io-weight-scaling", 16.0, "groups", &["no longer from 32"]),
    ("io-weight-ycsb", 8413.0, "operations/s", &["46 % of the reads found no record"]),
    ("io-weight-ycsb", 108.0, "us", &["mean", "found their record"]),
    ("io-weight-ycsb", 236.0, "us", &["95th percentile", "found their record"]),
    ("io-weight-ycsb", 271.0, "us", &["99th percentile", "found their record"]),
];

/// Every number of a founding document in a shipped study, also among those with its own sizes: the study, the
/// number, its unit and what is said of it.
fn shown() -> Vec<(&'static str, f64, String, String)> {
    let of = |name: &'static str, study: Option<Study>| {
        let references = study.map(|study| study.references).unwrap_or_default();
        let founding = references.into_iter().filter(|one| one.source.contains("founding"));
        founding.map(move |one| (name, one.value, one.unit, one.what)).collect::<Vec<_>>()
    };
    let both = shipped().iter().flat_map(|study| {
        let (plain, _) = parse(study.name, study.text, &shipped_file);
        let published = has_published(study.text)
            .then(|| parse_published(study.name, study.text, &shipped_file).0)
            .flatten();
        [of(study.name, plain), of(study.name, published)].concat()
    });
    both.collect()
}

fn is_in(row: &Row, (study, value, unit, what): &(&str, f64, String, String)) -> bool {
    let &(wanted_study, wanted, wanted_unit, words) = row;
    (*study, *value, unit.as_str()) == (wanted_study, wanted, wanted_unit)
        && words.iter().all(|word| what.contains(word))
}

#[test]
fn every_number_of_the_founding_documents_is_shown_with_what_it_rests_on() {
    let shown = shown();
    let missing: Vec<&Row> =
        TABLE.iter().filter(|row| !shown.iter().any(|one| is_in(row, one))).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn no_study_shows_another_number_of_them() {
    let shown = shown();
    let unknown: Vec<_> =
        shown.iter().filter(|one| !TABLE.iter().any(|row| is_in(row, one))).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn numbers_that_follow_from_others_do() {
    let value = |study: &str, word: &str| {
        let has_word = |row: &&Row| row.0 == study && row.3.iter().any(|one| one.contains(word));
        TABLE.iter().find(has_word).map(|row| row.1).unwrap_or_default()
    };
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 2e-3, "{found} for {expected}");
    };
    for seconds in ["1.117", "0.134", "0.8437", "2.50"] {
        let rate = 1073741824.0 / seconds.parse::<f64>().unwrap();
        near(value("page-cache", &format!("in {seconds} s")), rate);
    }
    near(value("page-cache", "0.5 of 1.117 s"), 0.5 / 1.117);
    near(value("smt", "73 s against 93 s"), 93.0 / 73.0);
    near(
        1.025,
        value("numa-local-remote", "--remote_numa") / value("numa-local-remote", "--local_numa"),
    );
    near(value("memory-limit", "more than the limit"), 16361472.0 / 1048576.0);
}
