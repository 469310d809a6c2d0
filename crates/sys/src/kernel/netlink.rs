//! Requests to the kernel's network configuration by netlink (netlink(7), rtnetlink(7)): the few that
//! Assay needs, without depending on a tool that may be missing.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::kernel::error::Error;

/// Reply types and request flags (linux/netlink.h).
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_CREATE_NEW: u16 = 0x600;
/// `struct nlmsghdr`.
const HEADER: usize = 16;
/// `struct nlattr` without its value.
const ATTRIBUTE: usize = 4;

/// The body of a request: the fixed part of its type, then attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body(Vec<u8>);

impl Body {
    /// Starts with the fixed part.
    #[must_use]
    pub fn new(fixed: &[u8]) -> Self {
        Self(fixed.to_vec())
    }

    /// Appends an attribute.
    #[must_use]
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let length = (ATTRIBUTE + value.len()) as u16;
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(padded(self.0.len()), 0);
        self
    }

    /// Appends an attribute with a number.
    #[must_use]
    pub fn number(self, kind: u16, value: u32) -> Self {
        self.with(kind, &value.to_ne_bytes())
    }

    /// Appends an attribute with text and a terminating zero.
    #[must_use]
    pub fn text(self, kind: u16, value: &str) -> Self {
        self.with(kind, &[value.as_bytes(), &[0]].concat())
    }

    /// Appends an attribute that contains attributes.
    #[must_use]
    pub fn nested(self, kind: u16, inside: &Self) -> Self {
        self.with(kind, &inside.0)
    }
}

/// Everything in netlink is aligned to four bytes.
const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// The value of the first attribute of this kind among `attributes`.
#[must_use]
pub fn attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    while let Some((head, _)) = attributes.split_at_checked(ATTRIBUTE) {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = attributes.get(ATTRIBUTE..length)?;
        if u16::from_ne_bytes([head[2], head[3]]) == kind {
            return Some(value);
        }
        attributes = attributes.get(padded(length)..).unwrap_or_default();
    }
    None
}

/// An rtnetlink socket in the network namespace in which it was opened.
#[derive(Debug)]
pub struct Route(OwnedFd);

impl Route {
    /// Opens a socket.
    pub fn open() -> Result<Self, Error> {
        // Protocol 0 is NETLINK_ROUTE.
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)
            .map(Self)
            .map_err(|cause| Error::new("open", Path::new("rtnetlink"), &cause.into()))
    }

    /// Requests a change (`RTM_*`) and waits for the reply. `what` names it in an error.
    pub fn change(&self, what: &'static str, kind: u16, body: &Body) -> Result<(), Error> {
        self.request(what, kind, NLM_F_ACK, body).map(|_| ())
    }

    /// The same for an object that must not exist yet.
    pub fn add(&self, what: &'static str, kind: u16, body: &Body) -> Result<(), Error> {
        self.request(what, kind, NLM_F_ACK | NLM_F_CREATE_NEW, body).map(|_| ())
    }

    /// Lists all objects of a kind: one message for each, without its header.
    pub fn list(&self, what: &'static str, kind: u16, body: &Body) -> Result<Vec<Vec<u8>>, Error> {
        self.request(what, kind, NLM_F_DUMP, body)
    }

    fn request(
        &self,
        what: &'static str,
        kind: u16,
        flags: u16,
        body: &Body,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let wrong = |cause: io::Error| Error::new(what, Path::new("rtnetlink"), &cause);
        let request = message(kind, NLM_F_REQUEST | flags, body);
        rustix::net::send(&self.0, &request, SendFlags::empty())
            .map_err(|cause| wrong(cause.into()))?;
        let mut messages = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let (length, _) = rustix::net::recv(&self.0, &mut buffer[..], RecvFlags::empty())
                .map_err(|cause| wrong(cause.into()))?;
            if read(&buffer[..length], &mut messages).map_err(wrong)? {
                return Ok(messages);
            }
        }
    }
}

fn message(kind: u16, flags: u16, body: &Body) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + body.0.len());
    message.extend(((HEADER + body.0.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    // Sequence number and port id: not needed with one request at a time.
    message.extend([0; 8]);
    message.extend(&body.0);
    message
}

/// Extracts messages from received data. Returns whether the reply is complete; fails if it is an
/// error.
fn read(mut received: &[u8], messages: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
    while !received.is_empty() {
        let (head, _) = received.split_at_checked(HEADER).ok_or_else(short)?;
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let body = received.get(HEADER..length).ok_or_else(short)?;
        match u16::from_ne_bytes([head[4], head[5]]) {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = body.first_chunk().ok_or_else(short)?;
                return match i32::from_ne_bytes(*code) {
                    0 => Ok(true),
                    code => Err(io::Error::from_raw_os_error(-code)),
                };
            }
            _ => messages.push(body.to_vec()),
        }
        received = received.get(padded(length)..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_can_be_found() {
        let inside = Body::default().number(7, 0x0102_0304);
        let body = Body::new(&[9; 4]).text(1, "htb").nested(2, &inside).with(3, &[5]);
        assert_eq!(body.0.len(), 4 + 8 + 12 + 8);
        let attributes = &body.0[4..];
        assert_eq!(attribute(attributes, 1), Some(&b"htb\0"[..]));
        let nested = attribute(attributes, 2).unwrap();
        assert_eq!(attribute(nested, 7), Some(&0x0102_0304_u32.to_ne_bytes()[..]));
        assert_eq!(attribute(attributes, 3), Some(&[5][..]));
        assert_eq!(attribute(attributes, 4), None);
        assert_eq!(attribute(&[200, 0, 1, 0], 1), None, "a length beyond the end");
    }

    #[test]
    fn replies_end_with_an_acknowledgement_an_error_or_done() {
        let reply = |kind: u16, code: i32| message(kind, 0, &Body::new(&code.to_ne_bytes()));
        let mut messages = Vec::new();
        assert!(read(&reply(NLMSG_ERROR, 0), &mut messages).unwrap());
        let refused = read(&reply(NLMSG_ERROR, -17), &mut messages).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(17));
        let two = [reply(40, 1), reply(40, 2)].concat();
        assert!(!read(&two, &mut messages).unwrap());
        assert!(read(&reply(NLMSG_DONE, 0), &mut messages).unwrap());
        assert_eq!(messages.len(), 2);
        assert!(read(&two[..10], &mut messages).is_err());
    }
}
