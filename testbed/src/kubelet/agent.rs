//! The real istio-agent, which runs the real Envoy, as a pod's container.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, interval};

use super::node::Node;
use super::{environment, volumes};
use crate::child::{Process, log_onto, mortal};
use crate::network::Host;
use crate::tools;

/// Gives the agent a `/var/lib/istio` of its own: it keeps modules there by an absolute path, all others are
/// relative to its folder. What else is in `/var/lib` can still be found there.
const MOUNT: &str = r#"set -e
mkdir -p host/var/lib var/lib/istio/data
mount --rbind /var/lib host/var/lib
mount -t tmpfs tmpfs /var/lib
for entry in host/var/lib/*; do [ "${entry##*/}" = istio ] || ln -s "$PWD/$entry" /var/lib/; done
mkdir /var/lib/istio
mount --bind var/lib/istio /var/lib/istio
exec "$@""#;

/// Where the agent looks for what Envoy's bootstrap configuration is made of.
const BOOTSTRAP: &str = "/var/lib/istio/envoy";

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(50);

/// A running agent with its Envoy. Both are killed when this is dropped.
#[derive(Debug)]
pub(super) struct Agent {
    process: Process,
}

impl Agent {
    /// Starts it as a Pod's container asks for.
    pub(super) async fn start(node: &Node, pod: &Pod, container: &Container, host: &Host) -> Result<Self> {
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        let folder = node.folder(&namespace, &name);
        volumes::write(&node.client, pod, container, &folder).await?;
        copy_bootstrap(&volumes::inside(&folder, BOOTSTRAP))?;
        let variables = environment::variables(pod, container)?;
        let mut command = mortal("unshare");
        // What the agent starts goes with it: both are alone in a process namespace, whose first process it is.
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", MOUNT, "agent"]);
        command.arg(tools::program("pilot-agent")?).args(environment::arguments(container, &variables));
        command.current_dir(&folder).env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(&variables);
        let log = node.log(&namespace, &name);
        log_onto(&mut command, &log)?;
        let child = host.namespace().spawn(command).await?;
        Ok(Self { process: Process::new(&name, child, log) })
    }

    pub(super) fn has_ended(&mut self) -> Result<bool> {
        self.process.has_ended()
    }

    /// Asks it to end, and kills it where it has not in this time.
    pub(super) async fn stop(mut self, grace: Duration) -> Result<()> {
        if let Some(agent) = self.first_process()? {
            // It may have ended in this moment.
            let _ = kill(agent, Signal::SIGTERM);
            let (mut looks, end) = (interval(LOOK), Instant::now() + grace);
            while !self.process.has_ended()? && Instant::now() < end {
                looks.tick().await;
            }
        }
        Ok(())
    }

    /// The first process of the namespace: the only child of `unshare`.
    fn first_process(&self) -> Result<Option<Pid>> {
        let unshare = self.process.pid();
        let children = fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children")).unwrap_or_default();
        let first = children.split_whitespace().next();
        Ok(first.map(str::parse).transpose()?.map(Pid::from_raw))
    }
}

fn copy_bootstrap(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let content = fs::read(tools::istio("envoy_bootstrap.json")?)?;
    let path = folder.join("envoy_bootstrap_tmpl.json");
    fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
}
