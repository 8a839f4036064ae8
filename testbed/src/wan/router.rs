//! The WAN itself: a router in user space, with a TUN device in every network that it joins.
//!
//! It moves IPv4 packets by their destination, counts them, and loses or delays some where it is told to. (This kernel
//! has no `netem`, and `tc` would not count by tier.)

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_tun::Tun;

use super::packet::{Packet, payload};
use super::recording::Recording;
use super::traffic::Traffic;
use super::weather::{Fate, Weather};
use crate::namespace::Entrance;
use crate::network::{EVERYTHING, Network};

/// The name of the device in each namespace.
const DEVICE: &str = "wan";

const INSTALL_TUN: &str = "cannot make a TUN device: /dev/net/tun must be there (`modprobe tun`) and ours to write";

/// The longest packet that a device gives.
const MAX_PACKET: usize = 65_536;

/// How many packets may be late at a time; more are lost, as a router's queue is bounded.
const MAX_LATE: usize = 65_536;

/// A running router. Nobody reaches anybody once it is dropped.
#[derive(Debug)]
pub(super) struct Router {
    runtime: Handle,
    state: Arc<Mutex<State>>,
    /// Rung when another packet is late.
    wake: Arc<Notify>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    devices: BTreeMap<Network, Arc<Tun>>,
    traffic: Traffic,
    weather: Weather,
    recording: Option<Recording>,
    /// The late packets, by the time when they are due and their turn.
    late: BTreeMap<(Instant, u64), Late>,
    number: u64,
}

/// A packet that is late, and the device that it goes to.
struct Late {
    device: Arc<Tun>,
    bytes: Box<[u8]>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("State").field("networks", &self.devices.keys()).finish_non_exhaustive()
    }
}

impl Router {
    /// Starts it, with nobody to route for. Chance is drawn from the seed.
    pub(super) fn start(seed: u64) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("wan".to_owned()).spawn(move || {
            // Either way it is told to end.
            let _ = runtime.block_on(stopped);
        })?;
        let state = State {
            devices: BTreeMap::new(),
            traffic: Traffic::default(),
            weather: Weather::new(seed),
            recording: None,
            late: BTreeMap::new(),
            number: 0,
        };
        let (state, wake) = (Arc::new(Mutex::new(state)), Arc::new(Notify::new()));
        handle.spawn(deliver_late(Arc::clone(&state), Arc::clone(&wake)));
        Ok(Self { runtime: handle, state, wake, stop: Some(stop), thread: Some(thread) })
    }

    /// Joins a network by a device in its namespace, to which it routes everything that is elsewhere. With an address:
    /// the namespace has no other.
    pub(super) async fn join(&self, network: Network, namespace: &Entrance, host: Option<u8>) -> Result<()> {
        let runtime = self.runtime.clone();
        let make = move || {
            // The device is of the namespace that it is made in, its events go to the router's thread.
            let _entered = runtime.enter();
            Tun::builder().name(DEVICE).build()
        };
        let mut devices = namespace.run(make).await?.context(INSTALL_TUN)?;
        let device = Arc::new(devices.pop().context("there is no TUN device")?);
        let address = host.map(|host| format!("address add {}/32 dev {DEVICE}", network.host(host)));
        let commands = [format!("link set {DEVICE} up"), format!("route add {EVERYTHING} dev {DEVICE}")];
        namespace.ip(&address.into_iter().chain(commands).collect::<Vec<_>>()).await?;
        lock(&self.state).devices.insert(network, Arc::clone(&device));
        self.runtime.spawn(carry(network, device, Arc::clone(&self.state), Arc::clone(&self.wake)));
        Ok(())
    }

    /// What was counted so far.
    pub(super) fn traffic(&self) -> Traffic {
        lock(&self.state).traffic.clone()
    }

    /// Records from now on what is said. Gives what was recorded before.
    pub(super) fn record(&self) -> Recording {
        lock(&self.state).recording.replace(Recording::default()).unwrap_or_default()
    }

    /// What was recorded; recording ends.
    pub(super) fn recorded(&self) -> Recording {
        lock(&self.state).recording.take().unwrap_or_default()
    }

    /// Changes the weather for all packets that come from now on.
    pub(super) fn change(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut lock(&self.state).weather);
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.stop = None;
        let mut state = lock(&self.state);
        state.devices.clear();
        state.late.clear();
        drop(state);
        if let Some(thread) = self.thread.take() {
            // It may have panicked; then it has ended, which is what we want.
            let _ = thread.join();
        }
    }
}

/// Carries what comes from a network, until its device is gone.
async fn carry(from: Network, device: Arc<Tun>, state: Arc<Mutex<State>>, wake: Arc<Notify>) {
    let mut buffer = vec![0; MAX_PACKET];
    while let Ok(length) = device.recv(&mut buffer).await {
        if let Some(bytes) = buffer.get(..length) {
            route(from, bytes, &state, &wake);
        }
    }
}

fn route(from: Network, bytes: &[u8], state: &Mutex<State>, wake: &Notify) {
    let Some(packet) = Packet::parse(bytes) else { return };
    let Some(to) = Network::of_address(packet.to) else { return };
    // Nobody sends for others.
    if Network::of_address(packet.from) != Some(from) || to == from {
        return;
    }
    let mut state = lock(state);
    let Some(device) = state.devices.get(&to).cloned() else { return };
    if let Some(segment) = packet.segment {
        state.traffic.add(from, to, segment, bytes.len(), payload(bytes).len());
    }
    if let Some(recording) = &mut state.recording {
        recording.add(packet, payload(bytes));
    }
    match state.weather.fate(Instant::now(), from, to, packet.segment) {
        Fate::Delivered => deliver(&device, bytes),
        Fate::Due(time) if state.late.len() < MAX_LATE => {
            state.number += 1;
            let number = state.number;
            state.late.insert((time, number), Late { device, bytes: bytes.into() });
            drop(state);
            wake.notify_one();
        }
        Fate::Lost | Fate::Due(_) => {}
    }
}

/// Delivers late packets when their time has come, each in its turn.
async fn deliver_late(state: Arc<Mutex<State>>, wake: Arc<Notify>) {
    loop {
        let next = lock(&state).late.first_key_value().map(|(&(time, _), _)| time);
        tokio::select! {
            () = wake.notified() => {}
            () = until(next) => {
                let mut state = lock(&state);
                while let Some(entry) = state.late.first_entry()
                    && entry.key().0 <= Instant::now()
                {
                    let Late { device, bytes } = entry.remove();
                    deliver(&device, &bytes);
                }
            }
        }
    }
}

/// Waits for a time; for ever where there is none.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// What cannot be delivered is lost.
fn deliver(device: &Tun, bytes: &[u8]) {
    let _ = device.try_send(bytes);
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;
    use crate::namespace::Namespace;
    use crate::wan::impairment::{Impairment, Ways};

    const PORT: u16 = 31_111;
    const ONE: Network = Network::of_cluster(1);
    const TWO: Network = Network::of_cluster(2);

    async fn mk_listener(namespace: &Namespace) {
        let listener = namespace.perform(TcpListener::bind((ONE.host(10), PORT))).await.unwrap().unwrap();
        let accept = async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut bytes = Vec::new();
                stream.read_to_end(&mut bytes).await.unwrap();
                stream.write_all(&bytes).await.unwrap();
            }
        };
        namespace.run(|| drop(tokio::spawn(accept))).await.unwrap();
    }

    /// Sends so many bytes there and back.
    async fn ask(bytes: usize) -> std::io::Result<usize> {
        let mut stream = TcpStream::connect((ONE.host(10), PORT)).await?;
        stream.write_all(&vec![7; bytes]).await?;
        stream.shutdown().await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await
    }

    #[tokio::test]
    async fn packets_cross_are_counted_lost_and_late() {
        let router = Router::start(1).unwrap();
        let (one, two) = (ONE.make().await.unwrap(), TWO.make().await.unwrap());
        router.join(ONE, &one.entrance(), None).await.unwrap();
        router.join(TWO, &two.entrance(), None).await.unwrap();
        let server = ONE.attach(&one.entrance(), 10).await.unwrap();
        let client = TWO.attach(&two.entrance(), 20).await.unwrap();
        mk_listener(&server).await;

        let length = 1_000_000;
        assert_eq!(client.perform(ask(length)).await.unwrap().unwrap(), length);
        let before = router.traffic();
        let (sent, received) = (before.requests(2, 1, PORT), before.replies(2, 1, PORT));
        assert_eq!(sent.connections, 1);
        assert!(sent.bytes > 1_000_000 && received.bytes > 1_000_000, "{sent:?}, {received:?}");
        assert_eq!(before.ports(2, 1).len(), 1);
        assert!(before.ports(1, 2).is_empty());

        let delay = Duration::from_millis(20);
        router.change(|weather| weather.impair(Ways::of_port(PORT), Impairment::late(delay).with_jitter(delay)));
        let start = Instant::now();
        assert_eq!(client.perform(ask(length)).await.unwrap().unwrap(), length);
        assert!(start.elapsed() >= delay * 4, "a handshake and an answer in {:?}", start.elapsed());
        assert_eq!(router.traffic().since(&before).requests(2, 1, PORT).connections, 1);

        router.change(|weather| weather.set_port_cut(PORT, true));
        timeout(Duration::from_millis(500), client.perform(ask(1))).await.unwrap_err();
        router.change(|weather| weather.set_port_cut(PORT, false));
        assert_eq!(client.perform(ask(1)).await.unwrap().unwrap(), 1);
    }
}
