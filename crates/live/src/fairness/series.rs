//! What one group got in the cells in which it contended, beside what it was promised in them.
//!
//! A cell is the time between two looks. It counts for a group if the group wanted more than it had all
//! that time, and so did at least one of its siblings; then the weights of *these* promise a division of
//! what these got, whatever else ran.

/// One competitor in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    /// Its place among its siblings.
    pub(crate) member: usize,
    /// What it got: nanoseconds or bytes.
    pub(crate) got: f64,
    /// Its weight, in any unit.
    pub(crate) weight: f64,
}

/// The cells of one group.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Series {
    /// In each cell: what it got, and what it was promised.
    pub(crate) cells: Vec<Cell>,
    /// Their length.
    pub(crate) seconds: f64,
    /// Times that contention began anew: cells that do not follow another one.
    pub(crate) spells: usize,
    last: Option<usize>,
}

/// One cell of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    /// What it got.
    pub(crate) got: f64,
    /// What it was promised of what all compared got.
    pub(crate) promised: f64,
    /// What all compared got.
    pub(crate) whole: f64,
}

impl Series {
    /// A cell with this number was dropped for a reason that has nothing to do with the group, which went on contending: the
    /// next one begins no spell.
    pub(crate) fn bridge(&mut self, number: usize) {
        if self.last.is_some_and(|last| last + 1 == number) {
            self.last = Some(number);
        }
    }

    /// Adds a cell with this number.
    fn add(&mut self, number: usize, seconds: f64, cell: Cell) {
        self.seconds += seconds;
        if self.last.is_none_or(|last| last + 1 != number) {
            self.spells += 1;
        }
        self.last = Some(number);
        self.cells.push(cell);
    }
}

/// What the weights promise to each of those that contend: their part of what all of them got. Nothing if fewer
/// than two contend.
pub(crate) fn promises(claims: &[Claim]) -> Option<Vec<Cell>> {
    let whole: f64 = claims.iter().map(|claim| claim.got).sum();
    let weights: f64 = claims.iter().map(|claim| claim.weight).sum();
    if claims.len() < 2 || whole <= 0.0 || weights <= 0.0 {
        return None;
    }
    let promise =
        |claim: &Claim| Cell { got: claim.got, promised: whole * claim.weight / weights, whole };
    Some(claims.iter().map(promise).collect())
}

/// Adds a cell to the series of each competitor: the sum over what is divided by itself, such as each of some CPUs.
pub(crate) fn add_cell<M>(
    members: &mut [M],
    series: impl Fn(&mut M) -> &mut Series,
    (number, seconds): (usize, f64),
    divided: &[Vec<Claim>],
) -> bool {
    let mut sums: Vec<Option<Cell>> = vec![None; members.len()];
    for claims in divided {
        let Some(cells) = promises(claims) else { continue };
        for (claim, cell) in claims.iter().zip(cells) {
            let Some(sum) = sums.get_mut(claim.member) else { continue };
            let before = sum.unwrap_or(Cell { got: 0.0, promised: 0.0, whole: 0.0 });
            *sum = Some(Cell {
                got: before.got + cell.got,
                promised: before.promised + cell.promised,
                whole: before.whole + cell.whole,
            });
        }
    }
    let mut any = false;
    for (one, sum) in members.iter_mut().zip(sums) {
        if let Some(cell) = sum {
            series(one).add(number, seconds, cell);
            any = true;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(member: usize, got: f64, weight: f64) -> Claim {
        Claim { member, got, weight }
    }

    fn add(series: &mut [Series], number: usize, claims: &[Claim]) -> bool {
        add_cell(series, |one| one, (number, 0.1), &[claims.to_vec()])
    }

    #[test]
    fn weights_divide_what_those_that_contend_got() {
        let mut series = vec![Series::default(); 3];
        let claims = [claim(0, 30.0, 100.0), claim(2, 50.0, 300.0)];
        assert!(add(&mut series, 4, &claims));
        assert_eq!(series[0].cells, [Cell { got: 30.0, promised: 20.0, whole: 80.0 }]);
        assert_eq!(series[2].cells, [Cell { got: 50.0, promised: 60.0, whole: 80.0 }]);
        assert!(series[1].cells.is_empty());
    }

    #[test]
    fn one_alone_does_not_contend_and_a_break_begins_a_spell() {
        let mut series = vec![Series::default(); 2];
        let both = [claim(0, 1.0, 1.0), claim(1, 1.0, 1.0)];
        assert!(!add(&mut series, 0, &both[..1]));
        for number in [1, 2, 5, 6] {
            assert!(add(&mut series, number, &both));
        }
        assert_eq!((series[0].spells, series[0].cells.len()), (2, 4));
        series[0].bridge(7);
        assert!(add(&mut series, 8, &both));
        assert_eq!((series[0].spells, series[1].spells), (2, 3));
    }

    #[test]
    fn each_cpu_divides_by_itself() {
        let mut series = vec![Series::default(); 2];
        let cpus = [vec![claim(0, 10.0, 100.0), claim(1, 30.0, 50.0)], vec![claim(1, 40.0, 50.0)]];
        assert!(add_cell(&mut series, |one| one, (0, 0.1), &cpus));
        let promised = 40.0 * 2.0 / 3.0;
        assert!((series[0].cells[0].promised - promised).abs() < 1e-9);
        assert!((series[1].cells[0].got - 30.0).abs() < 1e-9, "{series:?}");
    }
}
