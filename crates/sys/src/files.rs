//! The only code that creates, replaces and removes files.
//!
//! Everything works from a directory descriptor: no link below it is followed, names of drafts cannot
//! be guessed, nothing that exists is opened for writing by accident, and only what was created here,
//! known by device and inode, is removed. Files that someone else may have put there are read as
//! regular files up to a size limit, without blocking. A folder that someone else may change while root
//! works in it is refused ([`check`]); the directory that was checked is the one that is used.

mod caller;
mod copy;
mod dir;
mod draft;
mod error;
mod hand_over;
mod identity;
mod output;
mod owner;
mod read;
mod resolve;
mod search;
mod tree;
mod usage;

pub use caller::Caller;
pub use copy::Budget;
pub use dir::Dir;
pub use draft::Draft;
pub use error::Error;
pub use identity::Identity;
pub use output::{Output, output, output_dir, replace};
pub use owner::{Checked, Trust};
pub use read::{input, input_text};
pub use resolve::check;
pub use search::{directories, search_path};

/// The largest size of a study, of the files it names, and of documents named by users, in bytes.
pub const MOST_TEXT: u64 = 64 << 20;
