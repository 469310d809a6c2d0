//! By what two runs are known as runs of one plan, wherever their folders come from.

use assay_record::run_folder::{Manifest, StudyChoiceRecord};
use sha2::{Digest, Sha256};

/// SHA-256 of the text of a study and of what the command line changed in it. The seed is that
/// of one task; paths of the study and of disks are those of one host.
#[must_use]
pub fn plan_digest(study_text: &str, choice: Option<&StudyChoiceRecord>) -> String {
    let choice = choice.map(|choice| StudyChoiceRecord {
        study: String::new(),
        disk: choice.disk.as_deref().map(kind_of_disk),
        ..choice.clone()
    });
    // Text, numbers and lists always have a JSON form.
    let parts = serde_json::to_vec(&(study_text, choice)).unwrap_or_default();
    hex(&Sha256::digest(parts))
}

/// The plan of a recorded run.
pub(crate) fn plan_of(manifest: &Manifest) -> String {
    plan_digest(&manifest.study_text, manifest.study_choice.as_ref())
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `block` of `block:/dev/sdb`: what a disk is called differs from host to host. Sizes and speeds stay.
fn kind_of_disk(disk: &str) -> String {
    match disk.split_once(':') {
        Some(("block", _)) => "block".to_owned(),
        _ => disk.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(disk: &str) -> StudyChoiceRecord {
        StudyChoiceRecord {
            study: "mine.toml".to_owned(),
            published: false,
            set: vec!["groups=4".to_owned()],
            repeats: Some(3),
            at_most_s: Some(2.5),
            stop: None,
            disk: Some(disk.to_owned()),
            scheduler: None,
            evidence: false,
        }
    }

    #[test]
    fn a_plan_is_its_text_and_its_options_and_not_the_names_of_a_host() {
        let plan = |text: &str, choice: &StudyChoiceRecord| plan_digest(text, Some(choice));
        let usual = plan("a study", &choice("block:/dev/sdb"));
        let elsewhere =
            StudyChoiceRecord { study: "/tmp/x.toml".to_owned(), ..choice("block:/dev/nvme0n1") };
        assert_eq!(plan("a study", &elsewhere), usual);
        assert_ne!(plan("another", &elsewhere), usual);
        assert_ne!(plan("a study", &choice("loop:1 GiB")), plan("a study", &choice("loop:2 GiB")));
        let set = StudyChoiceRecord { set: Vec::new(), ..elsewhere };
        assert_ne!(plan("a study", &set), usual);
        assert_ne!(plan_digest("a study", None), usual, "derived from another study");
    }
}
