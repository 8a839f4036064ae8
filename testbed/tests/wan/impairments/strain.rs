//! What looks like a bad tier, and is none.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kube::ResourceExt;
use mcwan_testbed::wan::Stream;

use crate::fifteen::{Fifteen, NAMESPACE};
use crate::impaired::count_moves;

/// How long probes are sent before, and how long each strain lasts.
const WARM: Duration = Duration::from_secs(20);
const STRAIN: Duration = Duration::from_secs(30);

/// As many threads for each core as would leave nothing for others.
const THREADS: usize = 2;

/// The thread that is the WAN, and how much sooner than others it has a core: a WAN is other machines, which are not busy.
const WAN: &str = "wan";
const FAVOUR: &str = "-10";

/// Busy cores move nothing. A gateway pod of two that dies looks like losses on all tiers of its cluster: requests may move,
/// and come back.
pub(super) async fn all_cores_are_busy_and_a_far_gateway_dies() -> Result<()> {
    let stage = Fifteen::start().await?;
    let mut streams = stage.streams().await?;
    favour_the_wan()?;
    stage.pass(&mut streams, WARM).await;
    let since = Instant::now();
    let busy = Busy::start()?;
    stage.pass(&mut streams, STRAIN).await;
    drop(busy);
    let idle = Instant::now();
    let moves = moves(streams.streams(), since);
    ensure!(moves.iter().all(|count| *count == 0), "busy cores move requests {moves:?} times");

    stage.pass(&mut streams, WARM).await;
    let pods = stage.wan.cluster(1).gateway_pods(NAMESPACE, "mcwan-ingress").await?;
    let pod = pods.first().context("there is no far gateway")?;
    stage.wan.cluster(1).kubelet().kill(NAMESPACE, &pod.name_any())?;
    stage.pass(&mut streams, STRAIN).await;
    let moves = self::moves(&streams.stop(&stage.wan).await?, idle);
    ensure!(moves.iter().all(|count| *count <= 2), "one dead gateway of two moves requests {moves:?} times");
    Ok(())
}

fn favour_the_wan() -> Result<()> {
    for thread in fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        // One may have ended.
        let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        if name.trim_end() == WAN {
            let status = Command::new("renice").args(["-n", FAVOUR, "-p"]).arg(thread.file_name()).status()?;
            ensure!(status.success(), "the WAN cannot have the cores first: run me as root");
            return Ok(());
        }
    }
    bail!("no thread is called {WAN}")
}

fn moves(streams: &[Stream], since: Instant) -> Vec<usize> {
    let moves: Vec<_> = streams.iter().map(|stream| count_moves(stream, since)).collect();
    eprintln!("measured: moves {moves:?}");
    moves
}

/// Threads that are busy until this is dropped.
struct Busy {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    fn start() -> Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let count = THREADS * thread::available_parallelism()?.get();
        let spin = |is_over: Arc<AtomicBool>| {
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
        };
        let threads = (0..count).map(|_| thread::spawn(spin(Arc::clone(&is_over)))).collect();
        Ok(Self { is_over, threads })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("it only spins");
        }
    }
}
