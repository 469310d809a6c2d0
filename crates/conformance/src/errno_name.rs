//! The kernel's answers by the names that its documents use.

use assay_kernel::Error;
use rustix::io::Errno;

/// What the kernel answered; `None` when it agreed. An error without a number of the kernel's
/// counts as EIO.
#[must_use]
pub fn errno_name<T>(result: Result<T, Error>) -> Option<Errno> {
    let error = result.err()?;
    Some(error.errno.map_or(Errno::IO, Errno::from_raw_os_error))
}

/// An answer in words: `EAGAIN`, `errno 123`, or `success`.
#[must_use]
pub fn words(answer: Option<Errno>) -> String {
    let Some(errno) = answer else { return "success".to_owned() };
    let known = [
        (Errno::AGAIN, "EAGAIN"),
        (Errno::ACCESS, "EACCES"),
        (Errno::BUSY, "EBUSY"),
        (Errno::EXIST, "EEXIST"),
        (Errno::INVAL, "EINVAL"),
        (Errno::IO, "EIO"),
        (Errno::NODEV, "ENODEV"),
        (Errno::NOENT, "ENOENT"),
        (Errno::NOMEM, "ENOMEM"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::OPNOTSUPP, "EOPNOTSUPP"),
        (Errno::PERM, "EPERM"),
        (Errno::RANGE, "ERANGE"),
    ];
    known
        .into_iter()
        .find(|(number, _)| *number == errno)
        .map_or_else(|| format!("errno {}", errno.raw_os_error()), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_named_as_the_documents_do() {
        assert_eq!(words(Some(Errno::AGAIN)), "EAGAIN");
        assert_eq!(words(None), "success");
        assert_eq!(words(Some(Errno::XDEV)), format!("errno {}", Errno::XDEV.raw_os_error()));
    }
}
