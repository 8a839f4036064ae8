//! What a cluster is told: what each unit of emission consists of, and what cannot be said.

mod agreement;
mod bounds;
mod clusterset;
mod connections;
mod consumer_routes;
mod egress;
mod families;
mod filters;
mod grpc_routes;
mod import;
mod ingress;
mod names;
mod native;
mod openshift_routes;
mod other_imports;
mod own;
mod provenance;
mod routes;
mod sla;
mod slices;
mod stale;
mod trust;
mod unread_routes;
mod world;
