//! What a `Route` asks for beside its backends: TLS, headers, and what its annotations say.

use mcwan_policy::limits;
use mcwan_policy::wire::{Header, HeaderModifier};

use super::{Refused, RouteOptions};
use crate::api::{Duration, HeaderAction, OpenshiftRoute, RouteTls, Timeouts};
use crate::problem::Reason;
use crate::snapshot::{Snapshot, named_secret};
use crate::translate::{Forwarding, HeaderChanges};

/// What the annotations that the router knows begin with.
const ROUTER: [&str; 2] = ["haproxy.router.openshift.io/", "router.openshift.io/"];
/// What becomes of the path.
const REWRITE: &str = "haproxy.router.openshift.io/rewrite-target";
/// How long a request may take.
const TIMEOUT: &str = "haproxy.router.openshift.io/timeout";
/// The longest time that the router knows, in milliseconds.
const LONGEST: u64 = 2_147_483_647;

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
    pub(super) fn of(route: &OpenshiftRoute, snapshot: &Snapshot, options: &RouteOptions) -> Result<Self, Refused> {
        let tls = route.spec.tls.as_ref().map(|tls| edge(tls, route, options)).transpose()?;
        check_grant(route, snapshot)?;
        let rewrite = rewrite(route)?;
        let request = route.annotation(TIMEOUT).and_then(timeout);
        let done = [(REWRITE, rewrite.is_some()), (TIMEOUT, request.is_some())];
        let done: Vec<_> = done.into_iter().filter(|(_, is_done)| *is_done).map(|(key, _)| key).collect();
        let notes = annotations(route, &done)?;
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

fn edge(tls: &RouteTls, route: &OpenshiftRoute, options: &RouteOptions) -> Result<(Insecure, String), Refused> {
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
    let named = tls.external_certificate.as_ref().map(|secret| &*secret.name).filter(|name| !name.is_empty());
    if let Some(name) = named.filter(|_| route.named_secret().is_none()) {
        let message = format!("tls.externalCertificate.name: no Secret can be called {name:?}");
        return Err((Reason::ExtendedValidationFailed, message));
    }
    let secret = named.map(str::to_owned).or_else(|| options.certificate.clone());
    let message = "there is no certificate: name a Secret in tls.externalCertificate";
    Ok((insecure, secret.ok_or_else(|| (Reason::ExtendedValidationFailed, message.to_owned()))?))
}

/// A Secret that a route names is shown to clients only where we might read it, as the router must.
fn check_grant(route: &OpenshiftRoute, snapshot: &Snapshot) -> Result<(), Refused> {
    match named_secret(route).filter(|secret| !snapshot.may_read(secret)) {
        None => Ok(()),
        Some(secret) => Err((
            Reason::ExtendedValidationFailed,
            format!(
                "the controller may not read Secret {secret}: bind its ServiceAccount to a Role with apiGroups: [\"\"], \
                 resources: [secrets], resourceNames: [{}], verbs: [get]",
                secret.name
            ),
        )),
    }
}

/// What of the router's annotations is not done.
fn annotations(route: &OpenshiftRoute, done: &[&str]) -> Result<Vec<String>, Refused> {
    let mut ignored = Vec::new();
    for (key, value) in route.metadata.annotations.iter().flatten() {
        let Some(name) = ROUTER.iter().find_map(|prefix| key.strip_prefix(prefix)) else { continue };
        if restricts(name, value) {
            return Err((Reason::UnsupportedAnnotation, format!("annotation {key} restricts, and is not done")));
        }
        if !done.contains(&&**key) {
            ignored.push(key.as_str());
        }
    }
    Ok(if ignored.is_empty() { Vec::new() } else { vec![format!("not looked at: {}", ignored.join(", "))] })
}

/// Whether an annotation lets fewer requests through: to ignore one that does would let more through. Of a list of addresses
/// that the router cannot read, which lets everybody through there, it is not known what was meant.
fn restricts(name: &str, value: &str) -> bool {
    match name {
        "ip_allowlist" | "ip_whitelist" => !value.trim().is_empty(),
        // Those that begin so say how much, where this says that there is a limit.
        "rate-limit-connections" => ["1", "t", "T", "TRUE", "true", "True"].contains(&value),
        "pod-concurrent-connections" => value.parse::<i64>().is_ok(),
        _ => false,
    }
}

/// What replaces the path. The router ignores what does not begin as a path.
fn rewrite(route: &OpenshiftRoute) -> Result<Option<String>, Refused> {
    let Some(path) = route.annotation(REWRITE).filter(|path| path.starts_with('/') && !path.contains('\n')) else {
        return Ok(None);
    };
    check_path(path).map_err(|message| (Reason::UnsupportedAnnotation, format!("annotation {REWRITE}: {message}")))?;
    Ok(Some(path.to_owned()))
}

/// Checks a path that is matched, or that replaces one.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    mcwan_policy::check_path(path).map_err(|error| error.to_string())?;
    let most = limits::PATH_BYTES;
    if path.len() > most { Err(format!("path {path:?} has over {most} bytes")) } else { Ok(()) }
}

/// A time as the router has it: a number with a unit, or of milliseconds, cut to the longest that it knows. It ignores what
/// is none.
fn timeout(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    if number.is_empty() || number.starts_with('0') {
        return None;
    }
    let number: u64 = number.parse().unwrap_or(u64::MAX);
    let milliseconds = match unit {
        "" | "ms" => number,
        "us" => number.div_ceil(1_000),
        "s" => number.saturating_mul(1_000),
        "m" => number.saturating_mul(60_000),
        "h" => number.saturating_mul(3_600_000),
        "d" => number.saturating_mul(86_400_000),
        _ => return None,
    };
    let milliseconds = milliseconds.min(LONGEST);
    // In units of which five digits are enough.
    let (hours, rest) = (milliseconds / 3_600_000, milliseconds % 3_600_000);
    format!("{hours}h{}s{}ms", rest / 1_000, rest % 1_000).parse().ok()
}

fn modifier(actions: &[HeaderAction]) -> Result<HeaderModifier, Refused> {
    let refused = |message: String| (Reason::UnsupportedHeaderValue, message);
    let mut modifier = HeaderModifier::default();
    for (index, action) in actions.iter().enumerate() {
        if actions.iter().take(index).any(|earlier| earlier.name.eq_ignore_ascii_case(&action.name)) {
            return Err(refused(format!("header {} is named twice", action.name)));
        }
        let Some(value) = action.value() else {
            modifier.remove.push(action.name.clone());
            continue;
        };
        let plain = value.replace("%%", "");
        if plain.contains('%') {
            return Err(refused(format!("header {}: value {value:?} depends on the request", action.name)));
        }
        if value.is_empty() || value.len() > limits::VALUE_BYTES {
            return Err(refused(format!("header {}: a value has 1 to {} bytes", action.name, limits::VALUE_BYTES)));
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
            ("1us", Some(1)),
            ("30d", Some(LONGEST.into())),
            ("99999999999999999999s", Some(LONGEST.into())),
            ("0s", None),
            ("s", None),
            ("1w", None),
            ("", None),
            ("01s", None),
            ("soon", None),
        ];
        for (text, expected) in table {
            assert_eq!(timeout(text).map(Duration::as_millis), expected, "{text}");
        }
    }
}
