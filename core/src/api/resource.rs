//! Types that are resources of others' kinds.

/// Makes a type with `metadata` the resource of a namespace that `$info` and `$version` say for its dynamic type.
macro_rules! resource {
    ($type:ty as $dynamic:ty, $info:expr, $version:expr) => {
        impl kube_core::Resource for $type {
            type DynamicType = $dynamic;
            type Scope = kube_core::NamespaceResourceScope;

            fn kind(dynamic: &$dynamic) -> std::borrow::Cow<'_, str> {
                $info(*dynamic).name.into()
            }

            fn group(dynamic: &$dynamic) -> std::borrow::Cow<'_, str> {
                $info(*dynamic).group.into()
            }

            fn version(dynamic: &$dynamic) -> std::borrow::Cow<'_, str> {
                $version(*dynamic).into()
            }

            fn plural(dynamic: &$dynamic) -> std::borrow::Cow<'_, str> {
                $info(*dynamic).plural.into()
            }

            fn meta(&self) -> &kube_core::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut kube_core::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(super) use resource;
