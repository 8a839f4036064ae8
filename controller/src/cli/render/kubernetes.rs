//! A cluster's objects.

use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::emit::kubernetes::{Module, Settings, everything};
use mcwan_core::emit::yaml;
use mcwan_core::snapshot::Gathered;
use mcwan_core::snapshot::change::Change;
use mcwan_core::translate::{Steering, SteeringKey, Translator};

use super::{ForKubernetes, Render, usage};
use crate::cli::input::Findings;

impl Render {
    pub(super) fn for_kubernetes(
        &self,
        gathered: &Gathered,
        steering_key: SteeringKey,
    ) -> anyhow::Result<(String, Findings)> {
        let Self {
            module,
            data_plane,
            gateway,
            kubernetes: ForKubernetes { module_sha256, gateway_class, filter_kind, access_log },
            ..
        } = self;
        let options = gateway.options(steering_key);
        if options.steering == Steering::ClusterHeader {
            return Err(usage("Gateway API has no route that takes the Envoy cluster from a header").into());
        }
        let own = options.cluster.as_deref();
        let own = own.and_then(|own| gathered.snapshot.wan_clusters.get(REGISTRY_NAMESPACE, own));
        let settings = Settings {
            cluster: options.cluster.clone(),
            wan_cluster: None,
            network: own.and_then(|own| own.spec.network.clone()),
            gateway_class: gateway_class.clone(),
            module: Module { url: module.clone().unwrap_or_default(), sha256: module_sha256.clone() },
            data_plane: (*data_plane).into(),
            filter: (*filter_kind).into(),
            access_log: access_log.clone(),
            has_mcs_imports: true,
            has_connections: false, // all that they say is status
        };
        let mut translator = Translator::new(options);
        translator.update(&gathered.snapshot, &[Change::Everything]);
        let (objects, emitted) = everything(&translator, &gathered.snapshot, &settings);
        let mut problems = translator.problems();
        problems.extend(translator.imports().values().flat_map(|import| &import.problems).cloned());
        problems.extend(emitted);
        Ok((yaml::documents(&objects)?, Findings::new(gathered, problems)))
    }
}
