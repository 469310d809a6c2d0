//! Copies of runs, whole and otherwise, taken into fleets.

use std::fs;
use std::os::unix::fs::symlink;

use assay_run_folder::StudyChoiceRecord;

use super::*;
use crate::document::{Submission, Task};
use crate::plan_digest::{plan_digest, plan_of};
use crate::slurm::Slurm;
use crate::{collect, states};

const MANIFEST: &str = include_str!("../../../test-support/faults/one-cpu/manifest.json");
const VERDICT: &str = include_str!("../../../fuzz/corpus/verdict/one-cpu.json");
const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../test-support/faults/one-cpu/samples");

/// When the fleets here were submitted.
const SUBMITTED: &str = "2026-11-21T22:00:00Z";

/// A recorded run as this host would have made it.
fn run(place: &Path, host: &str, seed: u64, change: impl Fn(&mut Manifest)) {
    fs::create_dir_all(place).unwrap();
    let mut manifest: Manifest = serde_json::from_str(MANIFEST).unwrap();
    manifest.host.host_name = host.to_owned();
    manifest.seed = seed;
    change(&mut manifest);
    fs::write(place.join("manifest.json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
    fs::write(place.join("verdict.json"), VERDICT).unwrap();
    for repeat in fs::read_dir(RECORDED).unwrap() {
        let repeat = repeat.unwrap();
        let to = place.join("samples").join(repeat.file_name());
        fs::create_dir_all(&to).unwrap();
        for file in fs::read_dir(repeat.path()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
}

fn as_recorded(place: &Path, host: &str, seed: u64) {
    run(place, host, seed, |_| ());
}

/// A new fleet with the runs below a folder.
fn taken(place: &Path) -> (FleetFolder, Fleet, Copies) {
    let from = CopySources::open(&[place.join("copies")]).unwrap();
    take_copies(&place.join("fleet"), &from, Trust::Checked).unwrap()
}

/// The same, in a fleet that is open.
fn take_more(folder: &FleetFolder, fleet: &mut Fleet, from: &[PathBuf]) -> Copies {
    take_into(folder, fleet, &CopySources::open(from).unwrap()).unwrap()
}

fn why<'c>(copies: &'c Copies, folder: &str) -> &'c str {
    let is_it = |one: &&Refused| one.folder.ends_with(folder);
    let found = copies.refused.iter().find(is_it);
    &found.unwrap_or_else(|| panic!("{folder} is not in {:?}", copies.refused)).why
}

#[test]
fn copies_of_many_hosts_become_one_report() {
    let place = tempfile::tempdir().unwrap();
    let copies = place.path().join("copies");
    as_recorded(&copies.join("a/run"), "a", 1);
    as_recorded(&copies.join("b/fleet/tasks/01/job-17/run"), "b", 2);
    as_recorded(&copies.join("runs-of-c"), "c", 1);
    let (folder, fleet, copies) = taken(place.path());
    assert_eq!((copies.taken, &copies.refused[..]), (3, &[][..]));
    let slurm = Slurm::from_fleet(&fleet);
    let found = collect(&folder, &fleet, &states(&folder, &fleet, &slurm), &slurm);
    let hosts: Vec<_> = found.hosts.iter().map(|host| (host.node.as_str(), host.seed)).collect();
    assert_eq!(hosts, [("a", 1), ("b", 2), ("c", 1)]);
    assert!(found.hosts.iter().all(|host| host.verdict.is_some()), "{:?}", found.hosts);
    assert_eq!((found.trials[0].hosts, found.study.as_str()), (3, "one-cpu"));
    assert!(!folder.dir().has_file(INCOMING) && folder.dir().dir(INCOMING).is_err());
    // The fleet can be read again, and the same copies bring nothing new.
    let mut fleet = folder.read_fleet().unwrap();
    let again = take_more(&folder, &mut fleet, &[place.path().join("copies")]);
    assert_eq!((again.taken, again.refused.len()), (0, 3));
    assert!(why(&again, "a/run").contains("the host a (of each one run counts) has a run already"));
}

#[test]
fn each_folder_that_cannot_be_taken_is_named_with_its_reason() {
    let place = tempfile::tempdir().unwrap();
    let copies = place.path().join("copies");
    let at = |name: &str| copies.join(name);
    as_recorded(&at("01"), "a", 1);
    as_recorded(&at("02-twice"), "a", 2);
    run(&at("03-foreign"), "b", 1, |manifest| manifest.study_text.push_str("# changed\n"));
    run(&at("04-running"), "c", 1, |manifest| manifest.restored = None);
    as_recorded(&at("05-no-manifest"), "d", 1);
    fs::remove_file(at("05-no-manifest/manifest.json")).unwrap();
    as_recorded(&at("06-half-verdict"), "e", 1);
    fs::write(at("06-half-verdict/verdict.json"), &VERDICT[..VERDICT.len() / 2]).unwrap();
    let samples = "samples/trial-00-repeat-00";
    as_recorded(&at("07-half-samples"), "f", 1);
    let io = at("07-half-samples").join(samples).join("io.parquet");
    let bytes = fs::read(&io).unwrap();
    fs::write(&io, &bytes[..bytes.len() - 9]).unwrap();
    as_recorded(&at("08-no-samples"), "g", 1);
    fs::remove_dir_all(at("08-no-samples/samples")).unwrap();
    as_recorded(&at("09-link"), "h", 1);
    symlink("/etc/hostname", at("09-link/logs")).unwrap();
    symlink(at("01"), at("10-link")).unwrap();
    let (folder, fleet, copies) = taken(place.path());
    assert_eq!(copies.taken, 1, "{:?}", copies.refused);
    for (name, expected) in [
        ("02-twice", "has a run already"),
        ("03-foreign", "another plan"),
        ("04-running", "before the run had ended"),
        ("05-no-manifest", "no manifest.json"),
        ("06-half-verdict", "verdict.json"),
        ("07-half-samples", "io.parquet: it does not end as a Parquet file does"),
        ("08-no-samples", "trial-00-repeat-00 is missing"),
        ("09-link", "links or special files"),
        ("10-link", "a link"),
    ] {
        let why = why(&copies, name);
        assert!(why.contains(expected), "{name}: {why}");
    }
    assert_eq!(copies.refused.len(), 9, "{:?}", copies.refused);
    // Hosts whose copies are damaged have run the study, so that their verdicts are missing.
    let slurm = Slurm::from_fleet(&fleet);
    let found = collect(&folder, &fleet, &states(&folder, &fleet, &slurm), &slurm);
    let named: Vec<_> = found.hosts.iter().map(|host| host.node.as_str()).collect();
    assert_eq!(named, ["a", "h", "c", "e", "f", "g"]);
    assert!(found.reason.contains("no verdict from 5"), "{}", found.reason);
    assert!(found.not_available.keys().any(|key| key.ends_with("03-foreign")));
}

#[test]
fn a_whole_copy_takes_the_place_of_a_damaged_one() {
    let place = tempfile::tempdir().unwrap();
    let half = place.path().join("copies/a");
    as_recorded(&half, "a", 1);
    fs::remove_file(half.join("verdict.json")).unwrap();
    let (folder, mut fleet, copies) = taken(place.path());
    assert_eq!((copies.taken, copies.refused.len()), (0, 1), "{:?}", copies.refused);
    as_recorded(&place.path().join("more/a"), "a", 1);
    let both = [place.path().join("copies"), place.path().join("more")];
    let copies = take_more(&folder, &mut fleet, &both);
    assert_eq!((copies.taken, copies.refused.len()), (1, 1), "{:?}", copies.refused);
    assert!(why(&copies, "copies/a").contains("verdict.json"));
    assert_eq!(fleet.tasks.len(), 1);
}

/// A fleet of the tasks 0 to 2 on the nodes n7 to n9 with these seeds, submitted before the recorded run.
fn submitted(place: &Path) -> (FleetFolder, Fleet) {
    let folder = FleetFolder::create(&place.join("fleet"), Trust::Checked).unwrap();
    let manifest: Manifest = serde_json::from_str(MANIFEST).unwrap();
    let task = |seed: u64| Task {
        node: format!("n{seed}"),
        host_name: format!("h{seed}"),
        seed,
        slice: None,
    };
    let submission = |job, task| Submission {
        job,
        tasks: vec![task],
        at: String::new(),
        script: "job-1.sh".to_owned(),
    };
    let fleet = Fleet {
        schema: SCHEMA,
        started_at: SUBMITTED.to_owned(),
        tasks: vec![task(7), task(8), task(9)],
        submissions: vec![submission(17, 0), submission(18, 1), submission(19, 2)],
        plan: Some(plan_of(&manifest)),
        ..Fleet::default()
    };
    (folder, fleet)
}

/// A fleet that was submitted knows its tasks by their seeds.
#[test]
fn tasks_of_a_submitted_fleet_are_known_by_plan_and_seed() {
    let place = tempfile::tempdir().unwrap();
    let (folder, mut fleet) = submitted(place.path());
    let copies = place.path().join("copies");
    as_recorded(&copies.join("x"), "n8", 8);
    as_recorded(&copies.join("y"), "n8", 99);
    run(&copies.join("z"), "n9", 9, |manifest| {
        manifest.command.extend(["--shard".to_owned(), "1/2".to_owned()]);
    });
    let copies = take_more(&folder, &mut fleet, &[copies]);
    assert_eq!(copies.taken, 1, "{:?}", copies.refused);
    assert!(folder.dir().has_file("tasks/01/job-18/run/verdict.json"));
    assert!(why(&copies, "y").contains("has the seed 99;"), "{}", why(&copies, "y"));
    assert!(why(&copies, "z").contains("the seed 9 and the part 1/2"), "{}", why(&copies, "z"));
    // One of an older version has nothing to compare with.
    fleet.plan = None;
    let copies = take_more(&folder, &mut fleet, &[place.path().join("copies")]);
    assert!(why(&copies, "x").contains("recorded no plan"), "{:?}", copies.refused);
}

/// Another host, or an earlier run, may have the seed of a task.
#[test]
fn a_task_of_a_submitted_fleet_takes_only_runs_of_its_host_that_began_later() {
    let place = tempfile::tempdir().unwrap();
    let (folder, mut fleet) = submitted(place.path());
    let copies = place.path().join("copies");
    as_recorded(&copies.join("0-stranger"), "n9.example.org", 7);
    as_recorded(&copies.join("1-node"), "N7.example.org", 7);
    run(&copies.join("2-early"), "n8", 8, |manifest| {
        manifest.started_at = "2026-11-21T21:59:59Z".to_owned();
    });
    run(&copies.join("3-no-time"), "n8", 8, |manifest| manifest.started_at = "soon".to_owned());
    run(&copies.join("4-host"), "h8", 8, |manifest| manifest.started_at = SUBMITTED.to_owned());
    let copies = take_more(&folder, &mut fleet, &[copies]);
    assert_eq!((copies.taken, copies.refused.len()), (2, 3), "{:?}", copies.refused);
    for (task, host) in [("00/job-17", "N7.example.org"), ("01/job-18", "h8")] {
        let text = fs::read_to_string(folder.file(format!("tasks/{task}/run/manifest.json")));
        let manifest: Manifest = serde_json::from_str(&text.unwrap()).unwrap();
        assert_eq!(manifest.host.host_name, host);
    }
    let stranger = why(&copies, "0-stranger");
    assert!(stranger.contains("n9.example.org") && stranger.contains("h7 (node n7)"), "{stranger}");
    for (folder, began) in [("2-early", "2026-11-21T21:59:59Z"), ("3-no-time", "soon")] {
        let why = why(&copies, folder);
        assert!(why.contains(began) && why.contains(SUBMITTED), "{why}");
    }
}

/// Both would use one `incoming`, and write one `fleet.json`.
#[test]
fn a_second_call_is_refused_while_copies_are_taken() {
    let place = tempfile::tempdir().unwrap();
    as_recorded(&place.path().join("copies/a"), "a", 1);
    let (path, from) = (place.path().join("fleet"), [place.path().join("copies")]);
    let (first, mut fleet) = create_locked(&path, Trust::Checked).unwrap();
    fs::create_dir(first.file(INCOMING)).unwrap();
    let sources = CopySources::open(&from).unwrap();
    for error in [
        create_locked(&path, Trust::Checked).unwrap_err(),
        open_locked(&path, Trust::Checked).unwrap_err(),
        take_copies(&path, &sources, Trust::Checked).unwrap_err(),
    ] {
        let what = &error.what;
        assert!(what.contains("/fleet: another"), "{error}");
        assert!(error.hint.unwrap().contains("wait"), "{what}");
    }
    assert!(first.dir().dir(INCOMING).is_ok(), "that of the first call");
    assert_eq!(take_more(&first, &mut fleet, &from).taken, 1);
    drop(first);
    let (other, mut read) = open_locked(&path, Trust::Checked).unwrap();
    assert_eq!(read, fleet);
    let again = take_more(&other, &mut read, &from);
    assert_eq!((again.taken, again.refused.len()), (0, 1));
}

/// A slip in a name left an empty fleet behind.
#[test]
fn a_folder_that_is_not_there_is_refused_before_anything_is_made() {
    let place = tempfile::tempdir().unwrap();
    as_recorded(&place.path().join("copies/a"), "a", 1);
    let named = ["copies", "absent"].map(|name| place.path().join(name));
    let error = CopySources::open(&named).unwrap_err();
    assert!(error.what.contains("/absent: No such file or directory"), "{error}");
    assert!(error.hint.unwrap().contains("copied from hosts"));
}

/// `fleet.json` would be too long to be read again.
#[test]
fn long_texts_of_a_run_are_cut() {
    let place = tempfile::tempdir().unwrap();
    let long = |letter: &str| letter.repeat(5000);
    run(&place.path().join("copies/a"), "a", 1, |manifest| {
        manifest.title = long("t");
        manifest.study = long("s");
        manifest.question = Some(long("q"));
        manifest.started_at = long("9");
    });
    run(&place.path().join("copies/b"), "b", 2, |manifest| {
        manifest.trials[0].repeats[0].samples = format!("trial-00-repeat-{}", long("0"));
    });
    let (folder, fleet, copies) = taken(place.path());
    assert_eq!(copies.taken, 1, "{:?}", copies.refused);
    let kept = folder.read_fleet().unwrap();
    assert_eq!(kept, fleet);
    let question = kept.question.unwrap();
    for text in [kept.title, kept.study, question, kept.started_at] {
        assert_eq!(text.len(), 1024);
    }
    assert_eq!(why(&copies, "copies/b").len(), 1024);
    let mut refused = Vec::new();
    refuse(&mut refused, Path::new(&long("d")), &long("w"));
    assert_eq!((refused[0].folder.len(), refused[0].why.len()), (1024, 1024));
}

/// The runs of a study that was derived from another have no choice.
#[test]
fn a_derived_study_is_another_plan() {
    let manifest: Manifest = serde_json::from_str(MANIFEST).unwrap();
    let choice = StudyChoiceRecord {
        study: "one-cpu.toml".to_owned(),
        published: false,
        set: Vec::new(),
        repeats: None,
        at_most_s: None,
        stop: None,
        disk: None,
        scheduler: None,
        evidence: false,
    };
    let with = plan_digest(&manifest.study_text, Some(&choice));
    assert_ne!(with, plan_digest(&manifest.study_text, None));
}

#[test]
fn a_killed_copy_is_removed_by_the_next_call() {
    let place = tempfile::tempdir().unwrap();
    as_recorded(&place.path().join("copies/a"), "a", 1);
    let path = place.path().join("fleet");
    fs::create_dir(&path).unwrap();
    fs::write(path.join(".fleet.json.0123456789abcdef.draft"), "{").unwrap();
    let (folder, mut fleet) = create_locked(&path, Trust::Checked).unwrap();
    let error = create_locked(place.path(), Trust::Checked).unwrap_err();
    assert!(error.what.contains("not empty"), "{error}");
    fs::create_dir_all(folder.file("incoming/samples")).unwrap();
    fs::write(folder.file("incoming/manifest.json"), "half of it").unwrap();
    let copies = take_more(&folder, &mut fleet, &[place.path().join("copies")]);
    assert_eq!((copies.taken, copies.refused.len()), (1, 0), "{:?}", copies.refused);
    assert!(folder.dir().dir(INCOMING).is_err());
}
