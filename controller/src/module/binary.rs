//! What a module is made of.

use std::io::{self, Read};

use flate2::read::GzDecoder;
use mcwan_policy::wire;
use tar::Archive;
use wasmparser::{Parser, Payload};

use super::{MAX_BYTES, ModuleError};

/// The file of an image that the istio-agent takes.
const FILE: &str = "plugin.wasm";

/// The custom section in which the filter says which wire version it reads.
const WIRE_SECTION: &str = "mcwan.wire";

/// Takes the module out of an image's layer.
pub(super) fn unpack(layer: &[u8]) -> Result<Vec<u8>, ModuleError> {
    match find(layer) {
        Ok(Some(module)) if module.len() > MAX_BYTES => Err(ModuleError::TooLarge(FILE.to_owned())),
        Ok(Some(module)) => Ok(module),
        Ok(None) => Err(ModuleError::NotAModule(format!("the image holds no {FILE}"))),
        Err(error) => Err(ModuleError::NotAModule(format!("its layer cannot be read: {error}"))),
    }
}

/// The file, or one byte more of it than it may have.
fn find(layer: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut archive = Archive::new(GzDecoder::new(layer).take(limit.saturating_mul(2)));
    for entry in archive.entries()? {
        let entry = entry?;
        if entry.path()?.file_name().is_some_and(|name| name == FILE) {
            let mut module = Vec::new();
            entry.take(limit).read_to_end(&mut module)?;
            return Ok(Some(module));
        }
    }
    Ok(None)
}

/// That it is the filter, and reads the configurations that this controller writes.
pub(super) fn check(module: &[u8]) -> Result<(), ModuleError> {
    let malformed = |error| ModuleError::NotAModule(format!("it is no WebAssembly: {error}"));
    let mut version = None;
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload.map_err(malformed)?
            && section.name() == WIRE_SECTION
        {
            version = section.data().try_into().ok().map(u32::from_le_bytes);
        }
    }
    match version {
        Some(wire::VERSION) => Ok(()),
        Some(other) => Err(ModuleError::WireVersionMismatch(other)),
        None => Err(ModuleError::NotAModule(format!("it has no section {WIRE_SECTION}"))),
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use mcwan_core::problem::Reason;
    use tar::{Builder, Header};

    use super::*;

    fn mk_module(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        for (name, data) in sections {
            let [size, name_size] = [1 + name.len() + data.len(), name.len()].map(|size| u8::try_from(size).unwrap());
            module.extend([0, size, name_size]);
            module.extend(name.bytes().chain(data.iter().copied()));
        }
        module
    }

    fn mk_layer(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, content) in files {
            let mut header = Header::new_gnu();
            header.set_size(content.len().try_into().unwrap());
            header.set_mode(0o644);
            header.set_cksum();
            archive.append_data(&mut header, name, *content).unwrap();
        }
        archive.into_inner().and_then(GzEncoder::finish).unwrap()
    }

    #[test]
    fn a_module_must_read_our_wire_version() {
        let [ours, next] = [wire::VERSION, wire::VERSION + 1].map(u32::to_le_bytes);
        for (what, module, want) in [
            ("ours", mk_module(&[("name", b"x"), (WIRE_SECTION, &ours)]), Ok(())),
            ("the next", mk_module(&[(WIRE_SECTION, &next)]), Err(Reason::WireVersionMismatch)),
            ("no section", mk_module(&[("name", b"x")]), Err(Reason::NotAModule)),
            ("three bytes", mk_module(&[(WIRE_SECTION, &ours[..3])]), Err(Reason::NotAModule)),
            ("cut", mk_module(&[(WIRE_SECTION, &ours)])[..12].to_vec(), Err(Reason::NotAModule)),
            ("empty", Vec::new(), Err(Reason::NotAModule)),
            ("text", b"<html>".to_vec(), Err(Reason::NotAModule)),
        ] {
            assert_eq!(check(&module).map_err(|error| error.reason()), want, "{what}");
        }
    }

    #[test]
    fn an_archive_must_hold_the_file() {
        for (what, layer, want) in [
            ("alone", mk_layer(&[(FILE, b"x")]), Ok(b"x".to_vec())),
            ("in a folder", mk_layer(&[("readme", b"y"), ("a/plugin.wasm", b"x")]), Ok(b"x".to_vec())),
            ("not there", mk_layer(&[("filter.wasm", b"x")]), Err(Reason::NotAModule)),
            ("not packed", b"\0asm\x01\0\0\0".to_vec(), Err(Reason::NotAModule)),
            ("cut", mk_layer(&[(FILE, &[7; 5_000])])[..20].to_vec(), Err(Reason::NotAModule)),
            ("too large", mk_layer(&[(FILE, &vec![0; MAX_BYTES + 1])]), Err(Reason::TooLarge)),
            ("endless", mk_layer(&[("other", &vec![0; 3 * MAX_BYTES]), (FILE, b"x")]), Err(Reason::NotAModule)),
        ] {
            assert_eq!(unpack(&layer).map_err(|error| error.reason()), want, "{what}");
        }
    }
}
