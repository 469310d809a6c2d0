//! Modules beside each other use each other in one direction only.
//!
//! A module and those inside it are one unit to the modules beside it; a parent and its children may
//! use each other. What files use is read from the paths in them that begin with `crate` or `super`,
//! through the re-exports of their parents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tree::{crate_of, files_of_crates, is_test, root};

/// A module's path within its crate; that of the root is empty.
type Module = Vec<String>;

/// The modules of one crate with their texts.
type Modules = BTreeMap<Module, String>;

/// The product's crates, without tests.
fn crates() -> BTreeMap<String, Modules> {
    let mut crates: BTreeMap<String, Modules> = BTreeMap::new();
    for path in files_of_crates("rs").into_iter().filter(|path| !is_test(path)) {
        let name = crate_of(&path);
        let Ok(inside) = path.strip_prefix(root().join("crates").join(&name).join("src")) else {
            continue;
        };
        let text = std::fs::read_to_string(&path).unwrap();
        let program = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = program.lines().map(|line| line.split("//").next().unwrap());
        let lines: Vec<&str> = lines.collect();
        crates.entry(name).or_default().insert(module(inside), lines.join("\n"));
    }
    crates
}

fn module(file: &Path) -> Module {
    let mut module: Module =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let name = module.last().unwrap();
    if name == "mod" || module.len() == 1 && ["lib", "main"].contains(&name.as_str()) {
        module.pop();
    }
    module
}

/// Names, `::`, and other characters that are not blank.
fn tokens(text: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match rest.find(|c| !is_name(c)) {
            Some(0) if rest.starts_with("::") => 2,
            Some(0) => first.len_utf8(),
            end => end.unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// The paths of a `use`, or a single one: `a::{b, c::d as e}` is `a::b` and `a::c::d`. Also returns the
/// number of tokens.
fn paths(tokens: &[&str]) -> (Vec<Module>, usize) {
    let (mut paths, mut path, mut outer) = (Vec::new(), Module::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            "::" | "*" => {}
            "{" if at > 0 && tokens[at - 1] == "::" => outer.push(path.len()),
            "," | "}" if !outer.is_empty() => {
                paths.push(path.clone());
                path.truncate(outer[outer.len() - 1]);
                if tokens[at] == "}" {
                    outer.pop();
                }
            }
            "as" if !outer.is_empty() => at += 1,
            name if name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && (at == 0 || ["::", "{", ","].contains(&tokens[at - 1])) =>
            {
                path.push(name.to_owned());
            }
            _ => break,
        }
        at += 1;
        if outer.is_empty() && tokens[at - 1] == "}" {
            return (paths, at);
        }
    }
    paths.push(path);
    (paths, at)
}

/// The path from the crate's root, if it is one within the crate.
fn absolute(path: &[String], user: &Module, modules: &Modules) -> Option<Module> {
    let (first, mut rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Module::new(),
        "self" => user.clone(),
        "super" => user[..user.len().checked_sub(1)?].to_vec(),
        child => {
            let inside = [user.as_slice(), &[child.to_owned()]].concat();
            modules.contains_key(&inside).then_some(inside)?
        }
    };
    while rest.first().is_some_and(|next| next == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend(rest.iter().filter(|name| *name != "self").cloned());
    Some(base)
}

/// The length of the longest part of `path` that is a module.
fn module_in(path: &[String], modules: &Modules) -> usize {
    (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length])).unwrap_or(0)
}

/// What modules re-export: the name with its module in front, and where it comes from.
fn reexports(modules: &Modules) -> BTreeMap<Module, Module> {
    let mut found = BTreeMap::new();
    for (module, text) in modules {
        let tokens = tokens(text);
        for at in (0..tokens.len()).filter(|at| tokens[*at] == "use") {
            if at == 0 || !["pub", ")"].contains(&tokens[at - 1]) {
                continue;
            }
            for path in paths(&tokens[at + 1..]).0 {
                let name = path.last().cloned().unwrap_or_default();
                if let Some(from) = absolute(&path, module, modules) {
                    found.insert([module.as_slice(), &[name]].concat(), from);
                }
            }
        }
    }
    found
}

/// The modules beside each other of which one, or a module inside it, uses the other.
fn uses(modules: &Modules) -> BTreeSet<(Module, Module)> {
    let reexports = reexports(modules);
    let mut uses = BTreeSet::new();
    for (user, text) in modules {
        let tokens = tokens(text);
        let begins = |at: &usize| {
            ["crate", "super"].contains(&tokens[*at]) && (*at == 0 || tokens[*at - 1] != "::")
        };
        for path in (0..tokens.len()).filter(begins).flat_map(|at| paths(&tokens[at..]).0) {
            let Some(mut used) = absolute(&path, user, modules) else { continue };
            // A parent's re-export is a use of where the name comes from.
            while let Some(from) = used
                .get(..=module_in(&used, modules))
                .filter(|name| user.starts_with(&name[..name.len() - 1]))
                .and_then(|name| reexports.get(name))
            {
                used.clone_from(from);
            }
            used.truncate(module_in(&used, modules));
            let common = user.iter().zip(&used).take_while(|(own, other)| own == other).count();
            if common < user.len() && common < used.len() {
                uses.insert((user[..=common].to_vec(), used[..=common].to_vec()));
            }
        }
    }
    uses
}

/// Those uses that are part of a circle, or lead from one circle to another.
fn circles(modules: &Modules) -> BTreeSet<String> {
    let mut left = uses(modules);
    loop {
        let before = left.len();
        let users: BTreeSet<Module> = left.iter().map(|(user, _)| user.clone()).collect();
        let used: BTreeSet<Module> = left.iter().map(|(_, used)| used.clone()).collect();
        left.retain(|(one, other)| used.contains(one) && users.contains(other));
        if left.len() == before {
            let shown = |(user, used): &(Module, Module)| {
                format!("{} uses {}", user.join("::"), used.join("::"))
            };
            return left.iter().map(shown).collect();
        }
    }
}

#[test]
fn modules_use_those_beside_them_in_one_direction_only() {
    let crates = crates();
    assert!(crates.values().map(|modules| uses(modules).len()).sum::<usize>() > 1000);
    let found = crates.iter().flat_map(|(name, modules)| {
        circles(modules).into_iter().map(move |circle| format!("{name}: {circle}"))
    });
    let found: Vec<String> = found.collect();
    assert!(
        found.is_empty(),
        "move what both need into a module that needs neither:\n{}",
        found.join("\n")
    );
}

#[test]
fn circles_are_found_through_groups_children_and_reexports() {
    let circles_of = |texts: &[(&str, &str)]| {
        let modules =
            texts.iter().map(|(path, text)| (module(Path::new(path)), (*text).to_owned()));
        circles(&modules.collect()).into_iter().collect::<Vec<_>>().join(", ")
    };
    let a = ("a.rs", "use crate::{b::{self, X as Z}, c};");
    let none = [("lib.rs", "mod a; mod b; pub(crate) use a::Y;"), a, ("b.rs", ""), ("c.rs", "")];
    assert_eq!(circles_of(&none), "");
    let found = "a uses b, b uses a";
    for back in ["fn f() -> super::a::Y { }", "use crate::Y;", "use super::{Y};"] {
        let mut texts = none;
        texts[2].1 = back;
        assert_eq!(circles_of(&texts), found, "{back}");
    }
    let child = [a, ("b.rs", "mod d; use d::D;"), ("b/d.rs", "use super::X; use super::super::a;")];
    assert_eq!(circles_of(&child), found);
    assert_eq!(circles_of(&child[1..]), "");
}
