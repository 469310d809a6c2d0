//! The six core workloads, from their published parameters (Cooper et al., "Benchmarking Cloud
//! Serving Systems with YCSB", 2010, table 2), so that `-P workloada` needs no file. A file of that
//! name on disk has precedence.

/// Proportions of read, update, insert, scan, read-modify-write, and the request distribution.
struct Mix {
    letter: char,
    parts: [&'static str; 5],
    distribution: &'static str,
    extra: &'static str,
}

const MIXES: [Mix; 6] = [
    // Update heavy: a session store.
    Mix { letter: 'a', parts: ["0.5", "0.5", "0", "0", "0"], distribution: "zipfian", extra: "" },
    // Read mostly: tags of photographs.
    Mix { letter: 'b', parts: ["0.95", "0.05", "0", "0", "0"], distribution: "zipfian", extra: "" },
    // Read only: a cache of profiles.
    Mix { letter: 'c', parts: ["1", "0", "0", "0", "0"], distribution: "zipfian", extra: "" },
    // Read latest: status updates.
    Mix { letter: 'd', parts: ["0.95", "0", "0.05", "0", "0"], distribution: "latest", extra: "" },
    // Short ranges: threads of messages.
    Mix {
        letter: 'e',
        parts: ["0", "0", "0.05", "0.95", "0"],
        distribution: "zipfian",
        extra: "maxscanlength=100\nscanlengthdistribution=uniform\n",
    },
    // Read, modify, write: records of users.
    Mix { letter: 'f', parts: ["0.5", "0", "0", "0", "0.5"], distribution: "zipfian", extra: "" },
];

/// The property file of a shipped workload, by the last part of a path: `workloads/workloada`.
pub(super) fn workload(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?;
    let letter = name.strip_prefix("workload")?;
    let mix = MIXES.iter().find(|mix| letter == mix.letter.to_string())?;
    let [read, update, insert, scan, modify] = mix.parts;
    Some(format!(
        "recordcount=1000\n\
         operationcount=1000\n\
         workload=site.ycsb.workloads.CoreWorkload\n\
         readallfields=true\n\
         readproportion={read}\n\
         updateproportion={update}\n\
         insertproportion={insert}\n\
         scanproportion={scan}\n\
         readmodifywriteproportion={modify}\n\
         requestdistribution={}\n{}",
        mix.distribution, mix.extra
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_every_workload_add_up_to_one() {
        for mix in &MIXES {
            let sum: f64 = mix.parts.iter().map(|part| part.parse::<f64>().unwrap()).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{}: {sum}", mix.letter);
        }
    }

    #[test]
    fn workloads_are_found_by_the_last_part_of_the_path() {
        assert!(workload("workloada").unwrap().contains("updateproportion=0.5\n"));
        assert!(workload("../workloads/workloade").unwrap().contains("maxscanlength=100\n"));
        assert_eq!(workload("workloadg"), None);
        assert_eq!(workload("workload"), None);
    }
}
