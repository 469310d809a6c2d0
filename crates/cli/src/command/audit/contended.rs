//! `assay audit --for`: an audit, with what this host's groups got meanwhile.

use std::time::Duration;

use assay_audit::collect::audit_code;
use assay_audit::{Audit, Snapshot};
use assay_live::collect::watch_audit;
use assay_live::fairness::Contention;
use assay_sys::exit::{Code, Error};
use assay_sys::kernel::{Root, signal};
use serde::Serialize;

use super::{AuditArguments, FailOn};
use crate::output;

/// An audit with what was seen while it watched.
#[derive(Serialize)]
struct Watched<'a> {
    #[serde(flatten)]
    audit: &'a Audit,
    contended: &'a Contention,
}

/// Watches for `length`. A signal ends it with what was seen so far.
pub(super) fn run(
    arguments: &AuditArguments,
    settings: &Snapshot,
    audit: &Audit,
    length: Duration,
) -> Result<Code, Error> {
    signal::note_interruptions();
    let contended = watch_audit(&Root::real(), settings, length)?;
    let page = |all| {
        let mut page = assay_audit::audit_page(audit, all);
        page.sections.extend(assay_live::fairness::sections(&contended, all));
        page
    };
    if arguments.json {
        output::json(&Watched { audit, contended: &contended })?;
    } else {
        output::data(&page(arguments.all).unwrapped());
    }
    // What was seen is shown first: watching it again gives something else.
    if let Some(file) = &arguments.report {
        output::page(file, &assay_report::page_html(&page(true)))?;
    }
    if signal::interrupted_by().is_some() {
        return Ok(Code::Interrupted);
    }
    Ok(match arguments.fail_on {
        Some(FailOn::Broken) if contended.has_broken() => Code::Broken,
        other => audit_code(audit, other.and_then(FailOn::class)),
    })
}
