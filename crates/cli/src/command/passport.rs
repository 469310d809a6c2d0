//! `assay passport`

use std::path::PathBuf;
use std::time::Duration;

use assay_conform::passport::{PassportKernelName, PassportOptions, make_passport};
use assay_judge::verdict::Passport;
use assay_lab::{Cache, GuestLayout, GuestSpec, parse_swap};
use assay_sys::exit::{Code, Error};
use assay_sys::units::Bytes;
use clap::Args;

use crate::observer::this_host;
use crate::output;
use crate::parsers::patience;
use crate::shared_arguments::TrustArguments;

/// Arguments of `assay passport`.
#[derive(Debug, Args)]
pub(crate) struct PassportArguments {
    /// Kernels: `host`, `debian-5.10` (any series), `debian-newest`, `./bzImage:MODULES`; separated by commas
    #[arg(long, value_name = "KERNEL,..", value_delimiter = ',', required = true)]
    kernels: Vec<PassportKernelName>,
    /// Only these controllers or cases, separated by commas [default: all]
    #[arg(long, value_name = "CASE,..", value_delimiter = ',')]
    only: Vec<String>,
    /// Folder of the passport; the same command goes on where an earlier one ended
    #[arg(long, value_name = "DIR", default_value = "passport")]
    out: PathBuf,
    /// Remove the results of earlier commands and begin again
    #[arg(long)]
    fresh: bool,
    /// Show every case, not only those that are broken, undecided or void on a kernel
    #[arg(long)]
    all: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Factor for windows and time limits [default: 1, or 3 in an emulated machine]
    #[arg(long, value_name = "FACTOR", value_parser = patience)]
    patience: Option<f64>,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    guests: PassportGuestArguments,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Guests")]
struct PassportGuestArguments {
    /// Layout of control groups: `v1`, `v2` or `hybrid`
    #[arg(long, value_name = "LAYOUT", default_value = "v2")]
    cgroup: GuestLayout,
    /// Number of CPUs
    #[arg(long, value_name = "N", default_value_t = 2)]
    cpus: u32,
    /// Number of NUMA nodes
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u32,
    /// Memory size
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    memory: Bytes,
    /// Size of a swap disk
    #[arg(long, value_name = "SIZE", value_parser = parse_swap, default_value = "512MiB")]
    swap: Bytes,
    /// End a guest after this time
    #[arg(long, value_name = "DURATION", default_value = "15min",
          value_parser = assay_sys::units::parse_duration)]
    timeout: Duration,
}

/// Makes a passport.
pub(crate) fn run(arguments: &PassportArguments) -> Result<Code, Error> {
    let guests = &arguments.guests;
    let options = PassportOptions {
        kernels: arguments.kernels.clone(),
        cases: assay_conform::select(&arguments.only).map_err(Error::usage)?,
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
        patience: arguments.patience,
    };
    let made = make_passport(&this_host(), &options, &Cache::usual(), output::message)?;
    show(&made.passport, arguments)?;
    output::message(&format!("the document: {}", made.document.display()));
    Ok(made.code)
}

fn show(passport: &Passport, arguments: &PassportArguments) -> Result<(), Error> {
    if arguments.json {
        return output::json(passport);
    }
    output::data(&assay_report::passport_text(passport, arguments.all, output::width()));
    Ok(())
}
