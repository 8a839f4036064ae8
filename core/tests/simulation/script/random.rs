//! Scripts that a seed draws.

use std::time::Duration;

use fastrand::Rng;
use mcwan_core::emit::object::Kind;

use super::{
    Backend, CLUSTERS, ExportWish, Extra, FIRST_PORT, HOSTS, ImportWish, Module, OWN, PATHS, POLICIES, PORTS, Pace,
    PolicyWish, REGIONS, SECRETS, SERVICES, Script, Side, Size, Step, TIERS,
};

impl Script {
    /// The script of a seed. Few have native imports, and most of these others beside them.
    pub(crate) fn random(seed: u64) -> Self {
        Self::drawn(seed, |rng| if rng.u8(..6) == 0 { rng.u8(..) } else { 0 })
    }

    /// The script of a seed in which nearly every `ServiceImport` is native.
    pub(crate) fn native(seed: u64) -> Self {
        Self::drawn(seed, |_| u8::MAX)
    }

    /// The script of a seed in whose course the API server is restored from a backup. Which versions of native imports it leads
    /// back to, nobody tells: it has none.
    pub(crate) fn restored(seed: u64) -> Self {
        let mut script = Self::drawn(seed, |_| 0);
        let mut rng = Rng::with_seed(!seed);
        let place = rng.usize(1..=script.steps.len());
        script.steps.insert(place, (gap(&mut rng, false), Step::Restore(rng.u64(1..400))));
        // Mostly, who leads loses the lead with it.
        match rng.u8(..3) {
            0 => script.steps.insert(place + 1, (Duration::ZERO, Step::Depose)),
            1 => script.steps.insert(place + 1, (Duration::ZERO, Step::Die)),
            _ => {}
        }
        script
    }

    /// `natives` draws the services whose imports are native, a bit for each.
    fn drawn(seed: u64, natives: impl FnOnce(&mut Rng) -> u8) -> Self {
        let mut rng = Rng::with_seed(seed);
        let pace = if rng.u8(..8) == 0 { Pace::Late } else { Pace::Kept };
        let natives = natives(&mut rng);
        let services = rng.usize(1..=SERVICES.len()).min(rng.usize(1..=SERVICES.len()));
        let mut steps = Vec::new();
        for service in 0..services {
            if rng.u8(..8) > 0 {
                steps.push((gap(&mut rng, true), Step::Export(rng.usize(..CLUSTERS.len()), service, export(&mut rng))));
            }
            if rng.u8(..4) > 0 {
                steps.push((gap(&mut rng, true), Step::Import(service, import_of(service, natives, &mut rng))));
            }
        }
        if rng.u8(..6) == 0 {
            steps.push((gap(&mut rng, true), Step::OwnExport(rng.usize(..OWN.len()), 1)));
        }
        let has_hosts = rng.u8(..6) == 0;
        for _ in 0..rng.usize(2..9) {
            let step = if has_hosts && rng.u8(..3) > 0 {
                step_of_hosts(&mut rng)
            } else if natives > 0 && rng.bool() {
                // Requests get lost where one that works takes up a tier, or leaves one.
                let service = rng.usize(..services);
                Step::Import(service, import_of(service, natives, &mut rng))
            } else {
                step(&mut rng, services, natives)
            };
            let is_local = matches!(step, Step::Local);
            steps.push((gap(&mut rng, false), step));
            if is_local {
                // They may have gone with its namespace.
                steps.push((Duration::ZERO, Step::Endpoints));
            }
        }
        if rng.u8(..128) == 0 {
            crowd(&mut rng, natives, &mut steps);
        }
        Self { seed, pace, steps }
    }
}

fn step(rng: &mut Rng, services: usize, natives: u8) -> Step {
    let service = rng.usize(..services);
    let cluster = rng.usize(..CLUSTERS.len());
    let namespace = rng.u8(..2);
    let while_ = Duration::from_millis(rng.u64(100..60_000));
    match rng.u8(..74) {
        0..20 => Step::Import(service, import_of(service, natives, rng)),
        20..25 => Step::Route(service, import(rng), rng.bool().then(|| PORTS[rng.usize(..PORTS.len())])),
        25 => Step::NoRoute(service),
        26..29 => Step::NoImport(service),
        29..34 => Step::Export(cluster, service, export(rng)),
        34..36 => Step::NoExport(cluster, service),
        36 => Step::Tier(rng.usize(..2), FIRST_PORT + rng.u16(..4)),
        37 => Step::NoTier(rng.usize(..2)),
        38 => Step::NoLocal,
        39 => Step::Local,
        place @ 40..42 => Step::OwnExport(cluster, usize::from(place - 39)),
        42 => Step::NoOwnExport(cluster),
        43..45 => Step::Key(rng.u8(..2)),
        45 => Step::Namespace(namespace),
        46..50 => {
            let kinds = [
                Kind::HttpRoute,
                Kind::HttpRoute,
                Kind::Service,
                Kind::Gateway,
                Kind::WasmPlugin,
                Kind::EndpointSlice,
                Kind::AuthorizationPolicy,
            ];
            let kind = kinds[rng.usize(..kinds.len())];
            // Routes for so long that changes follow the grace.
            let long = if kind == Kind::HttpRoute { while_ * rng.u32(1..=3) } else { while_ };
            Step::Refuse(kind, rng.bool().then_some(service), long)
        }
        50 => Step::Outage(while_ / 4),
        51..53 => Step::Die,
        53 => Step::Release,
        54..56 => Step::Depose,
        56..59 => Step::Restart(namespace),
        59..61 => Step::Mute(namespace, while_),
        61 => Step::Module(*[Module::Sound, Module::NotFetched, Module::Unsound].get(rng.usize(..3)).unwrap()),
        62 if rng.bool() => Step::Gateways(cluster, rng.u8(..4)),
        62 if rng.bool() => {
            let kinds =
                [Kind::HttpRoute, Kind::Gateway, Kind::WasmPlugin, Kind::ReferenceGrant, Kind::McsServiceImport];
            Step::Undefine(kinds[rng.usize(..kinds.len())], while_)
        }
        62 => Step::Silent(cluster, Duration::from_secs(40) + while_),
        64..69 => Step::Policy(rng.usize(..POLICIES.len()), policy(rng)),
        69 => Step::NoPolicy(rng.usize(..POLICIES.len())),
        70..72 => Step::Region(cluster, rng.bool().then(|| REGIONS[rng.usize(..REGIONS.len())])),
        72 => Step::Gateways(cluster, rng.u8(..4)),
        73 => Step::Deaf(cluster, while_),
        _ if rng.bool() => Step::NoClient(service, if rng.bool() { Kind::Service } else { Kind::McsServiceImport }),
        _ => Step::Rival(service, rng.bool()),
    }
}

/// The filter of the first namespace has room for one large import, which is now the one and now the other, and for a while
/// both.
fn crowd(rng: &mut Rng, natives: u8, steps: &mut Vec<(Duration, Step)>) {
    for turn in 0..rng.usize(2..5) {
        let mut wanted = [(turn % 2, Size::Little), ((turn + 1) % 2, Size::MoreThanHalf)];
        if rng.u8(..4) == 0 {
            wanted.reverse();
        }
        for (service, size) in wanted {
            let wish = import_of(service, natives, rng);
            let size = if wish.is_native { Size::Little } else { size };
            steps.push((gap(rng, false), Step::Import(service, ImportWish { size, ..wish })));
        }
    }
}

fn policy(rng: &mut Rng) -> PolicyWish {
    let sides = [0, 1].map(|_| match rng.u8(..4) {
        0 => Side::Any,
        1 => Side::Own,
        _ => Side::Region(REGIONS[rng.usize(..REGIONS.len())]),
    });
    let tiers = rng.bool().then(|| (0..TIERS.len()).filter(|_| rng.bool()).collect());
    PolicyWish { sides, tiers, is_strict: rng.bool() }
}

fn step_of_hosts(rng: &mut Rng) -> Step {
    let secret = rng.usize(..SECRETS.len());
    match rng.u8(..16) {
        0..3 => Step::OpenshiftRoute,
        3..7 => Step::TlsRoute(secret),
        7..9 => Step::NoOpenshiftRoute,
        9..12 => Step::MayRead(secret),
        12..14 => Step::MayNotRead(secret),
        14 => Step::NamespaceGoes(0),
        _ => Step::NamespaceComes(0),
    }
}

fn gap(rng: &mut Rng, is_start: bool) -> Duration {
    Duration::from_millis(match rng.u8(..8) {
        0..2 => 0,
        2..5 => rng.u64(1..1_500),
        5..7 if is_start => rng.u64(1..100),
        5..7 => rng.u64(1_000..8_000),
        _ => rng.u64(8_000..50_000),
    })
}

fn export(rng: &mut Rng) -> ExportWish {
    let ports = match rng.u8(..6) {
        0 => PORTS.to_vec(),
        1 => vec![PORTS[1]],
        _ => vec![PORTS[0]],
    };
    ExportWish { ports, pods: rng.u32(1..4), default_tier: rng.bool().then_some(0), is_headless: rng.u8(..8) == 0 }
}

/// A `ServiceImport` of a service; one that is to be native is so mostly, as each change of that is a break.
fn import_of(service: usize, natives: u8, rng: &mut Rng) -> ImportWish {
    let mut wish = import(rng);
    wish.is_native = natives & 1 << service != 0 && rng.u8(..16) > 0;
    if wish.is_native {
        wish.size = Size::Little;
        // A route cannot choose.
        let extras = wish.rules.iter_mut().map(|(_, _, extra)| extra);
        extras.filter(|extra| matches!(extra, Extra::Fallback(_))).for_each(|extra| *extra = Extra::Nothing);
    }
    wish
}

fn import(rng: &mut Rng) -> ImportWish {
    let hosts = (0..HOSTS.len()).filter(|_| rng.u8(..3) == 0).collect();
    let rules = (0..rng.usize(1..4)).map(|_| {
        let backends = (0..if rng.u8(..4) == 0 { 2 } else { 1 }).map(|_| {
            let backend = if rng.u8(..6) == 0 { Backend::Local } else { Backend::Tier(rng.usize(..2)) };
            (backend, rng.u32(1..3))
        });
        let backends = backends.collect();
        let extra = match rng.u8(..6) {
            0 => Extra::Timeout(rng.u8(1..4)),
            1 => Extra::Header(rng.u8(1..4)),
            2 => Extra::Fallback(rng.usize(..2)),
            _ => Extra::Nothing,
        };
        (rng.usize(..PATHS.len()), backends, extra)
    });
    let rules = rules.collect();
    let size = if rng.u16(..1_000) == 0 { Size::TooMuch } else { Size::Little };
    ImportWish { hosts, rules, size, is_native: false }
}
