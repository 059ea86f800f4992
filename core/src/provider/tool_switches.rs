//! Owns a product's object of switches for the tools of all its servers: globs over `<server>_<tool>`, each on or off.
//! Invariant: a tool that is switched off is not offered, whatever else is said of it.

use serde_json::{Map, Value};

/// Adds the patterns that switch tools of this server off to the `disabledTools` of its definition.
pub(crate) fn switch_tools_off(
    switches: &Map<String, Value>,
    server: &str,
    definition: &mut Map<String, Value>,
) {
    let off = switches.iter().filter(|(_, on)| **on == false).map(|(glob, _)| glob);
    let patterns: Vec<Value> =
        off.flat_map(|glob| rests_after(glob, &prefix(server))).map(Value::from).collect();
    if patterns.is_empty() {
        return;
    }
    let disabled = definition.entry("disabledTools").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(disabled) = disabled {
        disabled.extend(patterns);
    }
}

/// What the names of a server's tools begin with.
fn prefix(server: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    server.chars().map(legal).chain(['_']).collect()
}

/// The globs for the rest of a name that begins with `prefix`: a star may match any part of it.
fn rests_after(glob: &str, prefix: &str) -> Vec<String> {
    let glob: Vec<char> = glob.chars().collect();
    let mut at = vec![0];
    for c in prefix.chars() {
        let mut next = Vec::new();
        for place in beyond_stars(&glob, &at) {
            match glob.get(place) {
                Some('*') => next.push(place),
                Some('?') => next.push(place + 1),
                Some(literal) if *literal == c => next.push(place + 1),
                _ => {}
            }
        }
        at = next;
    }
    at.sort_unstable();
    at.dedup();
    at.into_iter()
        .map(|place| glob[place..].iter().collect())
        .filter(|rest: &String| !rest.is_empty())
        .collect()
}

/// These places, and those behind a star, which may match nothing.
fn beyond_stars(glob: &[char], at: &[usize]) -> Vec<usize> {
    let mut places = at.to_vec();
    let mut index = 0;
    while let Some(&place) = places.get(index) {
        if glob.get(place) == Some(&'*') && !places.contains(&(place + 1)) {
            places.push(place + 1);
        }
        index += 1;
    }
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn disabled(switches: &Value, server: &str) -> Value {
        let mut definition = Map::new();
        switch_tools_off(switches.as_object().unwrap(), server, &mut definition);
        definition.remove("disabledTools").unwrap_or_default()
    }

    #[test]
    fn globs_over_all_names_become_globs_over_a_servers_own_names() {
        for (glob, server, own) in [
            ("a_*", "a", json!(["*"])),
            ("a_read", "a", json!(["read"])),
            ("a*", "ab", json!(["*"])),
            ("*", "a", json!(["*"])),
            ("*_write", "a", json!(["*_write", "write"])),
            ("my.srv_x", "my.srv", Value::Null),
            ("my_srv_x", "my.srv", json!(["x"])),
            ("?_r?ad", "a", json!(["r?ad"])),
            ("b_*", "a", Value::Null),
            ("a", "a", Value::Null),
            ("a_", "a", Value::Null),
        ] {
            assert_eq!(disabled(&json!({glob: false}), server), own, "{glob} {server}");
            assert_eq!(disabled(&json!({glob: true}), server), Value::Null, "{glob} {server}");
        }
    }

    #[test]
    fn a_long_glob_of_stars_is_no_work() {
        let glob = "*a".repeat(500);
        disabled(&json!({ glob: false }), &"a".repeat(100));
    }
}
