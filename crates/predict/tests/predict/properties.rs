//! Properties that hold for any scenario.

use assay_predict::{Device, Member, Scenario, Scheduler, cap, shares};
use proptest::prelude::*;

fn scenarios() -> impl Strategy<Value = Scenario> {
    let one = (1_u32..=1000, 1_u32..=64, any::<bool>(), any::<bool>());
    let members = prop::collection::vec(one, 1..12);
    (members, 4_u32..2048).prop_map(|(list, pool)| {
        let member = |(weight, depth, sequential, writes): (u32, u32, bool, bool)| Member {
            weight: f64::from(weight),
            depth,
            bytes: 4096,
            sequential,
            writes,
            cost: None,
        };
        Scenario {
            members: list.into_iter().map(member).collect(),
            scheduler: Scheduler::Bfq { has_budget: true },
            pool,
            device: Device::Loop,
            cpus: 2.0,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_add_up_and_only_capped_groups_lose(scenario in scenarios()) {
        let is_capped = |member: &Member| cap(member, &scenario) < member.depth;
        let Some(shares) = shares(&scenario) else {
            let merge = |member: &Member| is_capped(member) && member.sequential;
            let members = &scenario.members;
            prop_assert!(members.iter().all(is_capped) || members.iter().any(merge));
            return Ok(());
        };
        prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        for ((share, owed), member) in shares.iter().zip(scenario.expected()).zip(&scenario.members) {
            prop_assert!(is_capped(member) || *share >= owed - 1e-12, "{share} of {owed}");
        }
    }

    #[test]
    fn equal_groups_get_equal_shares_even_if_all_are_capped(scenario in scenarios(), count in 1_usize..99) {
        let first = scenario.members[..1].to_vec();
        let equal = Scenario { members: first, ..scenario }.with_groups(count);
        for share in shares(&equal).unwrap() {
            prop_assert!((share * count as f64 - 1.0).abs() < 1e-9, "{share}");
        }
    }

    #[test]
    fn a_pool_that_holds_all_requests_twice_over_gives_the_weights(scenario in scenarios()) {
        let least = scenario.members.iter().map(|one| one.weight).fold(f64::INFINITY, f64::min);
        let all: f64 = scenario.members.iter().map(|one| one.weight).sum();
        let pool = (2.0 * 64.0 * all / least) as u32;
        let large = Scenario { pool, ..scenario };
        for (share, owed) in shares(&large).unwrap().iter().zip(large.expected()) {
            prop_assert!((share - owed).abs() < 1e-12);
        }
    }
}
