//! The local search: how many centres, and which.
//!
//! Every thread runs the same program with the same random numbers and makes the same decisions;
//! they differ only in the points they handle. What they must exchange - sums over their points -
//! goes through [`SharedState`], with one barrier per sum. Points belong to fixed blocks whose sums
//! are added in order: the result does not depend on the number of threads.

use std::ops::Range;

use super::gain::{SharedState, Sums, Until};
use super::points::{LANES, Points};
use super::shape::Shape;
use crate::parallel_region::{ParallelRegion, Worker};
use crate::parsec::lrand48::Lrand48;

/// Not a centre.
pub(super) const NONE: u32 = u32::MAX;
/// Attempts at one price before it is halved.
const ATTEMPTS: usize = 1;
/// Number of feasible centres to try, as a multiple of `k ln k`.
const ROUNDS: f64 = 3.0;

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Solution {
    /// The centre of each point.
    pub(super) assigned: Vec<u32>,
    /// `w * distance` of each point to its centre.
    pub(super) costs: Vec<f32>,
    /// Points in shuffled order.
    pub(super) order: Vec<u32>,
    /// Number of centres.
    pub(super) centers: usize,
    /// The price of a centre.
    pub(super) price: f64,
    /// Price of all centres plus cost of all points, as accumulated by the search.
    pub(super) cost: f64,
    /// How often the distances of all points to one of them were computed.
    pub(super) sweeps: u64,
    /// Whether it was abandoned; then the other fields are meaningless.
    pub(super) is_abandoned: bool,
}

/// Runs a search, continuing with the random numbers. `order` is the initial order of the points.
pub(super) fn search(
    region: ParallelRegion,
    points: &Points,
    order: Vec<u32>,
    shape: &Shape,
    random: &mut Lrand48,
    until: Until,
) -> Solution {
    let count = points.len();
    if count <= shape.most {
        return Solution {
            assigned: (0..count as u32).collect(),
            costs: vec![0.0; count],
            order,
            centers: count,
            price: 0.0,
            cost: 0.0,
            sweeps: 0,
            is_abandoned: until.is_over(),
        };
    }
    let shared = SharedState::new(count, until);
    let mut parts = region.run(|worker| {
        let mut part = Part::new(points, &shared, worker, order.clone(), random.clone());
        let (price, cost) = part.k_median(shape);
        part.end(price, cost)
    });
    let (first, state) = parts.remove(0);
    *random = state;
    parts.into_iter().fold(first, |mut solution, (part, _)| {
        solution.assigned.extend(part.assigned);
        solution.costs.extend(part.costs);
        solution
    })
}

/// The state of one thread.
pub(super) struct Part<'s> {
    pub(super) points: &'s Points,
    pub(super) shared: &'s SharedState,
    pub(super) worker: &'s Worker<'s>,
    random: Lrand48,
    /// All points in shuffled order.
    order: Vec<u32>,
    /// The centres.
    pub(super) open: Vec<u32>,
    /// Position of a point in `open`; `NONE` if it is not a centre.
    pub(super) slots: Vec<u32>,
    /// The blocks of this thread.
    pub(super) blocks: Range<usize>,
    /// The first of its points.
    pub(super) first: usize,
    pub(super) costs: Vec<f32>,
    pub(super) assigned: Vec<u32>,
    /// `w * distance` of its points to the candidate point, with the padding of tiles.
    pub(super) offers: Vec<f32>,
    row: Vec<f32>,
    /// Which of the two sets of sums is used.
    pub(super) parity: usize,
    sweeps: u64,
    /// Whether the search is abandoned; equal in all threads after each barrier.
    pub(super) is_abandoned: bool,
}

impl<'s> Part<'s> {
    fn new(
        points: &'s Points,
        shared: &'s SharedState,
        worker: &'s Worker<'s>,
        order: Vec<u32>,
        random: Lrand48,
    ) -> Self {
        let blocks = worker.share(shared.blocks());
        let tiles = shared.tiles(blocks.clone());
        let own = shared.points(blocks.clone());
        Self {
            points,
            shared,
            worker,
            random,
            order,
            open: Vec::new(),
            slots: vec![NONE; points.len()],
            blocks,
            first: own.start,
            costs: vec![0.0; own.len()],
            assigned: vec![NONE; own.len()],
            offers: vec![0.0; tiles.len() * LANES],
            row: vec![0.0; points.dimension()],
            parity: 0,
            sweeps: 0,
            is_abandoned: false,
        }
    }

    fn end(self, price: f64, cost: f64) -> (Solution, Lrand48) {
        let solution = Solution {
            assigned: self.assigned,
            costs: self.costs,
            order: self.order,
            centers: self.open.len(),
            price,
            cost,
            sweeps: self.sweeps,
            is_abandoned: self.is_abandoned,
        };
        (solution, self.random)
    }

    /// Searches for the price at which the number of centres is in the requested range. Returns the
    /// price and the cost.
    fn k_median(&mut self, shape: &Shape) -> (f64, f64) {
        let (fewest, most) = (shape.fewest, shape.most);
        let (mut low, mut high) = (0.0, self.cost_of_one_center());
        let mut price = high / 2.0;
        self.shuffle();
        let mut cost = self.speedy(price);
        let mut tries = 0;
        while self.open.len() < fewest && tries < ATTEMPTS && !self.is_abandoned {
            cost = self.speedy(price);
            tries += 1;
        }
        while self.open.len() < fewest && !self.is_abandoned {
            if tries >= ATTEMPTS {
                high = price;
                price = f64::midpoint(high, low);
                tries = 0;
            }
            self.shuffle();
            cost = self.speedy(price);
            tries += 1;
        }
        if self.is_abandoned {
            return (price, cost);
        }
        let mut feasible = self.feasible(fewest);
        self.close_unused_centers();
        let rounds = (ROUNDS * most as f64 * (most as f64).ln()) as usize;
        loop {
            cost = self.facility_location(&mut feasible, price, cost, rounds, 0.1);
            if self.is_abandoned {
                return (price, cost);
            }
            let k = self.open.len();
            let is_near = (k as f64) <= 1.1 * most as f64 && (k as f64) >= 0.9 * fewest as f64;
            if is_near || (k <= most + 2 && k + 2 >= fewest) {
                cost = self.facility_location(&mut feasible, price, cost, rounds, 0.001);
            }
            let k = self.open.len();
            if k > most {
                low = price;
                price = f64::midpoint(high, low);
                cost += (price - low) * k as f64;
            }
            if k < fewest {
                high = price;
                price = f64::midpoint(high, low);
                cost += (price - high) * k as f64;
            }
            if (fewest..=most).contains(&k) || low >= 0.999 * high {
                return (price, cost);
            }
        }
    }

    fn shuffle(&mut self) {
        let count = self.order.len();
        for at in 0..count - 1 {
            let other = at + self.random.below(count - at);
            self.order.swap(at, other);
        }
    }

    /// The weighted distance of all points to the first.
    fn cost_of_one_center(&mut self) -> f64 {
        self.offer(self.order[0]);
        let sums = self.over_blocks(|part, own| Sums {
            cost: part.offers[own].iter().map(|offer| f64::from(*offer)).sum(),
            ..Sums::default()
        });
        sums.cost
    }

    /// Opens the first point, then each in order with a probability that grows with its cost.
    /// Returns the cost.
    fn speedy(&mut self, price: f64) -> f64 {
        let first = self.order[0];
        self.close_all();
        self.set_open(first);
        self.offer(first);
        for own in 0..self.costs.len() {
            (self.costs[own], self.assigned[own]) = (self.offers[own], first);
            self.shared.store_cost(self.first + own, self.offers[own]);
        }
        self.worker.wait();
        for at in 1..self.order.len() {
            let point = self.order[at];
            let chance = self.random.unit();
            if f64::from(chance) < f64::from(self.shared.cost(point)) / price {
                // All threads have read this cost before any changes it.
                self.synchronize();
                self.switch_those_nearer(point);
                self.worker.wait();
            }
            if self.is_abandoned {
                break;
            }
        }
        let sums = self.over_blocks(|part, own| Sums {
            cost: part.costs[own].iter().map(|cost| f64::from(*cost)).sum(),
            ..Sums::default()
        });
        price * self.open.len() as f64 + sums.cost
    }

    fn switch_those_nearer(&mut self, point: u32) {
        self.set_open(point);
        self.offer(point);
        for own in 0..self.costs.len() {
            if self.offers[own] < self.costs[own] {
                (self.costs[own], self.assigned[own]) = (self.offers[own], point);
                self.shared.store_cost(self.first + own, self.offers[own]);
            }
        }
    }

    /// Points that may become centres: all, or some drawn by weight.
    fn feasible(&mut self, fewest: usize) -> Vec<u32> {
        let count = self.order.len();
        let count_wanted = ROUNDS * fewest as f64 * (fewest as f64).ln();
        if count as f64 <= count_wanted {
            return self.order.clone();
        }
        let weights = self.points.weights();
        let mut sums = Vec::with_capacity(count);
        let mut sum = 0.0_f32;
        for &point in &self.order {
            sum += weights[point as usize];
            sums.push(sum);
        }
        (0..count_wanted as usize)
            .map(|_| {
                let drawn = self.random.unit() * sum;
                let at = sums.partition_point(|sum| *sum <= drawn).min(count - 1);
                self.order[at]
            })
            .collect()
    }

    /// Closes centres to which no point is assigned.
    fn close_unused_centers(&mut self) {
        let used_centers = self.shared.used_centers(self.worker, &self.assigned);
        let open: Vec<u32> =
            self.open.drain(..).filter(|center| used_centers.contains(center)).collect();
        self.close_all();
        open.into_iter().for_each(|center| self.set_open(center));
    }

    /// Tries feasible centres in random order until a round gains little.
    fn facility_location(
        &mut self,
        feasible: &mut [u32],
        price: f64,
        mut cost: f64,
        rounds: usize,
        enough: f64,
    ) -> f64 {
        let mut change = cost;
        while change / cost > enough && !self.is_abandoned {
            for at in 0..feasible.len() {
                let other = at + self.random.below(feasible.len() - at);
                feasible.swap(at, other);
            }
            change =
                (0..rounds).map(|round| self.gain(feasible[round % feasible.len()], price)).sum();
            cost -= change;
        }
        cost
    }

    /// Computes `offers`: the cost of each own point with `point` as its centre.
    pub(super) fn offer(&mut self, point: u32) {
        self.sweeps += 1;
        self.points.row(point as usize, &mut self.row);
        let tiles = self.shared.tiles(self.blocks.clone());
        self.points.distances(tiles, &self.row, &mut self.offers);
        let weights = &self.points.weights()[self.first..self.first + self.costs.len()];
        for (offer, weight) in self.offers.iter_mut().zip(weights) {
            *offer *= weight;
        }
    }

    fn close_all(&mut self) {
        self.open.clear();
        self.slots.fill(NONE);
    }

    pub(super) fn set_open(&mut self, point: u32) {
        self.slots[point as usize] = self.open.len() as u32;
        self.open.push(point);
    }
}
