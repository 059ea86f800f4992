//! Owns a product's object of switches for the tools of all its servers: globs over `<server>_<tool>`, each on or off.
//! Invariant: a tool that is switched off is not offered, whatever else is said of it, and the work is bounded: the file
//! may be that of a hostile project.

use serde_json::{Map, Value};

/// A longer glob matches no name that a server and its tool can have.
const LONGEST_GLOB: usize = 256;
/// The work for all globs and servers of one file, in comparisons of characters.
const MAX_WORK: usize = 2_000_000;
/// The globs that one server may get.
const MAX_PATTERNS: usize = 1_000;

/// The globs of tools that are switched off.
pub(crate) struct ToolSwitches {
    off: Vec<Vec<char>>,
    work_left: usize,
}

impl ToolSwitches {
    /// Reads the object; what cannot be read is a warning.
    pub(crate) fn read(key: &str, written: &Value, warnings: &mut Vec<String>) -> Self {
        let mut off = Vec::new();
        match written {
            Value::Object(switches) => {
                for (glob, switch) in switches {
                    match switch {
                        Value::Bool(false) => off.push(without_double_stars(glob)),
                        Value::Bool(true) => {}
                        _ => warnings
                            .push(format!("a switch in \"{key}\" is neither true nor false")),
                    }
                }
            }
            _ => warnings.push(format!("\"{key}\" must be an object of true and false")),
        }
        let all = off.len();
        off.retain(|glob| glob.len() <= LONGEST_GLOB);
        if off.len() < all {
            let many = all - off.len();
            warnings.push(format!("{many} of the names in \"{key}\" are too long for any tool"));
        }
        ToolSwitches { off, work_left: MAX_WORK }
    }

    /// Adds the globs that switch tools of this server off to the `disabledTools` of its definition. If they are too
    /// much work, all its tools are off. Returns whether they are not.
    pub(crate) fn apply(&mut self, server: &str, definition: &mut Map<String, Value>) -> bool {
        let own = self.own_globs(&prefix(server));
        let is_whole = own.is_some();
        let own = own.unwrap_or_else(|| vec!["*".to_owned()]);
        if !own.is_empty() {
            let disabled =
                definition.entry("disabledTools").or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(disabled) = disabled {
                disabled.extend(own.into_iter().map(Value::from));
            }
        }
        is_whole
    }

    /// The globs over the names of one server's own tools; `None` if there are too many.
    fn own_globs(&mut self, prefix: &str) -> Option<Vec<String>> {
        let mut own = Vec::new();
        for glob in &self.off {
            for place in places_after(glob, prefix, &mut self.work_left)? {
                own.push(glob[place..].iter().collect());
            }
            if own.len() > MAX_PATTERNS {
                return None;
            }
        }
        Some(own)
    }
}

/// What the names of a server's tools begin with.
fn prefix(server: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    server.chars().map(legal).chain(['_']).collect()
}

/// The glob, in which a run of stars means the same as one.
fn without_double_stars(glob: &str) -> Vec<char> {
    let mut kept: Vec<char> = Vec::new();
    for c in glob.chars() {
        if c != '*' || kept.last() != Some(&'*') {
            kept.push(c);
        }
    }
    kept
}

/// The places in the glob from which it goes on after a name has begun with `prefix`; `None` if that is too much work.
fn places_after(glob: &[char], prefix: &str, work_left: &mut usize) -> Option<Vec<usize>> {
    let mut at = beyond_stars(glob, vec![0]);
    for c in prefix.chars() {
        *work_left = work_left.checked_sub(at.len() + 1)?;
        let next = at.iter().filter_map(|&place| match glob.get(place)? {
            '*' => Some(place),
            '?' => Some(place + 1),
            literal => (*literal == c).then_some(place + 1),
        });
        at = beyond_stars(glob, next.collect());
    }
    // What goes on at a star covers all that goes on before it or right behind it.
    if let Some(&star) = at.iter().rfind(|&&place| glob.get(place) == Some(&'*')) {
        at.retain(|&place| place >= star && place != star + 1);
    }
    at.retain(|&place| place < glob.len());
    Some(at)
}

/// These places, and those behind a star, which may match nothing; in order.
fn beyond_stars(glob: &[char], mut places: Vec<usize>) -> Vec<usize> {
    let stars = places.iter().filter(|&&place| glob.get(place) == Some(&'*'));
    let behind: Vec<usize> = stars.map(|place| place + 1).collect();
    places.extend(behind);
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn disabled(switches: &Value, server: &str) -> (Value, Vec<String>) {
        let (mut definition, mut warnings) = (Map::new(), Vec::new());
        ToolSwitches::read("tools", switches, &mut warnings).apply(server, &mut definition);
        (definition.remove("disabledTools").unwrap_or_default(), warnings)
    }

    #[test]
    fn globs_over_all_names_become_globs_over_a_servers_own_names() {
        for (glob, server, own) in [
            ("a_*", "a", json!(["*"])),
            ("a_read", "a", json!(["read"])),
            ("a*", "ab", json!(["*"])),
            ("*", "a", json!(["*"])),
            ("***", "a", json!(["*"])),
            ("*_write", "a", json!(["*_write", "write"])),
            ("*a*_x", "ba", json!(["*_x", "x"])),
            ("my.srv_x", "my.srv", Value::Null),
            ("my_srv_x", "my.srv", json!(["x"])),
            ("?_r?ad", "a", json!(["r?ad"])),
            ("b_*", "a", Value::Null),
            ("a", "a", Value::Null),
            ("a_", "a", Value::Null),
        ] {
            assert_eq!(disabled(&json!({glob: false}), server).0, own, "{glob} {server}");
            assert_eq!(disabled(&json!({glob: true}), server).0, Value::Null, "{glob} {server}");
        }
    }

    #[test]
    fn what_is_no_switch_is_a_warning() {
        for odd in [json!([]), json!(false), json!({"a": "no"}), json!({"x".repeat(300): false})] {
            let (own, warnings) = disabled(&odd, "a");
            assert_eq!((own, warnings.len()), (Value::Null, 1), "{odd}");
        }
    }

    #[test]
    fn hostile_globs_switch_all_tools_off_and_are_little_work() {
        let stars = (0..20_000).map(|i| (format!("*a{i}"), json!(false)));
        let questions = (0..1_000).map(|i| (format!("*{}{i}", "?".repeat(200)), json!(false)));
        for switches in [Value::Object(stars.collect()), Value::Object(questions.collect())] {
            let mut switches = ToolSwitches::read("tools", &switches, &mut Vec::new());
            for server in 0..500 {
                let mut definition = Map::new();
                let is_whole = switches.apply(&format!("a{server}"), &mut definition);
                assert!(!is_whole);
                assert_eq!(definition["disabledTools"], json!(["*"]));
            }
        }
        let long = json!({"*a".repeat(120): false, "*".repeat(1_000_000): false});
        assert_eq!(disabled(&long, &"a".repeat(100)).1.len(), 0, "runs of stars are one");
    }
}
