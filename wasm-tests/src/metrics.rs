//! Custom statistics.

use std::collections::BTreeMap;

use crate::Status;

/// A custom statistic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Only ever grows.
    Counter(u64),
    /// The last value.
    Gauge(u64),
    /// Every recorded value in order.
    Histogram(Vec<u64>),
}

/// Custom statistics by name. They belong to the host: every VM and every configuration adds to the
/// same ones.
///
/// A name has one kind; Envoy would keep a counter and a gauge of one name apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics(BTreeMap<String, Metric>);

impl Metrics {
    /// The metric of that name, if it was ever defined.
    pub fn get(&self, name: &str) -> Option<&Metric> {
        self.0.get(name)
    }

    /// The value of a counter; 0 where there is no such counter.
    pub fn counter(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Metric::Counter(value)) => *value,
            _ => 0,
        }
    }

    /// The value of a gauge, if there is one of that name.
    pub fn gauge(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Metric::Gauge(value)) => Some(*value),
            _ => None,
        }
    }

    /// All metrics in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Metric)> {
        self.0.iter().map(|(name, metric)| (name.as_str(), metric))
    }

    /// Defines a metric. A name that exists keeps its value.
    pub(crate) fn define(&mut self, kind: u32, name: &str) -> Result<(), Status> {
        let new = match kind {
            0 => Metric::Counter(0),
            1 => Metric::Gauge(0),
            2 => Metric::Histogram(Vec::new()),
            _ => return Err(Status::BadArgument),
        };
        let same_kind =
            self.get(name).is_none_or(|present| std::mem::discriminant(present) == std::mem::discriminant(&new));
        if !same_kind {
            return Err(Status::BadArgument);
        }
        self.0.entry(name.to_owned()).or_insert(new);
        Ok(())
    }

    /// Counters grow by a positive offset only, gauges move by any, histograms by none.
    pub(crate) fn increment(&mut self, name: &str, offset: i64) -> Result<(), Status> {
        match self.0.get_mut(name).ok_or(Status::NotFound)? {
            Metric::Counter(value) if offset > 0 => {
                *value = value.wrapping_add_signed(offset);
                Ok(())
            }
            Metric::Gauge(value) => {
                *value = value.wrapping_add_signed(offset);
                Ok(())
            }
            Metric::Counter(_) | Metric::Histogram(_) => Err(Status::BadArgument),
        }
    }

    /// Adds to a counter, sets a gauge, or samples for a histogram.
    pub(crate) fn record(&mut self, name: &str, value: u64) -> Result<(), Status> {
        match self.0.get_mut(name).ok_or(Status::NotFound)? {
            Metric::Counter(sum) => *sum = sum.wrapping_add(value),
            Metric::Gauge(last) => *last = value,
            Metric::Histogram(samples) => samples.push(value),
        }
        Ok(())
    }

    /// The value of a counter or gauge.
    pub(crate) fn value(&self, name: &str) -> Result<u64, Status> {
        match self.get(name).ok_or(Status::NotFound)? {
            Metric::Counter(value) | Metric::Gauge(value) => Ok(*value),
            Metric::Histogram(_) => Err(Status::BadArgument),
        }
    }
}
