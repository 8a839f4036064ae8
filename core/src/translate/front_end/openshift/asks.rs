//! What a `Route` asks for beside its backends: TLS, headers, and what its annotations say.

use mcwan_policy::wire::{Header, HeaderModifier};

use super::{Refused, RouteOptions};
use crate::api::{Duration, HeaderAction, OpenshiftRoute, RouteTls, Timeouts};
use crate::problem::Reason;
use crate::translate::{Forwarding, HeaderChanges};

/// What the annotations that the router knows begin with.
const ROUTER: [&str; 2] = ["haproxy.router.openshift.io/", "router.openshift.io/"];
/// Those of them that let fewer requests through. To ignore them would let more through.
const RESTRICTING: [&str; 4] = ["ip_allowlist", "ip_whitelist", "rate-limit-connections", "pod-concurrent-connections"];
/// What becomes of the path.
const REWRITE: &str = "haproxy.router.openshift.io/rewrite-target";
/// How long a request may take.
const TIMEOUT: &str = "haproxy.router.openshift.io/timeout";

/// What a route asks for.
pub(super) struct Asks {
    /// What becomes of requests in the clear, and the Secret with the certificate; none: there is no TLS.
    pub(super) tls: Option<(Insecure, String)>,
    /// What replaces the path that it matches.
    pub(super) rewrite: Option<String>,
    pub(super) forwarding: Forwarding,
    /// What is not done, and changes little.
    pub(super) notes: Vec<String>,
}

/// What becomes of requests in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Insecure {
    None,
    Redirect,
    Allow,
}

impl Asks {
    /// What a route asks for, if it is all done.
    pub(super) fn of(route: &OpenshiftRoute, options: &RouteOptions) -> Result<Self, Refused> {
        let tls = route.spec.tls.as_ref().map(|tls| edge(tls, options)).transpose()?;
        let notes = annotations(route)?;
        let rewrite = route.annotation(REWRITE).map(str::to_owned);
        if let Some(path) = &rewrite {
            mcwan_policy::check_path(path)
                .map_err(|error| (Reason::UnsupportedAnnotation, format!("annotation {REWRITE}: {error}")))?;
        }
        let request = route.annotation(TIMEOUT).map(timeout).transpose()?;
        let actions = route.spec.http_headers.as_ref().map(|headers| &headers.actions);
        let headers = HeaderChanges {
            request: modifier(actions.map_or(&[], |actions| &actions.request))?,
            response: modifier(actions.map_or(&[], |actions| &actions.response))?,
        };
        let timeouts = request.map(|request| Timeouts { request: Some(request), backend_request: None });
        let forwarding = Forwarding { rule_headers: headers, timeouts, ..Forwarding::default() };
        Ok(Self { tls, rewrite, forwarding, notes })
    }
}

fn edge(tls: &RouteTls, options: &RouteOptions) -> Result<(Insecure, String), Refused> {
    if tls.termination != "edge" {
        return Err((
            Reason::TerminationUnsupported,
            format!("TLS ends at the gateway: {} is not done", tls.termination),
        ));
    }
    if tls.is_inline() {
        let message = "a certificate or key stands in the route: keep it in a Secret of type kubernetes.io/tls, and name \
                       that in tls.externalCertificate";
        return Err((Reason::ExtendedValidationFailed, message.to_owned()));
    }
    let insecure = match tls.insecure_edge_termination_policy.as_deref() {
        None | Some("" | "None") => Insecure::None,
        Some("Redirect") => Insecure::Redirect,
        Some("Allow") => Insecure::Allow,
        Some(other) => {
            let message = format!("insecureEdgeTerminationPolicy {other:?} is none: want None, Redirect or Allow");
            return Err((Reason::ExtendedValidationFailed, message));
        }
    };
    let named = tls.external_certificate.as_ref().map(|secret| secret.name.clone()).filter(|name| !name.is_empty());
    let secret = named.or_else(|| options.certificate.clone());
    let message = "there is no certificate: name a Secret in tls.externalCertificate";
    Ok((insecure, secret.ok_or_else(|| (Reason::ExtendedValidationFailed, message.to_owned()))?))
}

/// What of the router's annotations is not done.
fn annotations(route: &OpenshiftRoute) -> Result<Vec<String>, Refused> {
    let mut tuning = Vec::new();
    for (key, value) in route.metadata.annotations.iter().flatten() {
        let Some(name) = ROUTER.iter().find_map(|prefix| key.strip_prefix(prefix)) else { continue };
        if RESTRICTING.iter().any(|restricting| name.starts_with(restricting)) && value != "false" {
            return Err((Reason::UnsupportedAnnotation, format!("annotation {key} restricts, and is not done")));
        }
        if key != REWRITE && key != TIMEOUT {
            tuning.push(key.as_str());
        }
    }
    Ok(if tuning.is_empty() { Vec::new() } else { vec![format!("not looked at: {}", tuning.join(", "))] })
}

/// A time as the router has it: a number with a unit, or of milliseconds.
fn timeout(text: &str) -> Result<Duration, Refused> {
    let refused = || (Reason::UnsupportedAnnotation, format!("annotation {TIMEOUT}: {text:?} is no time such as 30s"));
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or_else(refused)?;
    let number: u64 = number.parse().map_err(|_| refused())?;
    let milliseconds = match unit {
        "" | "ms" => Some(number),
        "us" => Some(number / 1_000),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        "d" => number.checked_mul(86_400_000),
        _ => None,
    };
    let milliseconds = milliseconds.filter(|number| *number > 0).ok_or_else(refused)?;
    // In units of which five digits are enough.
    let (hours, rest) = (milliseconds / 3_600_000, milliseconds % 3_600_000);
    format!("{hours}h{}s{}ms", rest / 1_000, rest % 1_000).parse().map_err(|_| refused())
}

fn modifier(actions: &[HeaderAction]) -> Result<HeaderModifier, Refused> {
    let refused = |message: String| (Reason::UnsupportedHeaderValue, message);
    let mut modifier = HeaderModifier::default();
    for action in actions {
        let Some(value) = action.value() else {
            modifier.remove.push(action.name.clone());
            continue;
        };
        let plain = value.replace("%%", "");
        if plain.contains('%') {
            return Err(refused(format!("header {}: value {value:?} depends on the request", action.name)));
        }
        modifier.set.push(Header { name: action.name.clone(), value: value.replace("%%", "%") });
    }
    modifier.check().map_err(|error| refused(error.to_string()))?;
    Ok(modifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_routers() {
        let table = [
            ("30s", Some(30_000)),
            ("1500", Some(1_500)),
            ("250ms", Some(250)),
            ("2h", Some(7_200_000)),
            ("1d", Some(86_400_000)),
            ("100000s", Some(100_000_000)),
            ("1us", None),
            ("0s", None),
            ("s", None),
            ("1w", None),
            ("", None),
            ("99999999999999999999s", None),
        ];
        for (text, expected) in table {
            assert_eq!(timeout(text).ok().map(Duration::as_millis), expected, "{text}");
        }
    }
}
