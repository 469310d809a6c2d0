//! `[design]`: order, length and number of trials.

use std::time::Duration;

use assay_diagnostic::Diagnostic;

use crate::code;
use crate::key;
use crate::reader::{At, Reader};
use crate::section::Section;
use crate::syntax::{Design, Ends, LeftOut, Order, Scalar, Stop, WarmUp};

/// The starts of the last look of the rule.
const DEFAULT_REPEATS: u32 = 24;
const DEFAULT_AT_MOST: Duration = Duration::from_secs(3);

/// A shorter window holds too few samples to be judged.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

pub(super) const DURATION: &str = "a duration with its unit, such as `500 ms`, `20 s` or `3 min`";

pub(crate) fn read(reader: &mut Reader<'_>, at: Option<&At<'_>>) -> Design {
    let mut design = Design {
        repeats: DEFAULT_REPEATS,
        order: Order::default(),
        warm_up: WarmUp::default(),
        at_most: DEFAULT_AT_MOST,
        ends: Ends::default(),
        stop: Stop::default(),
        leave_out: Vec::new(),
    };
    let Some(at) = at else { return design };
    let section = Section::open(reader, at.clone(), "[design]".to_owned(), key::DESIGN);
    if let Some(repeats) = repeats(reader, &section) {
        design.repeats = repeats;
    }
    design.order = match section.word(reader, "order", key::ORDERS) {
        Some("given") => Order::AsWritten,
        Some("interleaved") => Order::Interleaved,
        _ => Order::Random,
    };
    design.ends = match section.word(reader, "ends", key::ENDS) {
        Some("all") => Ends::All,
        Some("time") => Ends::Time,
        _ => Ends::First,
    };
    if section.word(reader, "stop", key::STOPS) == Some("at_most") {
        design.stop = Stop::AtMost;
    }
    if let Some(at) = section.get("leave_out") {
        design.leave_out = leave_out(reader, at);
    }
    if let Some(at_most) = section.duration(reader, "at_most", DURATION) {
        design.at_most = at_most.max(SHORTEST_TRIAL);
        if at_most < SHORTEST_TRIAL {
            section.out_of_range(
                reader,
                "at_most",
                "`at_most` is shorter than a second",
                "expected at least `1 s`",
                "write `3 s` or more: a window needs enough samples to be judged",
            );
        }
    }
    if section.text("warm_up").is_some_and(|text| text.trim() != "auto")
        && let Some(warm_up) = section.duration(reader, "warm_up", DURATION)
    {
        design.warm_up = WarmUp::Fixed(warm_up);
        check_warm_up(reader, &section, warm_up, design.at_most);
    }
    design
}

fn repeats(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<u32> {
    let Scalar::Integer(number) = section.scalar("repeats")? else { return None };
    let repeats = u32::try_from(number).ok().filter(|repeats| *repeats >= 1);
    if repeats.is_none() {
        section.out_of_range(
            reader,
            "repeats",
            format!("`repeats` is `{number}`"),
            "expected a whole number from 1",
            "write 8 or more: a verdict takes so many starts",
        );
    }
    repeats
}

/// Tables of factors, each with one level or a list of levels.
fn leave_out(reader: &mut Reader<'_>, list: &At<'_>) -> Vec<LeftOut> {
    let mut left = Vec::new();
    for table in reader.elements(list) {
        if !super::is_table(reader, &table, "an element of `leave_out`") {
            continue;
        }
        let mut one = LeftOut::new();
        for (factor, _, at) in reader.entries(&table) {
            let what = format!("a level of `{factor}`");
            let levels = reader.one_or_more(&at);
            let levels = levels.iter().filter_map(|level| reader.scalar(level, &what)).collect();
            one.push((factor.to_owned(), levels));
        }
        left.push(one);
    }
    left
}

fn check_warm_up(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    warm_up: Duration,
    at_most: Duration,
) {
    if warm_up < at_most {
        return;
    }
    let Some(at) = section.get("warm_up") else { return };
    let mut finding = Diagnostic::error(
        code::LONG_WARM_UP,
        "`warm_up` is as long as the whole repeat: nothing is left to judge",
    )
    .at(at.span.clone(), "expected less than `at_most`");
    if let Some(limit) = section.get("at_most") {
        finding = finding.at(limit.span.clone(), "the longest time of a repeat");
    }
    reader
        .add(finding.hint("shorten `warm_up`, lengthen `at_most`, or write `warm_up = \"auto\"`"));
}
