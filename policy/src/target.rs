//! The routes behind the filter, as the filter knows them.

use crate::wire;

/// One route behind the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledTarget<'t> {
    pub(crate) steering_value: &'t str,
    pub(crate) name_bytes: u16,
}

impl<'t> CompiledTarget<'t> {
    /// Legible in access logs and metrics.
    pub fn name(self) -> &'t str {
        self.steering_value.get(..self.name_bytes.into()).unwrap_or_default()
    }

    /// What the steering header carries: the name, a dot, and a keyed digest that no client knows.
    pub fn steering_value(self) -> &'t str {
        self.steering_value
    }
}

impl wire::TargetConfig {
    /// See [`CompiledTarget::steering_value`].
    pub fn steering_value(&self) -> String {
        format!("{}.{}", self.name, self.digest)
    }
}
