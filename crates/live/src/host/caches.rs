//! Caches for readers: one line for all of the same kind, as a machine has several for each CPU.

use assay_host::facts::Cache;
use assay_sys::units::CpuSet;

/// Caches of this level and beyond are listed by their CPUs, as cpusets are made by them; of others so many.
const SHARED: u8 = 3;
const LISTED: usize = 4;

/// A line for each level, kind and size, in the order in which they first appear.
pub(super) fn lines(caches: &[Cache]) -> Vec<String> {
    let mut alike: Vec<Vec<&Cache>> = Vec::new();
    for cache in caches {
        let known = alike.iter_mut().find(|known| is_alike(known[0], cache));
        match known {
            Some(known) => known.push(cache),
            None => alike.push(vec![cache]),
        }
    }
    alike.iter().map(|caches| line(caches)).collect()
}

fn is_alike(one: &Cache, other: &Cache) -> bool {
    let looks =
        |cache: &Cache| (cache.level, cache.size, cache.ways, cache.line, cache.shared_by.len());
    looks(one) == looks(other) && one.kind == other.kind
}

fn line(caches: &[&Cache]) -> String {
    let cache = caches[0];
    let shared: Vec<&CpuSet> = caches.iter().map(|cache| &cache.shared_by).collect();
    let of_cpus = match (shared.as_slice(), cache.shared_by.len()) {
        (few, _) if few.len() <= LISTED || cache.level >= SHARED => {
            let few: Vec<String> = few.iter().map(ToString::to_string).collect();
            format!("CPUs {}", few.join(" | "))
        }
        (many, 1) => format!("{} of them, one for each CPU", many.len()),
        (many, each) => format!("{} of them, each for {each} CPUs", many.len()),
    };
    format!(
        "  cache   L{} {} {}, {}-way, {} B lines, {of_cpus}",
        cache.level, cache.kind, cache.size, cache.ways, cache.line
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(level: u8, kind: &str, cpus: &str) -> Cache {
        let (kind, shared_by) = (kind.to_owned(), cpus.parse().unwrap());
        let size = assay_sys::units::Bytes::new(32 << 10);
        Cache { level, kind, size, ways: 8, line: 64, shared_by }
    }

    #[test]
    fn caches_that_are_alike_share_a_line() {
        let mut all: Vec<Cache> = Vec::new();
        for cpu in 0..16 {
            let cpus = cpu.to_string();
            all.extend([cache(1, "Data", &cpus), cache(1, "Instruction", &cpus)]);
        }
        for cpu in 0..8 {
            let cpu = 2 * cpu;
            all.push(cache(2, "Unified", &format!("{cpu}-{}", cpu + 1)));
        }
        all.extend([cache(3, "Unified", "0-7"), cache(3, "Unified", "8-15")]);
        let of = lines(&all);
        assert_eq!(of.len(), 4, "{of:#?}");
        assert!(
            of[0].ends_with("L1 Data 32 KiB, 8-way, 64 B lines, 16 of them, one for each CPU"),
            "{}",
            of[0]
        );
        assert!(of[2].ends_with("8 of them, each for 2 CPUs"), "{}", of[2]);
        assert!(of[3].ends_with("CPUs 0-7 | 8-15"), "{}", of[3]);
    }
}
