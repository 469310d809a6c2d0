//! The queue settings of the scratch disks at start and end.

use serde::Serialize;

use crate::trial::Trial;

/// One disk.
#[derive(Serialize, PartialEq)]
pub(super) struct QueueView {
    disk: String,
    device: String,
    source: String,
    rows: Vec<Row>,
}

#[derive(Serialize, PartialEq)]
struct Row {
    attribute: String,
    requested: Option<String>,
    at_start: String,
    at_end: String,
    /// Whether it has the requested value at both times, or was not requested and did not change.
    ok: bool,
}

/// The queue settings read in all repeats, without duplicates.
pub(super) fn queues(trial: &Trial<'_>) -> Vec<QueueView> {
    let mut views: Vec<QueueView> = Vec::new();
    for queue in trial.record.repeats.iter().flat_map(|repeat| &repeat.queues) {
        let disk = trial.record.disks.iter().find(|disk| disk.name == queue.disk);
        let scheduler = disk.and_then(|disk| disk.scheduler.clone());
        let mut rows = vec![row(
            "scheduler",
            scheduler,
            queue.scheduler_at_start.clone(),
            queue.scheduler_at_end.clone(),
        )];
        for (attribute, at_start) in &queue.at_start {
            let requested = disk.and_then(|disk| disk.queue.get(attribute).cloned());
            let at_end = queue.at_end.get(attribute).cloned();
            let at_end = at_end.unwrap_or_else(|| "not available: not read".to_owned());
            rows.push(row(attribute, requested, at_start.clone(), at_end));
        }
        let view = QueueView {
            disk: queue.disk.clone(),
            device: queue.device.clone(),
            source: disk.map_or_else(String::new, |disk| disk.source.clone()),
            rows,
        };
        if !views.contains(&view) {
            views.push(view);
        }
    }
    views
}

fn row(attribute: &str, requested: Option<String>, at_start: String, at_end: String) -> Row {
    let as_requested =
        requested.as_ref().is_none_or(|requested| requested.trim() == at_start.trim());
    let ok = as_requested && at_start.trim() == at_end.trim();
    Row { attribute: attribute.to_owned(), requested, at_start, at_end, ok }
}
