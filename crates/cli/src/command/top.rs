//! `assay top`

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
use crate::parsers::one_of;
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
    #[arg(long, value_name = "BY", default_value = "path", hide_possible_values = false, value_parser = one_of(&GroupOrder::ALL))]
    sort: GroupOrder,
    #[command(flatten)]
    format: FormatArguments,
}

/// Time between the two readings from which rates are computed.
const READING_INTERVAL: Duration = Duration::from_millis(500);

/// Lists groups.
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
    std::thread::sleep(READING_INTERVAL);
    let second = read();
    let rates = rates(&first, &second);
    if arguments.format.is_json() {
        output::json(&groups_document(&second, &rates))?;
    } else {
        let columns = output::size_of(std::io::stdout()).map(|size| size.columns);
        output::data(&groups_text(&second, &rates, arguments.sort, columns));
    }
    Ok(Code::Kept)
}
