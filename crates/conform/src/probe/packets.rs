//! `packets where=inside|outside class=N,N`: sends packets on a network device whose queue sorts
//! them into these classes, and counts them there. After `ready` it prints `sorts by MEANS`, or
//! `lacks WHY`; then it accepts
//!
//! - `send N`: sends N packets and prints `sent N`;
//! - `count`: prints `count N N N`, the packets that left the device in each class and in none.
//!
//! `inside` uses the loopback device of the probe's own network namespace and sorts by the class of
//! the sender's group. `outside` creates a pair of devices, one end in that namespace and one,
//! named `assay<pid>`, in the original namespace, and sends there; it sorts by packet priority.
//! Everything is removed when the probe ends.

use std::io::Write;

use assay_sys::kernel::netlink::Route;
use assay_sys::kernel::packets::Packets;
use assay_sys::kernel::tc::{
    Classifier, bring_up, divide, make_pair, packet_counts, sort_by_group,
};
use assay_sys::kernel::{Error, Root, namespace, tc_classifier};

use super::{Arguments, answer, number, print, shown};

/// Name of the far end, in a namespace without other devices.
const FAR_END: &str = "assay";

/// A device to send on.
struct Wire {
    route: Route,
    packets: Packets,
    device: u32,
    /// Keeps the far end of a pair up.
    _far: Option<Route>,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), String> {
    let classes = arguments.numbers::<u32>("class")?;
    let outside = arguments.text("where") == Some("outside");
    print(out, "ready")?;
    let (wire, means) = match if outside { pair(&classes) } else { loopback(&classes) } {
        Ok(set_up) => set_up,
        Err(error) => {
            return print(out, &format!("lacks {}", error.to_string().replace('\n', "; ")));
        }
    };
    print(out, &format!("sorts by {means}"))?;
    answer(out, |words, _| match words {
        ["count"] => {
            let counts = packet_counts(&wire.route, wire.device, &classes).map_err(shown)?;
            let numbers = counts.classes.iter().chain([&counts.rest]).map(u32::to_string);
            Ok(Some(format!("count {}", numbers.collect::<Vec<String>>().join(" "))))
        }
        ["send", packets] => {
            let count: u32 = number(packets)?;
            (0..count).try_for_each(|_| wire.packets.send(wire.device)).map_err(shown)?;
            Ok(Some(format!("sent {count}")))
        }
        _ => Ok(None),
    })
}

fn loopback(classes: &[u32]) -> Result<(Wire, &'static str), Error> {
    namespace::own_network()?;
    let (route, packets) = (Route::open()?, Packets::open()?);
    let device = packets.device("lo")?;
    bring_up(&route, device)?;
    divide(&route, device, classes)?;
    let means = match sort_by_group(&route, device, tc_classifier::class_of_sender)? {
        Classifier::Cgroup => "the classifier cgroup",
        Classifier::Program => "an eBPF program, since this kernel has no classifier cgroup",
    };
    Ok((Wire { route, packets, device, _far: None }, means))
}

/// A socket belongs to the namespace in which it was opened, even if its process changes namespace.
fn pair(classes: &[u32]) -> Result<(Wire, &'static str), Error> {
    let (route, packets) = (Route::open()?, Packets::open()?);
    let outside = namespace::network(&Root::real())?;
    namespace::own_network()?;
    let (far, far_packets) = (Route::open()?, Packets::open()?);
    let name = format!("assay{}", std::process::id());
    make_pair(&far, FAR_END, &outside, &name)?;
    bring_up(&far, far_packets.device(FAR_END)?)?;
    let device = packets.device(&name)?;
    bring_up(&route, device)?;
    divide(&route, device, classes)?;
    Ok((Wire { route, packets, device, _far: Some(far) }, "priority"))
}
