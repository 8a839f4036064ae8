//! What if a path did not keep its promise.

use std::str::FromStr;

use anyhow::bail;
use mcwan_policy::WanPath;
use mcwan_policy::sla::Level;

const FORM: &str = "write it as `TIER@CLUSTER=out` or `TIER@CLUSTER=down`";

/// The level of the paths to a cluster over a tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Supposed {
    tier: String,
    cluster: String,
    level: Level,
}

impl FromStr for Supposed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (path, level) = text.split_once('=').ok_or(FORM)?;
        let (tier, cluster) = path.split_once('@').ok_or(FORM)?;
        let level = match level {
            "out" => Level::Out,
            "down" => Level::Down,
            _ => return Err(FORM),
        };
        Ok(Self { tier: tier.to_owned(), cluster: cluster.to_owned(), level })
    }
}

/// The levels of all paths, which are In where nothing else is supposed.
pub(super) fn of(paths: &[WanPath], supposed: &[Supposed]) -> anyhow::Result<Vec<Level>> {
    let mut levels = vec![Level::In; paths.len()];
    for Supposed { tier, cluster, level } in supposed {
        let mut is_known = false;
        for (known, path) in levels.iter_mut().zip(paths) {
            if (&*path.tier, &*path.cluster) == (tier.as_str(), cluster.as_str()) {
                (*known, is_known) = (*level, true);
            }
        }
        if !is_known {
            let known: Vec<_> = paths.iter().map(|path| format!("{}@{}", path.tier, path.cluster)).collect();
            let known = if known.is_empty() { "no rule has `sla`".to_owned() } else { known.join(", ") };
            bail!("no rule goes by the path {tier}@{cluster}: {known}");
        }
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_supposed_of_a_path_is_read() {
        let supposed = |level| Some(Supposed { tier: "high".to_owned(), cluster: "c1".to_owned(), level });
        let table = [
            ("high@c1=out", supposed(Level::Out), "out"),
            ("high@c1=down", supposed(Level::Down), "down"),
            ("high@c1=in", None, "what it is anyhow"),
            ("high@c1", None, "no level"),
            ("high=out", None, "no cluster"),
            ("", None, "nothing"),
        ];
        for (text, expected, message) in table {
            assert_eq!(text.parse().ok(), expected, "{message}: {text}");
        }
    }
}
