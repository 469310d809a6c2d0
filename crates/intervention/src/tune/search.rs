//! What to try next.
//!
//! The first rung tries every setting once. Each rung that follows keeps the better third, and
//! tries it three times more; the first of them also has settings that change what two of the best
//! change. Two repeats would say less than one: Student's t over two is 12.7, over three 4.3. The unchanged setting, which is number 0, takes its turn after every few others, so
//! that a drift of the host is seen and favours none. What is left goes into the confirmation,
//! whose repeats are new trials: forwards in one round and backwards in the next.

use std::collections::VecDeque;

use super::assessment::{Assessment, best_first, most_exact};

/// Settings that are confirmed at most, the unchanged one not counted.
const FINALISTS: usize = 3;

/// The part of a rung that goes on.
const KEPT_OF: usize = 3;

/// The unchanged setting has its turn after so many others.
const BETWEEN: usize = 4;

/// Pairs of the best settings that are tried together.
const PAIRS: usize = 3;

/// Rounds of a rung after the first.
const ROUNDS: usize = 3;

/// Rounds of confirmation that are enough, and those that are wanted: many short repeats tell more
/// than few long ones, because what differs from one repeat to the next is known from their number.
const MOST_ROUNDS: usize = 8;
const WANTED_ROUNDS: usize = 5;

/// A repeat holds ten blocks of half a second and what may be cut as warm-up: with fewer blocks
/// nothing is decided.
const SHORTEST_S: f64 = 6.0;

/// How time is divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Seconds for everything.
    pub total_s: f64,
    /// Seconds of a repeat of the search.
    pub search_s: f64,
    /// Seconds of a repeat of the confirmation.
    pub confirmation_s: f64,
    /// Seconds that a repeat takes besides, before any was measured.
    pub around_s: f64,
}

impl Budget {
    /// The part of the time that the search may take.
    const SEARCH: f64 = 0.6;

    /// Repeats of a length that suits the time, none longer than `longest_s`: more time is first
    /// spent on more settings and rounds.
    #[must_use]
    pub fn of(total_s: f64, longest_s: f64, around_s: f64) -> Self {
        let slots = (WANTED_ROUNDS * (FINALISTS + 2)) as f64;
        let confirmation = (1.0 - Self::SEARCH) * total_s / slots - around_s;
        let length = |wanted: f64, most: f64| wanted.clamp(SHORTEST_S, most).min(longest_s);
        Self {
            total_s,
            search_s: length(total_s / 100.0, 10.0),
            confirmation_s: length(confirmation, longest_s.max(SHORTEST_S)),
            around_s,
        }
    }

    /// How many settings the search has time for, the unchanged one not counted: after the first
    /// rung a third, with the pairs, is tried three times, and a third of that again.
    #[must_use]
    pub fn settings(&self) -> usize {
        let each = (self.search_s + self.around_s) * (1.0 + 1.0 / BETWEEN as f64);
        let slots = Self::SEARCH * self.total_s / each - (ROUNDS * PAIRS) as f64;
        ((slots / (2.0 + 1.0 / 3.0)) as usize).max(1)
    }
}

/// Where settings are tried.
pub trait Field {
    /// What is known of each setting so far, by number.
    fn look(&mut self) -> Vec<Assessment>;
    /// Makes a setting that changes what both of these change, and gives its number, the next
    /// one; `None` where they change the same thing or the host cannot.
    fn combine(&mut self, one: usize, other: usize) -> Option<usize>;
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// A repeat of the search for this setting.
    Try(usize),
    /// A fresh repeat of this setting.
    Confirm(usize),
}

/// Where the search stands.
#[derive(Debug)]
pub struct Search {
    budget: Budget,
    /// Settings that are still in, the unchanged one not counted.
    alive: Vec<usize>,
    queue: VecDeque<Move>,
    rung: u32,
    /// The rung after which each setting was left out.
    left_out: Vec<(usize, u32)>,
    confirming: bool,
    moves: usize,
    began_s: f64,
    always: Vec<usize>,
    finalists: Vec<usize>,
}

impl Search {
    /// Begins with `count` settings, number 0 the unchanged one, which was tried just now. Those of `always` are confirmed
    /// whatever the search says of them. `elapsed_s` of the time are gone.
    #[must_use]
    pub fn begin(count: usize, always: &[usize], budget: Budget, elapsed_s: f64) -> Self {
        let alive: Vec<usize> = (1..count).collect();
        let mut search = Self {
            budget,
            queue: VecDeque::new(),
            rung: 0,
            left_out: Vec::new(),
            confirming: false,
            moves: 0,
            began_s: elapsed_s,
            always: always.to_vec(),
            finalists: Vec::new(),
            alive,
        };
        search.fill(1);
        search.queue.pop_front();
        search
    }

    /// What to do next, `elapsed_s` seconds after the beginning; `None` when all is done.
    pub fn next(&mut self, elapsed_s: f64, field: &mut dyn Field) -> Option<Move> {
        let around = self.around_s(elapsed_s);
        let search_ends = Budget::SEARCH * self.budget.total_s;
        if !self.confirming && elapsed_s + self.budget.search_s + around > search_ends {
            self.confirm(elapsed_s, around, field);
        }
        while self.queue.is_empty() && !self.confirming {
            self.climb(elapsed_s, around, field);
        }
        self.moves += 1;
        self.queue.pop_front()
    }

    /// After which rung a setting was left out, if it was.
    #[must_use]
    pub fn left_out(&self, setting: usize) -> Option<u32> {
        self.left_out.iter().find(|(left, _)| *left == setting).map(|(_, rung)| *rung)
    }

    /// The settings that are confirmed, once that is known; the unchanged one is the first.
    #[must_use]
    pub fn finalists(&self) -> &[usize] {
        &self.finalists
    }

    /// What a repeat costs besides its length, as seen so far.
    fn around_s(&self, elapsed_s: f64) -> f64 {
        match self.moves {
            0 => self.budget.around_s,
            moves => {
                let each = (elapsed_s - self.began_s) / moves as f64;
                (each - self.budget.search_s).max(0.2)
            }
        }
    }

    /// Ends a rung: leaves the worse out and begins the next rung, or the confirmation.
    fn climb(&mut self, elapsed_s: f64, around: f64, field: &mut dyn Field) {
        let seen = field.look();
        let order = best_first(&seen, &self.alive);
        self.rung += 1;
        if order.len() <= FINALISTS && self.rung > 1 {
            return self.confirm(elapsed_s, around, field);
        }
        let keep = order.len().div_ceil(KEPT_OF).max(FINALISTS.min(order.len()));
        let mut kept: Vec<usize> = order[..keep].to_vec();
        kept.extend(most_exact(&seen, &order[keep..]).filter(|index| {
            most_exact(&seen, &kept).is_none_or(|best| error(&seen, *index) < error(&seen, best))
        }));
        self.leave_out(&kept);
        self.alive = kept;
        if self.rung == 1 {
            self.join(&order, field);
        }
        self.fill(ROUNDS);
    }

    /// Adds settings that change what two of the best change.
    fn join(&mut self, order: &[usize], field: &mut dyn Field) {
        let best = &order[..order.len().min(FINALISTS)];
        let pairs = best
            .iter()
            .enumerate()
            .flat_map(|(at, one)| best[at + 1..].iter().map(move |other| (*one, *other)));
        let joined: Vec<usize> =
            pairs.filter_map(|(one, other)| field.combine(one, other)).take(PAIRS).collect();
        self.alive.extend(joined);
    }

    /// Rounds of everything that is in, forwards and backwards in turn.
    fn fill(&mut self, rounds: usize) {
        for round in 0..rounds {
            let mut order = self.alive.clone();
            if (round + self.rung as usize) % 2 == 1 {
                order.reverse();
            }
            for some in order.chunks(BETWEEN) {
                self.queue.push_back(Move::Try(0));
                self.queue.extend(some.iter().map(|setting| Move::Try(*setting)));
            }
        }
    }

    /// Chooses the finalists and plans their rounds in the time that is left.
    fn confirm(&mut self, elapsed_s: f64, around: f64, field: &mut dyn Field) {
        self.confirming = true;
        self.queue.clear();
        let seen = field.look();
        let known: Vec<usize> =
            self.alive.iter().copied().filter(|index| *index < seen.len()).collect();
        let order = best_first(&seen, &known);
        let left = self.budget.total_s - elapsed_s;
        let each = self.budget.confirmation_s + around;
        let slots = (left / each).max(0.0) as usize;
        // Fewer settings with three rounds are worth more than many with one.
        let beside = 1 + self.always.len();
        let most = (slots / WANTED_ROUNDS).saturating_sub(beside).clamp(1, FINALISTS);
        let tried = |index: &usize| seen[*index].error.is_some();
        let mut finalists: Vec<usize> = order.into_iter().filter(tried).take(most).collect();
        self.leave_out(&finalists);
        finalists.insert(0, 0);
        for setting in self.always.iter().filter(|setting| tried(setting)) {
            if !finalists.contains(setting) {
                finalists.push(*setting);
            }
        }
        let rounds = (slots / finalists.len()).clamp(1, MOST_ROUNDS);
        for round in 0..rounds {
            let mut order = finalists.clone();
            if round % 2 == 1 {
                order.reverse();
            }
            self.queue.extend(order.into_iter().map(Move::Confirm));
        }
        self.finalists = finalists;
    }

    fn leave_out(&mut self, kept: &[usize]) {
        for setting in self.alive.iter().filter(|setting| !kept.contains(setting)) {
            if !self.left_out.iter().any(|(left, _)| left == setting) {
                self.left_out.push((*setting, self.rung));
            }
        }
    }
}

fn error(seen: &[Assessment], index: usize) -> f64 {
    seen[index].error.map_or(f64::INFINITY, |error| error.value)
}
