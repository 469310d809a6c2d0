//! The one door through which files are created, replaced and removed.
//!
//! Everything works from the descriptor of a directory: no link is followed below it, names of
//! drafts cannot be guessed, nothing that exists is opened for writing by accident, and what is
//! removed is what was made, known by device and inode. What somebody else may have put there is
//! read as a regular file of at most so many bytes, and never waited for. A folder that somebody else
//! may change while root works in it is refused ([`check`]); what was looked at is what is used.

mod copy;
mod dir;
mod draft;
mod error;
mod hand_over;
mod output;
mod owner;
mod read;
mod resolve;
mod search;
mod tree;

pub use copy::Budget;
pub use dir::Dir;
pub use draft::Draft;
pub use error::Error;
pub use output::{Output, create_new, output, output_dir, replace};
pub use owner::{Caller, Checked, Trust, check};
pub use read::{input, input_text};
pub use search::{directories, search_path};
pub use tree::Identity;
