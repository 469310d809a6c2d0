//! From the texts of manifests to what they ask for.

use super::pod::{KubeletConfig, Pod};
use super::unit::Unit;
use super::{Request, compose, pod};
use crate::host::Host;
use crate::yaml::{Yaml, documents};

/// One or several manifests, read.
#[derive(Debug)]
pub struct Manifest {
    pods: Vec<Pod>,
    kubelet: Option<KubeletConfig>,
    services: Vec<compose::Service>,
    units: Vec<Unit>,
}

/// Names of files that are units of systemd, or parts of them.
const UNITS: [&str; 4] = [".service", ".slice", ".scope", ".conf"];

/// Of files of which podman makes units (podman-systemd.unit(5)), that of a container.
const QUADLET: &str = ".container";

/// Reads manifests, each with the name of its file, which tells units of systemd from YAML.
///
/// # Errors
/// A text is none of the known kinds, or asks for nothing.
pub fn manifest(texts: &[(String, String)]) -> Result<Manifest, String> {
    let mut all =
        Manifest { pods: Vec::new(), kubelet: None, services: Vec::new(), units: Vec::new() };
    for (name, text) in texts {
        if UNITS.iter().any(|suffix| name.ends_with(suffix)) {
            all.add_unit(name, text);
        } else if let Some(base) = name.strip_suffix(QUADLET) {
            let base = base.rsplit('/').next().unwrap_or(base);
            all.units.push(Unit::new(&format!("{base}.service"), text));
            all.services.push(compose::Service::quadlet(base, text)?);
        } else {
            all.add_yaml(name, text).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    let asks = |config: &KubeletConfig| config.asks_for_groups();
    if all.pods.is_empty()
        && all.services.is_empty()
        && all.units.is_empty()
        && !all.kubelet.as_ref().is_some_and(asks)
    {
        let names: Vec<&str> = texts.iter().map(|(name, _)| name.as_str()).collect();
        let alone = if all.kubelet.is_some() { " alone" } else { "" };
        return Err(format!("{}: it asks for no group{alone}", names.join(", ")));
    }
    Ok(all)
}

impl Manifest {
    /// A drop-in belongs to the unit before it.
    fn add_unit(&mut self, name: &str, text: &str) {
        let base = name.rsplit('/').next().unwrap_or(name);
        match self.units.last_mut().filter(|_| base.ends_with(".conf")) {
            Some(unit) => unit.add(text),
            None => self.units.push(Unit::new(base, text)),
        }
    }

    fn add_yaml(&mut self, name: &str, text: &str) -> Result<(), String> {
        let mut is_known = false;
        for document in documents(text)? {
            is_known |= self.add_document(&document)?;
        }
        let kinds = "a Pod (or what has a template of one), a KubeletConfiguration, a compose file, \
                     or by its name a unit of systemd";
        let base = name.rsplit('/').next().unwrap_or(name);
        if is_known { Ok(()) } else { Err(format!("{base} is none of: {kinds}")) }
    }

    fn add_document(&mut self, document: &Yaml) -> Result<bool, String> {
        match document.text("kind") {
            Some("List") => {
                for item in document.list("items") {
                    self.add_document(item)?;
                }
                return Ok(true);
            }
            Some("KubeletConfiguration") => {
                self.kubelet = Some(KubeletConfig::read(document)?);
                return Ok(true);
            }
            _ => {}
        }
        if let Some(pod) = Pod::read(document)? {
            self.pods.push(pod);
            return Ok(true);
        }
        let services = compose::read(document)?;
        let is_known = !services.is_empty();
        self.services.extend(services);
        Ok(is_known)
    }

    /// What is asked for, translated for a host.
    pub(super) fn requests(&self, host: &Host) -> Vec<Request> {
        let pods = self.pods.iter().flat_map(|one| pod::requests(one, self.kubelet.as_ref(), host));
        // Beside a pod the configuration only says how that is translated.
        let kubelet = self.kubelet.iter().filter(|_| self.pods.is_empty()).flat_map(pod::of_node);
        let services = self.services.iter().map(|service| service.request(host));
        let units = self.units.iter().map(|unit| unit.request(host));
        pods.chain(kubelet).chain(services).chain(units).collect()
    }
}
