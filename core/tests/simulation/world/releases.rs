//! The filter's module, which may be unsound or away, and another release, whose module is another.

use mcwan_core::emit::kubernetes::FilterKind;
use mcwan_core::emit::object::Object;
use mcwan_core::rollout::ModuleVerdict;

use super::{Happening, World};
use crate::script::Module;

impl World {
    pub(super) fn module(&mut self, module: Module) {
        self.module = match module {
            Module::Sound => ModuleVerdict::Sound,
            Module::NotFetched => ModuleVerdict::NotFetched("no answer".to_owned()),
            Module::Unsound => ModuleVerdict::Unsound("version 9".to_owned()),
        };
        for place in 0..2 {
            let (life, delay) = (self.replicas[place].life, self.delay(2_000));
            self.at(delay, Happening::Module(place, life));
        }
    }

    /// The replica that follows is replaced first, and takes over from the other one.
    pub(super) fn release(&mut self) {
        self.release += 1;
        for place in 0..2 {
            if !self.replicas[place].leads {
                self.replace(place);
            }
        }
        self.die();
    }

    /// A filter that is sent names a module that gateways can run, or one that they have.
    pub(super) fn has_module(&mut self, filter: &Object, module: &ModuleVerdict) {
        let module_of = |object| FilterKind::WasmPlugin.module_of(object);
        let is_other = || {
            let live = self.api.emitted(&filter.id).filter(|_| !self.check.is_last_word(&filter.id.key.namespace));
            live.is_some_and(|live| module_of(&live.body) != module_of(&filter.body))
        };
        let is_wrong = match module {
            ModuleVerdict::Unchecked | ModuleVerdict::Unsound(_) => true,
            ModuleVerdict::NotFetched(_) => is_other(),
            ModuleVerdict::Sound => false,
        };
        if is_wrong {
            self.check.wrongs.push(format!("unsound: a filter is sent while the module is {module:?}"));
        }
    }
}
