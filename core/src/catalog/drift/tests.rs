//! Which changes are drift, and which are not.

use serde_json::json;

use super::*;
use crate::redact::MaskBuilder;

fn tools(entries: &[Value]) -> Tools {
    let listed = entries.iter().map(|entry| entry.to_string().into()).collect();
    Tools::read(&"s".into(), listed, &Mask::default()).0
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn review(pins: &Pins, entries: &[Value]) -> Vec<String> {
    review_masked(pins, entries, &Mask::default())
}

fn review_masked(pins: &Pins, entries: &[Value], mask: &Mask) -> Vec<String> {
    let drifts = pins.review(&tools(entries), mask, || StoredPins::None);
    drifts.into_iter().map(|drift| drift.tool).collect()
}

#[test]
fn what_is_new_is_pinned_and_what_changes_drifts_until_it_is_accepted() {
    let pins = Pins::default();
    assert!(review(&pins, &[tool("a", "1")]).is_empty());
    assert!(review(&pins, &[tool("a", "1"), tool("b", "1")]).is_empty());
    assert_eq!(review(&pins, &[tool("a", "2"), tool("b", "1")]), ["a"]);
    assert_eq!(review(&pins, &[tool("a", "3"), tool("b", "1")]), ["a"]);
    assert!(pins.is_drifted("a") && !pins.is_drifted("b"));
    assert!(pins.accept(Some("b")).is_empty());
    let names: Vec<_> = pins.accept(None).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a"]);
    assert!(review(&pins, &[tool("a", "3")]).is_empty());
    assert_eq!(review(&pins, &[tool("a", "1")]), ["a"]);
}

#[test]
fn a_tool_that_is_as_it_was_again_has_not_drifted() {
    let pins = Pins::default();
    review(&pins, &[tool("a", "1")]);
    assert_eq!(review(&pins, &[tool("a", "2")]), ["a"]);
    assert!(review(&pins, &[tool("a", "1")]).is_empty());
}

#[test]
fn a_tool_that_was_away_is_compared_with_what_it_was() {
    let pins = Pins::default();
    review(&pins, &[tool("a", "1"), tool("b", "1")]);
    assert!(review(&pins, &[tool("b", "1")]).is_empty());
    // A server that is down lists nothing, which is no change.
    assert!(review(&pins, &[]).is_empty());
    assert_eq!(review(&pins, &[tool("a", "2"), tool("b", "1")]), ["a"]);
    assert!(review(&pins, &[tool("b", "1")]).is_empty());
    assert!(review(&pins, &[tool("a", "1"), tool("b", "1")]).is_empty());
}

#[test]
fn the_order_of_keys_and_what_is_no_part_of_the_fingerprint_do_not_count() {
    let pins = Pins::default();
    review(&pins, &[json!({"name": "a", "inputSchema": {"a": 1, "b": 2}})]);
    let other = json!({"inputSchema": {"b": 2, "a": 1}, "name": "a", "title": "A"});
    assert!(review(&pins, &[other]).is_empty());
}

#[test]
fn a_secret_that_is_another_one_now_is_no_change_and_is_never_shown() {
    let mask = |secret: &str| {
        let mut values = MaskBuilder::default();
        values.value(secret);
        values.build()
    };
    let pins = Pins::default();
    review_masked(&pins, &[tool("a", "with s3cret-0000001")], &mask("s3cret-0000001"));
    let next = [tool("a", "with s3cret-0000002")];
    assert!(review_masked(&pins, &next, &mask("s3cret-0000002")).is_empty());
    let list = tools(&[tool("a", "s3cret-0000003 twice")]);
    let drifts = pins.review(&list, &mask("s3cret-0000003"), || StoredPins::None);
    assert!(!format!("{drifts:?}").contains("s3cret"), "{drifts:?}");
    assert_eq!(drifts.len(), 1);
}

#[test]
fn changes_point_to_what_differs() {
    let old =
        json!({"name": "a", "inputSchema": {"properties": {"x/y": {"type": "string"}, "z": 1}}});
    let new = json!({
        "name": "a",
        "description": "new",
        "inputSchema": {"properties": {"x/y": {"type": "number"}, "w": [1]}},
    });
    let pins = Pins::default();
    review(&pins, &[old]);
    let drift = pins.review(&tools(&[new]), &Mask::default(), || StoredPins::None).remove(0);
    let change = |path: &str, before: Value, after: Value| DriftChange {
        path: path.to_owned(),
        before: Some(before).filter(|value| !value.is_null()),
        after: Some(after).filter(|value| !value.is_null()),
    };
    assert_eq!(
        drift.changes,
        [
            change("/description", Value::Null, json!("new")),
            change("/inputSchema/properties/x~1y/type", json!("string"), json!("number")),
            change("/inputSchema/properties/z", json!(1), Value::Null),
            change("/inputSchema/properties/w", Value::Null, json!([1])),
        ]
    );
    assert_ne!(drift.pinned, drift.fingerprint);
}

#[test]
fn changes_are_bounded() {
    let schema = |value: &str| {
        let properties: Vec<_> = (0..1_000).map(|at| (format!("p{at}"), json!(value))).collect();
        let properties: serde_json::Map<_, _> = properties.into_iter().collect();
        json!({"name": "a", "description": value.repeat(100_000), "inputSchema": properties})
    };
    let pins = Pins::default();
    review(&pins, &[schema("x")]);
    let list = tools(&[schema("y")]);
    let drift = pins.review(&list, &Mask::default(), || StoredPins::None).remove(0);
    assert_eq!(drift.changes.len(), MOST_CHANGES);
    let text = serde_json::to_string(&drift.changes).unwrap();
    assert!(text.len() < 10_000, "{}", text.len());
    assert!(text.contains("(100000 characters)"));
}

fn pinned(entry: &Value, warned: Option<String>) -> Pinned {
    Pinned { tool: tools(std::slice::from_ref(entry)).list[0].clone(), warned }
}

#[test]
fn earlier_sessions_have_the_first_word() {
    let earlier = ["a", "b", "gone"].map(|name| pinned(&tool(name, "1"), None)).to_vec();
    let pins = Pins::default();
    let now = tools(&[tool("a", "2"), tool("b", "1"), tool("gone", "2"), tool("new", "1")]);
    let drifts = pins.review(&now, &Mask::default(), || StoredPins::Pins(earlier));
    let mut names: Vec<_> = drifts.into_iter().map(|drift| drift.tool).collect();
    names.sort();
    assert_eq!(names, ["a", "gone"]);
}

#[test]
fn a_warning_of_an_earlier_session_is_about_one_change() {
    let second = tools(&[tool("a", "2")]).list[0].fingerprint();
    for (now, was_warned) in [("2", true), ("3", false)] {
        let earlier = vec![pinned(&tool("a", "1"), Some(second.clone()))];
        let pins = Pins::default();
        let now = tools(&[tool("a", now)]);
        let drifts = pins.review(&now, &Mask::default(), || StoredPins::Pins(earlier));
        let warned: Vec<_> = drifts.iter().map(|drift| drift.warned).collect();
        assert_eq!(warned, [was_warned]);
    }
}

#[test]
fn where_pins_are_lost_nothing_is_as_it_was_until_all_is_accepted() {
    let hinted = json!({"name": "a", "annotations": {"readOnlyHint": true}});
    let pins = Pins::default();
    let review = |entries: &[Value]| {
        pins.review(&tools(entries), &Mask::default(), || StoredPins::Lost("torn".to_owned())).len()
    };
    assert_eq!(review(&[]), 0);
    assert!(pins.accept(None).is_empty() && pins.lost().is_some(), "there is nothing to accept");
    assert_eq!(review(&[hinted.clone(), tool("b", "1")]), 0, "no change is known");
    assert!(pins.is_drifted("a") && pins.is_drifted("b") && pins.is_drifted("c"));
    assert!(!pins.was_read_only("a"));
    assert!(pins.accept(Some("a")).is_empty() && pins.is_drifted("a"));
    let names: Vec<_> = pins.accept(None).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(!pins.is_drifted("a") && pins.was_read_only("a") && pins.lost().is_none());
    assert_eq!(review(&[tool("a", "2"), tool("b", "1")]), 1);
}

#[test]
fn pins_of_servers_that_left_are_kept_up_to_a_limit() {
    let sets = PinSets::default();
    let key = |at: usize| PinKey::new(&format!("s{at}"), &crate::config::Source::code());
    let held = sets.get(&key(0));
    review(&sets.get(&key(1)), &[tool("a", "1")]);
    assert!(sets.get(&key(1)).knows("a"));
    for at in 2..=MOST_SETS {
        sets.get(&key(at));
    }
    assert!(Arc::ptr_eq(&held, &sets.get(&key(0))), "whoever is used stays");
    assert!(!sets.get(&key(1)).knows("a"), "the oldest goes");
}

#[test]
fn endless_new_names_are_not_kept_for_ever() {
    let pins = Pins::default();
    for round in 0..3 {
        let entries: Vec<_> =
            (0..MOST_KEPT).map(|at| json!({"name": format!("{round}-{at}")})).collect();
        review(&pins, &entries);
    }
    assert_eq!(lock(&pins.0).kept.len(), MOST_KEPT);
}

#[test]
fn a_server_gets_rid_of_no_pin_by_listing_many_others() {
    let pins = Pins::default();
    review(&pins, &[tool("a", "1")]);
    for round in 0..3 {
        let others = (0..MOST_KEPT / 2 + 1).map(|at| tool(&format!("{round}-{at}"), "x"));
        let listed: Vec<_> = others.chain([tool("a", "2")]).collect();
        assert_eq!(review(&pins, &listed), ["a"], "{round}");
    }
    review(&pins, &[tool("a", "2")]);
    assert!(pins.is_drifted("a"));
    assert_eq!(lock(&pins.0).kept.len(), MOST_KEPT + 1);
}

#[test]
fn a_server_gets_rid_of_no_pin_by_hiding_the_tool_behind_many_others() {
    let pins = Pins::default();
    review(&pins, &[tool("a", "1")]);
    for round in 0..3 {
        let others: Vec<_> =
            (0..MOST_KEPT).map(|at| json!({"name": format!("{round}-{at}")})).collect();
        review(&pins, &others);
    }
    assert_eq!(review(&pins, &[tool("a", "2")]), ["a"]);
}

#[test]
fn a_hint_that_came_later_is_told_from_one_that_was_there() {
    let hinted = |name: &str| json!({"name": name, "annotations": {"readOnlyHint": true}});
    let pins = Pins::default();
    review(&pins, &[tool("a", "1"), hinted("b")]);
    assert_eq!(review(&pins, &[hinted("a"), tool("b", "1")]), ["a", "b"]);
    assert!(!pins.was_read_only("a") && pins.was_read_only("b") && pins.was_read_only("c"));
    pins.accept(Some("a"));
    assert!(pins.was_read_only("a"));
}
