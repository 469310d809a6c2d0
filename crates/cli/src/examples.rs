//! Examples of every command, for `--help` and manual pages.

use clap::{Arg, ArgAction, Command};

/// A command line, and what it does.
type Example = (&'static str, &'static str);

/// The examples of each command, by its name below `assay`.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "audit",
        &[
            ("assay audit", "settings of this host without effect"),
            ("assay audit --snapshot host.json", "write a snapshot, to audit elsewhere"),
            ("assay audit --manifest nginx.service", "what a unit asks for, and what is set"),
        ],
    ),
    ("audit diff", &[("assay audit diff host.json", "what changed since the snapshot")]),
    (
        "audit watch",
        &[("assay audit watch --for 10m", "changes as they happen, with their writer")],
    ),
    ("audit self", &[("assay audit self", "the limits of this container, job or pod")]),
    (
        "fairness",
        &[
            ("assay fairness", "watch for a minute who got what"),
            ("assay fairness --for 10m --report page.html", "for longer, as a page too"),
        ],
    ),
    (
        "blame",
        &[
            ("assay blame --unit nginx.service", "who had the CPU while it waited"),
            ("assay blame --pod shop/web-0", "the same of a pod, by namespace and name"),
            ("assay blame --for 30s -- ./bench", "the same of a command"),
            ("assay blame --watch", "whom all groups wait for, again and again"),
        ],
    ),
    (
        "top",
        &[
            ("assay top --group /system.slice", "the groups below one, with their use"),
            ("assay top --sort memory", "the largest first; `watch` repeats it"),
        ],
    ),
    (
        "check",
        &[
            ("assay check mine.toml", "all mistakes at once, or the plan for this host"),
            ("assay check io-weight --disk /dev/sdb3 -o json", "the plan as JSON"),
        ],
    ),
    (
        "run",
        &[
            ("assay run cpu-weight", "run a shipped study; its report is in runs/"),
            ("assay run --list", "the shipped studies"),
            ("assay run --list cpu-weight", "print one, to copy and change"),
            ("assay run mine.toml --set groups=4,8 --repeats 8", "your own, with other values"),
            ("assay run mine.fio --weights 1:3:5", "a fio job file, a group for each section"),
            ("assay run io-weight --disk /dev/sdb3 --erase ext4", "on a real partition, erased"),
            ("assay run io-weight --junit out.xml --fail-on broken", "in continuous integration"),
        ],
    ),
    (
        "exec",
        &[
            ("assay exec --set memory.max=64M -- ./bench", "under a limit: was it reached?"),
            ("assay exec --quiet-check -- ./bench", "are the numbers of this machine valid?"),
            ("assay exec --place cpus=0-3,mems=0 -- ./bench", "on these CPUs and this node"),
        ],
    ),
    (
        "record",
        &[
            ("assay record -- ./bench", "record what a command does"),
            ("assay record --group /system.slice/nginx.service --for 30s", "record a group"),
        ],
    ),
    (
        "report",
        &[
            ("assay report runs/x", "write the report of a run again"),
            ("assay report runs --as parquet --out tables", "all runs as Parquet tables"),
            ("assay report runs/x --as csv --no-samples", "one run as CSV, without samples"),
        ],
    ),
    (
        "compare",
        &[
            ("assay compare runs/before runs/after", "what changed, and by how much"),
            ("assay compare --baseline runs/good", "the newest run, for a regression"),
            ("assay compare runs/x --over scheduler=bfq,none", "two levels within one run"),
        ],
    ),
    (
        "probe",
        &[
            ("assay probe --container web", "do its limits act?"),
            ("assay probe --unit nginx.service --only memory,pids --junit out.xml", "as a test"),
        ],
    ),
    (
        "diagnose",
        &[
            ("assay diagnose runs/x", "which change removes the error"),
            ("assay diagnose runs/x --only C-REQUEST-POOL", "test one cause"),
        ],
    ),
    ("tune", &[("assay tune io-weight --for 8m", "find a setting")]),
    ("judge", &[("assay judge runs/20261126T101500Z-io-weight", "judge a run again")]),
    (
        "conform",
        &[
            ("assay conform --list", "what each case promises"),
            ("assay conform cpu memory", "the cases of two controllers"),
            ("assay conform --kernel host,debian-6.12", "which promises each kernel keeps"),
        ],
    ),
    ("host", &[("assay host", "what this machine is, and what it lacks")]),
    ("restore", &[("assay restore", "restore what a killed run left behind")]),
    ("explain", &[("assay explain A-ANCESTOR", "all that is known of a code")]),
    ("generate schema", &[("assay generate schema", "the schema of study files, for editors")]),
    ("generate completions", &[("assay generate completions bash", "print the script for bash")]),
    ("generate man", &[("assay generate man ./man", "write all manual pages to a folder")]),
    ("lab run", &[("assay lab run io-weight --kernel debian-6.12 --disk nvme:2GiB", "in a guest")]),
    ("lab shell", &[("assay lab shell --cgroup v1", "a shell on a host with cgroup v1")]),
    ("lab exec", &[("assay lab exec --kernel debian-6.1 -- uname -r", "a command in a guest")]),
    ("lab conform", &[("assay lab conform --cgroup hybrid cpu", "the cases of one controller")]),
    (
        "lab kernels",
        &[
            ("assay lab kernels", "what is there, and what can be fetched"),
            ("assay lab kernels --fetch debian-6.12", "fetch one"),
        ],
    ),
    (
        "fleet run",
        &[("assay fleet run io-weight --hosts node[1-4] --shared /shared/runs", "on four hosts")],
    ),
    ("fleet resume", &[("assay fleet resume /shared/runs/x", "tasks without a verdict again")]),
    (
        "fleet collect",
        &[("assay fleet collect /shared/runs/x", "judge the runs that exist side by side")],
    ),
];

/// The examples of a command, by its name below `assay`: `run`, `lab run`.
fn of(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

/// The program whose commands show their examples, and the same short help by `-h` and `--help`.
pub(crate) fn with_examples(program: Command) -> Command {
    short_help(program).mut_subcommands(|command| below(command, ""))
}

fn below(command: Command, above: &str) -> Command {
    let name = format!("{above}{}", command.get_name());
    let examples = of(&name);
    let command = short_help(command).mut_subcommands(|one| below(one, &format!("{name} ")));
    if examples.is_empty() {
        return command;
    }
    let lines = examples.iter().take(SHOWN).map(|(line, what)| format!("  {line}\n      {what}"));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let own = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    command.after_help(format!("{own}Examples:\n{lines}"))
}

/// Examples that help shows at most.
const SHOWN: usize = 4;

fn short_help(command: Command) -> Command {
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    command
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .arg(help.help("Print help").display_order(901))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn every_example_is_parsed_by_its_command() {
        for (name, examples) in EXAMPLES {
            for (line, what) in *examples {
                assert!(line.starts_with(&format!("assay {name}")), "{line}");
                let parsed = Arguments::command().try_get_matches_from(line.split(' '));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                assert!(what.len() < 60 && !what.ends_with('.'), "{what}");
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        let mut left = vec![(String::new(), Arguments::command())];
        let mut count = 0;
        while let Some((above, command)) = left.pop() {
            for one in command.get_subcommands() {
                let name = format!("{above}{}", one.get_name());
                if one.has_subcommands() {
                    left.push((format!("{name} "), one.clone()));
                }
                if !one.is_subcommand_required_set() {
                    assert!(!of(&name).is_empty(), "no example of `assay {name}`");
                    count += 1;
                }
            }
        }
        assert_eq!(count, EXAMPLES.len());
    }
}
