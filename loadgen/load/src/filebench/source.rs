//! Loads a script from a file, with the files it loads, or one of the four classic workloads by
//! name.

use std::path::Path;

use super::classic;
use super::language::{Command, Script, format_mistakes, parse};
use super::resolve::{Overrides, resolve};
use super::workload::Workload;
use crate::failure::Failure;
use crate::input;

/// Maximum nesting of `load`.
const MAX_DEPTH: usize = 8;

/// Reads and resolves a script; mistakes are reported with file, line, column and remedy.
pub(super) fn workload(path: &Path, overrides: &Overrides) -> Result<Workload, Failure> {
    let script = script(path, MAX_DEPTH)?;
    let file = path.display().to_string();
    resolve(&script, overrides)
        .map_err(|mistakes| Failure::usage(format_mistakes(&file, &mistakes)))
}

fn script(path: &Path, depth: usize) -> Result<Script, Failure> {
    let text = text(path)?;
    let file = path.display().to_string();
    let script =
        parse(&text).map_err(|mistakes| Failure::usage(format_mistakes(&file, &mistakes)))?;
    let mut whole = Script { statements: Vec::new(), unknown: script.unknown };
    for statement in script.statements {
        match &statement.command {
            Command::Load(name) if depth > 0 => {
                let mut beside = path.with_file_name(name);
                if beside.extension().is_none() {
                    beside.set_extension("f");
                }
                let loaded = self::script(&beside, depth - 1)?;
                whole.statements.extend(loaded.statements);
                whole.unknown.extend(loaded.unknown);
            }
            _ => whole.statements.push(statement),
        }
    }
    Ok(whole)
}

fn text(path: &Path) -> Result<String, Failure> {
    let bytes = match input::read(path, input::MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) => {
            return path.to_str().and_then(classic::text).ok_or_else(|| {
                Failure::usage(format!(
                    "cannot read {}: {error}\n  hint: give the path of a .f file, or one of {}",
                    path.display(),
                    classic::NAMES.join(", ")
                ))
            });
        }
    };
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!(
            "{} is not a text file: byte {at} is not UTF-8\n  hint: give a .f file",
            path.display()
        ))
    })
}
