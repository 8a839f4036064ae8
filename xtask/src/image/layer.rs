//! The one layer of an image: an archive of one file.

use std::io::Write;

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use super::digest::Digest;

/// A layer, which depends on nothing but the file's name, mode and content: no time, no owner, no
/// machine is in it.
pub(crate) struct Layer {
    /// The archive as it is stored.
    pub(crate) compressed: Vec<u8>,
    /// The digest of the archive before it was compressed.
    pub(crate) diff_id: Digest,
}

impl Layer {
    /// A layer that holds `content` as `/name`, with the permissions `mode`.
    pub(crate) fn new(name: &str, mode: u32, content: &[u8]) -> Result<Self> {
        let archive = archive(name, mode, content)?;
        // The builder's header has no time, and says of the system that it is unknown.
        let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
        encoder.write_all(&archive)?;
        Ok(Self { compressed: encoder.finish()?, diff_id: Digest::of(&archive) })
    }
}

fn archive(name: &str, mode: u32, content: &[u8]) -> Result<Vec<u8>> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(content.len().try_into()?);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, name, content)?;
    Ok(archive.into_inner()?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn it_holds_the_file_and_nothing_of_this_machine() -> Result<()> {
        let layer = Layer::new("plugin.wasm", 0o644, b"module")?;
        let mut archive = Vec::new();
        GzDecoder::new(layer.compressed.as_slice()).read_to_end(&mut archive)?;
        assert_eq!(layer.diff_id, Digest::of(&archive));
        let mut archive = tar::Archive::new(archive.as_slice());
        let mut entries = archive.entries()?;
        let mut entry = entries.next().expect("an entry")?;
        assert_eq!(entry.path()?.to_str(), Some("plugin.wasm"));
        let header = entry.header();
        assert_eq!((header.mode()?, header.uid()?, header.gid()?, header.mtime()?), (0o644, 0, 0, 0));
        assert_eq!((header.username(), header.groupname()), (Ok(Some("")), Ok(Some(""))));
        let mut content = String::new();
        entry.read_to_string(&mut content)?;
        assert_eq!(content, "module");
        assert!(entries.next().is_none());
        Ok(())
    }

    #[test]
    fn its_gzip_header_has_no_time_no_name_and_no_system() -> Result<()> {
        let layer = Layer::new("plugin.wasm", 0o644, b"module")?;
        let decoder = GzDecoder::new(layer.compressed.as_slice());
        let header = decoder.header().expect("a header");
        assert_eq!((header.mtime(), header.filename(), header.operating_system()), (0, None, 255));
        Ok(())
    }
}
