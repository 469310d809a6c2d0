//! The local search: how many centres, and which.
//!
//! Every thread runs the same program with the same random numbers and comes to the same
//! decisions; what differs is only which points it looks after. What they must tell each other -
//! sums over their points - they leave in [`Board`], once for each question, so that one meeting
//! answers it. Points belong to fixed blocks whose sums are added in their order: the result does
//! not depend on the number of threads.

use std::ops::Range;

use super::gain::{Board, Sums, Until};
use super::points::{LANES, Points};
use super::shape::Shape;
use crate::parallel_region::{ParallelRegion, Worker};
use crate::parsec::lrand48::Lrand48;

/// No centre.
pub(super) const NONE: u32 = u32::MAX;
/// Tries at one price before it is halved.
const TRIES: usize = 1;
/// How often feasible centres are tried, times `k ln k`.
const ROUNDS: f64 = 3.0;

/// What a search has found.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The point that is the centre of each point.
    pub(super) assigned: Vec<u32>,
    /// `w * distance` of each point to its centre.
    pub(super) costs: Vec<f32>,
    /// Points in the order to which they were shuffled.
    pub(super) order: Vec<u32>,
    /// Number of centres.
    pub(super) centers: usize,
    /// The price of a centre.
    pub(super) price: f64,
    /// Price of all centres and cost of all points, as the search kept account.
    pub(super) cost: f64,
    /// How often all points were asked for their distance to one of them.
    pub(super) sweeps: u64,
    /// Whether it was left before it was done: then the rest of this means nothing.
    pub(super) is_left: bool,
}

/// Searches, and goes on with the random numbers. `order` names the points in the order in which
/// they begin.
pub(super) fn search(
    team: ParallelRegion,
    points: &Points,
    order: Vec<u32>,
    shape: &Shape,
    random: &mut Lrand48,
    until: Until,
) -> Found {
    let count = points.len();
    if count <= shape.most {
        return Found {
            assigned: (0..count as u32).collect(),
            costs: vec![0.0; count],
            order,
            centers: count,
            price: 0.0,
            cost: 0.0,
            sweeps: 0,
            is_left: until.is_over(),
        };
    }
    let board = Board::new(count, until);
    let mut parts = team.run(|worker| {
        let mut part = Part::new(points, &board, worker, order.clone(), random.clone());
        let (price, cost) = part.k_median(shape);
        part.end(price, cost)
    });
    let (first, state) = parts.remove(0);
    *random = state;
    parts.into_iter().fold(first, |mut found, (part, _)| {
        found.assigned.extend(part.assigned);
        found.costs.extend(part.costs);
        found
    })
}

/// What one thread has.
pub(super) struct Part<'s> {
    pub(super) points: &'s Points,
    pub(super) board: &'s Board,
    pub(super) worker: &'s Worker<'s>,
    random: Lrand48,
    /// Every point, in the order to which they were shuffled.
    order: Vec<u32>,
    /// The centres.
    pub(super) open: Vec<u32>,
    /// Where in `open` a point stands; `NONE` when it is no centre.
    pub(super) slots: Vec<u32>,
    /// The blocks of this thread.
    pub(super) blocks: Range<usize>,
    /// The first of its points.
    pub(super) first: usize,
    pub(super) costs: Vec<f32>,
    pub(super) assigned: Vec<u32>,
    /// `w * distance` of its points to the point that is asked about, with the padding of tiles.
    pub(super) offers: Vec<f32>,
    row: Vec<f32>,
    /// Which of the two sets of sums is used.
    pub(super) turn: usize,
    sweeps: u64,
    /// Whether the search is left; the same in all threads after each meeting.
    pub(super) is_left: bool,
}

impl<'s> Part<'s> {
    fn new(
        points: &'s Points,
        board: &'s Board,
        worker: &'s Worker<'s>,
        order: Vec<u32>,
        random: Lrand48,
    ) -> Self {
        let blocks = worker.share(board.blocks());
        let tiles = board.tiles(blocks.clone());
        let own = board.points(blocks.clone());
        Self {
            points,
            board,
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
            turn: 0,
            sweeps: 0,
            is_left: false,
        }
    }

    fn end(self, price: f64, cost: f64) -> (Found, Lrand48) {
        let found = Found {
            assigned: self.assigned,
            costs: self.costs,
            order: self.order,
            centers: self.open.len(),
            price,
            cost,
            sweeps: self.sweeps,
            is_left: self.is_left,
        };
        (found, self.random)
    }

    /// Searches for the price at which the number of centres is one that is wanted. Returns the
    /// price and the cost.
    fn k_median(&mut self, shape: &Shape) -> (f64, f64) {
        let (fewest, most) = (shape.fewest, shape.most);
        let (mut low, mut high) = (0.0, self.cost_of_one_center());
        let mut price = high / 2.0;
        self.shuffle();
        let mut cost = self.speedy(price);
        let mut tries = 0;
        while self.open.len() < fewest && tries < TRIES && !self.is_left {
            cost = self.speedy(price);
            tries += 1;
        }
        while self.open.len() < fewest && !self.is_left {
            if tries >= TRIES {
                high = price;
                price = f64::midpoint(high, low);
                tries = 0;
            }
            self.shuffle();
            cost = self.speedy(price);
            tries += 1;
        }
        if self.is_left {
            return (price, cost);
        }
        let mut feasible = self.feasible(fewest);
        self.only_used_centers();
        let rounds = (ROUNDS * most as f64 * (most as f64).ln()) as usize;
        loop {
            cost = self.facility_location(&mut feasible, price, cost, rounds, 0.1);
            if self.is_left {
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

    /// Opens the first point, then each in order with a chance that grows with its cost. Returns
    /// the cost.
    fn speedy(&mut self, price: f64) -> f64 {
        let first = self.order[0];
        self.close_all();
        self.set_open(first);
        self.offer(first);
        for own in 0..self.costs.len() {
            (self.costs[own], self.assigned[own]) = (self.offers[own], first);
            self.board.say_cost(self.first + own, self.offers[own]);
        }
        self.worker.wait();
        for at in 1..self.order.len() {
            let point = self.order[at];
            let chance = self.random.unit();
            if f64::from(chance) < f64::from(self.board.cost(point)) / price {
                // Everybody has read this cost before anybody changes it.
                self.meet();
                self.switch_those_nearer(point);
                self.worker.wait();
            }
            if self.is_left {
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
                self.board.say_cost(self.first + own, self.offers[own]);
            }
        }
    }

    /// Points that may become centres: all, or some drawn by weight.
    fn feasible(&mut self, fewest: usize) -> Vec<u32> {
        let count = self.order.len();
        let wanted = ROUNDS * fewest as f64 * (fewest as f64).ln();
        if count as f64 <= wanted {
            return self.order.clone();
        }
        let weights = self.points.weights();
        let mut sums = Vec::with_capacity(count);
        let mut sum = 0.0_f32;
        for &point in &self.order {
            sum += weights[point as usize];
            sums.push(sum);
        }
        (0..wanted as usize)
            .map(|_| {
                let drawn = self.random.unit() * sum;
                let at = sums.partition_point(|sum| *sum <= drawn).min(count - 1);
                self.order[at]
            })
            .collect()
    }

    /// A centre to which nobody is assigned is none.
    fn only_used_centers(&mut self) {
        let used = self.board.used(self.worker, &self.assigned);
        let open: Vec<u32> = self.open.drain(..).filter(|center| used.contains(center)).collect();
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
        while change / cost > enough && !self.is_left {
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

    /// Computes `offers`: what each own point would cost with `point` as its centre.
    pub(super) fn offer(&mut self, point: u32) {
        self.sweeps += 1;
        self.points.row(point as usize, &mut self.row);
        let tiles = self.board.tiles(self.blocks.clone());
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
