//! Images of modules, sound and other ones.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use mcwan_testbed::tools;

/// An archive that holds one file.
pub(crate) fn mk_archive(folder: &Path, name: &str, content: &[u8]) -> Result<PathBuf> {
    let path = folder.join("layer.tar.gz");
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(&path)?, Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len().try_into()?);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append_data(&mut header, name, content)?;
    archive.into_inner()?.finish()?;
    Ok(path)
}

/// The module as it would be if it read another wire version than it does: by so much.
pub(crate) fn mk_module_of_version(off: i8) -> Result<Vec<u8>> {
    const SECTION: &[u8] = b"mcwan.wire";
    let mut module = fs::read(tools::module()?)?;
    let place = module.windows(SECTION.len()).position(|window| window == SECTION).context("the section")?;
    let version = module.get_mut(place + SECTION.len()).context("the version")?;
    *version = version.checked_add_signed(off).context("no such version")?;
    Ok(module)
}
