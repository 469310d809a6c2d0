//! The virtual machine in which a run took place, if the lab created one.

use serde::{Deserialize, Serialize};

/// A guest of the lab. `assay lab` hands it to the run inside as JSON in [`Guest::VARIABLE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// The guest kernel's release, `6.1.0-56-amd64`.
    pub kernel: String,
    /// The requested layout of control groups: `v1`, `v2` or `hybrid`.
    pub layout: String,
    /// The accelerator: `kvm`, or `tcg` for QEMU's emulation in software.
    pub accelerator: String,
    /// NUMA nodes.
    pub nodes: u32,
}

impl Guest {
    /// The environment variable through which a run learns that it is in a guest.
    pub const VARIABLE: &'static str = "ASSAY_LAB_GUEST";

    /// Parses the text of [`Guest::VARIABLE`]; `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The text for [`Guest::VARIABLE`].
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The caveat for its verdicts. Emulated processors are slower than their clock says, by a factor that
    /// varies between instructions, so no measured time is reliable; decisions of the kernel are the same as
    /// on any machine.
    #[must_use]
    pub fn caveat(&self) -> &'static str {
        if self.accelerator == "kvm" {
            "virtual guest: placement and logic hold, times include those of the hypervisor"
        } else {
            "emulated guest: placement and logic hold, times do not"
        }
    }

    /// The guest in one line: `6.1.0-56-amd64, cgroup v2, 1 node, tcg`.
    #[must_use]
    pub fn line(&self) -> String {
        let nodes =
            if self.nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", self.nodes) };
        format!("{}, cgroup {}, {nodes}, {}", self.kernel, self.layout, self.accelerator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_goes_through_the_environment_unchanged() {
        let guest = Guest {
            kernel: "6.1.0-56-amd64".to_owned(),
            layout: "hybrid".to_owned(),
            accelerator: "tcg".to_owned(),
            nodes: 2,
        };
        assert_eq!(Guest::parse(&guest.text()), Some(guest.clone()));
        assert_eq!(guest.line(), "6.1.0-56-amd64, cgroup hybrid, 2 nodes, tcg");
        assert!(guest.caveat().starts_with("emulated guest"));
        assert!(!Guest { accelerator: "kvm".to_owned(), ..guest }.caveat().contains("emulated"));
        assert_eq!(Guest::parse("not json"), None);
    }
}
