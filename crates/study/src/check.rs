//! What is wrong between the parts of a study, and with values that only the factors decide:
//! every template is resolved under every combination.
//!
//! These checks need no text, so that a study can be checked again after a factor was set from
//! the command line. With the text at hand each finding gets its place.

mod across;
mod disks;
mod fio;
mod groups;
mod kinds;
mod knobs;
mod measures;
mod place;
mod promises;
mod settings;
mod workloads;

use std::ops::Range;

use assay_diagnostic::Diagnostic;

use crate::code;
use crate::combination::{self, MOST_TRIALS};
use crate::reader::Places;
use crate::syntax::{Bindings, Disk, Group, Scalar, Study};
use crate::template::{FromScalar, Templated, factor_names, substitute};

/// All findings about this study.
pub(crate) fn study(study: &Study, places: &Places) -> Vec<Diagnostic> {
    let mut check = Check { study, places, findings: vec![] };
    if combination::count(&study.factors).is_none_or(|count| count > MOST_TRIALS) {
        check.too_many_trials();
        return check.findings;
    }
    across::left_out(&mut check);
    settings::check(&mut check);
    disks::check(&mut check);
    groups::check(&mut check);
    workloads::check(&mut check);
    place::check(&mut check);
    promises::check(&mut check);
    across::references(&mut check);
    check.findings
}

pub(crate) struct Check<'s> {
    pub(crate) study: &'s Study,
    places: &'s Places,
    pub(crate) findings: Vec<Diagnostic>,
}

/// What is wrong with one value.
pub(crate) struct Complaint {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Follows "expected".
    pub(crate) expected: String,
    pub(crate) remedy: String,
}

impl Complaint {
    /// The complaint with the combination that provokes it.
    fn under(self, bindings: &Bindings) -> Self {
        Self { message: format!("{}{}", self.message, when(bindings)), ..self }
    }
}

impl<'s> Check<'s> {
    /// Whether the study is checked with its text, and not again after a change of it.
    pub(crate) fn has_text(&self) -> bool {
        !self.places.is_empty()
    }

    /// Where the value at this path stands, if the text is at hand.
    pub(crate) fn place(&self, path: &str) -> Option<Range<usize>> {
        self.places.get(path).cloned()
    }

    /// The finding, at its place if that is known.
    pub(crate) fn add_at(&mut self, path: &str, label: &str, finding: Diagnostic) {
        let finding = match self.place(path) {
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

    /// Every workload that the group runs in some trial, with its place in `run` and the
    /// combination that has it, each once.
    pub(crate) fn runs_of(&self, group: &Group) -> Vec<(usize, String, Bindings)> {
        let mut found: Vec<(usize, String, Bindings)> = Vec::new();
        for (index, name) in group.run.iter().enumerate() {
            for bindings in self.combinations_of(&[name]) {
                // What names no factor was reported where it was read.
                let Ok(resolved) = substitute(name, &bindings) else { continue };
                let resolved = resolved.to_string();
                if !found.iter().any(|(at, known, _)| *at == index && *known == resolved) {
                    found.push((index, resolved, bindings));
                }
            }
        }
        found
    }

    /// The combinations of the factors that these values name.
    pub(crate) fn combinations_of(&self, templates: &[&str]) -> Vec<Bindings> {
        let named: Vec<&str> = templates.iter().flat_map(|text| factor_names(text)).collect();
        let factors = &self.study.factors;
        combination::over(factors.iter().filter(|factor| named.contains(&factor.name.as_str())))
    }

    /// Lets `complain` look at the value under each combination and reports the first complaint
    /// together with the combination that provokes it. `what` names the value in messages.
    pub(crate) fn each_value<T: FromScalar>(
        &mut self,
        field: &Templated<T>,
        path: &str,
        what: &str,
        complain: impl Fn(&T) -> Option<Complaint>,
    ) {
        self.each_value_beside(&Bindings::new(), field, path, what, complain);
    }

    /// The same for a value that may name more than factors: `beside` binds the rest, and a factor
    /// of the same name hides it.
    pub(crate) fn each_value_beside<T: FromScalar>(
        &mut self,
        beside: &Bindings,
        field: &Templated<T>,
        path: &str,
        what: &str,
        complain: impl Fn(&T) -> Option<Complaint>,
    ) {
        for bindings in self.combinations_of(&[template_of(field)]) {
            let mut all = beside.clone();
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

    /// A finding about what the study lacks: at its title, or at the top where that is lacking.
    pub(crate) fn add_at_the_title(&mut self, label: &str, finding: Diagnostic) {
        let path = if self.places.contains_key("title") { "title" } else { "" };
        self.add_at(path, label, finding);
    }

    fn too_many_trials(&mut self) {
        let finding = Diagnostic::error(
            code::TOO_MANY_TRIALS,
            format!("the factors combine to more than {MOST_TRIALS} trials"),
        )
        .hint("shorten the lists, or split the study");
        self.add_at("factors", &format!("expected at most {MOST_TRIALS} combinations"), finding);
    }
}

/// The template of a field; empty for a plain value, which names no factor.
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
