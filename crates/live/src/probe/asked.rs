//! What a container's runtime was asked for: `linux.resources` of its OCI bundle.

use serde_json::Value;

use crate::probe::limit::Limit;

/// The resources of a bundle, and its file.
#[derive(Debug, Clone)]
pub(crate) struct Bundle {
    pub(crate) file: String,
    pub(crate) config: Value,
}

impl Bundle {
    /// What was asked for, in the unit of the limit (runtime-spec, config-linux.md).
    pub(crate) fn amount(&self, limit: Limit) -> Option<f64> {
        let resource =
            |name: &str| self.config.pointer(&format!("/linux/resources/{name}"))?.as_f64();
        let amount = match limit {
            Limit::MemoryMax => resource("memory/limit"),
            Limit::PidsMax => resource("pids/limit"),
            Limit::CpuMax => {
                let period =
                    resource("cpu/period").filter(|period| *period > 0.0).unwrap_or(100_000.0);
                resource("cpu/quota").map(|quota| quota / period)
            }
            _ => None,
        };
        // Without a limit a runtime writes 0, -1, or more than any machine has.
        amount.filter(|amount| *amount > 0.0 && *amount < 2_f64.powi(62))
    }

    /// The CPUs that were asked for.
    pub(crate) fn cpus(&self) -> Option<&str> {
        let cpus = self.config.pointer("/linux/resources/cpu/cpus")?.as_str()?;
        (!cpus.is_empty()).then_some(cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_limits_count() {
        let of = |resources: Value| Bundle {
            file: String::new(),
            config: json!({"linux": {"resources": resources}}),
        };
        let podman = of(
            json!({"memory": {"limit": 67108864, "swap": 134217728}, "cpu": {"quota": 50000, "period": 100000},
            "pids": {"limit": 2048}}),
        );
        assert_eq!(podman.amount(Limit::MemoryMax), Some(67_108_864.0));
        assert_eq!(podman.amount(Limit::CpuMax), Some(0.5));
        assert_eq!(podman.amount(Limit::PidsMax), Some(2048.0));
        let none = of(json!({"memory": {"limit": -1}, "cpu": {"quota": 0, "cpus": ""}}));
        assert_eq!(none.amount(Limit::MemoryMax), None);
        assert_eq!(none.amount(Limit::CpuMax), None);
        assert_eq!(none.cpus(), None);
    }
}
