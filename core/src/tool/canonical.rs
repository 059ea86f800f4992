//! Owns the canonical text of a tool's part for its fingerprint: the same JSON in any key order.

use serde_json::Value;

/// A part up to this length is parsed into a tree, which may take a hundred times as much memory.
pub(crate) const LONGEST_TREE: usize = 256 << 10;

/// The JSON with sorted keys; a very long part is used as written.
pub(super) fn canonical(raw: &str) -> String {
    if raw.len() > LONGEST_TREE {
        return raw.to_owned();
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        // Numbers and depths that cannot be parsed must not hide a change.
        Err(_) => raw.to_owned(),
    }
}
