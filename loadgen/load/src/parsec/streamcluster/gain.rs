//! The gain of opening a point as a centre, and the sums that the threads exchange for it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use assay_sys::kernel::{clock, signal};

use super::points::LANES;
use super::search::Part;
use crate::parallel_region::Worker;

/// Blocks of points, each with a sum of its own: more than there are threads, so that they can be
/// shared evenly, and few enough that adding them up costs nothing.
const BLOCKS: usize = 64;

/// Sums over the points of a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sums {
    /// The sum of the requested quantity.
    pub(super) cost: f64,
    /// For each centre: what its points would lose by moving to the candidate point.
    pub(super) lost: Vec<f64>,
}

/// When a search is abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Never: it ends with a result.
    Done,
    /// At this CLOCK_MONOTONIC time in nanoseconds, or when the process is interrupted.
    Time(u64),
}

impl Until {
    /// Whether the condition is met now.
    pub(super) fn is_over(self) -> bool {
        match self {
            Self::Done => false,
            Self::Time(end) => clock::monotonic_ns() >= end || signal::interrupted_by().is_some(),
        }
    }
}

/// State shared by all threads.
pub(super) struct SharedState {
    count: usize,
    /// Two sets of sums, used alternately: no thread overwrites what another still reads.
    sums: [Vec<RwLock<Sums>>; 2],
    costs: Vec<AtomicU32>,
    used_centers: RwLock<BTreeSet<u32>>,
    until: Until,
    /// Whether the search is abandoned, decided by the first thread with each set of sums: all
    /// threads must agree, or they would wait for each other for ever.
    abandoned: [AtomicBool; 2],
}

impl SharedState {
    pub(super) fn new(count: usize, until: Until) -> Self {
        let sums = || (0..BLOCKS).map(|_| RwLock::default()).collect();
        Self {
            count,
            sums: [sums(), sums()],
            costs: (0..count).map(|_| AtomicU32::new(0)).collect(),
            used_centers: RwLock::default(),
            until,
            abandoned: [AtomicBool::new(false), AtomicBool::new(false)],
        }
    }

    pub(super) fn blocks(&self) -> usize {
        BLOCKS.min(self.all_tiles())
    }

    fn all_tiles(&self) -> usize {
        self.count.div_ceil(LANES)
    }

    /// The tiles of these blocks.
    pub(super) fn tiles(&self, blocks: Range<usize>) -> Range<usize> {
        let cut = |block: usize| self.all_tiles() * block / self.blocks();
        cut(blocks.start)..cut(blocks.end)
    }

    /// The points of these blocks.
    pub(super) fn points(&self, blocks: Range<usize>) -> Range<usize> {
        let tiles = self.tiles(blocks);
        (tiles.start * LANES).min(self.count)..(tiles.end * LANES).min(self.count)
    }

    pub(super) fn store_cost(&self, point: usize, cost: f32) {
        self.costs[point].store(cost.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn cost(&self, point: u32) -> f32 {
        f32::from_bits(self.costs[point as usize].load(Ordering::Relaxed))
    }

    /// All centres with at least one assigned point.
    pub(super) fn used_centers(&self, worker: &Worker<'_>, assigned: &[u32]) -> BTreeSet<u32> {
        let own: BTreeSet<u32> = assigned.iter().copied().collect();
        self.used_centers.write().unwrap_or_else(PoisonError::into_inner).extend(own);
        worker.wait();
        self.used_centers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, parity: usize, block: usize, sums: Sums) {
        *self.sums[parity][block].write().unwrap_or_else(PoisonError::into_inner) = sums;
    }

    fn total(&self, parity: usize, centers: usize) -> Sums {
        let mut total = Sums { cost: 0.0, lost: vec![0.0; centers] };
        for block in &self.sums[parity][..self.blocks()] {
            let sums = block.read().unwrap_or_else(PoisonError::into_inner);
            total.cost += sums.cost;
            total.lost.iter_mut().zip(&sums.lost).for_each(|(total, lost)| *total += lost);
        }
        total
    }
}

impl Part<'_> {
    /// Sums over all points of all threads; `sum` gets the range of a block in its own points.
    ///
    /// Threads compute the same sums in the same order, and one that is ahead by one step writes
    /// into the other set of sums; it cannot be ahead by two.
    pub(super) fn over_blocks(&mut self, sum: impl Fn(&Self, Range<usize>) -> Sums) -> Sums {
        self.parity = 1 - self.parity;
        for block in self.blocks.clone() {
            let points = self.shared.points(block..block + 1);
            let sums = sum(self, points.start - self.first..points.end - self.first);
            self.shared.set(self.parity, block, sums);
        }
        self.synchronize();
        self.shared.total(self.parity, self.open.len())
    }

    /// Waits for all threads, and adopts the first thread's decision to abandon the search.
    ///
    /// No thread reads the decision of one step while the first thread writes that of the next: the
    /// two use different elements, with another barrier in between.
    pub(super) fn synchronize(&mut self) {
        if self.worker.id == 0 {
            self.shared.abandoned[self.parity]
                .store(self.shared.until.is_over(), Ordering::Relaxed);
        }
        self.worker.wait();
        // The barrier orders the store before this.
        self.is_abandoned |= self.shared.abandoned[self.parity].load(Ordering::Relaxed);
    }

    /// Opens `point` if that lowers the cost: moves points to it and closes all centres that are no
    /// longer worth their price. Returns the gain.
    pub(super) fn gain(&mut self, point: u32, price: f64) -> f64 {
        if self.is_abandoned {
            return 0.0;
        }
        self.offer(point);
        let sums = self.over_blocks(Self::offers_of);
        let closes: Vec<bool> = sums.lost.iter().map(|lost| price + lost > 0.0).collect();
        let saved: f64 =
            sums.lost.iter().map(|lost| price + lost).filter(|saved| *saved > 0.0).sum();
        let change = price + sums.cost - saved;
        if change >= 0.0 {
            return 0.0;
        }
        for own in 0..self.costs.len() {
            let slot = self.slots[self.assigned[own] as usize] as usize;
            if self.offers[own] < self.costs[own] || closes[slot] {
                (self.costs[own], self.assigned[own]) = (self.offers[own], point);
            }
        }
        self.replace(&closes, point);
        -change
    }

    /// The gains of a block's points that would move, and the losses of the others.
    fn offers_of(&self, own: Range<usize>) -> Sums {
        let mut sums = Sums { cost: 0.0, lost: vec![0.0; self.open.len()] };
        let (offers, costs) = (&self.offers[own.clone()], &self.costs[own.clone()]);
        for ((offer, cost), center) in offers.iter().zip(costs).zip(&self.assigned[own]) {
            if offer < cost {
                sums.cost += f64::from(offer - cost);
            } else {
                sums.lost[self.slots[*center as usize] as usize] += f64::from(cost - offer);
            }
        }
        sums
    }

    fn replace(&mut self, closes: &[bool], point: u32) {
        let open = std::mem::take(&mut self.open);
        open.iter().for_each(|center| self.slots[*center as usize] = super::search::NONE);
        for (center, closes) in open.into_iter().zip(closes) {
            if !closes && center != point {
                self.set_open(center);
            }
        }
        self.set_open(point);
    }
}
