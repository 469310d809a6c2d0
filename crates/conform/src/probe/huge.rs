//! `huge page=BYTES`: allocates huge pages on command. `map N` reserves N pages, `promise N` maps
//! them without a reservation; both print `mapped` or `refused ERRNO`. `touch` writes to all pages
//! of the last mapping and prints `page K` after each.

use std::io::Write;

use assay_sys::kernel::huge_pages::HugePages;

use super::{Arguments, number, print, refused_or, serve};

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let page: usize = arguments.number("page", 2 << 20)?;
    let mut last: Option<(HugePages, usize)> = None;
    serve(out, |words, out| match words {
        [verb @ ("map" | "promise"), count] => {
            let count = number(count)?;
            let mapped = HugePages::map(page, count, *verb == "map");
            let mapped = mapped.map(|pages| last = Some((pages, count)));
            Ok(Some(refused_or(mapped, "mapped")))
        }
        ["touch"] => {
            if let Some((pages, count)) = &mut last {
                for number in 0..*count {
                    pages.touch(number);
                    print(out, &format!("page {}", number + 1))?;
                }
            }
            Ok(Some("touched".to_owned()))
        }
        _ => Ok(None),
    })
}
