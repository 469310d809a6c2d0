//! `assay conform --kernel`: the cases on several kernels.

use std::path::PathBuf;
use std::time::Duration;

use assay_conform::Case;
use assay_conform::passport::{PassportKernelName, PassportOptions, make_passport, page};
use assay_lab::{Cache, GuestLayout, GuestSpec, parse_swap};
use assay_sys::exit::{Code, Error};
use assay_sys::units::Bytes;
use clap::Args;

use crate::observer::this_host;
use crate::output;
use crate::shared_arguments::TrustArguments;

/// Arguments about several kernels.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several kernels")]
pub(super) struct KernelArguments {
    /// Kernels: host, debian-6.12, ./bzImage:MODULES
    ///
    /// Separated by commas: `host`, `debian-5.10` (any series), `debian-newest`, or an image.
    #[arg(
        long = "kernel",
        value_name = "KERNEL,..",
        value_delimiter = ',',
        conflicts_with = "list"
    )]
    kernels: Vec<PassportKernelName>,
    /// Folder of results; the same goes on
    #[arg(long, value_name = "DIR", default_value = "passport", requires = "kernels")]
    out: PathBuf,
    /// Begin again
    #[arg(long, requires = "kernels")]
    fresh: bool,
    /// Show every case, not only those not kept
    #[arg(short, long, requires = "kernels")]
    verbose: bool,
    /// Write an HTML page to FILE too
    #[arg(long, value_name = "FILE", requires = "kernels")]
    report: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    guests: KernelGuestArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Guests")]
struct KernelGuestArguments {
    /// cgroup layout: v1, v2 or hybrid
    #[arg(long, value_name = "LAYOUT", default_value = "v2", requires = "kernels")]
    cgroup: GuestLayout,
    /// CPUs
    #[arg(long, value_name = "N", default_value_t = 2, requires = "kernels")]
    cpus: u32,
    /// NUMA nodes
    #[arg(long, value_name = "N", default_value_t = 1, requires = "kernels")]
    nodes: u32,
    /// Memory
    #[arg(long, value_name = "SIZE", default_value = "2GiB", requires = "kernels")]
    memory: Bytes,
    /// Swap
    #[arg(long, value_name = "SIZE", value_parser = parse_swap, default_value = "512MiB", requires = "kernels")]
    swap: Bytes,
    /// End a guest after this time
    #[arg(long, value_name = "DURATION", default_value = "15min", requires = "kernels",
          value_parser = assay_sys::units::parse_duration)]
    timeout: Duration,
}

impl KernelArguments {
    pub(super) const fn is_asked(&self) -> bool {
        !self.kernels.is_empty()
    }

    /// Whether the running kernel is one of them, or the only one.
    pub(super) fn on_this_host(&self) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(PassportKernelName::is_host)
    }
}

/// Runs the cases on each kernel.
pub(super) fn run(
    arguments: &KernelArguments,
    cases: Vec<&Case>,
    patience: Option<f64>,
    as_json: bool,
) -> Result<Code, Error> {
    let guests = &arguments.guests;
    let options = PassportOptions {
        kernels: arguments.kernels.clone(),
        cases,
        out: arguments.out.clone(),
        trust: arguments.trust.trust(),
        fresh: arguments.fresh,
        guest: GuestSpec {
            layout: guests.cgroup,
            nodes: guests.nodes,
            cpus: guests.cpus,
            memory: guests.memory,
            swap: Some(guests.swap),
            timeout: guests.timeout,
            ..GuestSpec::default()
        },
        patience,
    };
    let made = make_passport(&this_host(), &options, &Cache::usual(), output::message)?;
    match as_json {
        true => output::json(&made.passport)?,
        false => {
            output::data(&page(&made.passport, arguments.verbose).text(output::width(), false));
        }
    }
    if let Some(file) = &arguments.report {
        output::page(file, &assay_report::page_html(&page(&made.passport, true)))?;
    }
    output::message(&format!("the document: {}", made.document.display()));
    Ok(made.code)
}
