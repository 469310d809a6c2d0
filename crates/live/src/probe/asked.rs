//! What was asked for: by a manifest, by the files of a unit, and by the OCI bundle that a container's runtime was given.

use std::path::Path;

use assay_audit::collect::take_snapshot;
use assay_audit::{Manifest, Place, Row, Standing, asked_by_unit, fulfilment};
use assay_sys::exit::Error;
use assay_sys::kernel::Root;
use assay_sys::units::CpuSet;
use serde_json::Value;

use crate::probe::Asked;
use crate::probe::limit::Limit;

/// What somebody asked for, and whether the file says it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wish {
    pub(crate) asked: Asked,
    pub(crate) is_met: bool,
}

/// A wish, and the file of a group that should say it.
#[derive(Debug, Clone)]
pub(crate) struct WishOf {
    pub(crate) file: String,
    /// Its path below the mounts.
    pub(crate) group: String,
    pub(crate) wish: Wish,
}

/// What manifests and unit files ask for.
#[derive(Debug, Clone, Default)]
pub struct Wishes(Vec<WishOf>);

impl Wishes {
    /// What a manifest asks for, with its name, and the unit of the group. Without a manifest a group that is no unit's has none.
    ///
    /// # Errors
    /// No control groups are mounted, or the manifest asks for nothing of the group.
    pub fn read(
        root: &Root,
        group: &str,
        manifest: Option<(&Manifest, &str)>,
        place: &Place,
    ) -> Result<Self, Error> {
        let is_unit = group.rsplit_once('.').is_some_and(|(_, suffix)| UNITS.contains(&suffix));
        if manifest.is_none() && !is_unit {
            return Ok(Self::default());
        }
        let snapshot = take_snapshot(root)?;
        let mut wishes = Vec::new();
        if let Some((manifest, name)) = manifest {
            // A manifest of several groups names them itself.
            let compared = fulfilment(manifest, None, &snapshot);
            let is_about = |one: &&assay_audit::Fulfilment| one.group.as_deref() == Some(group);
            let compared = match compared {
                Ok(compared) if compared.fulfilments.iter().any(|one| is_about(&one)) => compared,
                _ => fulfilment(manifest, Some(place), &snapshot)
                    .map_err(|why| Error::usage(format!("--manifest: {why}")))?,
            };
            let is_inside = |path: &String| Path::new(path).starts_with(group);
            for one in compared.fulfilments {
                let Some(group) = one.group.filter(is_inside) else { continue };
                let of = |row| wish(row, &group, name.to_owned());
                wishes.extend(one.rows.into_iter().filter_map(of));
            }
        }
        let of_unit = asked_by_unit(&snapshot, group).into_iter();
        wishes.extend(of_unit.filter_map(|(row, file)| wish(row, group, file)));
        Ok(Self(wishes))
    }

    /// What should stand in a file.
    pub(crate) fn of(&self, file: &str) -> Option<Wish> {
        self.0.iter().find(|one| one.file == file).map(|one| one.wish.clone())
    }

    /// Those that do not stand in their files.
    pub(crate) fn unmet(&self) -> impl Iterator<Item = &WishOf> {
        self.0.iter().filter(|one| !one.wish.is_met)
    }
}

/// The endings of groups that may be a unit's.
const UNITS: [&str; 3] = ["service", "scope", "slice"];

fn wish(row: Row, group: &str, by: String) -> Option<WishOf> {
    let is_met = match row.standing {
        Standing::Kept => true,
        Standing::Differs => false,
        Standing::NotLookedAt(_) => return None,
    };
    let wish = Wish { asked: Asked { value: row.setting, by }, is_met };
    Some(WishOf { file: row.file?, group: group.to_owned(), wish })
}

/// The resources of a bundle, and its file.
#[derive(Debug, Clone)]
pub(crate) struct Bundle {
    pub(crate) file: String,
    pub(crate) config: Value,
}

impl Bundle {
    /// What was asked for, if the runtime was given a limit, and whether `own` is that.
    pub(crate) fn wish(
        &self,
        limit: Limit,
        own: Option<f64>,
        cpus: Option<&CpuSet>,
    ) -> Option<Wish> {
        let by = self.file.clone();
        if limit == Limit::CpusetCpus {
            let value = self.cpus()?.to_owned();
            let is_met = value.parse().is_ok_and(|wanted: CpuSet| cpus == Some(&wanted));
            return Some(Wish { asked: Asked { value, by }, is_met });
        }
        let amount = self.amount(limit)?;
        let is_met = own.is_some_and(|own| (own / amount - 1.0).abs() <= 0.01);
        Some(Wish { asked: Asked { value: limit.shown(amount), by }, is_met })
    }

    /// What was asked for, in the unit of the limit (runtime-spec, config-linux.md).
    fn amount(&self, limit: Limit) -> Option<f64> {
        let resource =
            |name: &str| self.config.pointer(&format!("/linux/resources/{name}"))?.as_f64();
        let amount = match limit {
            Limit::MemoryMax => resource("memory/limit"),
            Limit::HugePages => {
                let sizes = self.config.pointer("/linux/resources/hugepageLimits")?.as_array()?;
                let size = sizes.iter().find(|one| one["pageSize"] == "2MB")?;
                size["limit"].as_f64()
            }
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
    fn cpus(&self) -> Option<&str> {
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
            "pids": {"limit": 2048}, "hugepageLimits": [{"pageSize": "2MB", "limit": 4194304}]}),
        );
        assert_eq!(podman.amount(Limit::MemoryMax), Some(67_108_864.0));
        assert_eq!(podman.amount(Limit::CpuMax), Some(0.5));
        assert_eq!(podman.amount(Limit::PidsMax), Some(2048.0));
        assert_eq!(podman.amount(Limit::HugePages), Some(4_194_304.0));
        let none = of(json!({"memory": {"limit": -1}, "cpu": {"quota": 0, "cpus": ""}}));
        assert_eq!(none.amount(Limit::MemoryMax), None);
        assert_eq!(none.amount(Limit::CpuMax), None);
        assert_eq!(none.cpus(), None);
        let met = |own| podman.wish(Limit::PidsMax, own, None).unwrap().is_met;
        assert!(met(Some(2048.0)) && !met(Some(100.0)) && !met(None));
    }
}
