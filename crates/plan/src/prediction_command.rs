//! The command line by which a generator predicts what it will use.

use assay_workload::{Invocation, Placeholders, Program, kind};

/// The command that predicts the footprint of a generator; `None` if it cannot predict.
pub(crate) fn prediction_command(invocation: &Invocation) -> Option<Vec<String>> {
    let kind_of_tool = kind(&invocation.tool)?;
    if kind_of_tool.program != Program::Load {
        return None;
    }
    // The location of its files is not known yet, and does not affect their size.
    let placeholders = Placeholders { directory: Some(".".to_owned()), ..Placeholders::default() };
    let words = invocation.words.iter().map(|word| placeholders.fill(word));
    let program = std::iter::once(invocation.program.clone());
    Some(program.chain(words).chain(["--predict".to_owned()]).collect())
}
