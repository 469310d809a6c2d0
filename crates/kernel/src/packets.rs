//! Packets that nobody answers, sent on one network device (packet(7)): they reach the device's
//! queue as any other packet of the process does, and need neither addresses nor routes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::net::netdevice;

use crate::error::Error;

/// A type of Ethernet frames that is set aside for local experiments (IEEE 802, 0x88b5).
const TYPE: u16 = 0x88b5;
/// As long as the shortest Ethernet frame.
const PAYLOAD: [u8; 46] = [0; 46];

/// A sender in the network namespace in which it was opened, and in the group in which the
/// process is.
#[derive(Debug)]
pub struct Packets(OwnedFd);

impl Packets {
    /// Opens one that hears nothing (protocol 0). Needs CAP_NET_RAW.
    pub fn open() -> Result<Self, Error> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: socket(2) takes three numbers.
        let descriptor = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if descriptor < 0 {
            let cause = io::Error::last_os_error();
            return Err(Error::new("open", Path::new("packet socket"), &cause));
        }
        // SAFETY: socket(2) has just returned this descriptor, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// The number of a device of the sender's namespace.
    pub fn device(&self, name: &str) -> Result<u32, Error> {
        netdevice::name_to_index(&self.0, name)
            .map_err(|cause| Error::new("find network device", Path::new(name), &cause.into()))
    }

    /// Sends one packet to everybody on this device.
    pub fn send(&self, device: u32) -> Result<(), Error> {
        // SAFETY: all fields of sockaddr_ll are numbers, for which zeros are valid.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = TYPE.to_be();
        to.sll_ifindex = device as i32;
        to.sll_halen = 6;
        to.sll_addr = [0xff; 8];
        // SAFETY: payload and address live through the call and are passed with their sizes.
        let sent = unsafe {
            libc::sendto(
                self.0.as_raw_fd(),
                PAYLOAD.as_ptr().cast(),
                PAYLOAD.len(),
                0,
                std::ptr::from_ref(&to).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if sent == PAYLOAD.len() as isize {
            return Ok(());
        }
        let cause = io::Error::last_os_error();
        Err(Error::new("send", Path::new(&format!("network device {device}")), &cause))
    }
}
