//! The same work as sh scripts. Each creates all groups, then sets, reads and removes them.

use std::fmt::Write;

use super::{Setup, TopGroup};

/// First line of every script: it stops at the first failure.
const HEAD: &str = "set -eu\n";

fn each(count: usize, body: &str) -> String {
    format!("i=1\nwhile [ $i -le {count} ]; do\n{body}i=$((i + 1))\ndone\n")
}

/// `-r file=value` for every file.
fn settings(setup: &Setup) -> String {
    let files = setup.hierarchies.iter().flat_map(|top_group| &top_group.files);
    files.map(|(file, value)| format!(" -r {file}={value}")).collect()
}

/// `-r file` for every file.
fn names(setup: &Setup) -> String {
    setup
        .hierarchies
        .iter()
        .flat_map(|top_group| &top_group.files)
        .map(|(file, _)| format!(" -r {file}"))
        .collect()
}

/// `-g controllers:TOP/group`, as for cgcreate.
fn of_group(setup: &Setup, group: &str) -> String {
    let all: Vec<&str> = setup
        .hierarchies
        .iter()
        .flat_map(|top_group| top_group.controllers.iter().copied())
        .collect();
    format!(" -g {}:{}/{group}", all.join(","), top(setup))
}

/// The top group has the same name in every hierarchy.
fn top(setup: &Setup) -> &str {
    setup.hierarchies.first().map_or("", |top_group| top_group.name.as_str())
}

/// One call of each tool per group, as commonly written. cgdelete is called for each hierarchy:
/// given several controllers on one command line, libcgroup 2.0.2 removes the group of only one.
pub(super) fn tools_for_each(setup: &Setup) -> String {
    let top = top(setup);
    let mut text = HEAD.to_owned();
    text += &each(setup.count, &format!("cgcreate{}\n", of_group(setup, "g$i")));
    text += &each(setup.count, &format!("cgset{} {top}/g$i\n", settings(setup)));
    text += &each(setup.count, &format!("cgget -n -v{} {top}/g$i\n", names(setup)));
    let removes: String = setup
        .hierarchies
        .iter()
        .map(|top_group| format!("cgdelete -g {}:{top}/g$i\n", top_group.controllers.join(",")))
        .collect();
    text + &each(setup.count, &removes)
}

/// As few calls as the tools allow: all groups on one command line, and one recursive removal per
/// hierarchy.
pub(super) fn tools_at_once(setup: &Setup) -> String {
    let groups: Vec<String> = (1..=setup.count).map(|number| format!("all/g{number}")).collect();
    let paths: String = groups.iter().map(|group| format!(" {}/{group}", top(setup))).collect();
    let made: String = groups.iter().map(|group| of_group(setup, group)).collect();
    let mut text = HEAD.to_owned();
    // A formatting error cannot happen when writing into a String.
    let _ = writeln!(text, "cgcreate{}{made}", of_group(setup, "all"));
    let _ = writeln!(text, "cgset{}{paths}", settings(setup));
    let _ = writeln!(text, "cgget -n -v{}{paths}", names(setup));
    for top_group in &setup.hierarchies {
        let _ =
            writeln!(text, "cgdelete -r -g {}:{}/all", top_group.controllers.join(","), top(setup));
    }
    text
}

/// mkdir, echo, cat and rmdir for each group.
pub(super) fn shell_for_each(setup: &Setup) -> String {
    let directory = |top_group: &TopGroup| format!("{}/g$i", top_group.top().display());
    let directories: String =
        setup.hierarchies.iter().map(|top_group| format!(" {}", directory(top_group))).collect();
    let mut text = HEAD.to_owned();
    text += &controllers_down(setup);
    text += &each(setup.count, &format!("mkdir{directories}\n"));
    let files = |line: &dyn Fn(&str, &str) -> String| -> String {
        let lines = setup.hierarchies.iter().flat_map(|top_group| {
            top_group
                .files
                .iter()
                .map(|(file, value)| line(&format!("{}/{file}", directory(top_group)), value))
        });
        lines.collect()
    };
    text += &each(setup.count, &files(&|file, value| format!("echo {value} > {file}\n")));
    text += &each(setup.count, &files(&|file, _| format!("cat {file}\n")));
    text + &each(setup.count, &format!("rmdir{directories}\n"))
}

/// One mkdir and one rmdir for all, and no process per group.
pub(super) fn shell_at_once(setup: &Setup) -> String {
    let mut text = HEAD.to_owned();
    text += &controllers_down(setup);
    let directories: String = setup
        .hierarchies
        .iter()
        .flat_map(|top_group| {
            (1..=setup.count).map(|number| format!(" {}/g{number}", top_group.top().display()))
        })
        .collect();
    let _ = writeln!(text, "mkdir{directories}");
    let files = setup.hierarchies.iter().flat_map(|top_group| {
        let directory = top_group.top();
        top_group
            .files
            .iter()
            .map(move |(file, value)| (format!("{}/g$i/{file}", directory.display()), value))
    });
    let (mut sets, mut reads) = (String::new(), String::new());
    for (file, value) in files {
        let _ = writeln!(sets, "echo {value} > {file}");
        let _ = writeln!(reads, "read value < {file}; echo $value");
    }
    text += &each(setup.count, &sets);
    text += &each(setup.count, &reads);
    let _ = writeln!(text, "rmdir{directories}");
    text
}

/// On cgroup v2 the top group must enable its controllers for children; libcgroup does that itself.
fn controllers_down(setup: &Setup) -> String {
    let v2 = setup.hierarchies.iter().filter(|top_group| top_group.hierarchy.is_v2);
    v2.map(|top_group| {
        let enabled: Vec<String> =
            top_group.controllers.iter().map(|name| format!("+{name}")).collect();
        format!(
            "echo {} > {}/cgroup.subtree_control\n",
            enabled.join(" "),
            top_group.top().display()
        )
    })
    .collect()
}
