//! `assay groups`

mod terminal;
mod watch;

use std::time::Duration;

use assay_host::cgroup::inventory::{Filter, rates, take};
use assay_host::gather;
use assay_live::groups::{GroupOrder, check_groups, groups_document, groups_text};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::Root;
use clap::Args;

use crate::output;
use crate::parsers::{number_in, one_of};

/// Arguments of `assay groups`.
#[derive(Debug, Args)]
pub(crate) struct GroupsArguments {
    /// Show only this group and its descendants; a path below the mounts
    path: Option<String>,
    /// Show only the hierarchy of this controller, by its v2 name
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    /// Maximum depth of groups
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Show only groups with processes in them or in descendants
    #[arg(long)]
    populated: bool,
    /// Sort order, largest first [default: path; with --watch: cpu]
    #[arg(long, value_name = "BY", value_parser = one_of(&GroupOrder::ALL))]
    sort: Option<GroupOrder>,
    /// Update every SECONDS (2 if omitted) until q or Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2",
          value_parser = seconds)]
    watch: Option<Duration>,
    /// Print JSON; with --watch one line per update
    #[arg(long)]
    json: bool,
}

/// Time between the two readings from which rates are computed without `--watch`.
const READING_INTERVAL: Duration = Duration::from_millis(500);

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = number_in(text, 0.1..=3600.0, "expected seconds, from 0.1 to 3600");
    seconds.map(Duration::from_secs_f64)
}

/// Lists groups, once or repeatedly.
pub(crate) fn run(arguments: &GroupsArguments) -> Result<Code, Error> {
    let root = Root::real();
    let layout = gather(&root).map_err(Error::host)?.cgroup;
    let filter = Filter {
        controller: arguments.controller.clone(),
        below: arguments.path.clone(),
        depth: arguments.depth,
        populated: arguments.populated,
    };
    let read = || take(&root, &filter);
    let first = read();
    check_groups(&first, &filter, &layout)?;
    if let Some(period) = arguments.watch {
        let order = arguments.sort.unwrap_or(GroupOrder::Cpu);
        watch::run(first, read, watch::WatchOptions { period, order, as_json: arguments.json });
        return Ok(Code::Kept);
    }
    std::thread::sleep(READING_INTERVAL);
    let second = read();
    let rates = rates(&first, &second);
    if arguments.json {
        output::json(&groups_document(&second, &rates))?;
    } else {
        let order = arguments.sort.unwrap_or(GroupOrder::Path);
        let columns = output::size_of(std::io::stdout()).map(|size| size.columns);
        output::data(&groups_text(&second, &rates, order, columns));
    }
    Ok(Code::Kept)
}
