//! The files that a Pod asks for, in the folder that stands for its file system.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, Container, DownwardAPIVolumeFile, KeyToPath, Pod, ServiceAccount, ServiceAccountTokenProjection, Volume,
    VolumeProjection,
};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};

use super::downward;

/// How long a token holds that does not say: as long as anybody may play with a cluster.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// Writes what a container's volume mounts name.
pub(super) async fn write(client: &Client, pod: &Pod, container: &Container, folder: &Path) -> Result<()> {
    let writer = Writer { client, pod };
    let volumes = pod.spec.as_ref().and_then(|spec| spec.volumes.as_deref()).unwrap_or_default();
    for mount in container.volume_mounts.as_deref().unwrap_or_default() {
        let volume = volumes.iter().find(|volume| volume.name == mount.name);
        let volume = volume.with_context(|| format!("there is no volume {}", mount.name))?;
        let target = inside(folder, &mount.mount_path);
        fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
        writer.volume(volume, &target).await.with_context(|| format!("volume {}", volume.name))?;
    }
    Ok(())
}

/// Where an absolute path of the pod is.
pub(super) fn inside(folder: &Path, path: &str) -> PathBuf {
    folder.join(path.trim_start_matches('/'))
}

struct Writer<'w> {
    client: &'w Client,
    pod: &'w Pod,
}

impl Writer<'_> {
    async fn volume(&self, volume: &Volume, target: &Path) -> Result<()> {
        if let Some(downward) = &volume.downward_api {
            self.downward(downward.items.as_deref().unwrap_or_default(), target)
        } else if let Some(map) = &volume.config_map {
            self.config_map(&map.name, map.optional, map.items.as_deref(), target).await
        } else if let Some(projected) = &volume.projected {
            for source in projected.sources.as_deref().unwrap_or_default() {
                self.projection(source, target).await?;
            }
            Ok(())
        } else if volume.empty_dir.is_some() {
            Ok(())
        } else {
            bail!("volumes of its kind are not known here")
        }
    }

    async fn projection(&self, source: &VolumeProjection, target: &Path) -> Result<()> {
        if let Some(token) = &source.service_account_token {
            return put(target, &token.path, &self.token(token).await?);
        }
        if let Some(map) = &source.config_map {
            return self.config_map(&map.name, map.optional, map.items.as_deref(), target).await;
        }
        let downward = source.downward_api.as_ref().context("projections of its kind are not known here")?;
        self.downward(downward.items.as_deref().unwrap_or_default(), target)
    }

    fn downward(&self, files: &[DownwardAPIVolumeFile], target: &Path) -> Result<()> {
        for file in files {
            let field = file.field_ref.as_ref().context("only fields are known here")?;
            put(target, &file.path, &downward::field(self.pod, &field.field_path)?)?;
        }
        Ok(())
    }

    async fn config_map(
        &self,
        name: &str,
        optional: Option<bool>,
        items: Option<&[KeyToPath]>,
        target: &Path,
    ) -> Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.pod.namespace().unwrap_or_default());
        let map = match maps.get_opt(name).await? {
            Some(map) => map,
            None if optional == Some(true) => return Ok(()),
            None => bail!("ConfigMap {name} is not there (yet)"),
        };
        let data = map.data.unwrap_or_default();
        let Some(items) = items else {
            return data.iter().try_for_each(|(key, value)| put(target, key, value));
        };
        items.iter().try_for_each(|item| {
            let value = data.get(&item.key).with_context(|| format!("ConfigMap {name} has no {}", item.key))?;
            put(target, &item.path, value)
        })
    }

    async fn token(&self, wanted: &ServiceAccountTokenProjection) -> Result<String> {
        let account = self.pod.spec.as_ref().and_then(|spec| spec.service_account_name.as_deref());
        let accounts: Api<ServiceAccount> =
            Api::namespaced(self.client.clone(), &self.pod.namespace().unwrap_or_default());
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences: wanted.audience.clone().map(|audience| vec![audience]),
                bound_object_ref: Some(BoundObjectReference {
                    api_version: Some("v1".to_owned()),
                    kind: Some("Pod".to_owned()),
                    name: self.pod.metadata.name.clone(),
                    uid: self.pod.metadata.uid.clone(),
                }),
                expiration_seconds: Some(TOKEN_SECONDS),
            }),
            ..TokenRequest::default()
        };
        let account = account.unwrap_or("default");
        let answer = accounts.create_token_request(account, &PostParams::default(), &request).await?;
        answer.status.and_then(|status| status.token).context("the API server answers without a token")
    }
}

fn put(folder: &Path, path: &str, content: &str) -> Result<()> {
    let path = inside(folder, path);
    fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
}
