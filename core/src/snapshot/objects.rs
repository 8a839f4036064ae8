//! The objects of one kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube_core::Resource;

use super::keyed::{Key, Keyed};

/// The objects of one kind, by namespace and name.
#[derive(Clone, Debug, PartialEq)]
pub struct Objects<T> {
    by_key: Keyed<Object<T>>,
    /// How many have been put in.
    inserted: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Object<T> {
    object: T,
    /// Tells the order of those that nobody has created yet.
    place: u64,
}

/// When an object came to be: the earlier is the lesser.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// Created by an API server.
    Created(Time),
    /// Not created yet: by the order of the documents.
    Document(u64),
}

impl Age {
    /// The age of an object that an API server created, or of one that comes at this place of the documents.
    pub fn of(metadata: &ObjectMeta, place: u64) -> Self {
        metadata.creation_timestamp.clone().map_or(Self::Document(place), Self::Created)
    }
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { by_key: Keyed::default(), inserted: 0 }
    }
}

impl<T: Resource> Objects<T> {
    /// Puts an object in, and gives the one of that name that was there.
    pub fn insert(&mut self, object: T) -> Option<T> {
        let place = self.inserted;
        self.inserted += 1;
        let key = Key::of(object.meta());
        self.by_key.insert(&key, Object { object, place }).map(|earlier| earlier.object)
    }

    /// Takes an object out.
    pub fn remove(&mut self, key: &Key) -> Option<T> {
        self.by_key.remove(key).map(|known| known.object)
    }

    /// An object of a namespace; the namespace is empty for those of the cluster.
    pub fn get(&self, namespace: &str, name: &str) -> Option<&T> {
        self.by_key.get(namespace, name).map(|known| &known.object)
    }

    /// The same, to be changed; what tells it apart must stay.
    pub fn get_mut(&mut self, namespace: &str, name: &str) -> Option<&mut T> {
        self.by_key.get_mut(namespace, name).map(|known| &mut known.object)
    }

    /// When an object came to be.
    pub fn age(&self, namespace: &str, name: &str) -> Option<Age> {
        self.by_key.get(namespace, name).map(Object::age)
    }

    /// All of them, by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.by_key.values().map(|known| &known.object)
    }

    /// All of them, to be changed; what tells them apart must stay.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.by_key.values_mut().map(|known| &mut known.object)
    }

    /// Those of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> impl Iterator<Item = &T> {
        self.by_key.in_namespace(namespace).map(|known| &known.object)
    }

    /// Those of a namespace, or all, by namespace and name.
    pub fn within(&self, namespace: Option<&str>) -> impl Iterator<Item = &T> {
        self.by_key.within(namespace).map(|known| &known.object)
    }

    /// Those of a namespace whose names begin so, by name.
    pub fn beginning(&self, namespace: &str, prefix: &str) -> impl Iterator<Item = &T> {
        self.by_key.beginning(namespace, prefix).map(|known| &known.object)
    }

    /// All of them, the oldest first; of the same age by namespace and name.
    pub fn by_age(&self) -> Vec<&T> {
        let mut objects: Vec<_> = self.by_key.values().collect();
        objects.sort_by_key(|known| known.age());
        objects.into_iter().map(|known| &known.object).collect()
    }
}

impl<T: Resource> Object<T> {
    fn age(&self) -> Age {
        Age::of(self.object.meta(), self.place)
    }
}

impl<T: Resource> FromIterator<T> for Objects<T> {
    fn from_iter<I: IntoIterator<Item = T>>(objects: I) -> Self {
        let mut all = Self::default();
        objects.into_iter().for_each(|object| drop(all.insert(object)));
        all
    }
}

impl<T: Resource, const N: usize> From<[T; N]> for Objects<T> {
    fn from(objects: [T; N]) -> Self {
        objects.into_iter().collect()
    }
}

impl<T: Resource> From<Vec<T>> for Objects<T> {
    fn from(objects: Vec<T>) -> Self {
        objects.into_iter().collect()
    }
}
