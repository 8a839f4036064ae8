//! What changes of one object.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use mcwan_core::emit::object::Object;
use mcwan_core::emit::yaml;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use crate::cli::report::printable;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const PLACE: Style = AnsiColor::Cyan.on_default();

/// What stands for an object that is not there.
const NOTHING: &str = "/dev/null";

/// Who changes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum By {
    /// Whoever applies the files.
    User,
    /// The controller.
    Controller,
}

/// What changes of one object; of nothing, there is none.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Change {
    by: By,
    kind: String,
    namespace: Option<String>,
    name: String,
    /// None: it is not there yet.
    before: Option<Value>,
    /// None: it goes.
    after: Option<Value>,
    /// Where the rules were written that it is made of, a line for each object of each import.
    rules: Vec<String>,
}

impl Change {
    /// The change between two states of an object, if there is one.
    pub(super) fn between(by: By, before: Option<Value>, after: Option<Value>) -> Option<Self> {
        if before == after {
            return None;
        }
        let object = after.as_ref().or(before.as_ref())?;
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            by,
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_default(),
            before,
            after,
            rules: Vec::new(),
        })
    }

    /// Prints it as a unified diff, below what its rules are made of.
    pub(super) fn text(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let yaml = |object: &Option<Value>| object.as_ref().map(yaml::document).transpose();
        let (before, after) = (yaml(&self.before)?, yaml(&self.after)?);
        let path = [Some(self.kind.as_str()), self.namespace.as_deref(), Some(self.name.as_str())];
        let path: Vec<_> = path.into_iter().flatten().collect();
        let path = path.join("/");
        let (left, right) = match self.by {
            By::User => ("live", "files"),
            By::Controller => ("now", "then"),
        };
        let header = |side: &str, object: &Option<String>| match object {
            Some(_) => format!("{side}/{path}"),
            None => NOTHING.to_owned(),
        };
        let headers = (header(left, &before), header(right, &after));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        let diff = TextDiff::from_lines(&before, &after);
        let diff = diff.unified_diff().header(&headers.0, &headers.1).to_string();
        let rules = self.rules.iter().map(|place| format!("# rules of {place}"));
        rules.chain(diff.lines().map(str::to_owned)).try_for_each(|line| colored(out, &line))?;
        Ok(())
    }
}

/// What changes of what the controller makes; `rules` says where the rules were written that an object is made of.
pub(super) fn emitted(before: &[Object], after: &[Object], rules: impl Fn(&Object) -> Vec<String>) -> Vec<Change> {
    let mut states: BTreeMap<_, (Option<&Object>, Option<&Object>)> = BTreeMap::new();
    for object in before {
        states.entry(&object.id).or_default().0 = Some(object);
    }
    for object in after {
        states.entry(&object.id).or_default().1 = Some(object);
    }
    let body = |object: Option<&Object>| object.map(|object| object.body.clone());
    let change = |(before, after): (Option<&Object>, Option<&Object>)| {
        let change = Change::between(By::Controller, body(before), body(after))?;
        Some(Change { rules: after.or(before).map(&rules).unwrap_or_default(), ..change })
    };
    states.into_values().filter_map(change).collect()
}

fn colored(out: &mut impl Write, line: &str) -> io::Result<()> {
    let style = match line.as_bytes() {
        [b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Style::new().bold(),
        [b'+', ..] => ADDED,
        [b'-', ..] => REMOVED,
        [b'@', ..] => PLACE,
        _ => Style::new(),
    };
    writeln!(out, "{style}{}{style:#}", printable(line))
}
