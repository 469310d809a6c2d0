//! `assay blame --watch`: the whole host as a table or lines of JSON, and as metrics.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_blame::collect::{NodeGroup, NodeLook, NodeWatch};
use assay_host::facts::owner::shown;
use assay_report::export::Families;
use assay_sys::exit::{Code, Error};
use assay_sys::files::replace;
use assay_sys::kernel::{Root, signal};

use crate::destination::Destination;
use crate::exporting::write_error;
use crate::output;

/// Groups that a look shows.
const SHOWN: usize = 12;

/// Parts of a group that it shows.
const PARTS: usize = 3;

/// Between two looks whether the time is up or the user has enough.
const STEP: Duration = Duration::from_millis(50);

/// Watches the host until the time is up, Ctrl-C or a closed pipe.
pub(super) fn run(
    root: &Root,
    (every, length): (Duration, Option<Duration>),
    textfile: Option<&Path>,
    as_json: bool,
) -> Result<Code, Error> {
    signal::note_interruptions();
    let mut out = Destination::stdout().map_err(|cause| write_error(&cause))?;
    let mut watch = NodeWatch::start(root)?;
    let begun = Instant::now();
    let is_over = || {
        signal::interrupted_by().is_some() || length.is_some_and(|length| begun.elapsed() >= length)
    };
    while !is_over() {
        let next = Instant::now() + every;
        while !is_over() && Instant::now() < next {
            std::thread::sleep(STEP.min(next.saturating_duration_since(Instant::now())));
        }
        let look = watch.look()?;
        if let Some(path) = textfile {
            replace(path, metrics(&watch, &look).as_bytes()).map_err(Error::host)?;
        }
        let text = if as_json { json(&look) } else { table(&look) };
        if !output::reached(out.write_all(text.as_bytes()).and_then(|()| out.flush())) {
            break;
        }
    }
    Ok(Code::Kept)
}

fn json(look: &NodeLook) -> String {
    serde_json::to_string(look).unwrap_or_default() + "\n"
}

fn table(look: &NodeLook) -> String {
    let mut text = String::new();
    let programs = look.programs_percent.map(|percent| format!("{percent:.2} + "));
    let _ = writeln!(
        text,
        "{:.1} s; programs and assay took {}{:.2} % of a CPU",
        look.seconds,
        programs.unwrap_or_default(),
        look.own_percent
    );
    for group in look.groups.iter().take(SHOWN) {
        let line = assay_sys::escape::line(&row(group, look.seconds)).into_owned();
        let _ = writeln!(text, "{line}");
    }
    if look.groups.len() > SHOWN {
        let _ = writeln!(text, "  {} more groups waited less", look.groups.len() - SHOWN);
    }
    if look.not_watched > 0 {
        let _ = writeln!(text, "  not watched: {} groups with processes", look.not_watched);
    }
    text
}

/// `  0.43 threads  /batch: own quota 87 %, /hog 12 %`: how many threads waited on average.
fn row(group: &NodeGroup, seconds: f64) -> String {
    let parts = group.parts.iter().take(PARTS).map(|part| {
        let name = part.group.as_deref().unwrap_or(part.culprit.words());
        format!("{} {:.0} %", shown(part.owner.as_ref(), name), part.percent)
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    let waiting = group.waited_ns as f64 / 1e9 / seconds.max(1e-3);
    let name = shown(group.owner.as_ref(), &group.group);
    let void = group.void.as_ref().map(|why| format!("  void: {why}")).unwrap_or_default();
    format!("  {waiting:>8.3} threads wait  {name}: {parts}{void}")
}

fn metrics(watch: &NodeWatch, look: &NodeLook) -> String {
    let mut families = Families::default();
    let waited = (
        "counter",
        "seconds",
        "Time in which threads of a group could run and did not, by what their CPU did meanwhile",
    );
    for ((group, by), ns) in watch.totals() {
        let labels = [("group", group.as_str()), ("by", by.as_str())];
        families.add("assay_blame_waited_seconds", waited, &labels, *ns as f64 / 1e9);
    }
    let not_watched = ("gauge", "", "Groups with processes for which there was no room");
    families.add("assay_blame_groups_not_watched", not_watched, &[], look.not_watched as f64);
    let cost = ("gauge", "", "Part of one CPU that programs and assay took since the last look");
    let percent = look.programs_percent.unwrap_or(0.0) + look.own_percent;
    families.add("assay_blame_cost_cpus", cost, &[], percent / 100.0);
    families.textfile()
}
