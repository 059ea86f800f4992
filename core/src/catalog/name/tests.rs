//! Names by example, and their rules for random servers and tools.

use std::collections::{HashMap, HashSet};

use super::*;

fn named(naming: &Naming, tools: &[(&str, &str)]) -> Vec<String> {
    named_with(naming, tools, &vec![false; tools.len()])
}

fn named_with(naming: &Naming, tools: &[(&str, &str)], gives_way: &[bool]) -> Vec<String> {
    let tools: Vec<Arc<ServerTool>> = tools
        .iter()
        .map(|(server, tool)| {
            let json = serde_json::json!({"name": tool}).to_string();
            Arc::new(ServerTool::read(&(*server).into(), json.into()).unwrap())
        })
        .collect();
    ToolNames::new(naming.clone()).name_all(&tools, gives_way)
}

#[test]
fn plain_names_follow_the_contract() {
    let plain = |server, tool| named(&Naming::Plain, &[(server, tool)]).remove(0);
    assert_eq!(plain("Time", "get-Current  time"), "mcp_time_get_current_time");
    assert_eq!(plain("github", "github_search"), "mcp_github_search");
    assert_eq!(plain("github", "github_"), "mcp_github_github");
    assert_eq!(plain("--", "日本"), "mcp_server_tool");
    assert_eq!(plain("a", "x1"), "mcp_a_x1");
    assert_eq!(named(&Naming::Letters, &[("a1", "x2y")]), ["mcp_a_x_y"]);
    assert_eq!(named(&Naming::Double, &[("a", "b")]), ["mcp__a__b"]);
    assert_eq!(named(&Naming::Raw, &[("A.b", "c-D")]), ["A.b.c-D"]);
}

#[test]
fn tools_that_would_share_a_name_both_get_a_suffix_in_any_order() {
    let one = [("a-b", "x"), ("a", "b_x"), ("c", "y")];
    let mut other = one;
    other.reverse();
    let names = named(&Naming::Plain, &one);
    let mut reversed = named(&Naming::Plain, &other);
    reversed.reverse();
    assert_eq!(names, reversed);
    assert_ne!(names[0], names[1]);
    assert!(names[0].starts_with("mcp_a_b_x_") && names[1].starts_with("mcp_a_b_x_"));
    assert_eq!(names[2], "mcp_c_y");
}

#[test]
fn long_names_are_cut_and_stay_apart() {
    let long = "x".repeat(200);
    let longer = format!("{long}y");
    let names = named(&Naming::Plain, &[("s", &long), ("s", &longer)]);
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    assert_ne!(names[0], names[1]);
}

#[test]
fn a_functions_answers_are_made_legal_and_unique() {
    let constant = Naming::Function(Arc::new(|_, _| Some("same name!".into())));
    let names = named(&constant, &[("s", "a"), ("s", "b")]);
    assert!(names.iter().all(|name| name.starts_with("same_name")), "{names:?}");
    assert_ne!(names[0], names[1]);
    let silent = Naming::Function(Arc::new(|_, _| None));
    assert_eq!(named(&silent, &[("S-1", "Get It")]), ["mcp_s_1_get_it"]);
    let empty = Naming::Function(Arc::new(|_, _| Some(String::new())));
    assert_eq!(named(&empty, &[("S-1", "Get It")]), ["mcp_s_1_get_it"]);
}

/// Texts that are hard to name: other scripts, texts without a legal character, control characters, lookalikes.
fn odd_text(random: &mut fastrand::Rng) -> String {
    const PARTS: &[&str] = &[
        "a",
        "A",
        "b",
        "_",
        "__",
        "-",
        ".",
        " ",
        "1",
        "42",
        "mcp",
        "tool",
        "server",
        "日本",
        "🦀",
        "\u{202e}x",
        "\u{0}",
        "\n",
        "\u{feff}",
        "é",
        "İ",
        "_1a2b3c4d",
        "K",
    ];
    if random.u8(..) == 0 {
        return PARTS[random.usize(..PARTS.len())].repeat(10_000);
    }
    let parts = (0..random.usize(1..6)).map(|_| PARTS[random.usize(..PARTS.len())]);
    parts.collect()
}

type Identity = (String, String);

/// Servers and tools, without duplicates. Some differ only by case or by illegal characters, or look like the suffixed
/// name of another one.
fn odd_tools(random: &mut fastrand::Rng) -> Vec<Identity> {
    let servers: Vec<String> = (0..random.usize(1..5)).map(|_| odd_text(random)).collect();
    let mut tools: Vec<Identity> = Vec::new();
    for _ in 0..random.usize(1..30) {
        let server = servers[random.usize(..servers.len())].clone();
        let tool = match tools.get(random.usize(..tools.len() + 1)) {
            Some((_, tool)) if random.bool() => tool.to_uppercase(),
            Some((server, tool)) if random.bool() => {
                let name = suffixed(&Naming::Plain.plain(server, tool), server, tool, LIMIT, 0);
                name.strip_prefix("mcp_").unwrap_or(&name).to_owned()
            }
            _ => odd_text(random),
        };
        tools.push((server, tool));
    }
    let mut seen = HashSet::new();
    tools.retain(|tool| seen.insert(tool.clone()));
    tools
}

fn stylings() -> Vec<Naming> {
    let constant: NamingFunction = Arc::new(|_, _| Some("same".into()));
    let repeating: NamingFunction = Arc::new(|server, _| Some(server.to_owned()));
    let moody: NamingFunction = Arc::new(|_, tool| (tool.len() % 2 == 0).then(String::new));
    let functions = [constant, repeating, moody].map(Naming::Function);
    let styles = [Naming::Plain, Naming::Letters, Naming::Double, Naming::Raw];
    styles.into_iter().chain(functions).collect()
}

fn by_identity(naming: &Naming, tools: &[Identity]) -> HashMap<Identity, String> {
    let borrowed: Vec<_> = tools.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    tools.iter().cloned().zip(named(naming, &borrowed)).collect()
}

#[test]
fn whatever_is_named_the_names_are_legal_and_unique_and_order_decides_nothing() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let tools = odd_tools(&mut random);
        for naming in stylings() {
            let names = by_identity(&naming, &tools);
            let unique: HashSet<&String> = names.values().collect();
            assert_eq!(unique.len(), tools.len(), "seed {seed}, {naming:?}: {names:?}");
            let legal = |name: &String| {
                (1..=64).contains(&name.len())
                    && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
            };
            let is_raw = matches!(naming, Naming::Raw);
            assert!(is_raw || unique.into_iter().all(legal), "seed {seed}, {naming:?}: {names:?}");
            let mut shuffled = tools.clone();
            random.shuffle(&mut shuffled);
            assert_eq!(names, by_identity(&naming, &shuffled), "seed {seed}, {naming:?}");
        }
    }
}

#[test]
fn a_tool_that_comes_renames_only_those_that_want_its_name() {
    for seed in 0..100 {
        let mut random = fastrand::Rng::with_seed(seed);
        let tools = odd_tools(&mut random);
        for naming in stylings() {
            let all = by_identity(&naming, &tools);
            let names = ToolNames::new(naming.clone());
            let wants = |(server, tool): &Identity| {
                let plain = names.wanted(server, tool);
                let other = suffixed(&plain, server, tool, naming.limit(), 0);
                [plain, other]
            };
            let Some((new, others)) = tools.split_last() else { continue };
            let before = by_identity(&naming, others);
            // A suffixed name may be the name of another tool, which then gets a suffix too.
            let mut concerned: HashSet<String> = wants(new).into();
            let mut grown = true;
            while std::mem::take(&mut grown) {
                for names in others.iter().map(wants) {
                    if names.iter().any(|name| concerned.contains(name)) {
                        let known = concerned.len();
                        concerned.extend(names);
                        grown |= concerned.len() > known;
                    }
                }
            }
            for tool in others.iter().filter(|tool| before[*tool] != all[*tool]) {
                let meets = wants(tool).iter().any(|name| concerned.contains(name));
                assert!(meets, "seed {seed}, {naming:?}: {new:?} renamed {tool:?}");
            }
        }
    }
}

#[test]
fn a_function_is_asked_once_for_each_tool() {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counting = asked.clone();
    let names = ToolNames::new(Naming::Function(Arc::new(move |_, tool| {
        let count = counting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Some(format!("{tool}-{count}"))
    })));
    let tool = |name: &str| {
        let json = serde_json::json!({"name": name}).to_string();
        Arc::new(ServerTool::read(&"s".into(), json.into()).unwrap())
    };
    assert_eq!(names.name_all(&[tool("a")], &[false]), ["a-0"]);
    assert_eq!(names.name_all(&[tool("b"), tool("a")], &[false; 2]), ["b-1", "a-0"]);
}

#[test]
fn what_nobody_trusts_changes_no_name_of_the_others() {
    let mine = [("git_hub", "search"), ("a", &"long ".repeat(20))];
    let alone = named(&Naming::Plain, &mine);
    // The second one imitates the suffixed name.
    let imitation = alone[1].strip_prefix("mcp_").unwrap();
    let theirs = [("git", "hub_search"), ("a", imitation.strip_prefix("a_").unwrap()), ("b", "x")];
    let all = [&mine[..], &theirs].concat();
    let names = named_with(&Naming::Plain, &all, &[false, false, true, true, true]);
    assert_eq!(names[..2], alone);
    assert_eq!(names[4], "mcp_b_x");
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 5, "{names:?}");
    let twice = named_with(&Naming::Plain, &[theirs[2], theirs[2]], &[true, true]);
    assert!(twice.iter().all(|name| name != "mcp_b_x"), "{twice:?}");
}
