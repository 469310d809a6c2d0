//! Targets: output of other programs, kernel files, and user input.

use assay_fuzzer::{Reader, answer};
use assay_study::workload::fio::parse_output;
use assay_study::workload::{CapturedOutput, Invocation, Metric, Source, WaitMethod};
use assay_sys::kernel::parse::{
    buddy, cgroups, choice, cpuinfo, keyed, maps, mountinfo, numa_maps,
};
use assay_sys::kernel::{counters, keyed_lines, task};
use assay_sys::units::{Bytes, CpuChoice, IdSet, MemoryPolicy, Percent, parse_duration};

pub(super) fn fio() -> Reader {
    Box::new(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        answer(&format!("{:?}", parse_output(&text).map(|output| output.latency.len())))
    })
}

/// Output of every kind of workload, and of a command with metrics.
pub(super) fn output() -> Reader {
    let metric = |from| Metric { name: "ops_per_s".to_owned(), from };
    let invocation = |tool: &str| Invocation {
        tool: tool.to_owned(),
        program: String::new(),
        words: Vec::new(),
        metrics: vec![
            metric(Source::Pattern("([0-9.]+) ops/s".to_owned())),
            metric(Source::Json("/metrics/runtime_ms".to_owned())),
        ],
        wait: WaitMethod::Shell,
        reports_on_sigint: true,
    };
    let invocations = ["ycsb", "chase", "stressapptest", "command"].map(invocation);
    Box::new(move |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let captured = CapturedOutput { stdout: &text, stderr: &text };
        let outcomes = invocations.iter().map(|one| match one.parse_output(&captured) {
            Ok(output) => format!("{} {}", output.metrics.is_empty(), output.latency.is_empty()),
            Err(why) => why,
        });
        answer(&outcomes.collect::<Vec<_>>().join(" "))
    })
}

/// All parsers of kernel files on the same text; none depends on the file's name.
pub(super) fn kernel() -> Reader {
    Box::new(|bytes| {
        let text = &*String::from_utf8_lossy(bytes);
        let keys = ["pgscan", "anon", "MemTotal", "file"];
        let order = keyed_lines::order(bytes, &keys);
        let mut values = [None; 4];
        keyed_lines::read(bytes, &keys, &order, &mut values);
        let blocks = buddy::blocks(bytes).map(|blocks| {
            let orders = (0..12).filter_map(|order| blocks.unusable_permille(order)).count();
            orders + (0..12).filter_map(|order| blocks.fragmentation_permille(order)).count()
        });
        let lists = [
            blocks.count(),
            maps::ranges(text).len(),
            maps::programs(text).len(),
            mountinfo::parse(text).len(),
            cgroups::subsystems(text).len(),
            cgroups::process_groups(text).len(),
            numa_maps::areas(text).count(),
            numa_maps::anonymous(text).len(),
            numa_maps::anonymous_by_policy(text).len(),
            numa_maps::files(text).len(),
        ];
        let single = [
            keyed::kibibytes(text, "MemTotal").is_some(),
            keyed::colon(text, "Uid").is_some(),
            keyed::shell(text, "ID").is_some(),
            choice::parse(text).is_some(),
            cpuinfo::parse(text).model.is_some(),
            task::stat(bytes).is_some(),
            task::schedstat(bytes).is_some(),
            counters::blkio(bytes, "254:0") != counters::blkio(b"", "254:0"),
            counters::io_stat(bytes, "254:0") != counters::io_stat(b"", "254:0"),
            counters::keyed(bytes, "anon").is_some(),
            counters::pressure(bytes, "some").is_some(),
            counters::fields::<10>(bytes, "cpu").is_some(),
            counters::number(bytes).is_some(),
        ];
        // Without digits, which the answer ignores.
        let counts = lists.map(|count| char::from(b'a' + count.min(20) as u8));
        let present = values.iter().flatten().count();
        let present = char::from(b'a' + present as u8);
        answer(&format!("{counts:?} {single:?} {present}"))
    })
}

pub(super) fn units() -> Reader {
    Box::new(|bytes| {
        let text = &*String::from_utf8_lossy(bytes);
        answer(&format!(
            "{:?} {:?} {:?} {:?} {:?} {:?}",
            text.parse::<Bytes>().map(|_| ()),
            text.parse::<Percent>().map(|_| ()),
            text.parse::<IdSet>().map(|set| set.len() > 9),
            text.parse::<CpuChoice>().map(|_| ()),
            text.parse::<MemoryPolicy>().map(|_| ()),
            parse_duration(text).map(|_| ()),
        ))
    })
}
