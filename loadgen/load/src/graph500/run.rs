//! The whole benchmark in order: edges, kernel 1, roots, kernel 2, kernel 3; each search is
//! validated before the next.

use assay_sys::kernel::anonymous_memory::{HugePages, Pages};
use assay_sys::kernel::{Root, clock};

use super::Graph500;
use super::construct::construct;
use super::dialect::Dialect;
use super::graph::Graph;
use super::kronecker::Kronecker;
use super::outcome::{Outcome, Searched};
use super::roots;
use super::search::Search;
use super::shortest::Paths;
use super::size::Size;
use super::validate::{Fault, Traversed, Validator};
use crate::arguments::Shared;
use crate::failure::Failure;
use crate::measured::Backing;
use crate::output::Reporter;
use crate::parallel_region::ParallelRegion;

/// Context of all steps of a run.
struct Run<'r> {
    options: &'r Graph500,
    region: ParallelRegion,
    huge: HugePages,
    reporter: &'r dyn Reporter,
}

pub(super) fn run(
    options: &Graph500,
    size: Size,
    shared: &Shared,
    reporter: &dyn Reporter,
) -> Result<(Outcome, Backing), Failure> {
    let region = ParallelRegion::new(shared.workers());
    let run = Run { options, region, huge: shared.huge_pages.into(), reporter };
    let dialect = options.dialect;
    // The whole run is the load, generation included: its memory grows from here.
    shared.ready()?;
    let (edges, generation) = timed(|| {
        let recipe = Kronecker::new(size.scale, dialect, shared.seed);
        recipe.generate(region, size.tuples() as usize, size.weighted, run.huge, reporter)
    })?;
    reporter.line(&format!("graph_generation: {generation:.3} s"));
    let (graph, construction) = timed(|| construct(region, &edges, run.huge))?;
    reporter.line(&format!("construction_time: {construction:.3} s"));

    let roots = run.roots(&graph, size, shared.seed)?;
    let mut tree = Pages::zeroed(graph.labels(), run.huge)?;
    let mut validator = Validator::new(region, &edges, graph.labels(), run.huge)?;
    let searches = run.breadth_first(&graph, &roots, &mut validator, &mut tree)?;
    let paths = match &edges.weights {
        Some(_) => run.shortest(&graph, &roots, &mut validator, &mut tree)?,
        None => Vec::new(),
    };
    let validated = !options.skip_validation;
    let done = searches.len() + paths.len();
    reporter.line(&if validated {
        format!("{done} of {done} searches validated")
    } else {
        format!("{done} searches, not validated")
    });
    let outcome = Outcome {
        size,
        dialect,
        seeds: dialect.seeds(shared.seed),
        threads: region.size(),
        generation,
        construction,
        searches,
        paths,
        validated,
    };
    // Edges, graph and validation are still allocated here.
    Ok((outcome, Backing::read(&Root::real())))
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, f64), E> {
    let began = clock::monotonic_ns();
    let done = work()?;
    Ok((done, (clock::monotonic_ns() - began) as f64 * 1e-9))
}

impl Run<'_> {
    fn roots(&self, graph: &Graph, size: Size, seed: Option<u64>) -> Result<Vec<u32>, Failure> {
        let count = self.options.searches as usize;
        let has_edge = |label| graph.number(label).is_some();
        let roots = roots::choose(self.options.dialect, seed, size.labels(), count, has_edge);
        if roots.is_empty() {
            return Err(Failure::Wrong(
                "Cannot find any sample roots of non-self degree > 0.".to_owned(),
            ));
        }
        if roots.len() < count {
            self.reporter.line(&format!(
                "Cannot find {count} sample roots of non-self degree > 0, using {}.",
                roots.len()
            ));
        }
        Ok(roots)
    }

    /// Kernel 2.
    fn breadth_first(
        &self,
        graph: &Graph,
        roots: &[u32],
        validator: &mut Validator<'_>,
        tree: &mut [u32],
    ) -> Result<Vec<Searched>, Failure> {
        let mut search = Search::new(self.region, graph, self.huge)?;
        if self.options.dialect == Dialect::V3 {
            // 3.0 performs one search before the timed ones.
            search.run(roots[0], tree);
        }
        let mut done = Vec::with_capacity(roots.len());
        for &root in roots {
            let seconds = search.run(root, tree);
            let searched =
                self.validate("bfs", root, seconds, tree, validator, |v, tree| v.tree(root, tree))?;
            done.push(searched);
            self.reporter.progress("bfs", done.len(), roots.len());
        }
        Ok(done)
    }

    /// Kernel 3.
    fn shortest(
        &self,
        graph: &Graph,
        roots: &[u32],
        validator: &mut Validator<'_>,
        tree: &mut [u32],
    ) -> Result<Vec<Searched>, Failure> {
        let mut paths = Paths::new(self.region, graph, self.huge)?;
        let mut distances = Pages::zeroed(graph.labels(), self.huge)?;
        let mut done = Vec::with_capacity(roots.len());
        for &root in roots {
            let seconds = paths.run(root, tree, &mut distances);
            let searched = self.validate("sssp", root, seconds, tree, validator, |v, tree| {
                v.paths(root, tree, &distances)
            })?;
            done.push(searched);
            self.reporter.progress("sssp", done.len(), roots.len());
        }
        Ok(done)
    }

    /// Validates one search, or only counts its edges with `--skip-validation`. A fault ends the
    /// run: a wrong run prints no result.
    fn validate(
        &self,
        kernel: &str,
        root: u32,
        seconds: f64,
        tree: &[u32],
        validator: &mut Validator<'_>,
        check: impl FnOnce(&mut Validator<'_>, &[u32]) -> Result<Traversed, Fault>,
    ) -> Result<Searched, Failure> {
        let (traversed, validation) = if self.options.skip_validation {
            (validator.traversed(tree), None)
        } else {
            let (traversed, took) = timed(|| check(validator, tree)).map_err(|fault| {
                Failure::Wrong(format!("{kernel} from {root} failed verification: {fault}"))
            })?;
            (traversed, Some(took))
        };
        let edges = if self.options.dialect.counts_loops() {
            traversed.joining + traversed.loops
        } else {
            traversed.joining
        };
        Ok(Searched { root, seconds, edges, validation })
    }
}
