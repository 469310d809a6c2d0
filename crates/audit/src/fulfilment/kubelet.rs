//! What a KubeletConfiguration says of MemoryQoS, for a snapshot.

use std::collections::BTreeMap;

use crate::yaml::documents;

/// The settings on which MemoryQoS depends.
const KEYS: [&str; 5] = [
    "featureGates.MemoryQoS",
    "featureGates.AllAlpha",
    "featureGates.AllBeta",
    "memoryReservationPolicy",
    "memoryThrottlingFactor",
];

/// Bytes of a value.
const MOST: usize = 64;

/// `featureGates.MemoryQoS` (`AllAlpha`, `AllBeta`), `memoryReservationPolicy` and `memoryThrottlingFactor` of a kubelet's configuration
/// file, where it sets them: all that a snapshot keeps of it.
///
/// # Errors
/// The text is no KubeletConfiguration.
pub fn kubelet_settings(text: &str) -> Result<BTreeMap<String, String>, String> {
    let all = documents(text)?;
    let ours = all.iter().find(|one| one.text("kind") == Some("KubeletConfiguration"));
    let config = ours.ok_or("it is no KubeletConfiguration")?;
    let set = KEYS.iter().filter_map(|key| Some((*key, config.text(key)?)));
    let short = set.filter(|(_, value)| (1..=MOST).contains(&value.len()));
    Ok(short.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_kubelets_configuration_only_what_memory_depends_on_is_kept() {
        let text = "kind: KubeletConfiguration\nstaticPodURLHeader: {Authorization: [secret]}\n\
                    featureGates: {MemoryQoS: false, Other: true}\nmemoryThrottlingFactor: 0.9\n";
        let kept = kubelet_settings(text).unwrap();
        let kept: Vec<(&str, &str)> =
            kept.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(kept, [("featureGates.MemoryQoS", "false"), ("memoryThrottlingFactor", "0.9")]);
        assert!(kubelet_settings("kind: Pod\n").is_err() && kubelet_settings("{").is_err());
        assert!(kubelet_settings("kind: KubeletConfiguration\n").unwrap().is_empty());
    }
}
