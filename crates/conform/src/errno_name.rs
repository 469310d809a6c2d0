//! Names of errors returned by the kernel.

use assay_sys::kernel::Error;
use rustix::io::Errno;

/// The errno of a failed request; `None` if it succeeded. An error without a kernel errno counts as
/// EIO.
#[must_use]
pub fn errno_of<T>(result: Result<T, Error>) -> Option<Errno> {
    let error = result.err()?;
    Some(error.errno.map_or(Errno::IO, errno_numbered))
}

/// The errno of this number. One that the kernel does not use, such as 0 for an error without any, counts as EIO: rustix panics.
#[must_use]
pub fn errno_numbered(number: i32) -> Errno {
    match number {
        1..4096 => Errno::from_raw_os_error(number),
        _ => Errno::IO,
    }
}

/// An errno as text: `EAGAIN`, `errno 123`, or `success`.
#[must_use]
pub fn errno_text(answer: Option<Errno>) -> String {
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
    fn errnos_are_named_as_in_the_kernel_documents() {
        assert_eq!(errno_text(Some(Errno::AGAIN)), "EAGAIN");
        assert_eq!(errno_text(None), "success");
        assert_eq!([0, -1, 4096].map(errno_numbered), [Errno::IO; 3]);
        assert_eq!(errno_text(Some(Errno::XDEV)), format!("errno {}", Errno::XDEV.raw_os_error()));
    }
}
