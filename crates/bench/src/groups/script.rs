//! The same job as scripts for sh. Each makes all groups first, then sets, reads and removes.

use std::fmt::Write;

use super::{Field, Place};

/// What precedes every script: it stops at the first failure.
const HEAD: &str = "set -eu\n";

fn each(count: usize, body: &str) -> String {
    format!("i=1\nwhile [ $i -le {count} ]; do\n{body}i=$((i + 1))\ndone\n")
}

/// `-r file=value` for every file.
fn settings(field: &Field) -> String {
    let files = field.homes.iter().flat_map(|place| &place.files);
    files.map(|(file, value)| format!(" -r {file}={value}")).collect()
}

/// `-r file` for every file.
fn names(field: &Field) -> String {
    field
        .homes
        .iter()
        .flat_map(|place| &place.files)
        .map(|(file, _)| format!(" -r {file}"))
        .collect()
}

/// `-g controllers:TOP/group`, as cgcreate takes it.
fn of_group(field: &Field, group: &str) -> String {
    let all: Vec<&str> =
        field.homes.iter().flat_map(|place| place.controllers.iter().copied()).collect();
    format!(" -g {}:{}/{group}", all.join(","), top(field))
}

/// The top group has the same name in every hierarchy.
fn top(field: &Field) -> &str {
    field.homes.first().map_or("", |place| place.name.as_str())
}

/// One call of each tool for each group, as people write it. cgdelete is called for each
/// hierarchy: of several controllers on one line, libcgroup 2.0.2 removes the group of one alone.
pub(super) fn tools_for_each(field: &Field) -> String {
    let top = top(field);
    let mut text = HEAD.to_owned();
    text += &each(field.count, &format!("cgcreate{}\n", of_group(field, "g$i")));
    text += &each(field.count, &format!("cgset{} {top}/g$i\n", settings(field)));
    text += &each(field.count, &format!("cgget -n -v{} {top}/g$i\n", names(field)));
    let removes: String = field
        .homes
        .iter()
        .map(|place| format!("cgdelete -g {}:{top}/g$i\n", place.controllers.join(",")))
        .collect();
    text + &each(field.count, &removes)
}

/// As few calls as the tools allow: all groups on one command line, and one recursive removal a
/// hierarchy.
pub(super) fn tools_at_once(field: &Field) -> String {
    let groups: Vec<String> = (1..=field.count).map(|number| format!("all/g{number}")).collect();
    let paths: String = groups.iter().map(|group| format!(" {}/{group}", top(field))).collect();
    let made: String = groups.iter().map(|group| of_group(field, group)).collect();
    let mut text = HEAD.to_owned();
    // A formatting error cannot happen when writing into a String.
    let _ = writeln!(text, "cgcreate{}{made}", of_group(field, "all"));
    let _ = writeln!(text, "cgset{}{paths}", settings(field));
    let _ = writeln!(text, "cgget -n -v{}{paths}", names(field));
    for place in &field.homes {
        let _ = writeln!(text, "cgdelete -r -g {}:{}/all", place.controllers.join(","), top(field));
    }
    text
}

/// mkdir, echo, cat and rmdir for each group.
pub(super) fn shell_for_each(field: &Field) -> String {
    let directory = |place: &Place| format!("{}/g$i", place.top().display());
    let directories: String =
        field.homes.iter().map(|place| format!(" {}", directory(place))).collect();
    let mut text = HEAD.to_owned();
    text += &controllers_down(field);
    text += &each(field.count, &format!("mkdir{directories}\n"));
    let files = |line: &dyn Fn(&str, &str) -> String| -> String {
        let lines = field.homes.iter().flat_map(|place| {
            place
                .files
                .iter()
                .map(|(file, value)| line(&format!("{}/{file}", directory(place)), value))
        });
        lines.collect()
    };
    text += &each(field.count, &files(&|file, value| format!("echo {value} > {file}\n")));
    text += &each(field.count, &files(&|file, _| format!("cat {file}\n")));
    text + &each(field.count, &format!("rmdir{directories}\n"))
}

/// One mkdir and one rmdir for all, and nothing started for each group.
pub(super) fn shell_at_once(field: &Field) -> String {
    let mut text = HEAD.to_owned();
    text += &controllers_down(field);
    let directories: String = field
        .homes
        .iter()
        .flat_map(|place| {
            (1..=field.count).map(|number| format!(" {}/g{number}", place.top().display()))
        })
        .collect();
    let _ = writeln!(text, "mkdir{directories}");
    let files = field.homes.iter().flat_map(|place| {
        let directory = place.top();
        place
            .files
            .iter()
            .map(move |(file, value)| (format!("{}/g$i/{file}", directory.display()), value))
    });
    let (mut sets, mut reads) = (String::new(), String::new());
    for (file, value) in files {
        let _ = writeln!(sets, "echo {value} > {file}");
        let _ = writeln!(reads, "read value < {file}; echo $value");
    }
    text += &each(field.count, &sets);
    text += &each(field.count, &reads);
    let _ = writeln!(text, "rmdir{directories}");
    text
}

/// On cgroup v2 the top group must hand its controllers down; libcgroup does that by itself.
fn controllers_down(field: &Field) -> String {
    let v2 = field.homes.iter().filter(|place| place.home.is_v2);
    v2.map(|place| {
        let wanted: Vec<String> = place.controllers.iter().map(|name| format!("+{name}")).collect();
        format!("echo {} > {}/cgroup.subtree_control\n", wanted.join(" "), place.top().display())
    })
    .collect()
}
