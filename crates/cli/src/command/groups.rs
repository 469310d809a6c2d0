//! `assay groups`

mod order;
mod table;
mod terminal;
mod watch;

use std::time::Duration;

use assay_cgroup::inventory::{Filter, Inventory, Rates, rates, take};
use assay_facts::CgroupLayout;
use assay_host::gather;
use assay_kernel::Root;
use clap::Args;
use serde_json::{Value, json};

use crate::exit::Code;
use crate::output;
use order::Order;

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
    #[arg(long, value_name = "BY")]
    sort: Option<Order>,
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
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected seconds, from 0.1 to 3600".to_owned())
}

/// Lists groups, once or repeatedly.
pub(crate) fn run(arguments: &GroupsArguments) -> Code {
    let root = Root::real();
    let layout = match gather(&root) {
        Ok(facts) => facts.cgroup,
        Err(error) => {
            output::error(&error);
            return Code::Host;
        }
    };
    let filter = Filter {
        controller: arguments.controller.clone(),
        below: arguments.path.clone(),
        depth: arguments.depth,
        populated: arguments.populated,
    };
    let first = take(&root, &layout, &filter);
    if let Err(code) = check(&first, &filter, &layout) {
        return code;
    }
    let read = || take(&root, &layout, &filter);
    if let Some(period) = arguments.watch {
        let order = arguments.sort.unwrap_or(Order::Cpu);
        return watch::run(
            first,
            read,
            watch::WatchOptions { period, order, as_json: arguments.json },
        );
    }
    std::thread::sleep(READING_INTERVAL);
    let second = read();
    let rates = rates(&first, &second);
    if arguments.json {
        output::data(&format!("{:#}", document(&second, &rates)));
    } else {
        let order = arguments.sort.unwrap_or(Order::Path);
        output::data(&table::whole(&second, &rates, order, terminal::width()));
    }
    Code::Kept
}

/// Reports a filter that matches no hierarchy or group as an error.
fn check(inventory: &Inventory, filter: &Filter, layout: &CgroupLayout) -> Result<(), Code> {
    if let (true, Some(name)) = (inventory.hierarchies.is_empty(), &filter.controller) {
        let names: Vec<&str> = layout.controllers.keys().map(String::as_str).collect();
        output::error(&format!(
            "no mounted hierarchy has the controller `{name}`\n  hint: this kernel lists {}",
            names.join(", ")
        ));
        return Err(if names.contains(&name.as_str()) { Code::Host } else { Code::Usage });
    }
    if inventory.hierarchies.is_empty() {
        output::error(
            &"no control groups are mounted\n  hint: mount -t cgroup2 none /sys/fs/cgroup",
        );
        return Err(Code::Host);
    }
    if let (true, Some(path)) = (inventory.groups.is_empty(), &filter.below) {
        output::error(&format!(
            "no hierarchy has a group `{path}`\n  hint: `assay groups` lists all; paths begin \
             below the mount, as in /proc/PID/cgroup"
        ));
        return Err(Code::Usage);
    }
    Ok(())
}

/// The document of `--json`: the inventory with the rates of each group.
fn document(inventory: &Inventory, rates: &[Rates]) -> Value {
    let groups: Vec<Value> = inventory
        .groups
        .iter()
        .zip(rates)
        .map(|(entry, rates)| {
            let mut group = json!(entry);
            group["rates"] = json!(rates);
            group
        })
        .collect();
    json!({
        "schema": 1,
        "taken_ns": inventory.taken_ns,
        "hierarchies": inventory.hierarchies,
        "groups": groups,
    })
}
