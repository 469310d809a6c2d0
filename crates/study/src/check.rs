//! Checks of references between the parts of a study and of values that depend on factors: every
//! template is resolved under every combination of factors.
//!
//! These checks do not need the text, so a study can be checked again after a factor was set on the
//! command line. If the text is at hand, each finding gets its location.

mod disks;
mod groups;
mod measures;
mod placements;
mod promises;
mod settings;
mod workloads;

use std::ops::Range;

use assay_sys::diagnostic::Diagnostic;

use crate::code;
use crate::combination::{self, MOST_TRIALS};
use crate::reader::Spans;
use crate::syntax::{Bindings, Disk, Group, Scalar, Study};
use crate::template::{FromScalar, Templated, factor_names, substitute};

pub(crate) use promises::unknown_factor;
pub(crate) use settings::unused;

/// All findings about this study.
pub(crate) fn study(study: &Study, spans: &Spans) -> Vec<Diagnostic> {
    let mut check = Check { study, spans, findings: vec![] };
    if combination::count(&study.factors).is_none_or(|count| count > MOST_TRIALS) {
        check.too_many_trials();
        return check.findings;
    }
    if let Some(finding) = groups::too_many(study) {
        check.add_at("groups", "expected fewer, or smaller counts", finding);
        return check.findings;
    }
    promises::left_out(&mut check);
    settings::settings(&mut check);
    disks::disks(&mut check);
    groups::groups(&mut check);
    workloads::workloads(&mut check);
    placements::placements(&mut check);
    promises::promises(&mut check);
    promises::references(&mut check);
    check.findings
}

pub(crate) struct Check<'s> {
    pub(crate) study: &'s Study,
    spans: &'s Spans,
    pub(crate) findings: Vec<Diagnostic>,
}

/// An invalid value.
pub(crate) struct Complaint {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Follows "expected".
    pub(crate) expected: String,
    pub(crate) remedy: String,
}

impl Complaint {
    /// Adds the combination of factors under which the value is invalid to the message.
    fn under(self, bindings: &Bindings) -> Self {
        Self { message: format!("{}{}", self.message, when(bindings)), ..self }
    }
}

impl<'s> Check<'s> {
    /// Whether the text of the study is at hand; it is not after a change on the command line.
    pub(crate) fn has_text(&self) -> bool {
        !self.spans.is_empty()
    }

    /// The location of the value at this path, if the text is at hand.
    pub(crate) fn span(&self, path: &str) -> Option<Range<usize>> {
        self.spans.get(path).cloned()
    }

    /// Adds the finding, with its location if that is known.
    pub(crate) fn add_at(&mut self, path: &str, label: &str, finding: Diagnostic) {
        let finding = match self.span(path) {
            Some(span) => finding.at(span, label),
            None => finding,
        };
        self.findings.push(finding);
    }

    /// The disk that a group's workloads use: its own, or the only one there is.
    pub(crate) fn disk_of(&self, group: &Group) -> Option<(&'s String, &'s Disk)> {
        let disks = &self.study.disks;
        match &group.disk {
            Some(name) => disks.get_key_value(name),
            None if disks.len() == 1 => disks.iter().next(),
            None => None,
        }
    }

    /// Every workload that the group runs in some trial, each once: its index in `run`, its name
    /// and the first combination under which it runs.
    pub(crate) fn runs_of(&self, group: &Group) -> Vec<(usize, String, Bindings)> {
        let mut runs: Vec<(usize, String, Bindings)> = Vec::new();
        for (index, name) in group.run.iter().enumerate() {
            for bindings in self.combinations_of(&[name]) {
                // An unknown factor was reported when the name was read.
                let Ok(resolved) = substitute(name, &bindings) else { continue };
                let resolved = resolved.to_string();
                if !runs.iter().any(|(at, known, _)| *at == index && *known == resolved) {
                    runs.push((index, resolved, bindings));
                }
            }
        }
        runs
    }

    /// The combinations of the factors that these templates name.
    pub(crate) fn combinations_of(&self, templates: &[&str]) -> Vec<Bindings> {
        let named: Vec<&str> = templates.iter().flat_map(|text| factor_names(text)).collect();
        let factors = &self.study.factors;
        combination::over(factors.iter().filter(|factor| named.contains(&factor.name.as_str())))
    }

    /// Checks the value under each combination and reports the first complaint together with the
    /// combination. `what` names the value in messages.
    pub(crate) fn each_value<T: FromScalar>(
        &mut self,
        field: &Templated<T>,
        path: &str,
        what: &str,
        complain: impl Fn(&T) -> Option<Complaint>,
    ) {
        self.each_value_with(&Bindings::new(), field, path, what, complain);
    }

    /// Like [`Self::each_value`] for a value that may also name placeholders of the run: `extra`
    /// binds these, and a factor of the same name hides one.
    pub(crate) fn each_value_with<T: FromScalar>(
        &mut self,
        extra: &Bindings,
        field: &Templated<T>,
        path: &str,
        what: &str,
        complain: impl Fn(&T) -> Option<Complaint>,
    ) {
        for bindings in self.combinations_of(&[template_of(field)]) {
            let mut all = extra.clone();
            all.extend(bindings.clone());
            let complaint = match field.resolve(&all) {
                Ok(value) => complain(&value).map(|complaint| complaint.under(&bindings)),
                Err(reason) => Some(Complaint {
                    code: code::TEMPLATE_VALUE,
                    message: format!("{what} has no value{}: {reason}", when(&bindings)),
                    expected: T::EXPECTED.to_owned(),
                    remedy: "change the factor's values, or write a plain value here".to_owned(),
                }),
            };
            if let Some(complaint) = complaint {
                self.complain(&complaint, path);
                return;
            }
        }
    }

    fn complain(&mut self, complaint: &Complaint, path: &str) {
        let finding = Diagnostic::error(complaint.code, complaint.message.as_str())
            .hint(complaint.remedy.as_str());
        self.add_at(path, &format!("expected {}", complaint.expected), finding);
    }

    /// Adds a finding about something missing from the study: at the title, or at the top if there
    /// is no title.
    pub(crate) fn add_at_the_title(&mut self, label: &str, finding: Diagnostic) {
        let path = if self.spans.contains_key("title") { "title" } else { "" };
        self.add_at(path, label, finding);
    }

    fn too_many_trials(&mut self) {
        let finding = Diagnostic::error(
            code::TOO_LARGE,
            format!("the factors combine to more than {MOST_TRIALS} trials"),
        )
        .hint("shorten the lists, or split the study");
        self.add_at("factors", &format!("expected at most {MOST_TRIALS} combinations"), finding);
    }
}

/// The template of a field; empty for a plain value, which refers to no factor.
pub(crate) fn template_of<T>(field: &Templated<T>) -> &str {
    match field {
        Templated::Template(text) => text,
        Templated::Value(_) => "",
    }
}

/// The scalar as a whole number.
pub(crate) fn whole(scalar: &Scalar) -> Option<i64> {
    match scalar {
        Scalar::Integer(number) => Some(*number),
        Scalar::Text(text) => text.trim().parse().ok(),
        Scalar::Boolean(_) | Scalar::Float(_) => None,
    }
}

/// " when groups = 8 and iodepth = 1"; empty without factors.
pub(crate) fn when(bindings: &Bindings) -> String {
    let bound: Vec<String> =
        bindings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if bound.is_empty() { String::new() } else { format!(" when {}", bound.join(" and ")) }
}
