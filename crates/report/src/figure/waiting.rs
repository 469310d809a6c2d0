//! One bar for each group: where its time went.

use serde_json::{Value, json};

use super::spec::base;
use super::{Figure, drawn};
use crate::trial::Trial;
use crate::waiting::{Account, why_missing};

/// Height of a bar with its gap, and of legend and axis.
const BAR: usize = 30;
const AROUND: usize = 40;

/// Okabe and Ito's palette, then lighter and darker tones, for more classes than the page has colours of names.
const COLOURS: [&str; 12] = [
    "#8a8f98", "#e69f00", "#56b4e9", "#0072b2", "#009e73", "#cc79a7", "#d55e00", "#b8a9d9",
    "#7a5c3e", "#9fd3b6", "#5b3a8c", "#c9ccd1",
];

/// The figures of all accounts of a trial, and the reasons for those that were requested and refused.
pub(crate) fn waiting(trial: &Trial<'_>, accounts: &[Account]) -> Vec<Figure> {
    let shown = accounts.iter().filter(|account| !account.groups.is_empty());
    let figure = |account: &Account| {
        let id = trial.anchor(&account.part);
        drawn(id, account.title.as_str(), reading(account), Ok(spec(trial, account)))
    };
    shown.map(figure).chain(refused(trial)).collect()
}

/// What the study requested and this host refused.
fn refused(trial: &Trial<'_>) -> impl Iterator<Item = Figure> {
    let of_cpus = ("cpu", "waiting-cpus", "Where the time of each group's threads went");
    let of_disks = ("disks", "waiting-disks", "Where the requests of each group spent their time");
    // A study without disks requested nothing about them.
    let kinds = match trial.record.disks.is_empty() {
        true => vec![of_cpus],
        false => vec![of_cpus, of_disks],
    };
    kinds.into_iter().filter_map(|(kind, part, title)| {
        let why = why_missing(trial, kind)?;
        Some(drawn(trial.anchor(part), title, "", Err(why)))
    })
}

fn reading(account: &Account) -> String {
    let mut reading = "Where the time of each group went from the common start to the end of the window, all \
                       repeats together, by the kernel's own events. The table below has the numbers."
        .to_owned();
    if account.is_of_disk() {
        reading
            .push_str(" While a request waited in the scheduler, the class says who was served.");
    }
    if account.more > 0 {
        reading.push_str(&format!(
            " Only the groups that waited longest are shown, not the other {}.",
            account.more
        ));
    }
    reading
}

fn spec(trial: &Trial<'_>, account: &Account) -> Value {
    let height = u32::try_from(account.groups.len() * BAR + AROUND).unwrap_or(u32::MAX);
    let mut spec = base(&format!("{}, trial {}", account.title, trial.number), height, 1);
    let rows = account.groups.iter().flat_map(|group| {
        let parts = account.classes.iter().zip(&group.parts).enumerate();
        parts.filter(|(_, (_, part))| **part > 0.0).map(|(order, (class, part))| {
            json!({"group": group.name, "class": class, "order": order,
                "percent": part * 100.0, "seconds": part * group.seconds})
        })
    });
    let names: Vec<&str> = account.groups.iter().map(|group| group.name.as_str()).collect();
    let colours = COLOURS.iter().cycle().take(account.classes.len());
    spec["data"] = json!({"values": rows.collect::<Vec<Value>>()});
    spec["mark"] = json!({"type": "bar", "tooltip": true});
    spec["encoding"] = json!({
        "y": {"field": "group", "type": "nominal", "sort": names, "title": null},
        "x": {"field": "percent", "type": "quantitative", "stack": "zero", "title": "part of the group's time, %",
            "scale": {"domain": [0, 100]}, "axis": {"tickCount": 5}},
        "order": {"field": "order", "type": "quantitative"},
        "color": {"field": "class", "type": "nominal",
            "scale": {"domain": account.classes, "range": colours.collect::<Vec<_>>()},
            "legend": {"title": null, "orient": "top", "columns": 3, "labelLimit": 280}},
        "tooltip": [
            {"field": "group"},
            {"field": "class", "title": "time"},
            {"field": "percent", "type": "quantitative", "format": ".2f", "title": "%"},
            {"field": "seconds", "type": "quantitative", "format": ".3f", "title": "seconds"},
        ],
    });
    spec
}
