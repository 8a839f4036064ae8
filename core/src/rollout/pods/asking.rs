//! Whether pods are being asked.

/// Whether the pods of a namespace are being asked. One that does not answer takes seconds, and pods change as often as
/// tenants like: so one look is under way at a time, and what comes meanwhile is one more after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Asking {
    /// They are not.
    #[default]
    No,
    /// They are.
    Once,
    /// They are, and there was a reason to ask again since.
    Again,
}

impl Asking {
    /// There is a reason to ask. Returns whether to do so now.
    pub(in super::super) fn begin(&mut self) -> bool {
        let is_idle = *self == Self::No;
        *self = if is_idle { Self::Once } else { Self::Again };
        is_idle
    }

    /// They have answered. Returns whether there was a reason to ask again since.
    pub(in super::super) fn end(&mut self) -> bool {
        std::mem::take(self) == Self::Again
    }
}
