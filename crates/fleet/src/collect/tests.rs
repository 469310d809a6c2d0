//! Runs that are damaged, foreign, or links.

use std::fs;
use std::os::unix::fs::symlink;

use assay_judge::verdict::Verdict;
use assay_record::run_folder::parse_manifest;
use assay_sys::files::Trust;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::folder::SCHEMA;

const MANIFEST: &str = include_str!("../../../test-support/faults/one-cpu/manifest.json");
const VERDICT: &str = include_str!("../../../fuzz/corpus/verdict/one-cpu.json");

/// A run of this host and seed.
fn run(place: &Path, host: &str, seed: u64) {
    let mut manifest: Value = serde_json::from_str(MANIFEST).unwrap();
    manifest["host"]["host_name"] = host.into();
    manifest["seed"] = seed.into();
    fs::create_dir_all(place).unwrap();
    fs::write(place.join("manifest.json"), manifest.to_string()).unwrap();
    fs::write(place.join("verdict.json"), VERDICT).unwrap();
}

/// A fleet of three tasks, of which the first two have a run.
fn fleet() -> (TempDir, FleetFolder, Fleet) {
    let place = tempfile::tempdir().unwrap();
    let folder = FleetFolder::create(&place.path().join("fleet"), Trust::Checked).unwrap();
    let plan = plan_of(&parse_manifest(MANIFEST, Path::new("manifest.json")).unwrap());
    let fleet =
        Fleet { schema: SCHEMA, plan, seed: 5, tasks: 3, jobs: vec![17], ..Fleet::default() };
    run(&folder.path().join("nodes/a/17_0"), "a", 5);
    run(&folder.path().join("nodes/b/17_1"), "b", 6);
    (place, folder, fleet)
}

fn collected(folder: &FleetFolder, fleet: &Fleet) -> FleetJudgement {
    collect(Some((folder, fleet)), &CopySources::default())
}

fn whys(judgement: &FleetJudgement) -> Vec<(&str, &str)> {
    judgement
        .hosts
        .iter()
        .map(|host| (host.node.as_str(), host.why.as_deref().unwrap_or("")))
        .collect()
}

#[test]
fn a_task_without_a_verdict_is_listed_with_the_reason_and_the_others_count() {
    let (_place, folder, fleet) = fleet();
    let judgement = collected(&folder, &fleet);
    let nothing = "it has left nothing (`squeue` shows whether it waits)";
    assert_eq!(whys(&judgement), [("a", ""), ("b", ""), ("task 2", nothing)]);
    assert_eq!(judgement.hosts[0].verdict, Some(Verdict::Void));
    assert_eq!((judgement.trials[0].hosts, judgement.restored), (2, Some(true)));

    folder
        .dir()
        .replace("log/17_2.txt", b"first\nslurmstepd: error: node failed\n  hint: x\n")
        .unwrap();
    let errors = "{\"schema\": 1, \"code\": 4, \"errors\": [\"no disk\\n  hint: name one\"]}";
    folder.dir().replace("nodes/b/17_1.json", errors.as_bytes()).unwrap();
    let half = &VERDICT.as_bytes()[..VERDICT.len() / 2];
    folder.dir().replace("nodes/b/17_1/verdict.json", half).unwrap();
    let judgement = collected(&folder, &fleet);
    assert_eq!(
        whys(&judgement)[1..],
        [("b", "no disk"), ("task 2", "slurmstepd: error: node failed")]
    );
    assert_eq!(judgement.hosts[1].code, Some(4));
    write(folder.dir(), &judgement).unwrap();
    let page = folder.dir().text("report.html", MAX_DOCUMENT).unwrap();
    assert!(page.contains("nodes/a/17_0"));
    assert!(!page.contains("href=\"nodes/"), "a page of a host may be anybody's");
}

/// A later run of the same host undoes no broken promise.
#[test]
fn the_first_verdict_of_a_host_counts() {
    let (_place, folder, fleet) = fleet();
    run(&folder.path().join("nodes/a/18_0"), "a", 5);
    let judgement = collected(&folder, &fleet);
    assert_eq!(judgement.hosts[0].run.as_deref(), Some("nodes/a/17_0"));
    assert_eq!(judgement.trials[0].hosts, 2);
}

/// A host, or another user who may write there, puts links in the place of what root reads.
#[test]
fn links_in_a_fleet_lead_nowhere() {
    let (place, folder, fleet) = fleet();
    let secret = place.path().join("secret");
    run(&secret, "secret", 7);
    let nodes = folder.path().join("nodes");
    for linked in ["node", "run", "verdict.json", "manifest.json"] {
        let dir = nodes.join("c");
        let _ = fs::remove_dir_all(&dir);
        match linked {
            "node" => {
                run(&place.path().join("other/17_2"), "c", 7);
                symlink(place.path().join("other"), &dir).unwrap();
            }
            "run" => {
                fs::create_dir(&dir).unwrap();
                symlink(&secret, dir.join("17_2")).unwrap();
            }
            file => {
                run(&dir.join("17_2"), "c", 7);
                fs::remove_file(dir.join("17_2").join(file)).unwrap();
                symlink(secret.join(file), dir.join("17_2").join(file)).unwrap();
            }
        }
        let judgement = collected(&folder, &fleet);
        assert_eq!(judgement.hosts.len(), 3, "{linked}");
        assert_eq!(judgement.hosts[2].verdict, None, "{linked}: {:?}", judgement.hosts[2]);
        if linked == "node" {
            fs::remove_file(&dir).unwrap();
        }
    }
}

#[test]
fn copies_are_judged_without_a_fleet_and_each_refused_folder_is_named() {
    let place = tempfile::tempdir().unwrap();
    let copies = place.path().join("copies");
    run(&copies.join("x/deep/run"), "n1", 3);
    run(&copies.join("y"), "n2", 4);
    run(&copies.join("z-again"), "n1", 3);
    run(&copies.join("half"), "n3", 4);
    fs::write(copies.join("half/verdict.json"), "{").unwrap();
    run(&copies.join("other"), "n4", 4);
    let manifest = fs::read_to_string(copies.join("other/manifest.json")).unwrap();
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest["study_text"] = "another study".into();
    fs::write(copies.join("other/manifest.json"), manifest.to_string()).unwrap();
    fs::create_dir(copies.join("torn")).unwrap();
    fs::write(copies.join("torn/verdict.json"), VERDICT).unwrap();
    symlink(copies.join("y"), copies.join("link")).unwrap();
    // The first run decides the plan.
    fs::rename(copies.join("x"), copies.join("a")).unwrap();

    let sources = CopySources::open(std::slice::from_ref(&copies)).unwrap();
    let judgement = collect(None, &sources);
    let nodes: Vec<_> =
        judgement.hosts.iter().map(|host| (host.node.as_str(), host.verdict.is_some())).collect();
    assert_eq!(nodes, [("n1", true), ("n3", false), ("n2", true)]);
    let refused: Vec<_> = judgement
        .not_available
        .iter()
        .map(|(what, why)| (what.rsplit('/').next().unwrap(), why.as_str()))
        .collect();
    let expected = [
        ("link", "it is a link or a special file, and neither is followed"),
        ("other", "it is a run of another plan: of another study, or with other options"),
        ("torn", "it has no manifest.json"),
        ("z-again", "n1 has a verdict already"),
    ];
    assert_eq!(refused, expected);
    assert!(CopySources::open(&[place.path().join("nowhere")]).is_err());

    // The same copies complete a fleet that was submitted.
    let (_fleet, folder, fleet) = fleet();
    run(&copies.join("late"), "c", 7);
    let sources = CopySources::open(&[copies.join("late"), copies.join("y")]).unwrap();
    let judgement = collect(Some((&folder, &fleet)), &sources);
    assert!(judgement.hosts.iter().all(|host| host.verdict.is_some()), "{:?}", judgement.hosts);
    let why = judgement.not_available.values().next().unwrap();
    assert_eq!(why, "no task of this fleet has the seed 4");
}
