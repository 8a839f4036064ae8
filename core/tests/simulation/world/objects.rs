//! Objects that are written and go, and who hears of it.

use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;

use super::{Happening, World};
use crate::inputs::Input;
use crate::istiod;

impl World {
    pub(crate) fn put(&mut self, input: Input) {
        let kind = input.kind;
        let told = self.api.put(input);
        if let Some(kind) = kind.input() {
            let changed = self.told.put(kind, &told);
            self.check.told(&changed);
        }
    }

    pub(super) fn remove(&mut self, kind: Watched, key: &Key) {
        if self.api.remove(kind, key) {
            for kind in [true, false].into_iter().filter_map(|is_ours| kind.input_of(is_ours)) {
                let changed = self.told.remove(kind, key);
                self.check.told(&changed);
            }
        }
    }

    /// Tells watches of what has changed, and the garbage collector.
    pub(super) fn spread(&mut self) {
        for (kind, key, uid) in std::mem::take(&mut self.api.garbage) {
            let delay = self.delay(3_000);
            self.at(delay, Happening::Collect(kind, key, uid));
        }
        let mut news = std::mem::take(&mut self.api.news);
        news.sort_unstable();
        news.dedup();
        for kind in news {
            for place in 0..2 {
                self.watch(place, kind);
            }
            if let Watched::Emitted(emitted) = kind {
                self.check.stale(emitted);
                if istiod::KINDS.contains(&emitted) && self.syncing.insert(emitted) {
                    let delay = match emitted {
                        Kind::WasmPlugin => self.channel(2_000, 20_000),
                        // Who has never heard of istiod waits for the lead, and no longer. Half of the time it hears of a route
                        // as soon as of others, so that it may hear of one before its Services.
                        Kind::HttpRoute if self.istiod.has_spoken && self.rng.bool() => self.channel(5_000, 40_000),
                        _ => self.channel(300, 6_000),
                    };
                    self.at(delay, Happening::Sync(emitted));
                }
            }
        }
    }

    pub(super) fn watch(&mut self, place: usize, kind: Watched) {
        if self.replicas[place].coming.insert(kind) {
            let life = self.replicas[place].life;
            let delay = self.delay(300);
            self.at(delay, Happening::Watch(place, life, kind));
        }
    }
}
