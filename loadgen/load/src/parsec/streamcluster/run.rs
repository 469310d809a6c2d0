//! The whole program: clusters chunk after chunk, then the centres themselves.

use assay_sys::kernel::anonymous_memory::HugePages;
use assay_sys::kernel::{Root, clock, signal};
use serde_json::json;

use super::Job;
use super::centers::{self, Center, merged};
use super::check;
use super::gain::Until;
use super::points::Points;
use super::search::{Solution, search};
use crate::arguments::Shared;
use crate::failure::Failure;
use crate::generator::{Finished, Report};
use crate::measured::Backing;
use crate::output::Reporter;
use crate::parallel_region::ParallelRegion;
use crate::parsec::BANNER;
use crate::parsec::lrand48::Lrand48;

/// The clustering of the stream.
#[derive(Debug, Clone, PartialEq)]
struct Clustered {
    centers: Vec<Center>,
    points: u64,
    seconds: f64,
    /// Number of distance computations.
    distances: u64,
}

/// Results of all rounds.
#[derive(Debug, Default)]
struct Rounds {
    /// The last completed round; all give the same result.
    last: Option<Clustered>,
    done: u32,
    /// Seconds of the completed rounds.
    seconds: f64,
    /// Distances of all rounds, and the seconds spent on them.
    distances: u64,
    all_seconds: f64,
    backing: Option<Backing>,
}

/// What a round works with, and when it is abandoned.
struct RoundContext<'r> {
    job: &'r Job,
    chunk: Points,
    until: Until,
    reporter: &'r dyn Reporter,
}

/// How a round ended.
enum Ended {
    Done(Clustered),
    /// Abandoned, with the distances and seconds so far.
    Left(u64, f64),
}

pub(super) fn run(
    job: &Job,
    shared: &Shared,
    reporter: &dyn Reporter,
) -> Result<Finished, Failure> {
    if job.for_ns.is_some() {
        signal::note_interruptions();
    }
    let huge = shared.huge_pages.into();
    let began = shared.ready()?;
    let until = job.for_ns.map_or(Until::Done, |length| Until::Time(began + length));
    let chunk = Points::allocate(job.shape.chunk, job.shape.dimension, huge)?;
    let rounds = rounds(&mut RoundContext { job, chunk, until, reporter })?;
    if let Some(clustered) = &rounds.last {
        check::centers(&clustered.centers, clustered.points)?;
        reporter.line(&format!("{} centres, checked", clustered.centers.len()));
        if let Some(path) = &job.centers_to {
            centers::write(path, &clustered.centers)?;
        }
    }
    let backing = rounds.backing.clone().unwrap_or_else(|| Backing::read(&Root::real()));
    Ok(Finished { report: report(job, &rounds), backing })
}

/// Runs round after round; each gives the same result to the bit.
fn rounds(context: &mut RoundContext<'_>) -> Result<Rounds, Failure> {
    let mut rounds = Rounds::default();
    loop {
        let (distances, seconds) = match cluster(context, &mut rounds.backing)? {
            Ended::Left(distances, seconds) => (distances, seconds),
            Ended::Done(clustered) => {
                rounds.done += 1;
                rounds.seconds += clustered.seconds;
                let (distances, seconds) = (clustered.distances, clustered.seconds);
                rounds.last = Some(clustered);
                (distances, seconds)
            }
        };
        rounds.distances += distances;
        rounds.all_seconds += seconds;
        let is_enough = match context.until {
            Until::Done => rounds.done >= context.job.rounds,
            Until::Time(_) => context.until.is_over(),
        };
        if is_enough {
            return Ok(rounds);
        }
    }
}

/// Clusters the stream. The time of the checks is not counted.
fn cluster(
    context: &mut RoundContext<'_>,
    backing: &mut Option<Backing>,
) -> Result<Ended, Failure> {
    let (job, until) = (context.job, context.until);
    let (shape, region) = (job.shape, ParallelRegion::new(job.threads));
    let mut random = Lrand48::seeded(job.seed);
    let mut stream = job.source.open()?;
    let chunk = &mut context.chunk;
    let mut kept: Vec<Center> = Vec::new();
    let (mut points, mut seconds, mut distances) = (0, 0.0, 0);
    let mut order = Vec::new();
    loop {
        let began = clock::monotonic_ns();
        stream.read(chunk, shape.chunk, &mut random)?;
        context.reporter.line(&format!("read {} points", chunk.len()));
        // The original never undoes a shuffle: a chunk begins in the order in which the previous
        // one ended. A shorter last chunk would then contain points of the previous one, so it
        // begins in its own order here.
        if order.len() != chunk.len() {
            order = (0..chunk.len() as u32).collect();
        }
        let solution = search(region, chunk, order, &shape, &mut random, until);
        distances += solution.sweeps * chunk.len() as u64;
        if solution.is_abandoned {
            backing.get_or_insert_with(|| Backing::read(&Root::real()));
            return Ok(Ended::Left(distances, seconds + since(began)));
        }
        let new = merged(chunk, &solution, |position| points + position as u64);
        seconds += since(began);
        check::search(chunk, &solution)?;
        if kept.len() + new.len() > shape.kept {
            return Err(Failure::Ended {
                what: "oops! no more space for centers".to_owned(),
                remedy: format!("CLUSTERSIZE is {}; the stream needs more", shape.kept),
            });
        }
        order = solution.order;
        kept.extend(new);
        points += chunk.len() as u64;
        if stream.is_at_end() {
            break;
        }
    }
    backing.get_or_insert_with(|| Backing::read(&Root::real()));
    let began = clock::monotonic_ns();
    let (last, solution) = again(region, job, &kept, &mut random)?;
    // The ids of centres do not move with them when the last search shuffles, as in the original.
    let centers = merged(&last, &solution, |position| kept[position].id);
    seconds += since(began);
    distances += solution.sweeps * last.len() as u64;
    check::search(&last, &solution)?;
    Ok(Ended::Done(Clustered { centers, points, seconds, distances }))
}

/// The same search among the centres: too short to be abandoned.
fn again(
    region: ParallelRegion,
    job: &Job,
    kept: &[Center],
    random: &mut Lrand48,
) -> Result<(Points, Solution), Failure> {
    let mut points = Points::allocate(kept.len(), job.shape.dimension, HugePages::System)?;
    kept.iter().for_each(|center| points.push(&center.row, center.weight));
    let order = (0..kept.len() as u32).collect();
    let solution = search(region, &points, order, &job.shape, random, Until::Done);
    Ok((points, solution))
}

fn since(began: u64) -> f64 {
    (clock::monotonic_ns() - began) as f64 * 1e-9
}

fn report(job: &Job, rounds: &Rounds) -> Report {
    let shape = job.shape;
    let distance_rate = rounds.distances as f64 / rounds.all_seconds.max(1e-9);
    let mut json = json!({
        "dimension": shape.dimension,
        "chunk": shape.chunk,
        "threads": job.threads,
        "rounds": rounds.done,
        "metrics": { "distances_per_s": distance_rate, "rounds": rounds.done },
    });
    if let Some(signal) = job.for_ns.and_then(|_| signal::interrupted_by()) {
        json["ended_by"] = signal.into();
    }
    let Some(clustered) = &rounds.last else {
        let why = json!({ "not_available": "no round was done in the time" });
        for name in ["roi_s", "points_per_s", "centers"] {
            json["metrics"][name] = why.clone();
        }
        let text = format!("{BANNER}\nno round was done: {distance_rate:.0} distances/s\n");
        return Report { text, json };
    };
    let (centers, seconds) = (clustered.centers.len(), rounds.seconds);
    json["points"] = clustered.points.into();
    json["centers"] = clustered
        .centers
        .iter()
        .map(|center| json!({ "id": center.id, "weight": center.weight }))
        .collect();
    json["as_many_as_wanted"] = (shape.fewest..=shape.most).contains(&centers).into();
    json["roi_s"] = seconds.into();
    let points = clustered.points as f64 * f64::from(rounds.done);
    json["metrics"]["roi_s"] = seconds.into();
    json["metrics"]["points_per_s"] = (points / seconds).into();
    json["metrics"]["centers"] = centers.into();
    Report { text: format!("{BANNER}\ntime = {seconds:.6}\ncenters = {centers}\n"), json }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Silence;
    use crate::parsec::streamcluster::shape::{Shape, by_name};
    use crate::parsec::streamcluster::stream::Source;

    fn job(shape: Shape, points: u64, threads: usize, seed: u64) -> Job {
        let source = Source::Drawn { points };
        Job { shape, source, threads, seed, centers_to: None, rounds: 1, for_ns: None }
    }

    fn all(job: &Job, until: Until) -> Result<Rounds, Failure> {
        let chunk = Points::allocate(job.shape.chunk, job.shape.dimension, HugePages::System)?;
        rounds(&mut RoundContext { job, chunk, until, reporter: &Silence })
    }

    fn once(job: &Job) -> Result<Clustered, Failure> {
        all(job, Until::Done).map(|rounds| rounds.last.unwrap())
    }

    fn cluster_input(name: &str, threads: usize) -> Clustered {
        let (shape, points) = by_name(name).unwrap();
        once(&job(shape, points, threads, 1)).unwrap()
    }

    #[test]
    fn every_round_gives_the_same_and_counts() {
        let (shape, points) = by_name("simdev").unwrap();
        let thrice = Job { rounds: 3, ..job(shape, points, 2, 1) };
        let rounds = all(&thrice, Until::Done).unwrap();
        let last = rounds.last.as_ref().unwrap();
        assert_eq!(ids(last), [4, 9, 12]);
        assert_eq!((rounds.done, rounds.distances), (3, 3 * last.distances));
        let report = report(&thrice, &rounds);
        assert_eq!(report.json["metrics"]["rounds"], 3);
    }

    #[test]
    fn an_expired_time_ends_all_threads_within_a_round() {
        let (shape, points) = by_name("simsmall").unwrap();
        for threads in [1, 3] {
            let job = Job { for_ns: Some(1), ..job(shape, points, threads, 1) };
            let rounds = all(&job, Until::Time(1)).unwrap();
            assert!(rounds.last.is_none() && rounds.distances > 0, "{rounds:?}");
            let metrics = &report(&job, &rounds).json["metrics"];
            assert!(metrics["distances_per_s"].as_f64().unwrap() > 0.0, "{metrics}");
            assert!(metrics["points_per_s"]["not_available"].is_string(), "{metrics}");
        }
    }

    fn ids(clustered: &Clustered) -> Vec<u64> {
        clustered.centers.iter().map(|center| center.id).collect()
    }

    #[test]
    fn centres_match_the_original() {
        assert_eq!(ids(&cluster_input("test", 1)), [3, 6]);
        assert_eq!(ids(&cluster_input("simdev", 1)), [4, 9, 12]);
        let small = cluster_input("simsmall", 1);
        let expected = [25, 336, 603, 613, 797, 831, 1090, 1186, 1897, 2177, 2516, 2897, 3093];
        assert_eq!(ids(&small), expected);
        assert_eq!(small.centers[0].weight, 357.0);
        assert!(small.distances > 4096 * 179, "{}", small.distances);
        assert_eq!(format!("{:.6}", small.centers[0].row[0]), "0.523592");
    }

    #[test]
    fn results_do_not_depend_on_the_number_of_threads() {
        let alone = cluster_input("simsmall", 1);
        for threads in [2, 3, 5] {
            let others = cluster_input("simsmall", threads);
            assert_eq!(others.centers, alone.centers, "{threads} threads");
            assert_eq!(others.distances, alone.distances, "{threads} threads");
        }
    }

    #[test]
    fn a_stream_of_several_chunks_loses_no_weight() {
        let (shape, _) = by_name("simdev").unwrap();
        let clustered = once(&job(Shape { kept: 200, ..shape }, 100, 2, 5)).unwrap();
        check::centers(&clustered.centers, 100).unwrap();
        assert_eq!(clustered.points, 100);
    }

    #[test]
    fn too_many_centres_end_as_in_the_original() {
        let (shape, _) = by_name("simdev").unwrap();
        let failure = once(&job(Shape { kept: 5, ..shape }, 1000, 1, 1)).unwrap_err();
        assert!(failure.to_string().contains("no more space for centers"), "{failure}");
        assert_eq!(failure.exit_code(), 5);
    }
}
