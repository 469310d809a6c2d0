//! What is found at a group, before it is known which rule has asked.

use std::rc::Rc;

use crate::finding::Reading;
use crate::tree::Node;

/// A sentence about a group, and what it rests on.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) group: String,
    pub(crate) sentence: String,
    readings: Vec<Reading>,
    /// What to do in this case, instead of what its rule says.
    pub(crate) remedy: Option<&'static str>,
    /// More readings, which it has in common with others: there may be as many as groups before the first are chosen.
    shared: Option<Rc<[Reading]>>,
}

impl Found {
    /// A sentence about a group that rests on these of its files.
    pub(crate) fn new(node: Node, files: &[&str], sentence: String) -> Self {
        let readings = files.iter().map(|file| node.reading(file).cut()).collect();
        Self { group: node.path().to_owned(), sentence, readings, remedy: None, shared: None }
    }

    /// A sentence about a group that rests on a file elsewhere.
    pub(crate) fn of_group(group: &str, reading: Reading, sentence: String) -> Self {
        let readings = vec![reading.cut()];
        Self { group: group.to_owned(), sentence, readings, remedy: None, shared: None }
    }

    /// The same with a remedy for its own cause, if that is known.
    pub(crate) fn remedied(mut self, remedy: Option<&'static str>) -> Self {
        self.remedy = remedy;
        self
    }

    /// The same, resting on another reading too.
    pub(crate) fn and(mut self, reading: Reading) -> Self {
        self.readings.push(reading.cut());
        self
    }

    /// The same, resting on these too.
    pub(crate) fn and_all(mut self, readings: impl IntoIterator<Item = Reading>) -> Self {
        self.readings.extend(readings.into_iter().map(Reading::cut));
        self
    }

    /// All that it rests on.
    pub(crate) fn into_readings(self) -> Vec<Reading> {
        let shared = self.shared.iter().flat_map(|shared| shared.iter().cloned());
        let shared: Vec<Reading> = shared.map(Reading::cut).collect();
        self.readings.into_iter().chain(shared).collect()
    }

    /// The same, resting on these too, as others do.
    pub(crate) fn and_shared(mut self, readings: &Rc<[Reading]>) -> Self {
        self.shared = Some(Rc::clone(readings));
        self
    }
}

/// What became of a setting of an installed unit that does not stand in its group's file: each is a rule's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// Its controller is switched off.
    Off,
    /// systemd has nowhere to write it: the controller is on v1.
    NeverApplied,
    /// The file says what holds while systemd starts or stops.
    AtStartup,
    /// The file says something else, or the controller is not enabled for the group.
    Differs,
}
