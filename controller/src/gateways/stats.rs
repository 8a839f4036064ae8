//! Reads the filter's statistics and the agent's out of many, in Prometheus' text form.

/// The filter's gauge `mcwan.config.revision` as Envoy prints it.
const REVISION: &str = "mcwan_config_revision";
/// How often the istio-agent has fetched a module, by result.
const CONVERSIONS: &str = "istio_agent_wasm_config_conversion_count";
/// The results that are no failures: done, and nothing to do (`pkg/wasm/monitoring.go` in Istio).
const FINE: [&str; 2] = ["success", "no_remote_load"];

/// Bytes of a line; what is longer is none of ours.
const LINE_BYTES: usize = 4_096;

use mcwan_core::rollout::GatewayReport;
use mcwan_policy::sla::Readings;

/// A report in the making: the statistics come in pieces, and are not kept.
#[derive(Default)]
pub(super) struct Stats {
    report: GatewayReport,
    paths: Readings,
    line: Vec<u8>,
}

impl Stats {
    pub(super) fn read(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend(part.iter().take(room));
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    pub(super) fn finish(mut self) -> GatewayReport {
        self.end_line();
        self.cut()
    }

    /// The same where the text goes on: its last line is not whole.
    pub(super) fn cut(self) -> GatewayReport {
        GatewayReport { paths: self.paths.into_shown(), ..self.report }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let Some((name, labels, value)) = std::str::from_utf8(&line).ok().and_then(sample) else { return };
        match name {
            REVISION => self.report.revision = Some(value),
            CONVERSIONS if !FINE.iter().any(|result| labels.contains(&format!(r#"result="{result}""#))) => {
                self.report.module_failures += value;
            }
            _ => self.paths.take(name, value),
        }
    }
}

/// Name, labels and value of a line, if that is a whole number.
fn sample(line: &str) -> Option<(&str, &str, u64)> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at_checked(end)?;
    let (labels, rest) = rest.rsplit_once('}').unwrap_or(("", rest));
    Some((name, labels, whole(rest.split_ascii_whitespace().next()?)?))
}

/// Go prints large numbers as `1.36812823645747e+14`.
fn whole(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.parse::<f64>().ok()?.to_string().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcwan_policy::sla::{Judgement, Loss, PathName, Shown};

    use super::*;

    const TEXT: &str = r#"# HELP istio_agent_wasm_config_conversion_count number of Wasm config conversions
# TYPE istio_agent_wasm_config_conversion_count counter
istio_agent_wasm_config_conversion_count{result="success"} 3
istio_agent_wasm_config_conversion_count{result="no_remote_load"} 5
istio_agent_wasm_config_conversion_count{result="fetch_failure"} 7
istio_agent_wasm_config_conversion_count{result="miss_remote_fetch_hint"} 1
istio_agent_wasm_config_conversion_duration_bucket{le="1"} 4
# TYPE mcwan_config_revision gauge
mcwan_config_revision{} 136812823645747
mcwan_config_rejected{} 2
mcwan_path_high_TO_cluster_1_IN_secure_level{} 2
mcwan_path_high_TO_cluster_1_IN_secure_reason{} 4
mcwan_path_high_TO_cluster_1_IN_secure_latency_us{} 103200
mcwan_path_high_TO_cluster_1_IN_secure_probes{} 500
mcwan_path_high_TO_cluster_1_IN_secure_hold_ms{} 10000
mcwan_path_high_TO_cluster_1_IN_secure_http_status{} 404
mcwan_path_high_TO_cluster_1_IN_secure_moves_Latency{} 1
mcwan_path_low_TO_cluster_1_IN_secure_level{} 0
envoy_server_uptime{} 12
"#;

    fn mk_shown() -> (PathName, Shown) {
        let path = PathName { tier: "high".into(), cluster: "cluster-1".into(), namespace: "secure".into() };
        let shown = Shown {
            judgement: Judgement::Latency,
            latency: Some(Duration::from_micros(103_200)),
            jitter: None,
            loss: Loss::NONE,
            probes: 500,
            age: None,
            hold: Duration::from_secs(10),
            http_status: Some(404),
        };
        (path, shown)
    }

    fn read(pieces: &[&[u8]]) -> GatewayReport {
        let mut stats = Stats::default();
        for piece in pieces {
            stats.read(piece);
        }
        stats.finish()
    }

    #[test]
    fn what_is_ours_is_found_wherever_the_text_is_cut() {
        let (path, shown) = mk_shown();
        let want =
            GatewayReport { revision: Some(136_812_823_645_747), module_failures: 8, paths: vec![(path, shown)] };
        for place in 0..TEXT.len() {
            let (start, end) = TEXT.as_bytes().split_at(place);
            assert_eq!(read(&[start, end]), want, "cut at {place}");
        }
    }

    #[test]
    fn a_line_that_is_cut_says_nothing() {
        let mut stats = Stats::default();
        stats.read(b"mcwan_config_revision{} 7\nmcwan_config_revision{} 1");
        assert_eq!(stats.cut().revision, Some(7));
    }

    #[test]
    fn a_value_may_be_a_double() {
        for (line, revision) in [
            ("mcwan_config_revision 7", Some(7)),
            ("mcwan_config_revision{app=\"a b} c\"} 1.36812823645747e+14 1700000000", Some(136_812_823_645_747)),
            ("mcwan_config_revision{} 0", Some(0)),
            ("mcwan_config_revision{} NaN", None),
            ("mcwan_config_revision{} -1", None),
            ("mcwan_config_revision{}", None),
            ("envoy_mcwan_config_revision{} 7", None),
        ] {
            assert_eq!(read(&[line.as_bytes()]).revision, revision, "{line}");
        }
    }

    #[test]
    fn what_is_no_statistics_says_nothing() {
        let long = format!("mcwan_config_revision{{a=\"{}\"}} 7\n", "x".repeat(LINE_BYTES));
        for text in [&b""[..], b"\n\n{} }{", b"\xff\xfe\n", long.as_bytes()] {
            assert_eq!(read(&[text]), GatewayReport::default());
        }
    }
}
