//! Cases in the order in which a kernel runs them, in parts: each ends with a document, so that a lost guest loses one
//! part.

use assay_conformance::Case;

use super::results::Records;

/// Cases of a part. To start the program once for each, which asks the tools of the host for their versions, costs six
/// seconds under emulation.
const PART: usize = 20;

/// Cases without a result, in parts. Those of `suspects`, in which a guest was lost, come last and one
/// by one.
pub(super) fn parts<'c>(
    cases: &[&'c Case],
    done: &Records,
    suspects: &[String],
) -> Vec<Vec<&'c Case>> {
    let is_open = |case: &&&'c Case| {
        !done.contains_key(&(case.controller.to_owned(), case.behaviour.to_owned()))
    };
    let open = cases.iter().filter(is_open).copied();
    let (last, first): (Vec<&Case>, Vec<&Case>) =
        open.partition(|case| suspects.contains(&name(case)));
    first
        .chunks(PART)
        .map(<[&Case]>::to_vec)
        .chain(last.into_iter().map(|case| vec![case]))
        .collect()
}

/// `controller/behaviour`.
pub(super) fn name(case: &Case) -> String {
    format!("{}/{}", case.controller, case.behaviour)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passport::fake::record;

    #[test]
    fn every_open_case_is_in_one_part_and_suspects_come_last() {
        let cases = assay_conformance::select(&["cpu".to_owned(), "pids".to_owned()]).unwrap();
        let all: Vec<&Case> = parts(&cases, &Records::new(), &[]).concat();
        assert_eq!(all.len(), cases.len());
        let suspects = [name(cases[0]), name(cases[1])];
        let split = parts(&cases, &Records::new(), &suspects);
        assert!(split.iter().all(|part| part.len() <= PART));
        let last: Vec<String> = split[split.len() - 2..].iter().map(|part| name(part[0])).collect();
        assert_eq!(last, suspects);
        assert!(split[split.len() - 2..].iter().all(|part| part.len() == 1));
        let key = (cases[0].controller.to_owned(), cases[0].behaviour.to_owned());
        let done = [(key, (record("a", assay_conformance::Verdict::Kept), String::new()))];
        assert_eq!(parts(&cases, &done.into(), &[]).concat().len(), cases.len() - 1);
    }
}
