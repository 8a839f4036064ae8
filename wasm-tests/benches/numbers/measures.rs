//! What is measured.

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use mcwan_numbers::Number;
use mcwan_policy::wire::PluginConfig;
use mcwan_wasm_tests::{Callback, Effects, Host, Module, Request, Update};

use crate::configs::{config, config_of_hosts, config_with_method, request, request_for_host};

/// Positions at which a large configuration is asked.
const SAMPLES: usize = 100;
/// Updates after which memory must not grow any more, and how many there are in all.
const SETTLED: usize = 10;
const UPDATES: usize = 100;

/// Every number.
pub(crate) fn all(module: &Module) -> Result<Vec<Number>> {
    let mut numbers = host_calls(module)?;
    numbers.extend(fuel(module)?);
    numbers.push(Number::limited("module size", float(module.size()) / 1024.0, "KiB", 400.0));
    numbers.extend(memory(module)?);
    numbers.extend(loading(module)?);
    Ok(numbers)
}

fn host_calls(module: &Module) -> Result<Vec<Number>> {
    let calls = |config: &PluginConfig, request: &Request| -> Result<f64> {
        Ok(float(play(&mut load(module, config)?, request)?.trace.border_crossings()))
    };
    let by_path = calls(&config(1, 1), &request(0, 0))?;
    let by_method = calls(&config_with_method(), &request(0, 0))?;
    let not_ours = calls(&config(1, 1), &request(1, 0))?;
    Ok(vec![
        Number::limited("host calls, routed by host and path", by_path, "calls", 5.0),
        Number::limited("host calls, routed by method too", by_method, "calls", 6.0),
        Number::limited("host calls, a host that is not ours", not_ours, "calls", 2.0),
    ])
}

fn fuel(module: &Module) -> Result<Vec<Number>> {
    let by_imports = |imports: usize| -> Result<f64> {
        let requests = positions(imports).map(|import| request(import, 1));
        worst_fuel(&mut load(module, &config(imports, 3))?, requests)
    };
    let by_rules = |rules: usize| -> Result<f64> {
        let requests = positions(rules).map(|rule| request(0, rule));
        worst_fuel(&mut load(module, &config(1, rules))?, requests)
    };
    let by_hosts = |hosts: usize| -> Result<f64> {
        worst_fuel(&mut load(module, &config_of_hosts(hosts))?, positions(hosts).map(request_for_host))
    };
    let imports = by_imports(10_000)? / by_imports(10)?;
    let hosts = by_hosts(1_000)? / by_hosts(10)?;
    let rules = by_rules(1_000)? / by_rules(10)?;
    Ok(vec![
        Number::limited("fuel per decision, 10 to 10,000 imports", imports, "times", 1.1),
        Number::limited("fuel per decision, 10 to 1,000 rules in one import", rules, "times", 1.5),
        Number::limited("fuel per decision, 10 to 1,000 hosts of Routes", hosts, "times", 1.1),
    ])
}

fn memory(module: &Module) -> Result<Vec<Number>> {
    let config = serde_json::to_string(&config(10_000, 3))?;
    let mut host = Host::builder(module).load(&config)?;
    let first = host.memory_size();
    let mut settled = first;
    for update in 1..=UPDATES {
        if let Update::Rejected(failure) = host.update(&config)? {
            return Err(failure).context("an update was rejected");
        }
        if update == SETTLED {
            settled = host.memory_size();
        }
    }
    let last = host.memory_size();
    Ok(vec![
        Number::limited("linear memory, 10,000 imports of 3 rules", mebibytes(first), "MiB", 16.0),
        Number::limited("linear memory, after 100 updates", mebibytes(last), "MiB", 24.0),
        Number::limited("linear memory, growth after the tenth update", mebibytes(last - settled), "MiB", 0.0),
    ])
}

fn loading(module: &Module) -> Result<Vec<Number>> {
    const RULES_PER_IMPORT: usize = 10;
    let fuel = |rules: usize| -> Result<f64> {
        let host = load(module, &config(rules / RULES_PER_IMPORT, RULES_PER_IMPORT))?;
        Ok(float(usize::try_from(host.loading().fuel(Callback::Configure))?))
    };
    let (few, many) = (fuel(1_000)?, fuel(10_000)?);
    let config = serde_json::to_string(&config(10_000 / RULES_PER_IMPORT, RULES_PER_IMPORT))?;
    let start = Instant::now();
    Host::builder(module).load(&config)?;
    // The canary and the live VM load it one after the other.
    let milliseconds = start.elapsed().as_secs_f64() * 1_000.0 / 2.0;
    Ok(vec![
        Number::free("config load, 10,000 rules", many, "fuel"),
        Number::free("config load, 10,000 rules, time", milliseconds, "ms"),
        Number::limited("config load, fuel per rule, 1,000 to 10,000 rules", many / few / 10.0, "times", 1.1),
    ])
}

fn load(module: &Module, config: &PluginConfig) -> Result<Host> {
    Ok(Host::builder(module).load(serde_json::to_string(config)?)?)
}

fn play(host: &mut Host, request: &Request) -> Result<Effects> {
    let effects = host.request(request)?;
    if let Some(reply) = &effects.reply {
        bail!("{request:?} was answered: {reply:?}");
    }
    Ok(effects)
}

/// The most fuel that one of these requests takes; every one must be steered.
fn worst_fuel(host: &mut Host, requests: impl Iterator<Item = Request>) -> Result<f64> {
    let mut worst = 0;
    for request in requests {
        let effects = play(host, &request)?;
        ensure!(effects.headers.get("x-mcwan-target").is_some(), "{request:?} was not steered");
        worst = worst.max(effects.trace.fuel(Callback::RequestHeaders));
    }
    Ok(float(usize::try_from(worst)?))
}

/// Places from the first to the last of so many.
fn positions(count: usize) -> impl Iterator<Item = usize> {
    let samples = SAMPLES.min(count);
    (0..samples).map(move |sample| sample * (count - 1) / (samples - 1))
}

fn mebibytes(bytes: usize) -> f64 {
    float(bytes) / f64::from(1 << 20)
}

#[expect(clippy::cast_precision_loss, reason = "all numbers here are far below 2^53")]
fn float(number: usize) -> f64 {
    number as f64
}
