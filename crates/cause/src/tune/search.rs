//! Search schedule: which setting to try next.
//!
//! The first rung tries every setting once. Each later rung keeps the better third and tries it
//! three more times; the first of them also has settings that combine two of the best. (Two repeats
//! would tell less than one: Student's t over two is 12.7, over three 4.3.) The unchanged setting,
//! number 0, is repeated after every few others, so that a drift of the host shows and favours
//! none. The rest goes into the confirmation, whose repeats are new trials, in forward and backward
//! order by turns.

use std::collections::VecDeque;

use assay_stats::rule::LOOKS;

use super::assessment::{Assessment, best_first, most_exact};

/// Largest number of confirmed settings, the unchanged one not counted.
const FINALISTS: usize = 3;

/// One in this many settings of a rung survives.
const KEPT_OF: usize = 3;

/// The unchanged setting is repeated after this many others.
const BETWEEN: usize = 4;

/// Number of pairs of the best settings that are combined.
const PAIRS: usize = 3;

/// Rounds of each rung after the first.
const ROUNDS: usize = 3;

/// Largest and desired number of confirmation rounds: those of the third and of the first look of the rule.
const MOST_ROUNDS: usize = LOOKS[2];
const WANTED_ROUNDS: usize = LOOKS[0];

/// Shortest repeat, and longest of the search: many short repeats tell more than few long ones, because
/// they measure the scatter between repeats.
const SHORTEST_S: f64 = 2.5;
const SEARCH_S: f64 = 3.0;

/// How the time is divided.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Seconds in total.
    pub total_s: f64,
    /// Seconds of a search repeat.
    pub search_s: f64,
    /// Seconds of a confirmation repeat.
    pub confirmation_s: f64,
    /// Overhead in seconds per repeat, before any was measured.
    pub around_s: f64,
}

impl Budget {
    /// The part of the time for the search.
    const SEARCH: f64 = 0.6;

    /// Chooses repeat lengths for the available time, none longer than `longest_s`: more time is
    /// spent on more settings and rounds first.
    #[must_use]
    pub fn new(total_s: f64, longest_s: f64, around_s: f64) -> Self {
        let slots = (WANTED_ROUNDS * (FINALISTS + 2)) as f64;
        let confirmation = (1.0 - Self::SEARCH) * total_s / slots - around_s;
        let length = |wanted: f64, most: f64| wanted.clamp(SHORTEST_S, most).min(longest_s);
        Self {
            total_s,
            search_s: length(total_s / 100.0, SEARCH_S),
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

/// The settings being searched.
pub trait SettingPool {
    /// Assessments of all settings so far, by number.
    fn assessments(&mut self) -> Vec<Assessment>;
    /// Adds a setting that combines two others and returns its number, the next one; `None` where
    /// both change the same thing or the host does not allow it.
    fn combine(&mut self, one: usize, other: usize) -> Option<usize>;
}

/// The next step of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// A repeat of the search for this setting.
    Try(usize),
    /// A confirmation repeat for this setting.
    Confirm(usize),
}

/// State of the search.
#[derive(Debug)]
pub struct Search {
    budget: Budget,
    /// Settings still in the search, the unchanged one not counted.
    alive: Vec<usize>,
    queue: VecDeque<Move>,
    rung: u32,
    /// The rung after which each setting was dropped.
    left_out: Vec<(usize, u32)>,
    confirming: bool,
    moves: usize,
    began_s: f64,
    always: Vec<usize>,
    finalists: Vec<usize>,
}

impl Search {
    /// Starts with `count` settings; number 0 is the unchanged one, which was just tried. Those in
    /// `always` are confirmed whatever the search shows. `elapsed_s` of the time have passed.
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

    /// The next step, `elapsed_s` seconds after the start; `None` when done.
    pub fn next(&mut self, elapsed_s: f64, pool: &mut dyn SettingPool) -> Option<Move> {
        let around = self.around_s(elapsed_s);
        let search_ends = Budget::SEARCH * self.budget.total_s;
        if !self.confirming && elapsed_s + self.budget.search_s + around > search_ends {
            self.confirm(elapsed_s, around, pool);
        }
        while self.queue.is_empty() && !self.confirming {
            self.climb(elapsed_s, around, pool);
        }
        self.moves += 1;
        self.queue.pop_front()
    }

    /// The rung after which a setting was dropped, if it was.
    #[must_use]
    pub fn left_out(&self, setting: usize) -> Option<u32> {
        self.left_out.iter().find(|(left, _)| *left == setting).map(|(_, rung)| *rung)
    }

    /// The finalists, once chosen; the unchanged setting is the first.
    #[must_use]
    pub fn finalists(&self) -> &[usize] {
        &self.finalists
    }

    /// Overhead of a repeat, as measured so far.
    fn around_s(&self, elapsed_s: f64) -> f64 {
        match self.moves {
            0 => self.budget.around_s,
            moves => {
                let each = (elapsed_s - self.began_s) / moves as f64;
                (each - self.budget.search_s).max(0.2)
            }
        }
    }

    /// Ends a rung: drops the worse settings and starts the next rung or the confirmation.
    fn climb(&mut self, elapsed_s: f64, around: f64, pool: &mut dyn SettingPool) {
        let assessments = pool.assessments();
        let order = best_first(&assessments, &self.alive);
        self.rung += 1;
        if order.len() <= FINALISTS && self.rung > 1 {
            return self.confirm(elapsed_s, around, pool);
        }
        let keep = order.len().div_ceil(KEPT_OF).max(FINALISTS.min(order.len()));
        let mut kept: Vec<usize> = order[..keep].to_vec();
        kept.extend(most_exact(&assessments, &order[keep..]).filter(|index| {
            most_exact(&assessments, &kept)
                .is_none_or(|best| error(&assessments, *index) < error(&assessments, best))
        }));
        self.leave_out(&kept);
        self.alive = kept;
        if self.rung == 1 {
            self.join(&order, pool);
        }
        self.fill(ROUNDS);
    }

    /// Adds combinations of the best settings.
    fn join(&mut self, order: &[usize], pool: &mut dyn SettingPool) {
        let best = &order[..order.len().min(FINALISTS)];
        let pairs = best
            .iter()
            .enumerate()
            .flat_map(|(at, one)| best[at + 1..].iter().map(move |other| (*one, *other)));
        let joined: Vec<usize> =
            pairs.filter_map(|(one, other)| pool.combine(one, other)).take(PAIRS).collect();
        self.alive.extend(joined);
    }

    /// Queues rounds of all remaining settings, forward and backward by turns.
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

    /// Chooses the finalists and plans their rounds in the remaining time.
    fn confirm(&mut self, elapsed_s: f64, around: f64, pool: &mut dyn SettingPool) {
        self.confirming = true;
        self.queue.clear();
        let assessments = pool.assessments();
        let known: Vec<usize> =
            self.alive.iter().copied().filter(|index| *index < assessments.len()).collect();
        let order = best_first(&assessments, &known);
        let left = self.budget.total_s - elapsed_s;
        let each = self.budget.confirmation_s + around;
        let slots = (left / each).max(0.0) as usize;
        // Fewer settings with three rounds are worth more than many with one.
        let beside = 1 + self.always.len();
        let most = (slots / WANTED_ROUNDS).saturating_sub(beside).clamp(1, FINALISTS);
        let tried = |index: &usize| assessments[*index].error.is_some();
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

fn error(assessments: &[Assessment], index: usize) -> f64 {
    assessments[index].error.map_or(f64::INFINITY, |error| error.value)
}
