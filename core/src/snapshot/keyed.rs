//! Values by namespace and name.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What tells the objects of one kind apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace; empty for an object of the cluster.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of an object of a namespace.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of an object.
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self::new(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
    }
}

/// `secure/payment`; `cluster-1` for an object of the cluster.
impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(formatter, "{}/", self.namespace)?;
        }
        formatter.write_str(&self.name)
    }
}

/// A map from [`Key`]s, which is searched without making one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed<V> {
    /// Each value by itself: a map's nodes have room for eleven, and are half empty where keys come in order.
    namespaces: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Box<V>>>,
}

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self { namespaces: BTreeMap::new() }
    }
}

impl<V> Keyed<V> {
    /// The value of a namespace and name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&V> {
        self.namespaces.get(namespace)?.get(name).map(|value| &**value)
    }

    /// The value of a namespace and name, to be changed.
    pub fn get_mut(&mut self, namespace: &str, name: &str) -> Option<&mut V> {
        self.namespaces.get_mut(namespace)?.get_mut(name).map(|value| &mut **value)
    }

    /// Puts a value in, and gives the one that was there.
    pub fn insert(&mut self, key: &Key, value: V) -> Option<V> {
        let names = self.namespaces.entry(Arc::clone(&key.namespace)).or_default();
        names.insert(Arc::clone(&key.name), Box::new(value)).map(|before| *before)
    }

    /// The value of a key, which is made if there is none.
    pub fn entry(&mut self, key: &Key) -> &mut V
    where
        V: Default,
    {
        self.namespaces.entry(Arc::clone(&key.namespace)).or_default().entry(Arc::clone(&key.name)).or_default()
    }

    /// Makes a key one copy with its equal in the map, where there is one: many hold it.
    pub fn share(&self, key: &mut Key) {
        if let Some((namespace, names)) = self.namespaces.get_key_value(&key.namespace)
            && let Some((name, _)) = names.get_key_value(&key.name)
        {
            *key = Key { namespace: Arc::clone(namespace), name: Arc::clone(name) };
        }
    }

    /// Those of a namespace whose names begin so, by name.
    pub fn beginning(&self, namespace: &str, prefix: &str) -> impl Iterator<Item = &V> {
        let all = self.namespaces.get(namespace).into_iter();
        let from = all.flat_map(move |all| all.range::<str, _>((Bound::Included(prefix), Bound::Unbounded)));
        from.take_while(move |(name, _)| name.starts_with(prefix)).map(|(_, value)| &**value)
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &Key) -> Option<V> {
        let Entry::Occupied(mut namespace) = self.namespaces.entry(Arc::clone(&key.namespace)) else {
            return None;
        };
        let value = namespace.get_mut().remove(&key.name).map(|value| *value);
        if namespace.get().is_empty() {
            namespace.remove();
        }
        value
    }

    /// All of it, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        self.namespaces.iter().flat_map(|(namespace, names)| {
            names
                .iter()
                .map(|(name, value)| (Key { namespace: Arc::clone(namespace), name: Arc::clone(name) }, &**value))
        })
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.namespaces.values().flat_map(BTreeMap::values).map(|value| &**value)
    }

    /// The values alone, in the order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.namespaces.into_values().flat_map(BTreeMap::into_values).map(|value| *value)
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.namespaces.values_mut().flat_map(BTreeMap::values_mut).map(|value| &mut **value)
    }

    /// The values of one namespace, in the order of their names.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &V> {
        self.namespaces.get(namespace).into_iter().flat_map(BTreeMap::values).map(|value| &**value)
    }

    /// The values of one namespace, or of all, in the order of their keys.
    pub fn within(&self, namespace: Option<&str>) -> impl Iterator<Item = &V> {
        let one = namespace.and_then(|namespace| self.namespaces.get(namespace)).into_iter();
        let all = self.namespaces.values().filter(move |_| namespace.is_none());
        one.chain(all).flat_map(BTreeMap::values).map(|value| &**value)
    }

    /// The keys and values of one namespace, in order.
    pub fn named_in(&self, namespace: &str) -> impl Iterator<Item = (Key, &V)> {
        self.namespaces.get_key_value(namespace).into_iter().flat_map(|(namespace, names)| {
            names
                .iter()
                .map(|(name, value)| (Key { namespace: Arc::clone(namespace), name: Arc::clone(name) }, &**value))
        })
    }

    /// The namespaces that hold something, in order.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<str>> {
        self.namespaces.keys()
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.namespaces.values().map(BTreeMap::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.namespaces.is_empty()
    }
}
