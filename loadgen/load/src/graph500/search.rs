//! Kernel 2: direction-optimizing breadth-first search (Beamer, Asanovic and Patterson, SC 2012).
//! Vertices of a small frontier visit their neighbours (top-down); for a large one, each unvisited
//! vertex stops at its first neighbour in the frontier (bottom-up).

mod level;

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use assay_sys::kernel::anonymous_memory::{HugePages, Pages, shared_u32, shared_u64};
use assay_sys::kernel::{Error, clock};

use super::bitmap::{Bitmap, members, words};
use super::graph::{Graph, NONE};
use crate::parallel_region::{ParallelRegion, Pieces, Worker};
use level::Level;

/// Switches to bottom-up when the edges of the frontier exceed this part of the edges that lead to
/// unvisited vertices. Checking the first neighbour is so cheap here that it pays off earlier than
/// at the 14 of the paper.
const ALPHA: u64 = 28;
/// Switches to top-down when fewer than this part of the vertices were found in a level.
const BETA: usize = 24;

/// Memory of the searches, reused by all of them, but cleared: no search uses results of another.
pub(super) struct Search<'g> {
    graph: &'g Graph,
    region: ParallelRegion,
    parents: Pages<u32>,
    queue: Pages<u32>,
    visited: Pages<u64>,
    frontiers: [Pages<u64>; 2],
}

impl<'g> Search<'g> {
    pub(super) fn new(
        region: ParallelRegion,
        graph: &'g Graph,
        huge: HugePages,
    ) -> Result<Self, Error> {
        let (vertices, bits) = (graph.vertices(), words(graph.vertices()));
        Ok(Self {
            graph,
            region,
            parents: Pages::zeroed(vertices, huge)?,
            queue: Pages::zeroed(vertices, huge)?,
            visited: Pages::zeroed(bits, huge)?,
            frontiers: [Pages::zeroed(bits, huge)?, Pages::zeroed(bits, huge)?],
        })
    }

    /// Searches from the label `root` and writes each label's parent into `tree`, `NONE` where
    /// there is none; the root is its own parent. Returns the seconds from before the first visit,
    /// including the clearing of all memory, until the tree is written.
    pub(super) fn run(&mut self, root: u32, tree: &mut [u32]) -> f64 {
        let Some(number) = self.graph.number(root) else {
            tree.fill(NONE);
            return 0.0;
        };
        let [one, two] = &mut self.frontiers;
        let state = SearchState {
            graph: self.graph,
            parents: shared_u32(&mut self.parents),
            queue: shared_u32(&mut self.queue),
            queued: AtomicUsize::new(0),
            visited: Bitmap(shared_u64(&mut self.visited)),
            frontiers: [Bitmap(shared_u64(one)), Bitmap(shared_u64(two))],
            tree: shared_u32(tree),
            levels: [const { Level::new() }; 3],
        };
        self.region.run(|worker| state.search(worker, number))[0]
    }
}

/// State of a search shared by its threads.
struct SearchState<'r> {
    graph: &'r Graph,
    parents: &'r [AtomicU32],
    /// Vertices in the order in which top-down levels found them; a level is a window of it.
    queue: &'r [AtomicU32],
    queued: AtomicUsize,
    visited: Bitmap<'r>,
    frontiers: [Bitmap<'r>; 2],
    tree: &'r [AtomicU32],
    /// Counters of this level, the next one and the previous one, in rotation.
    levels: [Level; 3],
}

/// A thread's view of the search's progress; equal in all threads after each barrier.
struct Progress {
    level: usize,
    /// The window of the queue that holds the frontier, if a top-down level found it.
    window: std::ops::Range<usize>,
    /// Edges that lead out of the frontier.
    scout: u64,
    /// Edges of vertices that are neither visited nor in the frontier.
    unexplored: u64,
}

impl SearchState<'_> {
    fn search(&self, worker: &Worker<'_>, root: u32) -> f64 {
        worker.wait();
        let began = clock::monotonic_ns();
        self.clear(worker);
        worker.wait();
        if worker.id == 0 {
            self.visited.insert(root);
            self.parents[root as usize].store(root, Ordering::Relaxed);
            self.queue[0].store(root, Ordering::Relaxed);
            self.queued.store(1, Ordering::Relaxed);
        }
        worker.wait();
        let scout = self.graph.degree(root as usize);
        let unexplored = self.graph.neighbours.len() as u64;
        let mut progress = Progress { level: 0, window: 0..1, scout, unexplored };
        while !progress.window.is_empty() {
            if progress.scout > progress.unexplored / ALPHA {
                self.bottom_up(worker, &mut progress);
            } else {
                progress.unexplored -= progress.scout.min(progress.unexplored);
                self.top_down(worker, &mut progress);
            }
        }
        self.write_tree(worker);
        worker.wait();
        (clock::monotonic_ns() - began) as f64 * 1e-9
    }

    fn clear(&self, worker: &Worker<'_>) {
        self.visited.clear(worker.share(self.visited.0.len()));
        let own = &self.tree[worker.share(self.tree.len())];
        own.iter().for_each(|parent| parent.store(NONE, Ordering::Relaxed));
    }

    /// The counters of this level. Those of the next are reset here: their last use was two levels
    /// ago, and their next one comes after the barrier at the end of this level.
    fn level(&self, worker: &Worker<'_>, progress: &Progress) -> &Level {
        if worker.id == 0 {
            self.levels[(progress.level + 1) % 3].reset();
        }
        &self.levels[progress.level % 3]
    }

    /// One top-down level: the frontier's vertices visit their neighbours.
    fn top_down(&self, worker: &Worker<'_>, progress: &mut Progress) {
        const STEP: usize = 64;
        let level = self.level(worker, progress);
        let mut buffer = QueueBuffer::new(self);
        let mut scout = 0;
        while let Some(piece) = level.pieces.take(&progress.window, STEP) {
            for at in piece {
                let vertex = self.queue[at].load(Ordering::Relaxed);
                for &neighbour in self.graph.neighbours(vertex as usize) {
                    if self.visited.insert(neighbour) {
                        self.parents[neighbour as usize].store(vertex, Ordering::Relaxed);
                        scout += self.graph.degree(neighbour as usize);
                        buffer.push(neighbour);
                    }
                }
            }
        }
        buffer.flush();
        level.scout.fetch_add(scout, Ordering::Relaxed);
        worker.wait();
        progress.window = progress.window.end..self.queued.load(Ordering::Relaxed);
        progress.scout = level.scout.load(Ordering::Relaxed);
        progress.level += 1;
        // No thread may extend the queue before all have read its end.
        worker.wait();
    }

    /// Bottom-up levels, until few vertices are found; then the last frontier is queued again.
    fn bottom_up(&self, worker: &Worker<'_>, progress: &mut Progress) {
        let words = self.visited.0.len();
        let mut frontier = 0;
        self.frontiers[0].clear(worker.share(words));
        worker.wait();
        for at in worker.share(progress.window.len()) {
            let vertex = self.queue[progress.window.start + at].load(Ordering::Relaxed);
            self.frontiers[0].insert(vertex);
        }
        let mut awake = progress.window.len();
        worker.wait();
        loop {
            let level = self.level(worker, progress);
            let count = self.one_bottom_up(&level.pieces, frontier);
            level.awake.fetch_add(count, Ordering::Relaxed);
            worker.wait();
            let before = std::mem::replace(&mut awake, level.awake.load(Ordering::Relaxed));
            frontier = 1 - frontier;
            progress.level += 1;
            if awake < before && awake <= self.graph.vertices() / BETA {
                break;
            }
        }
        self.queue_again(worker, frontier);
        progress.window = 0..awake;
        // Few vertices remain: the search stays top-down unless the edges require otherwise.
        progress.scout = 1;
    }

    /// One bottom-up level: unvisited vertices look for a neighbour in the frontier. Each word of
    /// the bitmaps belongs to one thread, so that plain stores suffice.
    fn one_bottom_up(&self, pieces: &Pieces, frontier: usize) -> usize {
        const STEP: usize = 64;
        let (from, to) = (self.frontiers[frontier], self.frontiers[1 - frontier]);
        let (words, vertices) = (self.visited.0.len(), self.graph.vertices());
        let mut awake = 0;
        while let Some(piece) = pieces.take(&(0..words), STEP) {
            for at in piece {
                let visited = self.visited.word(at);
                let beyond = (at + 1) * 64;
                let real =
                    if beyond > vertices { u64::MAX >> (beyond - vertices) } else { u64::MAX };
                let mut reached = 0;
                for vertex in members(at, !visited & real) {
                    if let Some(parent) = self.parent_in(from, vertex) {
                        self.parents[vertex as usize].store(parent, Ordering::Relaxed);
                        reached |= 1 << (vertex % 64);
                    }
                }
                to.set_word(at, reached);
                if reached != 0 {
                    self.visited.set_word(at, visited | reached);
                    awake += reached.count_ones() as usize;
                }
            }
        }
        awake
    }

    /// The first neighbour of `vertex` in the frontier: the one of the highest degree.
    #[inline]
    fn parent_in(&self, frontier: Bitmap<'_>, vertex: u32) -> Option<u32> {
        let head = self.graph.heads[vertex as usize];
        if frontier.has(head) {
            return Some(head);
        }
        let others = &self.graph.neighbours(vertex as usize)[1..];
        others.iter().copied().find(|neighbour| frontier.has(*neighbour))
    }

    /// Puts the vertices of a frontier bitmap into the queue, from its start.
    fn queue_again(&self, worker: &Worker<'_>, frontier: usize) {
        if worker.id == 0 {
            self.queued.store(0, Ordering::Relaxed);
        }
        worker.wait();
        let mut buffer = QueueBuffer::new(self);
        for at in worker.share(self.visited.0.len()) {
            members(at, self.frontiers[frontier].word(at)).for_each(|vertex| buffer.push(vertex));
        }
        buffer.flush();
        worker.wait();
    }

    /// Writes the result by label.
    fn write_tree(&self, worker: &Worker<'_>) {
        for at in worker.share(self.visited.0.len()) {
            for vertex in members(at, self.visited.word(at)) {
                let parent = self.parents[vertex as usize].load(Ordering::Relaxed);
                let (label, parent) =
                    (self.graph.order[vertex as usize], self.graph.order[parent as usize]);
                self.tree[label as usize].store(parent, Ordering::Relaxed);
            }
        }
    }
}

/// Vertices that a thread collects before it appends them to the queue.
const BUFFER: usize = 1024;

/// A thread's buffer of found vertices, appended to the shared queue in batches.
struct QueueBuffer<'r> {
    state: &'r SearchState<'r>,
    buffer: [u32; BUFFER],
    filled: usize,
}

impl<'r> QueueBuffer<'r> {
    fn new(state: &'r SearchState<'r>) -> Self {
        Self { state, buffer: [0; BUFFER], filled: 0 }
    }

    #[inline]
    fn push(&mut self, vertex: u32) {
        if self.filled == BUFFER {
            self.flush();
        }
        self.buffer[self.filled] = vertex;
        self.filled += 1;
    }

    fn flush(&mut self) {
        let start = self.state.queued.fetch_add(self.filled, Ordering::Relaxed);
        for (progress, vertex) in self.state.queue[start..].iter().zip(&self.buffer[..self.filled])
        {
            progress.store(*vertex, Ordering::Relaxed);
        }
        self.filled = 0;
    }
}

#[cfg(test)]
mod tests;
