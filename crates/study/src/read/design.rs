//! `[factors]`, `[design]`, `[sampling]`, and settings of the whole machine: what varies, order, length and number of
//! trials, what is sampled meanwhile, and `sysctls`, `thp` and `drop_caches`.

use std::mem::discriminant;
use std::ops::Range;
use std::time::Duration;

use assay_host::knob::{HostSetting, THP, host_setting, host_settings, suggest_host_setting};
use assay_sys::diagnostic::Diagnostic;

use super::names;
use crate::reader::{At, Reader, quoted};
use crate::section::{Section, unknown_word};
use crate::syntax::{
    Design, Ends, Factor, HostSettings, LeftOut, Order, Sampling, Scalar, Stop, WarmUp,
};
use crate::template::Templated;
use crate::value::kind;
use crate::{code, key};

pub(crate) fn factors(reader: &mut Reader<'_>, table: &At<'_>) -> Vec<Factor> {
    let mut factors = vec![];
    for (name, key_span, list) in reader.entries(table) {
        names::part(reader, "factor", name, key_span);
        let values = levels(reader, name, &list);
        factors.push(Factor { name: name.to_owned(), values });
    }
    factors
}

fn levels(reader: &mut Reader<'_>, name: &str, list: &At<'_>) -> Vec<Scalar> {
    if !list.value.is_array() {
        reader.add(
            Diagnostic::error(
                code::WRONG_TYPE,
                format!("the factor `{name}` is {}", kind(list.value)),
            )
            .at(list.span.clone(), "expected a list of values")
            .hint(format!("write `{name} = [...]`, with one value or more")),
        );
        return vec![];
    }
    let elements = reader.elements(list);
    let what = format!("a value of the factor `{name}`");
    let values: Vec<Scalar> =
        elements.iter().filter_map(|element| reader.scalar(element, &what)).collect();
    if values.len() == elements.len()
        && let Some((finding, expected, index)) = mistake_in_levels(name, &values)
    {
        let span = index.map_or(&list.span, |index| &elements[index].span);
        reader.add(finding.at(span.clone(), expected));
    }
    values
}

/// The first mistake in the levels of a factor, without a location: values may be from the command line. With it what was
/// expected, and the index of the value in question; `None` for the whole list.
pub(crate) fn mistake_in_levels(
    name: &str,
    values: &[Scalar],
) -> Option<(Diagnostic, &'static str, Option<usize>)> {
    let Some(first) = values.first() else {
        let message = format!("the factor `{name}` has no values");
        let finding = Diagnostic::error(code::EMPTY_LIST, message)
            .hint("list the values of the factor, or remove it");
        return Some((finding, "expected at least one value", None));
    };
    let other_type = values.iter().position(|value| discriminant(value) != discriminant(first));
    if let Some(index) = other_type {
        let message = format!("the values of the factor `{name}` are of different types");
        let finding = Diagnostic::error(code::MIXED_LIST, message)
            .hint("write all of them as numbers, or all of them as texts");
        return Some((finding, "expected the type of the first value", Some(index)));
    }
    let index = (1..values.len()).find(|index| values[..*index].contains(&values[*index]))?;
    let message = format!("the factor `{name}` has the value `{}` twice", values[index]);
    let finding = Diagnostic::error(code::REPEATED_VALUE, message)
        .hint("remove it; `repeats` in [design] runs a combination more often");
    Some((finding, "expected each value once", Some(index)))
}

/// The starts of the last look of the rule.
const DEFAULT_REPEATS: u32 = 24;

const DEFAULT_AT_MOST: Duration = Duration::from_secs(3);

/// A shorter window holds too few samples to be judged.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

pub(super) const DURATION: &str = "a duration with its unit, such as `500 ms`, `20 s` or `3 min`";

pub(crate) fn design(reader: &mut Reader<'_>, at: Option<&At<'_>>) -> Design {
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
    /// Each has its own entry in the plan.
    const MOST: u32 = 10_000;
    let repeats = u32::try_from(number).ok().filter(|repeats| (1..=MOST).contains(repeats));
    if repeats.is_none() {
        section.out_of_range(
            reader,
            "repeats",
            format!("`repeats` is `{number}`"),
            &format!("expected a whole number from 1 to {MOST}"),
            "write 8 or more: a verdict takes so many starts",
        );
    }
    repeats
}

/// Tables of factors, each with one level or a list of levels.
fn leave_out(reader: &mut Reader<'_>, list: &At<'_>) -> Vec<LeftOut> {
    let mut left = Vec::new();
    for table in super::tables(reader, list) {
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

/// With a shorter interval the rounds of a hundred groups would overlap; with a longer one a window
/// of some seconds would hold too few samples.
const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(1);

pub(crate) fn sampling(reader: &mut Reader<'_>, at: Option<&At<'_>>) -> Sampling {
    let mut sampling = Sampling::default();
    let Some(at) = at else { return sampling };
    let section = Section::open(reader, at.clone(), "[sampling]".to_owned(), key::SAMPLING);
    if let Some(at) = section.get("sources") {
        sampling.sources = sources(reader, at, &section.subject("sources"));
    }
    if let Some(interval) = interval(reader, &section) {
        sampling.interval = interval;
    }
    sampling.evidence = section.boolean("evidence").unwrap_or_default();
    sampling
}

fn sources(reader: &mut Reader<'_>, at: &At<'_>, what: &str) -> Vec<String> {
    let expected = "expected the name of a source";
    let remedy = "write the name in quotes, such as \"threads\"";
    let mut sources: Vec<String> = vec![];
    for (name, element) in reader.texts(at, what, expected, remedy) {
        if !key::SAMPLED.contains(&name) {
            reader.add(unknown_word(what, name, key::SAMPLED, element.span));
        } else if sources.iter().any(|other| other == name) {
            reader.add(
                Diagnostic::error(code::REPEATED_VALUE, format!("{what} names `{name}` twice"))
                    .at(element.span, "expected each source once")
                    .hint("remove one of the two"),
            );
        } else {
            sources.push(name.to_owned());
        }
    }
    sources
}

fn interval(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<Duration> {
    let expected = "a duration with its unit, such as `100 ms`";
    let interval = section.duration(reader, "interval", expected)?;
    if !INTERVALS.contains(&interval) {
        let text = section.text("interval").unwrap_or_default();
        section.out_of_range(
            reader,
            "interval",
            format!("{} is `{text}`", section.subject("interval")),
            "expected 10 ms to 1 s",
            "write `100 ms`, or more for very many groups",
        );
        return None;
    }
    Some(interval)
}

type Values = Vec<(String, Templated<Scalar>)>;

pub(crate) fn settings(reader: &mut Reader<'_>, study: &Section<'_>) -> HostSettings {
    let mut values = study.part(reader, "sysctls", sysctls);
    values.extend(study.part(reader, "thp", huge_pages));
    HostSettings { values, drop_caches: study.templated(reader, "drop_caches") }
}

fn sysctls(reader: &mut Reader<'_>, table: &At<'_>) -> Values {
    let mut values = vec![];
    for (name, key_span, at) in reader.entries(table) {
        if at.value.is_table() {
            values.extend(unquoted(reader, name, key_span, &at));
        } else {
            values.extend(one(reader, name, key_span, &at));
        }
    }
    values
}

/// Without quotes `vm.dirty_ratio = 5` is a table `vm` to TOML.
fn unquoted(
    reader: &mut Reader<'_>,
    family: &str,
    key_span: Range<usize>,
    table: &At<'_>,
) -> Values {
    let mistake = Diagnostic::error(code::UNKNOWN_SETTING, format!("unknown sysctl `{family}`"))
        .at(key_span, "expected the whole name of a sysctl in quotes");
    let mut named = reader.unquoted(table, mistake, family);
    named.retain(|(name, _)| host_setting(name).is_some());
    // The values are still checked, under the path where the checks expect them.
    named
        .into_iter()
        .filter_map(|(name, at)| {
            let at = reader.at(at.value, at.span, format!("sysctls.{name}"));
            let value = reader.templated(&at, &format!("`{name}`"))?;
            Some((name, value))
        })
        .collect()
}

/// A word is the mode of `enabled`; a table names files below the directory of huge pages.
fn huge_pages(reader: &mut Reader<'_>, at: &At<'_>) -> Values {
    let enabled = format!("{THP}enabled");
    if !at.value.is_table() {
        let value = reader.templated(at, "`thp`");
        // Recorded under the path of the table, so that later checks find its location.
        reader.at(at.value, at.span.clone(), format!("thp.{enabled}"));
        return value.map(|value| (enabled, value)).into_iter().collect();
    }
    let mut values = vec![];
    for (name, key_span, at) in reader.entries(at) {
        let name = format!("{THP}{name}");
        values.extend(one(reader, &name, key_span, &at));
    }
    values
}

/// A setting with its value. The value of an unknown setting is checked as that of the one that was
/// probably meant.
fn one(
    reader: &mut Reader<'_>,
    name: &str,
    key_span: Range<usize>,
    at: &At<'_>,
) -> Option<(String, Templated<Scalar>)> {
    let is_huge = name.starts_with(THP);
    let meant = match host_setting(name) {
        Some(setting) => Some(setting.name),
        None => {
            reader.add(unknown(name, key_span));
            let meant = suggest_host_setting(name).map(|setting| setting.name);
            meant.filter(|meant| meant.starts_with(THP) == is_huge)
        }
    };
    // Recorded where the checks expect it.
    let table = if is_huge { "thp" } else { "sysctls" };
    let path = format!("{table}.{}", meant.unwrap_or(name));
    let at = &reader.at(at.value, at.span.clone(), path);
    let value = reader.templated(at, &format!("`{name}`"))?;
    Some((meant?.to_owned(), value))
}

fn unknown(name: &str, span: Range<usize>) -> Diagnostic {
    let is_huge = name.starts_with(THP);
    let shown = name.strip_prefix(THP).unwrap_or(name);
    let what = if is_huge { "setting of huge pages" } else { "sysctl" };
    let meant = suggest_host_setting(name).filter(|setting| setting.is_sysctl() != is_huge);
    let hint = match meant {
        Some(meant) => format!("did you mean `{}`?", meant.key()),
        None => {
            let family = name.split('.').next().unwrap_or(name);
            let related: Vec<&str> = host_settings()
                .iter()
                .filter(|setting| setting.name.split('.').next() == Some(family))
                .map(HostSetting::key)
                .collect();
            match related.is_empty() {
                true => {
                    "docs/reference/settings.md lists all settings that can be restored".to_owned()
                }
                false => format!("the settings of `{family}` are {}", quoted(&related)),
            }
        }
    };
    Diagnostic::error(code::UNKNOWN_SETTING, format!("unknown {what} `{shown}`"))
        .at(span, "expected a name listed in docs/reference/settings.md")
        .hint(hint)
}
