//! `assay top --watch`: repeated listings, on a terminal or as plain blocks.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use assay_host::cgroup::inventory::{Inventory, Rates, rates};
use assay_live::groups::{GroupOrder, groups_document, top_groups};
use assay_sys::escape::terminal;
use assay_sys::kernel::signal;
use serde_json::json;

use super::READING_INTERVAL;
use super::terminal::{Keys, Screen};
use crate::destination::Destination;
use crate::output::{self, Size};

/// The options of a watch.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchOptions {
    /// Time from one reading to the next.
    pub(super) period: Duration,
    pub(super) order: GroupOrder,
    pub(super) as_json: bool,
}

/// Reads repeatedly and shows the use since the previous reading, until `q`, Ctrl-C or a closed pipe
/// (`assay top --watch | head`).
pub(super) fn run(first: Inventory, read: impl Fn() -> Inventory, options: WatchOptions) {
    signal::note_interruptions();
    let screen = if options.as_json { None } else { Screen::enter() };
    let keys = Keys::listen();
    let mut options = options;
    let mut before = first;
    // The first rates are shown soon, whatever the period.
    let mut until = Instant::now() + READING_INTERVAL.min(options.period);
    let mut latest: Option<Vec<Rates>> = None;
    loop {
        match wait(&keys, until) {
            Event::End => return,
            Event::Order(order) => options.order = order,
            Event::Time => {
                let now = read();
                latest = Some(rates(&before, &now));
                before = now;
                until = Instant::now() + options.period;
            }
        }
        let Some(rates) = &latest else { continue };
        if !output::reached(show(screen.as_ref(), &before, rates, options)) {
            return;
        }
    }
}

fn show(
    screen: Option<&Screen>,
    inventory: &Inventory,
    rates: &[Rates],
    options: WatchOptions,
) -> io::Result<()> {
    let Some(screen) = screen else {
        let mut out = Destination::stdout()?;
        out.write_all(block(inventory, rates, options).as_bytes())?;
        return out.flush();
    };
    let Size { columns, rows } = screen.size();
    let most = rows.saturating_sub(1);
    let mut frame = top_groups(inventory, rates, options.order, Some(columns), most);
    // The footer stays on the last line, whatever the number of groups.
    frame.resize(most, String::new());
    frame.push(footer().chars().take(columns).collect());
    screen.draw(&frame)
}

/// A block of text or JSON, if the screen cannot be drawn. Control sequences are escaped in JSON too.
fn block(inventory: &Inventory, rates: &[Rates], options: WatchOptions) -> String {
    let text = match options.as_json {
        true => json!(groups_document(inventory, rates)).to_string() + "\n",
        false => top_groups(inventory, rates, options.order, None, usize::MAX).join("\n") + "\n\n",
    };
    terminal(&text).into_owned()
}

/// The list of keys.
fn footer() -> String {
    let mut orders = GroupOrder::ALL
        .map(|(_, order, _)| format!("{} {}", char::from(order.key()), order.label()));
    orders.rotate_left(1);
    format!("q quit; sort by {}", orders.join(", "))
}

/// The end of a wait.
enum Event {
    Time,
    Order(GroupOrder),
    End,
}

fn wait(keys: &Keys, until: Instant) -> Event {
    // A signal may arrive just before a wait and would then not interrupt it.
    const LONGEST: Duration = Duration::from_millis(200);
    loop {
        if signal::interrupted_by().is_some() {
            return Event::End;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Event::Time;
        }
        match keys.pressed(left.min(LONGEST)) {
            Some(b'q' | b'Q') => return Event::End,
            Some(key) => {
                let chosen = GroupOrder::ALL.iter().find(|(_, order, _)| order.key() == key);
                if let Some((_, order, _)) = chosen {
                    return Event::Order(*order);
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_host::cgroup::inventory::Mounted;

    use super::*;

    #[test]
    fn json_of_a_watch_escapes_control_sequences() {
        let name = "v2\u{9b}2J\u{1b}]0;owned";
        let mounted = Mounted {
            name: name.to_owned(),
            is_v2: true,
            mount: "/cg".into(),
            controllers: Vec::new(),
        };
        let inventory = Inventory { taken_ns: 0, hierarchies: vec![mounted], groups: Vec::new() };
        let options =
            WatchOptions { period: Duration::from_secs(1), order: GroupOrder::Cpu, as_json: true };
        let text = block(&inventory, &[], options);
        assert!(!text.contains(['\u{9b}', '\u{1b}']), "{text:?}");
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["hierarchies"][0]["name"], name);
    }
}
