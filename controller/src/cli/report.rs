//! Findings, as people and programs read them.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use mcwan_core::problem::{FieldPath, ObjectRef, Reason, Severity};
use mcwan_core::snapshot::finding::Finding;
use serde::Serialize;

/// The word `error`.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default();
const PLACE: Style = Style::new().bold();

/// Prints a finding: `FILE:LINE: error: OBJECT: FIELD: MESSAGE (REASON)`, and its hint below.
pub(super) fn text(out: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let Finding { severity, place, object, field, reason, message, hint } = finding;
    if let Some(place) = place {
        write!(out, "{PLACE}{}:{PLACE:#} ", printable(&place.to_string()))?;
    }
    let style = match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
    };
    write!(out, "{style}{severity}:{style:#} ")?;
    for part in [object.as_ref().map(ObjectRef::to_string), path(field)].iter().flatten() {
        write!(out, "{}: ", printable(part))?;
    }
    writeln!(out, "{} ({reason})", printable(message))?;
    if let Some(hint) = hint {
        writeln!(out, "  {HINT}hint:{HINT:#} {}", printable(hint))?;
    }
    Ok(())
}

/// A text from a file, which must not command the terminal.
pub(super) fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// A field, where one alone is wrong.
fn path(field: &FieldPath) -> Option<String> {
    (!field.is_root()).then(|| field.to_string())
}

/// A finding for programs; null where a field does not apply.
#[derive(Debug, Serialize)]
pub(super) struct Json<'f> {
    severity: Severity,
    file: Option<&'f str>,
    line: Option<usize>,
    kind: Option<&'f str>,
    namespace: Option<&'f str>,
    name: Option<&'f str>,
    field: Option<String>,
    reason: Reason,
    message: &'f str,
    hint: Option<&'f str>,
}

impl<'f> From<&'f Finding> for Json<'f> {
    fn from(finding: &'f Finding) -> Self {
        let Finding { severity, place, object, field, reason, message, hint } = finding;
        Self {
            severity: *severity,
            file: place.as_ref().map(|place| &*place.file),
            line: place.as_ref().and_then(|place| place.line),
            kind: object.as_ref().map(|object| object.kind.as_str()),
            namespace: object.as_ref().and_then(|object| object.namespace.as_deref()),
            name: object.as_ref().map(|object| object.name.as_str()),
            field: path(field),
            reason: *reason,
            message,
            hint: hint.as_deref(),
        }
    }
}
