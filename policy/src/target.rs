//! The routes behind the filter, as the filter knows them.

use crate::wire;

/// One route behind the filter.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    steering_value: Box<str>,
    name_bytes: usize,
}

impl Target {
    pub(crate) fn new(target: &wire::Target) -> Self {
        Self { steering_value: format!("{}.{}", target.name, target.digest).into(), name_bytes: target.name.len() }
    }

    /// Legible in access logs and metrics.
    pub fn name(&self) -> &str {
        self.steering_value.get(..self.name_bytes).unwrap_or_default()
    }

    /// What the steering header carries: the name, a dot, and a keyed digest that no client knows.
    pub fn steering_value(&self) -> &str {
        &self.steering_value
    }
}

impl wire::Target {
    /// See [`Target::steering_value`].
    pub fn steering_value(&self) -> String {
        Target::new(self).steering_value.into()
    }
}
