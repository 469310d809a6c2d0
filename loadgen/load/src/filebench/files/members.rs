//! A set of integers with a fast search for the next member: a bit per number, and a summary bit
//! per non-empty word of bits.

/// Numbers below a fixed bound.
#[derive(Debug, Clone)]
pub(in crate::filebench) struct Members {
    words: Vec<u64>,
    summary: Vec<u64>,
    count: usize,
}

impl Members {
    pub(in crate::filebench) fn none_of(bound: usize) -> Self {
        let words = bound.div_ceil(64);
        Self { words: vec![0; words], summary: vec![0; words.div_ceil(64)], count: 0 }
    }

    pub(in crate::filebench) fn len(&self) -> usize {
        self.count
    }

    pub(in crate::filebench) fn contains(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    pub(in crate::filebench) fn insert(&mut self, at: usize) {
        self.count += usize::from(!self.contains(at));
        self.words[at / 64] |= 1 << (at % 64);
        self.summary[at / 4096] |= 1 << (at / 64 % 64);
    }

    pub(in crate::filebench) fn remove(&mut self, at: usize) {
        self.count -= usize::from(self.contains(at));
        self.words[at / 64] &= !(1 << (at % 64));
        if self.words[at / 64] == 0 {
            self.summary[at / 4096] &= !(1 << (at / 64 % 64));
        }
    }

    /// The smallest member of at least `at`.
    fn above(&self, at: usize) -> Option<usize> {
        let word = at / 64;
        let first = self.words.get(word)? & (u64::MAX << (at % 64));
        if first != 0 {
            return Some(word * 64 + first.trailing_zeros() as usize);
        }
        let word = next_bit(&self.summary, word + 1)?;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }

    /// The smallest member of at least `at`, or the smallest of all if there is none.
    pub(in crate::filebench) fn next(&self, at: usize) -> Option<usize> {
        self.above(at).or_else(|| self.above(0))
    }
}

fn next_bit(words: &[u64], from: usize) -> Option<usize> {
    let first = words.get(from / 64)? & (u64::MAX << (from % 64));
    if first != 0 {
        return Some(from / 64 * 64 + first.trailing_zeros() as usize);
    }
    let rest = words[from / 64 + 1..].iter().position(|word| *word != 0)?;
    let at = from / 64 + 1 + rest;
    Some(at * 64 + words[at].trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_like_a_set(steps in prop::collection::vec((any::<bool>(), 0usize..20_000), 1..300)) {
            let mut members = Members::none_of(20_000);
            let mut expected = BTreeSet::new();
            for (insert, at) in steps {
                if insert {
                    members.insert(at);
                    expected.insert(at);
                } else {
                    members.remove(at);
                    expected.remove(&at);
                }
                prop_assert_eq!(members.len(), expected.len());
                let next = expected.range(at..).next().or_else(|| expected.first()).copied();
                prop_assert_eq!(members.next(at), next);
            }
        }
    }

    #[test]
    fn an_empty_set_has_no_next() {
        assert_eq!(Members::none_of(0).next(0), None);
        assert_eq!(Members::none_of(100).next(99), None);
    }
}
