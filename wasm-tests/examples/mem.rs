//! x
use mcwan_wasm_tests::*;
#[path = "../benches/numbers/configs.rs"]
#[allow(dead_code)]
mod configs;
fn main() {
    let module = Module::release().unwrap();
    let config = serde_json::to_string(&configs::config(10_000, 3)).unwrap();
    println!("json {}", config.len());
    let empty = Host::builder(&module).load(serde_json::to_string(&configs::config(0, 0)).unwrap()).unwrap();
    println!("empty {}", empty.memory_size());
    let mut host = Host::builder(&module).load(&config).unwrap();
    println!("first {}", host.memory_size());
    for i in 0..100 {
        host.update(&config).unwrap();
        if i < 12 || i % 10 == 0 { println!("{i} {}", host.memory_size()); }
    }
}
