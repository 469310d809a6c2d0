//! Groups again and again, on a terminal or as plain blocks.

use std::io::{self, Write, stdout};
use std::time::{Duration, Instant};

use assay_cgroup::inventory::{Inventory, Rates, rates};
use assay_kernel::signal;

use super::order::Order;
use super::terminal::{Keys, Screen};
use super::{BETWEEN, document, table};
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
    let order = wanted.order;
    let Some(screen) = screen else {
        let text = match wanted.as_json {
            true => document(inventory, rates).to_string(),
            false => table::top(inventory, rates, order, None, usize::MAX).join("\n") + "\n",
        };
        let mut out = stdout().lock();
        return writeln!(out, "{text}").and_then(|()| out.flush());
    };
    let (columns, lines) = screen.size();
    let mut frame = table::top(inventory, rates, order, Some(columns), lines.saturating_sub(1));
    // The last line stays where it is, however many groups there are.
    frame.resize(lines.saturating_sub(1), String::new());
    frame.push(foot().chars().take(columns).collect());
    screen.draw(&frame)
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
