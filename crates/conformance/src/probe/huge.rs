//! `huge page=BYTES`: takes huge pages as it is told. `map N` sets N pages aside, `promise N` maps
//! them without; both say `mapped` or `refused ERRNO`. `touch` writes to all pages of the last
//! mapping and says `page K` after each.

use std::io::{BufRead, Write};

use assay_kernel::huge_pages::HugePages;

use super::{Words, errno, say};

pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let page: usize = words.number("page", 2 << 20)?;
    let mut last: Option<(HugePages, usize)> = None;
    say(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        match line.split_once(' ') {
            Some((verb @ ("map" | "promise"), count)) => {
                let count = count.parse().map_err(|_| format!("`{line}`: how many pages?"))?;
                match HugePages::map(page, count, verb == "map") {
                    Ok(pages) => {
                        last = Some((pages, count));
                        say(out, "mapped")?;
                    }
                    Err(error) => say(out, &format!("refused {}", errno(&error)))?,
                }
            }
            None if line == "touch" => touch(&mut last, out)?,
            _ => return Err(format!("`{line}` is no order")),
        }
    }
    Ok(())
}

fn touch(last: &mut Option<(HugePages, usize)>, out: &mut dyn Write) -> Result<(), String> {
    if let Some((pages, count)) = last {
        for number in 0..*count {
            pages.touch(number);
            say(out, &format!("page {}", number + 1))?;
        }
    }
    say(out, "touched")
}
