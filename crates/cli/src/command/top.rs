//! `assay top`

mod terminal;
mod watch;

use std::time::Duration;

use assay_blame::collect::group_of;
use assay_host::cgroup::inventory::{Filter, rates, take};
use assay_host::gather;
use assay_live::groups::{GroupOrder, check_groups, groups_document, groups_text};
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::Root;
use clap::Args;

use crate::observer::this_host;
use crate::output;
use crate::parsers::{duration_in, one_of};
use crate::shared_arguments::{FormatArguments, TargetArguments};

/// Arguments of `assay top`.
#[derive(Debug, Args)]
pub(crate) struct TopArguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Only the hierarchy of this controller
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    /// Depth of groups at most
    #[arg(long, value_name = "LEVELS")]
    depth: Option<usize>,
    /// Only groups with processes
    #[arg(long)]
    populated: bool,
    /// Sort order, largest first
    ///
    /// By default by path, with --watch by cpu.
    #[arg(long, value_name = "BY", hide_possible_values = false, value_parser = one_of(&GroupOrder::ALL))]
    sort: Option<GroupOrder>,
    /// Update until q or Ctrl-C
    #[arg(short, long)]
    watch: bool,
    /// Time between two updates
    #[arg(long, value_name = "DURATION", default_value = "2s", requires = "watch", value_parser = interval)]
    interval: Duration,
    #[command(flatten)]
    format: FormatArguments,
}

/// Time between the two readings from which rates are computed without `--watch`.
const READING_INTERVAL: Duration = Duration::from_millis(500);

fn interval(text: &str) -> Result<Duration, String> {
    let range = Duration::from_millis(100)..=Duration::from_secs(3600);
    duration_in(text, range, "expected 0.1 s to 1 h")
}

/// Lists groups, once or repeatedly.
pub(crate) fn run(arguments: &TopArguments) -> Result<Code, Error> {
    let root = Root::real();
    let layout = gather(&root).map_err(Error::host)?.cgroup;
    let target = arguments.target.target();
    let filter = Filter {
        controller: arguments.controller.clone(),
        below: target.map(|target| group_of(&this_host().root, &target)).transpose()?,
        depth: arguments.depth,
        populated: arguments.populated,
    };
    let read = || take(&root, &filter);
    let first = read();
    check_groups(&first, &filter, &layout)?;
    if arguments.watch {
        let order = arguments.sort.unwrap_or(GroupOrder::Cpu);
        watch::run(
            first,
            read,
            watch::WatchOptions {
                period: arguments.interval,
                order,
                as_json: arguments.format.is_json(),
            },
        );
        return Ok(Code::Kept);
    }
    std::thread::sleep(READING_INTERVAL);
    let second = read();
    let rates = rates(&first, &second);
    if arguments.format.is_json() {
        output::json(&groups_document(&second, &rates))?;
    } else {
        let order = arguments.sort.unwrap_or(GroupOrder::Path);
        let columns = output::size_of(std::io::stdout()).map(|size| size.columns);
        output::data(&groups_text(&second, &rates, order, columns));
    }
    Ok(Code::Kept)
}
