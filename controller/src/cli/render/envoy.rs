//! A plain Envoy's config.

use mcwan_core::emit::envoy::{self, EnvoyOptions};
use mcwan_core::snapshot::Gathered;
use mcwan_core::translate::SteeringKey;

use super::{ForEnvoy, Render};
use crate::cli::input::{Carrier, Findings, Input};

/// The module where nothing else is said.
const MODULE: &str = "mcwan-filter.wasm";

impl Render {
    pub(super) fn for_envoy(
        &self,
        gathered: Gathered,
        steering_key: SteeringKey,
    ) -> anyhow::Result<(String, Findings)> {
        let Self { module, data_plane, gateway, envoy: ForEnvoy { unknown_hosts, bind, admin }, .. } = self;
        let options = gateway.options(steering_key);
        let serves = |import: &_| gateway.serves(import);
        let input = Input::new(gathered, &options, serves, (*unknown_hosts).into(), Carrier::File)?;
        let options = EnvoyOptions {
            data_plane: (*data_plane).into(),
            steering: gateway.steering(),
            module: module.as_deref().unwrap_or(MODULE).into(),
            bind_address: *bind,
            admin: *admin,
        };
        let (config, problems) = envoy::render(&input.gathered.snapshot, &input.translation, &input.plugin, &options);
        Ok((format!("{config:#}\n"), input.findings(problems)))
    }
}
