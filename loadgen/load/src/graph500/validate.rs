//! Validates a search against the original edge list: five rules of the specification, numbered as
//! in `verify.c` of 2.1.4. It shares no data with the graph that was searched.

mod fault;
mod state;

use std::sync::atomic::{AtomicU64, Ordering};

use assay_sys::kernel::Error;
use assay_sys::kernel::anonymous_memory::{HugePages, Pages, shared_u64};

pub(super) use fault::Fault;
use state::State;

use super::bitmap::{Bitmap, words};
use super::graph::NONE;
use super::kronecker::EdgeList;
use crate::parallel_region::{ParallelRegion, Worker};

/// Memory of the validation, reused by all searches.
pub(super) struct Validator<'e> {
    region: ParallelRegion,
    edges: &'e EdgeList,
    states: Pages<u64>,
    /// Vertices whose edge to their parent occurs in the list.
    confirmed: Pages<u64>,
}

/// Number of tuples with both ends in the traversed component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Traversed {
    /// Tuples that join two vertices, counted as often as they are listed.
    pub(super) joining: u64,
    /// Tuples that join a vertex to itself.
    pub(super) loops: u64,
}

/// What is checked: levels of a breadth-first tree, or distances by weight.
enum Rule<'d> {
    Levels,
    Distances(&'d [f32]),
}

impl<'e> Validator<'e> {
    /// For trees over `labels` labels.
    pub(super) fn new(
        region: ParallelRegion,
        edges: &'e EdgeList,
        labels: usize,
        huge: HugePages,
    ) -> Result<Self, Error> {
        let states = Pages::zeroed(labels, huge)?;
        let confirmed = Pages::zeroed(words(labels), huge)?;
        Ok(Self { region, edges, states, confirmed })
    }

    /// Checks a breadth-first tree and counts its traversed edges.
    pub(super) fn tree(&mut self, root: u32, tree: &[u32]) -> Result<Traversed, Fault> {
        self.check(root, tree, &Rule::Levels)
    }

    /// Checks a tree of shortest paths: `distances` by label, infinite where unreached.
    pub(super) fn paths(
        &mut self,
        root: u32,
        tree: &[u32],
        distances: &[f32],
    ) -> Result<Traversed, Fault> {
        self.check(root, tree, &Rule::Distances(distances))
    }

    /// Counts the traversed edges of a tree without checking it.
    pub(super) fn traversed(&self, tree: &[u32]) -> Traversed {
        let reached = |label: u32| tree.get(label as usize).is_some_and(|parent| *parent != NONE);
        let counts = self.region.run(|worker| {
            let tuples = self.edges.pairs[worker.share(self.edges.pairs.len())].iter();
            tuples.filter(|[from, to]| reached(*from) && reached(*to)).fold(
                Traversed::default(),
                |sum, [from, to]| {
                    sum.with(if from == to { TupleKind::Loop } else { TupleKind::Joining })
                },
            )
        });
        counts.into_iter().fold(Traversed::default(), Traversed::and)
    }

    fn check(&mut self, root: u32, tree: &[u32], rule: &Rule<'_>) -> Result<Traversed, Fault> {
        if tree.get(root as usize) != Some(&root) {
            return Err(Fault::Root { root });
        }
        if tree.len() != self.states.len() {
            return Err(Fault::Length { expected: self.states.len(), found: tree.len() });
        }
        let region = self.region;
        let states = shared_u64(&mut self.states);
        let confirmed = Bitmap(shared_u64(&mut self.confirmed));
        first(region.run(|worker| {
            confirmed.clear(worker.share(confirmed.0.len()));
            state::parents(states, root, tree, worker.share(tree.len()))
        }))?;
        first(region.run(|worker| state::levels(states, worker.share(tree.len()))))?;
        if let Rule::Distances(distances) = rule {
            let own = |worker: &Worker<'_>| worker.share(tree.len());
            first(region.run(|worker| state::distances(states, root, distances, own(worker))))?;
        }
        let counts = region.run(|worker| {
            let own = worker.share(self.edges.pairs.len());
            let tuples = self.edges.pairs[own.clone()].iter();
            match (rule, self.edges.weights.as_deref()) {
                (Rule::Levels, _) => count(tuples, |tuple| levels_of(states, confirmed, *tuple)),
                (Rule::Distances(_), weights) => {
                    let weights = &weights.unwrap_or_default()[own];
                    count(tuples.zip(weights), |(tuple, weight)| {
                        distances_of(states, confirmed, *tuple, *weight)
                    })
                }
            }
        });
        let sum = |sum: Traversed, part: Result<_, Fault>| part.map(|part| sum.and(part));
        let traversed = counts.into_iter().try_fold(Traversed::default(), sum)?;
        let own = |worker: &Worker<'_>| worker.share(tree.len());
        first(region.run(|worker| unconfirmed(root, tree, confirmed, own(worker))))?;
        Ok(traversed)
    }
}

/// Checks and counts tuples until one is wrong.
fn count<T>(
    mut tuples: impl Iterator<Item = T>,
    check: impl Fn(T) -> Result<TupleKind, Fault>,
) -> Result<Traversed, Fault> {
    tuples.try_fold(Traversed::default(), |sum, tuple| check(tuple).map(|counts| sum.with(counts)))
}

/// Classification of a tuple for the count.
#[derive(Clone, Copy)]
enum TupleKind {
    Outside,
    Joining,
    Loop,
}

impl Traversed {
    fn and(self, other: Self) -> Self {
        Self { joining: self.joining + other.joining, loops: self.loops + other.loops }
    }

    #[inline]
    fn with(mut self, counts: TupleKind) -> Self {
        match counts {
            TupleKind::Outside => {}
            TupleKind::Joining => self.joining += 1,
            TupleKind::Loop => self.loops += 1,
        }
        self
    }
}

/// The first fault in the order of the threads, which is the order of the tuples.
fn first(results: Vec<Result<(), Fault>>) -> Result<(), Fault> {
    results.into_iter().collect()
}

/// The states of both ends of a tuple, or `None` if neither is reached.
#[inline]
fn ends(states: &[AtomicU64], [from, to]: [u32; 2]) -> Result<Option<(State, State)>, Fault> {
    let state = |label: u32| states.get(label as usize).map(|s| State(s.load(Ordering::Relaxed)));
    let (Some(one), Some(other)) = (state(from), state(to)) else {
        return Err(Fault::Label { from, to, labels: states.len() });
    };
    match (one.is_reached(), other.is_reached()) {
        (true, true) => Ok(Some((one, other))),
        (false, false) => Ok(None),
        (reached, _) => Err(Fault::HalfReached { from, to, from_is: reached }),
    }
}

/// Rule 3 for levels: both ends reached or none, and levels that differ by at most one.
#[inline]
fn levels_of(
    states: &[AtomicU64],
    confirmed: Bitmap<'_>,
    [from, to]: [u32; 2],
) -> Result<TupleKind, Fault> {
    let Some((one, other)) = ends(states, [from, to])? else { return Ok(TupleKind::Outside) };
    if from == to {
        return Ok(TupleKind::Loop);
    }
    if one.parent() == to {
        confirmed.insert(from);
    }
    if other.parent() == from {
        confirmed.insert(to);
    }
    let (low, high) = (one.high(), other.high());
    if low.abs_diff(high) > 1 {
        return Err(Fault::Levels { from, to, levels: [low, high] });
    }
    Ok(TupleKind::Joining)
}

/// The same for distances: neither end is farther than the other plus the edge between them.
#[inline]
fn distances_of(
    states: &[AtomicU64],
    confirmed: Bitmap<'_>,
    [from, to]: [u32; 2],
    weight: f32,
) -> Result<TupleKind, Fault> {
    let Some((one, other)) = ends(states, [from, to])? else { return Ok(TupleKind::Outside) };
    if from == to {
        return Ok(TupleKind::Loop);
    }
    let (from_distance, to_distance) = (f32::from_bits(one.high()), f32::from_bits(other.high()));
    if from_distance + weight < to_distance || to_distance + weight < from_distance {
        return Err(Fault::Triangle { from, to, weight, distances: [from_distance, to_distance] });
    }
    // The path to a vertex is exactly the path to its parent plus the edge, in single precision.
    if one.parent() == to && from_distance == to_distance + weight {
        confirmed.insert(from);
    }
    if other.parent() == from && to_distance == from_distance + weight {
        confirmed.insert(to);
    }
    Ok(TupleKind::Joining)
}

/// Rule 5: each vertex and its parent are an edge of the list.
fn unconfirmed(
    root: u32,
    tree: &[u32],
    confirmed: Bitmap<'_>,
    own: std::ops::Range<usize>,
) -> Result<(), Fault> {
    let missing = own.clone().find(|label| {
        tree[*label] != NONE && *label as u32 != root && !confirmed.has(*label as u32)
    });
    match missing {
        Some(label) => Err(Fault::NoSuchEdge { vertex: label as u32, parent: tree[label] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
