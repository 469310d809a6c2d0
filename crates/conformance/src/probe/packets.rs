//! `packets where=inside|outside class=N,N`: sends packets on a network device whose queue sorts
//! them into these classes, and counts them there. After `ready` it says `sorts by MEANS`, or
//! `lacks WHY`; then it hears
//!
//! - `send N`: sends that many, and says `sent N`;
//! - `count`: says `count N N N`, for each class and for all others what has left the device.
//!
//! `inside` takes the loopback device of a network namespace of the probe's own and sorts by the
//! class of the sender's group. `outside` makes a pair of devices, one end in that namespace and
//! one, named `assay<pid>`, in the namespace it came from, and sends there; a packet's priority
//! says where it goes. Everything goes with the probe.

use std::io::{BufRead, Write};

use assay_kernel::netlink::Route;
use assay_kernel::packets::Packets;
use assay_kernel::tc::{Sorter, bring_up, counted, divide, make_pair, sort_by_group};
use assay_kernel::{Error, Root, namespace, tc_classifier};

use super::{Words, say};

/// The far end, in a namespace where nothing else is.
const FAR_END: &str = "assay";

/// A device to send on.
struct Wire {
    route: Route,
    packets: Packets,
    device: u32,
    /// What keeps the far end of a pair switched on.
    _far: Option<Route>,
}

pub(super) fn run(words: &Words, out: &mut dyn Write) -> Result<(), String> {
    let classes = words.numbers::<u32>("class")?;
    let outside = words.text("where") == Some("outside");
    say(out, "ready")?;
    let set_up = if outside { pair(&classes) } else { loopback(&classes) };
    let wire = match set_up {
        Ok((wire, means)) => {
            say(out, &format!("sorts by {means}"))?;
            wire
        }
        Err(error) => return say(out, &format!("lacks {}", error.to_string().replace('\n', "; "))),
    };
    let wrong = |error: Error| error.to_string();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|cause| cause.to_string())?;
        match line.split_once(' ') {
            None if line == "count" => {
                let seen = counted(&wire.route, wire.device, &classes).map_err(wrong)?;
                let numbers: Vec<String> =
                    seen.classes.iter().chain([&seen.rest]).map(u32::to_string).collect();
                say(out, &format!("count {}", numbers.join(" ")))?;
            }
            Some(("send", number)) => {
                let count: u32 = number.parse().map_err(|_| format!("`{line}`: how many?"))?;
                (0..count).try_for_each(|_| wire.packets.send(wire.device)).map_err(wrong)?;
                say(out, &format!("sent {count}"))?;
            }
            _ => return Err(format!("`{line}` is no order")),
        }
    }
    Ok(())
}

fn loopback(classes: &[u32]) -> Result<(Wire, &'static str), Error> {
    namespace::own_network()?;
    let (route, packets) = (Route::open()?, Packets::open()?);
    let device = packets.device("lo")?;
    bring_up(&route, device)?;
    divide(&route, device, classes)?;
    let means = match sort_by_group(&route, device, tc_classifier::class_of_sender)? {
        Sorter::Cgroup => "the classifier cgroup",
        Sorter::Program => "an eBPF program, for this kernel has no classifier cgroup",
    };
    Ok((Wire { route, packets, device, _far: None }, means))
}

/// A socket belongs to the namespace in which it was opened, wherever the process goes.
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
