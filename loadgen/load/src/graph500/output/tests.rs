//! The key lists compared with those of the reference.

use super::*;
use crate::graph500::outcome::Searched;
use crate::graph500::size::Size;

fn outcome(dialect: Dialect, weighted: bool) -> Outcome {
    let search = |at: u32| Searched {
        root: at,
        seconds: f64::from(at),
        edges: 1_048_569,
        validation: Some(0.5),
    };
    let searches: Vec<Searched> = (1..=64).map(search).collect();
    Outcome {
        size: Size { scale: 16, edgefactor: 16, weighted },
        dialect,
        seeds: dialect.seeds(None),
        threads: 2,
        generation: 0.25,
        construction: 1.5,
        paths: if weighted { searches.clone() } else { Vec::new() },
        searches,
        validated: true,
    }
}

/// The keys of 2.1.4 in order, taken from a run of `omp-csr`, and the first of our own.
const KEYS: [&str; 33] = [
    "SCALE",
    "nvtx",
    "edgefactor",
    "terasize",
    "A",
    "B",
    "C",
    "D",
    "generation_time",
    "construction_time",
    "nbfs",
    "min_time",
    "firstquartile_time",
    "median_time",
    "thirdquartile_time",
    "max_time",
    "mean_time",
    "stddev_time",
    "min_nedge",
    "firstquartile_nedge",
    "median_nedge",
    "thirdquartile_nedge",
    "max_nedge",
    "mean_nedge",
    "stddev_nedge",
    "min_TEPS",
    "firstquartile_TEPS",
    "median_TEPS",
    "thirdquartile_TEPS",
    "max_TEPS",
    "harmonic_mean_TEPS",
    "harmonic_stddev_TEPS",
    "corrected_firstquartile_time",
];

#[test]
fn the_list_of_2_1_4_has_its_keys_in_its_order() {
    let text = text(&outcome(Dialect::V2, false));
    let keys: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(keys[..33], KEYS);
    for line in [
        "SCALE: 16",
        "nvtx: 65536",
        "terasize: 1.67772159999999997e-05",
        "A: 5.69999999999999951e-01",
        "D: 5.00000000000000444e-02",
        "nbfs: 64",
        "firstquartile_time: 1.72500000000000000e+01",
        "corrected_firstquartile_time: 1.62500000000000000e+01",
        "median_nedge: 1.04856900000000000e+06",
        "validated: yes",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn kernel_3_follows_under_the_names_of_the_specification() {
    let text = text(&outcome(Dialect::V2, true));
    assert!(text.contains("\nsssp_harmonic_mean_TEPS: "), "{text}");
    assert!(text.contains("\ncorrected_sssp_median_time: "), "{text}");
}

#[test]
fn values_of_3_0_begin_in_column_33() {
    let text = text(&outcome(Dialect::V3, true));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "SCALE:                          16");
    assert_eq!(lines[4], "num_mpi_processes:              1");
    assert_eq!(lines[6], "bfs  min_time:                  1");
    assert_eq!(lines[13], "sssp min_time:                  1");
    assert_eq!(lines[20], "min_nedge:                      1048569");
    assert_eq!(lines[27], "bfs  min_TEPS:                  16383.9");
    assert_eq!(lines[28], "bfs  firstquartile_TEPS:        21620");
    assert!(lines[32].starts_with("bfs  harmonic_mean_TEPS:     !  3"), "{}", lines[32]);
    assert_eq!(lines[41], "bfs  min_validate:              0.5");
    assert_eq!(lines.len(), 55);
}

#[test]
fn the_json_has_every_search_and_correct_quartiles() {
    let document = json(&outcome(Dialect::V2, false));
    assert_eq!(document["bfs"]["searches"].as_array().unwrap().len(), 64);
    assert_eq!(document["bfs"]["seconds"]["first_quartile"], 16.25);
    assert_eq!(document["bfs"]["nedge"]["min"], 1_048_569.0);
    assert!(document.get("sssp").is_none());
}
