//! `assay audit --manifest`: what a manifest asked for, against what stands in files.

use std::path::{Path, PathBuf};

use assay_audit::collect::read_manifest;
use assay_audit::{Place, Snapshot, fulfilment, told_page};
use assay_sys::exit::Error;
use clap::Args;

use crate::output;

/// Arguments about a manifest.
#[derive(Debug, Args)]
pub(super) struct ManifestArguments {
    /// Compare with a Pod, unit or compose file
    ///
    /// May be repeated, for a KubeletConfiguration and drop-ins.
    #[arg(long = "manifest", value_name = "FILE", conflicts_with_all = ["snapshot", "groups", "verbose", "fail_on"])]
    manifests: Vec<PathBuf>,
    /// With --manifest: its group
    ///
    /// Where the manifest does not tell; a path below the mounts.
    #[arg(long, value_name = "PATH", requires = "manifests", conflicts_with_all = ["unit", "container", "pod"])]
    group: Option<String>,
    /// With --manifest: its systemd unit
    #[arg(long, value_name = "NAME", requires = "manifests", conflicts_with_all = ["container", "pod"])]
    unit: Option<String>,
    /// With --manifest: its container
    #[arg(long, value_name = "NAME", requires = "manifests", conflicts_with = "pod")]
    container: Option<String>,
    /// With --manifest: its pod, by uid or name
    #[arg(long, value_name = "NAME", requires = "manifests")]
    pod: Option<String>,
}

impl ManifestArguments {
    pub(super) const fn is_asked(&self) -> bool {
        !self.manifests.is_empty()
    }

    fn place(&self) -> Option<Place> {
        let group = self.group.clone().map(Place::Group);
        group
            .or_else(|| self.unit.clone().map(Place::Unit))
            .or_else(|| self.container.clone().map(Place::Container))
            .or_else(|| self.pod.clone().map(Place::Pod))
    }

    /// Compares; returns whether anything differs.
    pub(super) fn run(
        &self,
        snapshot: &Snapshot,
        report: Option<&Path>,
        as_json: bool,
    ) -> Result<bool, Error> {
        let manifest = read_manifest(&self.manifests)?;
        let place = self.place();
        let fulfilment = fulfilment(&manifest, place.as_ref(), snapshot)
            .map_err(|why| Error::usage(format!("--manifest: {why}")))?;
        if let Some(file) = report {
            output::page(file, &assay_report::page_html(&told_page(&fulfilment)))?;
        }
        super::show(&fulfilment, as_json, told_page)?;
        Ok(fulfilment.differs())
    }
}
