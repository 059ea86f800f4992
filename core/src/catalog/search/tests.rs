use std::sync::Arc;

use super::Index;
use super::words::terms;
use crate::tool::ServerTool;

struct IndexedTools(Vec<ServerTool>, Index);

fn catalog(tools: &[serde_json::Value]) -> IndexedTools {
    let server: Arc<str> = "s".into();
    let read = |tool: &serde_json::Value| ServerTool::read(&server, tool.to_string().into());
    let tools: Vec<ServerTool> = tools.iter().map(|tool| read(tool).expect("a tool")).collect();
    let index = Index::build(tools.iter());
    IndexedTools(tools, index)
}

fn found<'a>(IndexedTools(tools, index): &'a IndexedTools, query: &str, k: usize) -> Vec<&'a str> {
    index.search(query, k).into_iter().map(|place| tools[place].raw_name()).collect()
}

fn tools() -> IndexedTools {
    catalog(&[
        serde_json::json!({"name": "sendMail", "description": "Delivers a letter. Not for chat."}),
        serde_json::json!({"name": "list_files", "description": "Shows what a folder holds",
            "inputSchema": {"type": "object", "properties": {"directoryPath": {"type": "string"}}}}),
        serde_json::json!({"name": "delete_file", "description": "Removes a file for ever"}),
        serde_json::json!({"name": "天気予報", "description": "明日の天気を教える"}),
        serde_json::json!({"name": "odd", "description": [1], "inputSchema": {"properties": 7}}),
    ])
}

#[test]
fn names_descriptions_and_parameters_are_searched() {
    let tools = tools();
    assert_eq!(found(&tools, "mail", 5), ["sendMail"]);
    assert_eq!(found(&tools, "deliver letters", 5), ["sendMail"]);
    assert_eq!(found(&tools, "directory", 5), ["list_files"]);
    assert_eq!(found(&tools, "deleting files", 5), ["delete_file", "list_files"]);
    assert_eq!(found(&tools, "deleting files", 1), ["delete_file"]);
    assert_eq!(found(&tools, "明日の天気", 5), ["天気予報"]);
}

#[test]
fn what_says_nothing_finds_nothing() {
    let tools = tools();
    for query in ["", "  \n", "the of and", "?!—", "zzzzz", "\u{0}"] {
        assert!(found(&tools, query, 5).is_empty(), "{query:?}");
    }
    assert!(found(&tools, "mail", 0).is_empty());
    assert!(found(&catalog(&[]), "mail", 5).is_empty());
}

#[test]
fn a_word_that_no_tool_has_stands_for_its_synonyms() {
    assert_eq!(found(&tools(), "mailbox", 5), ["sendMail"]);
    assert_eq!(found(&tools(), "direct", 5), ["list_files"]);
}

#[test]
fn equals_come_in_the_order_of_the_catalog() {
    let twins: Vec<_> = ["a", "b", "c", "d"]
        .map(|name| serde_json::json!({"name": name, "description": "Paints a wall"}))
        .into();
    assert_eq!(found(&catalog(&twins), "paint the wall", 3), ["a", "b", "c"]);
}

#[test]
fn a_megabyte_of_query_and_ten_thousand_tools_are_bounded() {
    let tools: Vec<_> = (0..10_000)
        .map(|at| serde_json::json!({"name": format!("tool_{at}"), "description": "x ".repeat(if at < 10 { 100_000 } else { 3 })}))
        .collect();
    let many = catalog(&tools);
    let query = format!("tool 77 {}", "many different wørds ".repeat(50_000));
    assert_eq!(found(&many, &query, 1), ["tool_77"]);
    let noise: String = (0..100_000)
        .map(|at| format!("noise{at:x} ").replace(|c: char| c.is_numeric(), "q"))
        .collect();
    assert_eq!(found(&many, &noise, usize::MAX), [""; 0]);
}

#[test]
fn words_are_taken_apart_and_lose_their_endings() {
    let of = |text| terms(text).collect::<Vec<_>>();
    assert_eq!(of("listHTTPRoutes"), ["listhttprout", "list", "http", "rout"]);
    assert_eq!(of("the GitHub s3"), ["github", "git", "hub", "s3"]);
    assert_eq!(of("Ünïcode"), ["ünïcode"]);
    let same = [
        ["query", "queries"],
        ["creates", "creation"],
        ["notify", "notifications"],
        ["running", "run"],
        ["documents", "documentation"],
        ["addresses", "address"],
        ["deployment", "deployed"],
    ];
    for [one, other] in same {
        assert_eq!(of(one), of(other));
    }
    assert_ne!(of("string"), of("strong"));
}
