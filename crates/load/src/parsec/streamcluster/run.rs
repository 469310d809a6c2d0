//! The whole program: chunk after chunk into centres, then the centres into fewer.

use assay_kernel::pages::HugePages;
use assay_kernel::{Root, clock};
use serde_json::json;

use super::Job;
use super::centers::{self, Center, merged};
use super::check;
use super::points::Points;
use super::search::{Found, search};
use crate::arguments::Shared;
use crate::failure::Failure;
use crate::generator::{Finished, Report};
use crate::measured::Backing;
use crate::parsec::BANNER;
use crate::parsec::lrand48::Lrand48;
use crate::talk::Talk;
use crate::team::Team;

/// What the stream became.
#[derive(Debug, Clone, PartialEq)]
struct Clustered {
    centers: Vec<Center>,
    points: u64,
    seconds: f64,
    backing: Option<Backing>,
}

pub(super) fn run(job: &Job, shared: &Shared, talk: &dyn Talk) -> Result<Finished, Failure> {
    let huge = shared.huge_pages.into();
    shared.ready()?;
    let clustered = cluster(job, huge, talk)?;
    check::centers(&clustered.centers, clustered.points)?;
    talk.say(&format!("{} centres, checked", clustered.centers.len()));
    if let Some(path) = &job.centers_to {
        centers::write(path, &clustered.centers)?;
    }
    let backing = clustered.backing.clone().unwrap_or_else(|| Backing::read(&Root::real()));
    Ok(Finished { report: report(job, &clustered), backing })
}

/// Clusters the stream. The time of the checks is not counted.
fn cluster(job: &Job, huge: HugePages, talk: &dyn Talk) -> Result<Clustered, Failure> {
    let (shape, team) = (job.shape, Team::of(job.threads));
    let mut random = Lrand48::seeded(job.seed);
    let mut stream = job.source.open()?;
    let mut chunk = Points::room(shape.chunk, shape.dimension, huge)?;
    let mut kept: Vec<Center> = Vec::new();
    let (mut points, mut seconds) = (0, 0.0);
    let mut order = Vec::new();
    loop {
        let began = clock::monotonic_ns();
        stream.read(&mut chunk, shape.chunk, &mut random)?;
        talk.say(&format!("read {} points", chunk.len()));
        // The original never undoes a shuffle: a chunk begins in the order in which the one before
        // ended. A last chunk that is shorter would then contain points of the one before, and
        // begins in its own order here.
        if order.len() != chunk.len() {
            order = (0..chunk.len() as u32).collect();
        }
        let found = search(team, &chunk, order, &shape, &mut random);
        let new = merged(&chunk, &found, |place| points + place as u64);
        seconds += since(began);
        check::search(&chunk, &found)?;
        if kept.len() + new.len() > shape.kept {
            return Err(Failure::Ended {
                what: "oops! no more space for centers".to_owned(),
                remedy: format!("CLUSTERSIZE is {}; the stream needs more", shape.kept),
            });
        }
        order = found.order;
        kept.extend(new);
        points += chunk.len() as u64;
        if stream.is_at_end() {
            break;
        }
    }
    let backing = Some(Backing::read(&Root::real()));
    let began = clock::monotonic_ns();
    let (last, found) = again(team, job, &kept, &mut random)?;
    // The names of centres do not move with them when the last search shuffles: the original's.
    let centers = merged(&last, &found, |place| kept[place].id);
    seconds += since(began);
    check::search(&last, &found)?;
    Ok(Clustered { centers, points, seconds, backing })
}

/// The same search among the centres.
fn again(
    team: Team,
    job: &Job,
    kept: &[Center],
    random: &mut Lrand48,
) -> Result<(Points, Found), Failure> {
    let mut points = Points::room(kept.len(), job.shape.dimension, HugePages::System)?;
    kept.iter().for_each(|center| points.push(&center.row, center.weight));
    let order = (0..kept.len() as u32).collect();
    let found = search(team, &points, order, &job.shape, random);
    Ok((points, found))
}

fn since(began: u64) -> f64 {
    (clock::monotonic_ns() - began) as f64 * 1e-9
}

fn report(job: &Job, clustered: &Clustered) -> Report {
    let (centers, seconds) = (clustered.centers.len(), clustered.seconds);
    let shape = job.shape;
    Report {
        text: format!("{BANNER}\ntime = {seconds:.6}\ncenters = {centers}\n"),
        json: json!({
            "points": clustered.points,
            "dimension": shape.dimension,
            "chunk": shape.chunk,
            "threads": job.threads,
            "centers": clustered.centers.iter().map(|center| json!({
                "id": center.id,
                "weight": center.weight,
            })).collect::<Vec<_>>(),
            "as_many_as_wanted": (shape.fewest..=shape.most).contains(&centers),
            "roi_s": seconds,
            "metrics": {
                "roi_s": seconds,
                "points_per_s": clustered.points as f64 / seconds,
                "centers": centers,
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parsec::streamcluster::shape::of_name;
    use crate::parsec::streamcluster::stream::Source;
    use crate::talk::Silence;

    fn of(name: &str, threads: usize) -> Clustered {
        let (shape, points) = of_name(name).unwrap();
        let source = Source::Drawn { points };
        let job = Job { shape, source, threads, seed: 1, centers_to: None };
        cluster(&job, HugePages::System, &Silence).unwrap()
    }

    fn ids(clustered: &Clustered) -> Vec<u64> {
        clustered.centers.iter().map(|center| center.id).collect()
    }

    #[test]
    fn the_centres_are_those_of_the_original() {
        assert_eq!(ids(&of("test", 1)), [3, 6]);
        assert_eq!(ids(&of("simdev", 1)), [4, 9, 12]);
        let small = of("simsmall", 1);
        let expected = [25, 336, 603, 613, 797, 831, 1090, 1186, 1897, 2177, 2516, 2897, 3093];
        assert_eq!(ids(&small), expected);
        assert_eq!(small.centers[0].weight, 357.0);
        assert_eq!(format!("{:.6}", small.centers[0].row[0]), "0.523592");
    }

    #[test]
    fn nothing_depends_on_the_number_of_threads() {
        let alone = of("simsmall", 1);
        for threads in [2, 3, 5] {
            assert_eq!(of("simsmall", threads).centers, alone.centers, "{threads} threads");
        }
    }

    #[test]
    fn a_stream_of_several_chunks_loses_no_weight() {
        let (shape, _) = of_name("simdev").unwrap();
        let job = Job {
            shape: super::super::shape::Shape { kept: 200, ..shape },
            source: Source::Drawn { points: 100 },
            threads: 2,
            seed: 5,
            centers_to: None,
        };
        let clustered = cluster(&job, HugePages::System, &Silence).unwrap();
        check::centers(&clustered.centers, 100).unwrap();
        assert_eq!(clustered.points, 100);
    }

    #[test]
    fn too_little_room_for_centres_ends_as_in_the_original() {
        let (shape, _) = of_name("simdev").unwrap();
        let job = Job {
            shape: super::super::shape::Shape { kept: 5, ..shape },
            source: Source::Drawn { points: 1000 },
            threads: 1,
            seed: 1,
            centers_to: None,
        };
        let failure = cluster(&job, HugePages::System, &Silence).unwrap_err();
        assert!(failure.to_string().contains("no more space for centers"), "{failure}");
        assert_eq!(failure.exit_code(), 5);
    }
}
