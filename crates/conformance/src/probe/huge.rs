//! `huge page=BYTES`: allocates huge pages on command. `map N` reserves N pages, `promise N` maps
//! them without a reservation; both print `mapped` or `refused ERRNO`. `touch` writes to all pages
//! of the last mapping and prints `page K` after each.

use std::io::{BufRead, Write};

use assay_kernel::huge_pages::HugePages;

use super::{Arguments, errno, print};

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let page: usize = arguments.number("page", 2 << 20)?;
    let mut last: Option<(HugePages, usize)> = None;
    print(out, "ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        match line.split_once(' ') {
            Some((verb @ ("map" | "promise"), count)) => {
                let count =
                    count.parse().map_err(|_| format!("`{line}`: missing number of pages"))?;
                match HugePages::map(page, count, verb == "map") {
                    Ok(pages) => {
                        last = Some((pages, count));
                        print(out, "mapped")?;
                    }
                    Err(error) => print(out, &format!("refused {}", errno(&error)))?,
                }
            }
            None if line == "touch" => touch(&mut last, out)?,
            _ => return Err(format!("unknown probe command `{line}`")),
        }
    }
    Ok(())
}

fn touch(last: &mut Option<(HugePages, usize)>, out: &mut dyn Write) -> Result<(), String> {
    if let Some((pages, count)) = last {
        for number in 0..*count {
            pages.touch(number);
            print(out, &format!("page {}", number + 1))?;
        }
    }
    print(out, "touched")
}
