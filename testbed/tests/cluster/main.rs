//! Real API servers, without gateways: what they admit, what the controller makes of it, how it is installed.

mod admission;
mod apply;
mod command;
mod control_plane;
mod controller;
mod emission;
mod objects;
mod packaging;
mod registry;
mod registry_access;
mod replicas;
mod scene;
mod shared;
mod shipped;
mod status;
