//! Small worlds, and how tests look at what comes of them.

use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::emit::kubernetes::{
    self, AccessLog, FilterKind, FilterObject, ImportVersions, Module, Places, Settings,
};
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::problem::Problem;
use mcwan_core::snapshot::Gathered;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::input;
use mcwan_core::translate::{FrontEnds, Import, Options, RouteOptions, Steering, Translator, Trust};
use serde_json::{Value, json};

const HEAD: &str = "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind:";

/// A world and what it means.
pub(crate) struct World {
    pub(crate) gathered: Gathered,
    pub(crate) translator: Translator,
}

impl World {
    /// A world with the tier `high`, and these documents.
    pub(crate) fn new(documents: &[String]) -> Self {
        Self::trusting(Trust::default(), documents)
    }

    /// The same where the others are trusted as this says.
    pub(crate) fn trusting(trust: Trust, documents: &[String]) -> Self {
        Self::with(Options { trust, ..options() }, documents)
    }

    /// The same, translated with these options.
    pub(crate) fn with(options: Options, documents: &[String]) -> Self {
        let tier = format!("{HEAD} WANPolicy\nmetadata: {{name: high}}\nspec: {{port: 31111}}\n");
        let gathered = Gathered::from_text("world.yaml", &[&[tier], documents].concat().join("---\n"));
        assert!(gathered.is_complete(), "{:?}", gathered.findings);
        let mut translator = Translator::new(options);
        translator.update(&gathered.snapshot, &[Change::Everything]);
        Self { gathered, translator }
    }

    /// The same where an object of ours has addresses by now.
    pub(crate) fn addressed(self, kind: InputKind, spec: &Value) -> Self {
        let name = if kind == InputKind::ClientService { "payment-clusterset" } else { "payment" };
        self.named(kind, name, spec)
    }

    /// The same where the API server has an object of that name in `secure`.
    pub(crate) fn named(mut self, kind: InputKind, name: &str, spec: &Value) -> Self {
        let labels = json!({"app.kubernetes.io/managed-by": "mcwan", "mc-wan.l7mp.io/import": "payment"});
        let object = json!({"metadata": {"name": name, "namespace": "secure", "labels": labels}, "spec": spec});
        let input = input::read(kind, &object).unwrap_or_else(|unreadable| panic!("{}", unreadable.error));
        let changes = self.gathered.snapshot.put(input);
        self.translator.update(&self.gathered.snapshot, &changes);
        self
    }

    /// The import `payment` of namespace `secure`.
    pub(crate) fn payment(&self) -> &Import {
        self.translator.imports().get("secure", "payment").unwrap()
    }
}

/// What every world is translated with.
pub(crate) fn options() -> Options {
    Options {
        cluster: Some("own".to_owned()),
        steering_key: "0123456789abcdef".parse().unwrap(),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    }
}

/// A cluster that exports `payment.secure` with these fields of the export.
pub(crate) fn mk_export(cluster: &str, fields: &str) -> String {
    format!(
        "{HEAD} WANCluster\nmetadata: {{name: {cluster}, namespace: mc-wan-registry}}\n\
         spec: {{tiers: [{{name: high, port: 31111}}]}}\n---\n\
         {HEAD} ExportedService\nmetadata: {{name: {cluster}.secure.payment, namespace: mc-wan-registry}}\n\
         spec: {{cluster: {cluster}, namespace: secure, name: payment, exportedAt: '2026-11-20T08:00:00Z', {fields}}}\n"
    )
}

/// The same with one port, one gateway and three pods.
pub(crate) fn mk_plain_export() -> String {
    mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], readyPods: 3")
}

/// An import of namespace `secure` with these rules.
pub(crate) fn mk_import(name: &str, rules: &[String]) -> String {
    let rules = rules.join("\n    - ");
    format!(
        "{HEAD} ServiceImport\nmetadata: {{name: {name}, namespace: secure}}\nspec:\n  http:\n    rules:\n    - {rules}\n"
    )
}

/// A rule that sends everything over the tier, with more fields.
pub(crate) fn to_high(fields: &str) -> String {
    format!("{{backendRefs: [{HIGH}], {fields}}}")
}

/// A backendRef to the tier.
pub(crate) const HIGH: &str = "{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}";

/// The objects of an import that has never been otherwise, and what is wrong.
pub(crate) fn import_objects(import: &Import, settings: &Settings) -> (Vec<Object>, Vec<Problem>) {
    ImportVersions::of(import).objects(settings, &mut Places::new()).into_all()
}

/// What imports of a namespace share.
pub(crate) struct Egress {
    pub(crate) objects: Vec<Object>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) filter: FilterObject,
}

/// What imports of a namespace share that have never been otherwise.
pub(crate) fn egress_objects(namespace: &str, imports: &[&Import], settings: &Settings) -> Egress {
    let key = "0123456789abcdef".parse().unwrap();
    let (objects, problems) = kubernetes::egress_objects(namespace, imports, settings, &key);
    Egress { objects, problems, filter: kubernetes::filter_object(namespace, imports, settings, &key, None) }
}

pub(crate) fn settings(data_plane: DataPlane) -> Settings {
    Settings {
        cluster: Some("own".to_owned()),
        wan_cluster: None,
        network: None,
        gateway_class: "istio".to_owned(),
        module: Module { url: "https://example.com/filter.wasm".to_owned(), sha256: Some("0".repeat(64)) },
        data_plane,
        filter: FilterKind::default(),
        access_log: AccessLog::default(),
        has_mcs_imports: true,
        has_connections: true,
    }
}

/// The objects of a kind, by name.
pub(crate) fn of_kind(objects: &[Object], kind: Kind) -> Vec<(&str, &Value)> {
    let ours = objects.iter().filter(|object| object.id.kind == kind);
    ours.map(|object| (&*object.id.key.name, &object.body)).collect()
}

/// Whatever a pointer leads to; null if nothing is there.
pub(crate) fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// Reason and field of each problem.
pub(crate) fn reasons(problems: &[Problem]) -> Vec<String> {
    let text = |problem: &Problem| format!("{} {}", problem.reason, problem.field).trim_end().to_owned();
    problems.iter().map(text).collect()
}

/// The clusters that the tier service with the name that users see leads to.
pub(crate) fn common(objects: &[Object]) -> Vec<String> {
    let slices = of_kind(objects, Kind::EndpointSlice).into_iter();
    let common = slices.filter_map(|(name, _)| name.strip_prefix("payment-secure-high."));
    common.map(|rest| rest.split('.').next().unwrap_or_default().to_owned()).collect()
}
