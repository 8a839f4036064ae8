//! What can be loaded as a module.

use std::path::Path;

use mcwan_wasm_tests::{HostCall, Module, ModuleError};

const ALLOCATE: &str = r#"(func (export "proxy_on_memory_allocate") (param i32) (result i32) i32.const 0)"#;
const MEMORY: &str = r#"(memory (export "memory") 1)"#;
const VERSION: &str = r#"(func (export "proxy_abi_version_0_2_1"))"#;

fn load(parts: &[&str]) -> Result<Module, ModuleError> {
    Module::new(&wat::parse_str(format!("(module {})", parts.concat())).expect("sound text"))
}

#[test]
fn a_module_must_export_what_every_host_needs() {
    assert!(load(&[MEMORY, VERSION, ALLOCATE]).is_ok());
    for (parts, missing) in [
        ([VERSION, ALLOCATE], "memory"),
        ([MEMORY, ALLOCATE], "proxy_abi_version_0_2_1"),
        ([MEMORY, VERSION], "proxy_on_memory_allocate"),
    ] {
        let error = load(&parts).err().expect("an error");
        assert!(matches!(error, ModuleError::NoExport(name) if name == missing), "{error}");
    }
}

#[test]
fn a_module_may_import_every_function_of_the_abi() {
    let wide = |name: &str| ["increment_metric", "record_metric"].iter().any(|end| name.ends_with(end));
    // How many parameters; those with a 64-bit one apart.
    let parameters = |call: HostCall| match call {
        HostCall::Done => 0,
        HostCall::GrpcCall => 12,
        HostCall::HttpCall => 10,
        HostCall::GrpcStream => 9,
        HostCall::SendLocalResponse => 8,
        HostCall::CallForeignFunction => 6,
        HostCall::AddHeaderMapValue
        | HostCall::GetBufferBytes
        | HostCall::GetHeaderMapValue
        | HostCall::GetSharedData
        | HostCall::ReplaceHeaderMapValue
        | HostCall::ResolveSharedQueue
        | HostCall::SetBufferBytes
        | HostCall::SetSharedData => 5,
        HostCall::DefineMetric | HostCall::GetProperty | HostCall::GrpcSend | HostCall::SetProperty => 4,
        HostCall::DequeueSharedQueue
        | HostCall::EnqueueSharedQueue
        | HostCall::GetBufferStatus
        | HostCall::GetHeaderMapPairs
        | HostCall::GetStatus
        | HostCall::Log
        | HostCall::RegisterSharedQueue
        | HostCall::RemoveHeaderMapValue
        | HostCall::SetHeaderMapPairs => 3,
        HostCall::GetHeaderMapSize | HostCall::GetMetric => 2,
        _ => 1,
    };
    let imports = HostCall::ALL.iter().map(|call| {
        let name = call.import();
        let types = if wide(name) { "i32 i64".to_owned() } else { "i32 ".repeat(parameters(*call)) };
        format!(r#"(import "env" "{name}" (func (param {types}) (result i32)))"#)
    });
    let imports: String = imports.collect();
    load(&[&imports, MEMORY, VERSION, ALLOCATE]).expect("it links");
}

#[test]
fn what_no_host_provides_cannot_be_imported() {
    for import in [
        r#"(import "env" "proxy_read_minds" (func))"#,
        r#"(import "elsewhere" "proxy_log" (func (param i32 i32 i32) (result i32)))"#,
        r#"(import "env" "proxy_log" (func (param i64) (result i32)))"#,
    ] {
        let error = load(&[import, MEMORY, VERSION, ALLOCATE]).err().expect("an error");
        assert!(matches!(error, ModuleError::Invalid(_)), "{error}");
    }
}

#[test]
fn bytes_that_are_no_module_are_refused() {
    for bytes in [&b""[..], b"\0asm", b"(module)"] {
        assert!(matches!(Module::new(bytes), Err(ModuleError::Invalid(_))));
    }
}

#[test]
fn a_module_that_is_missing_says_what_to_run() {
    let error = Module::read(Path::new("nowhere/filter.wasm")).err().expect("an error");
    assert_eq!(error.to_string(), "nowhere/filter.wasm is missing: run `cargo xtask setup`");
}

#[test]
fn a_module_tells_its_size_and_exports() {
    let module = load(&[MEMORY, VERSION, ALLOCATE]).expect("a sound module");
    assert!(module.size() > 40);
    assert_eq!(module.exports().collect::<Vec<_>>(), ["memory", "proxy_abi_version_0_2_1", "proxy_on_memory_allocate"]);
}
