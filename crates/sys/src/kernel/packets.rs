//! Unanswered packets sent on one network device (packet(7)): they pass through the device's queue like
//! any other packet of the process, but need neither addresses nor routes.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::net::netdevice;

use crate::kernel::error::Error;

/// An EtherType reserved for local experiments (IEEE 802, 0x88b5).
const TYPE: u16 = 0x88b5;
/// The length of the shortest Ethernet frame.
const PAYLOAD: [u8; 46] = [0; 46];

/// A sender in the network namespace in which it was opened, and in the control group of the process.
#[derive(Debug)]
pub struct Packets(OwnedFd);

impl Packets {
    /// Opens a socket that receives nothing (protocol 0). Needs CAP_NET_RAW.
    pub fn open() -> Result<Self, Error> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: socket(2) takes three numbers.
        let descriptor = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if descriptor < 0 {
            let cause = io::Error::last_os_error();
            return Err(Error::new("open", Path::new("packet socket"), &cause));
        }
        // SAFETY: socket(2) has just returned this descriptor, and it is not used elsewhere.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// The index of a device in the sender's namespace.
    pub fn device(&self, name: &str) -> Result<u32, Error> {
        netdevice::name_to_index(&self.0, name)
            .map_err(|cause| Error::new("find network device", Path::new(name), &cause.into()))
    }

    /// Broadcasts one packet on this device.
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
