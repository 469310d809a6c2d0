//! Groups again and again, on a terminal or as plain blocks.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use assay_cgroup::inventory::{Inventory, Rates, rates};
use assay_escape::terminal;
use assay_kernel::signal;

use super::order::Order;
use super::terminal::{Keys, Screen};
use super::{BETWEEN, document, table};
use crate::destination::Destination;
use crate::exit::Code;

/// What is to be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Time from one reading to the next.
    pub(super) period: Duration,
    pub(super) order: Order,
    pub(super) as_json: bool,
}

/// Reads again and again and shows what was used meanwhile, until `q`, Ctrl-C or the end of the
/// reader (`assay groups --watch | head`).
pub(super) fn run(first: Inventory, read: impl Fn() -> Inventory, wanted: Wanted) -> Code {
    signal::note_interruptions();
    let screen = if wanted.as_json { None } else { Screen::take() };
    let keys = Keys::listen();
    let mut wanted = wanted;
    let mut before = first;
    // The first use is told soon, whatever the period.
    let mut until = Instant::now() + BETWEEN.min(wanted.period);
    let mut shown: Option<Vec<Rates>> = None;
    loop {
        match wait(&keys, until) {
            Event::End => return Code::Kept,
            Event::Order(order) => wanted.order = order,
            Event::Time => {
                let now = read();
                shown = Some(rates(&before, &now));
                before = now;
                until = Instant::now() + wanted.period;
            }
        }
        let Some(rates) = &shown else { continue };
        if show(screen.as_ref(), &before, rates, wanted).is_err() {
            return Code::Kept;
        }
    }
}

fn show(
    screen: Option<&Screen>,
    inventory: &Inventory,
    rates: &[Rates],
    wanted: Wanted,
) -> io::Result<()> {
    let Some(screen) = screen else {
        let mut out = Destination::stdout()?;
        out.write_all(block(inventory, rates, wanted).as_bytes())?;
        return out.flush();
    };
    let (columns, lines) = screen.size();
    let most = lines.saturating_sub(1);
    let mut frame = table::top(inventory, rates, wanted.order, Some(columns), most);
    // The last line stays where it is, however many groups there are.
    frame.resize(most, String::new());
    frame.push(foot().chars().take(columns).collect());
    screen.draw(&frame)
}

/// What is written where no picture can be drawn. In JSON what a terminal would obey is an escape.
fn block(inventory: &Inventory, rates: &[Rates], wanted: Wanted) -> String {
    let text = match wanted.as_json {
        true => document(inventory, rates).to_string() + "\n",
        false => table::top(inventory, rates, wanted.order, None, usize::MAX).join("\n") + "\n\n",
    };
    terminal(&text).into_owned()
}

/// Which keys there are.
fn foot() -> String {
    let orders = Order::KEYS.map(|(key, order)| format!("{} {}", char::from(key), order.words()));
    format!("q ends; by {}", orders.join(", "))
}

/// What ends a wait.
enum Event {
    Time,
    Order(Order),
    End,
}

fn wait(keys: &Keys, until: Instant) -> Event {
    // A signal may come just before a wait, which it then does not cut short.
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
                if let Some((_, order)) = Order::KEYS.iter().find(|(known, _)| *known == key) {
                    return Event::Order(*order);
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_cgroup::inventory::Mounted;

    use super::*;

    #[test]
    fn a_watch_in_json_shows_what_a_terminal_would_obey() {
        let name = "v2\u{9b}2J\u{1b}]0;owned";
        let mounted = Mounted {
            name: name.to_owned(),
            is_v2: true,
            mount: "/cg".into(),
            controllers: Vec::new(),
        };
        let inventory = Inventory { taken_ns: 0, hierarchies: vec![mounted], groups: Vec::new() };
        let wanted = Wanted { period: Duration::from_secs(1), order: Order::Cpu, as_json: true };
        let text = block(&inventory, &[], wanted);
        assert!(!text.contains(['\u{9b}', '\u{1b}']), "{text:?}");
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["hierarchies"][0]["name"], name);
    }
}
