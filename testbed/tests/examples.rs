//! The examples.

use mcwan_testbed::example::Example;

#[test]
fn all_load() {
    for name in Example::names().unwrap() {
        Example::load(&name).unwrap();
    }
}
