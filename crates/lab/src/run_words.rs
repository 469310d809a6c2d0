//! The choice of a study as words of `assay run`, for a run on another machine.

use assay_run::overrides::StudyChoice;
use assay_study::{DiskOverride, Stop};
use assay_sys::units::format_duration;

use crate::Argument;

/// The arguments of `assay run` equivalent to a choice.
pub fn run_words(choice: &StudyChoice) -> Vec<Argument> {
    // Name every field, so that a new one is not forgotten here. The lab takes one job file.
    let StudyChoice {
        study,
        more_job_files: _,
        published,
        set,
        repeats,
        at_most,
        stop,
        weights,
        disk,
        erase,
        scheduler,
        evidence,
        seed,
    } = choice;
    let mut words = vec![study.clone()];
    if *published {
        words.push("--published".to_owned());
    }
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for setting in set {
        option("--set", setting.clone());
    }
    if let Some(repeats) = repeats {
        option("--repeats", repeats.to_string());
    }
    if let Some(stop) = stop {
        let word = if *stop == Stop::Decided { "decided" } else { "at_most" };
        option("--stop", word.to_owned());
    }
    if let Some(at_most) = at_most {
        option("--duration", format_duration(*at_most));
    }
    if let Some(weights) = weights {
        let words: Vec<String> = weights.iter().map(u32::to_string).collect();
        option("--weights", words.join(":"));
    }
    if let Some(word) = erase {
        option("--erase", word.clone());
    }
    if let Some(scheduler) = scheduler {
        option("--scheduler", scheduler.clone());
    }
    option("--seed", seed.to_string());
    if *evidence {
        words.push("--evidence".to_owned());
    }
    let mut words: Vec<Argument> = words.into_iter().map(Argument::Text).collect();
    if let Some(disk) = disk {
        words.push(Argument::Text("--disk".to_owned()));
        words.push(match disk {
            DiskOverride::Nvme(_) | DiskOverride::Virtio(_) => Argument::Disk(1),
            other => Argument::Text(other.to_string()),
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn all_overrides_become_words() {
        let choice = StudyChoice {
            set: vec!["groups=4,8".to_owned()],
            repeats: Some(2),
            at_most: Some(Duration::from_secs(20)),
            stop: Some(Stop::Decided),
            weights: Some(vec![1, 3]),
            erase: Some("ext4".to_owned()),
            scheduler: Some("none".to_owned()),
            evidence: true,
            disk: Some("null_blk:iops=500,depth=32".parse().unwrap()),
            seed: 7,
            ..StudyChoice::named("x.toml")
        };
        let text = |word: Argument| match word {
            Argument::Text(text) => text,
            Argument::Disk(number) => format!("disk {number}"),
        };
        let words: Vec<String> = run_words(&choice).into_iter().map(text).collect();
        let expected = "x.toml --set groups=4,8 --repeats 2 --stop decided --duration 20 s --weights \
                        1:3 --erase ext4 --scheduler none --seed 7 --evidence --disk null_blk:iops=500,depth=32";
        assert_eq!(words.join(" "), expected);
        let disk = Some("nvme:2GiB".parse().unwrap());
        let nvme = run_words(&StudyChoice { disk, ..StudyChoice::named("x") });
        assert_eq!(nvme.last(), Some(&Argument::Disk(1)));
    }
}
