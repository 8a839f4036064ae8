//! A scan that admits what RE2 and regex-lite read alike, and names the first thing that they do not.
//!
//! RE2's grammar: <https://github.com/google/re2/wiki/Syntax>. Whether an admitted expression is sound
//! (ranges, bounds of repetitions) is left to regex-lite's own parser, which is no laxer there.

/// The most repetitions of one thing, those around it multiplied in (RE2, `kMaxRepeat`).
const MOST_REPETITIONS: u32 = 1_000;

/// What stands before the place where the scan is.
#[derive(Clone, Copy)]
enum Before {
    /// Nothing that can be repeated.
    Nothing,
    /// Something that can; how often the most repeated thing in it may come.
    Atom(u32),
    /// A repetition, which RE2 does not repeat.
    Repetition,
}

/// The same expression with groups that capture nothing: nobody reads what they capture, and for each the engine would keep two
/// words in each of its states.
///
/// # Errors
/// The first byte from which on the two engines may differ, and what stands there.
pub(super) fn without_captures(pattern: &str) -> Result<String, (usize, &'static str)> {
    let mut scan = Scan {
        pattern,
        at: 0,
        before: Before::Nothing,
        widest: 1,
        groups: Vec::new(),
        folds: false,
        beyond_ascii: !pattern.is_ascii(),
        plain: String::new(),
        copied: 0,
    };
    while let Some(next) = scan.next() {
        let at = scan.at - next.len_utf8();
        scan.step(next).map_err(|what| (at, what))?;
    }
    match scan {
        Scan { folds: true, beyond_ascii: true, .. } => {
            Err((0, "flag `i` beside a character beyond ASCII, of which RE2 folds some and mcwan none"))
        }
        Scan { groups, .. } if !groups.is_empty() => Err((pattern.len(), "a group without its `)`")),
        Scan { mut plain, copied, .. } => {
            plain.push_str(pattern.get(copied..).unwrap_or_default());
            Ok(plain)
        }
    }
}

struct Scan<'p> {
    pattern: &'p str,
    at: usize,
    before: Before,
    /// How often the most repeated thing in the group so far may come.
    widest: u32,
    /// `widest` of each group around this one.
    groups: Vec<u32>,
    /// Whether letters are matched in any case somewhere.
    folds: bool,
    /// Whether a character beyond ASCII stands somewhere, or an escape of one.
    beyond_ascii: bool,
    /// The expression without captures, as far as it was copied.
    plain: String,
    copied: usize,
}

type Step = Result<(), &'static str>;

impl Scan<'_> {
    fn rest(&self) -> &str {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest().chars().next()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn step(&mut self, next: char) -> Step {
        match next {
            '\\' => self.escape(),
            '[' => self.class(),
            '(' => self.open(),
            ')' => self.close(),
            '|' | '^' | '$' => {
                self.before = Before::Nothing;
                Ok(())
            }
            '*' | '+' | '?' => self.repeat(1),
            '{' => {
                let most = self.counted()?;
                self.repeat(most)
            }
            _ => {
                self.before = Before::Atom(1);
                Ok(())
            }
        }
    }

    fn escape(&mut self) -> Step {
        self.before = Before::Atom(1);
        match self.next() {
            Some('b' | 'B' | 'A' | 'z') => {
                self.before = Before::Nothing;
                Ok(())
            }
            Some(escaped) => self.escaped(escaped),
            None => Err("a `\\` that escapes nothing"),
        }
    }

    /// The escapes that stand for characters, in a class or outside.
    fn escaped(&mut self, escaped: char) -> Step {
        match escaped {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' | 'a' | 'f' | 'n' | 'r' | 't' | 'v' => Ok(()),
            'x' => self.hexadecimal(),
            '<' | '>' | '_' => Err("an escape that RE2 and mcwan read differently"),
            _ if escaped.is_ascii_punctuation() => Ok(()),
            _ => Err("an escape that RE2 and mcwan do not share"),
        }
    }

    fn hexadecimal(&mut self) -> Step {
        let digits = if self.skip("{") {
            let length = self.rest().find('}').ok_or("`\\x{` without its `}`")?;
            let digits = self.rest().get(..length).unwrap_or_default().to_owned();
            self.at += length + 1;
            digits
        } else {
            let digits = self.rest().get(..2).unwrap_or_default().to_owned();
            self.at += digits.len();
            digits
        };
        match u32::from_str_radix(&digits, 16) {
            Ok(byte @ 0..=0xff) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                self.beyond_ascii |= byte > 0x7f;
                Ok(())
            }
            _ => Err("`\\x` without the hexadecimal digits of a byte"),
        }
    }

    fn class(&mut self) -> Step {
        self.skip("^");
        let mut first = true;
        loop {
            if ["&&", "--", "~~"].iter().any(|operator| self.rest().starts_with(operator)) {
                return Err("an operator in a class, which RE2 does not have");
            }
            match self.next() {
                None => return Err("a class without its `]`"),
                Some(']') if !first => break,
                Some('[') if self.rest().starts_with(':') => {
                    let length = self.rest().find(":]").ok_or("`[:` without its `:]`")?;
                    self.at += length + 2;
                }
                Some('[') => return Err("a `[` in a class: write `\\[`"),
                Some('\\') => {
                    let escaped = self.next().ok_or("a `\\` that escapes nothing")?;
                    self.escaped(escaped)?;
                }
                Some(_) => {}
            }
            first = false;
        }
        self.before = Before::Atom(1);
        Ok(())
    }

    fn open(&mut self) -> Step {
        let outer = self.widest;
        let begin = self.at;
        if !self.skip("?") {
            self.forget(begin);
        } else if !self.skip(":") {
            if self.skip("P<")
                || (self.rest().starts_with('<') && !self.rest().starts_with("<=") && !self.rest().starts_with("<!"))
            {
                self.skip("<");
                let length = self.rest().find('>').ok_or("a group's name without its `>`")?;
                let name = self.rest().get(..length).unwrap_or_default().to_owned();
                let in_names = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                if !name.bytes().all(in_names) || !name.starts_with(|first: char| !first.is_ascii_digit()) {
                    return Err("a group's name that RE2 does not take");
                }
                self.at += length + 1;
                self.forget(begin);
            } else {
                let flags = self.rest().find(|flag| !matches!(flag, 'i' | 's' | 'm' | 'U' | '-')).unwrap_or_default();
                self.folds |= self.rest().get(..flags).is_some_and(|flags| flags.contains('i'));
                self.at += flags;
                match self.next() {
                    Some(')') if flags > 0 => {
                        self.before = Before::Nothing;
                        return Ok(());
                    }
                    Some(':') if flags > 0 => {}
                    _ => return Err("a group or flag that RE2 and mcwan do not share"),
                }
            }
        }
        self.groups.push(outer);
        self.widest = 1;
        self.before = Before::Nothing;
        Ok(())
    }

    /// Copies all before the place where a group begins, and makes it capture nothing, whatever stands from there up to here.
    fn forget(&mut self, begin: usize) {
        self.plain.push_str(self.pattern.get(self.copied..begin).unwrap_or_default());
        self.plain.push_str("?:");
        self.copied = self.at;
    }

    fn close(&mut self) -> Step {
        let outer = self.groups.pop().ok_or("a `)` without its group")?;
        self.before = Before::Atom(self.widest);
        self.widest = self.widest.max(outer);
        Ok(())
    }

    /// Reads `N}`, `N,}` or `N,M}` and gives the larger number.
    fn counted(&mut self) -> Result<u32, &'static str> {
        const WHAT: &str = "a `{` that starts no repetition: write `\\{`";
        let length = self.rest().find('}').ok_or(WHAT)?;
        let counts = self.rest().get(..length).unwrap_or_default();
        let (least, most) = counts.split_once(',').unwrap_or((counts, ""));
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
            digits.then(|| text.parse().unwrap_or(u32::MAX)).ok_or(WHAT)
        };
        let least = number(least)?;
        let most = if most.is_empty() { least } else { number(most)? };
        self.at += length + 1;
        Ok(least.max(most))
    }

    fn repeat(&mut self, most: u32) -> Step {
        let inner = match self.before {
            Before::Atom(inner) => inner,
            Before::Repetition => return Err("a repetition of a repetition: put a group around the inner one"),
            Before::Nothing => return Err("a repetition of nothing"),
        };
        let product = inner.saturating_mul(most.max(1));
        if product > MOST_REPETITIONS {
            return Err("over 1,000 repetitions");
        }
        self.skip("?");
        self.widest = self.widest.max(product);
        self.before = Before::Repetition;
        Ok(())
    }
}
