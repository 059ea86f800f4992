use super::*;

fn guess<'a>(wanted: &str, names: &[&'a str]) -> Option<&'a str> {
    did_you_mean(wanted, names.iter().copied())
}

const TOOLS: &[&str] = &[
    "mcp_files_read_file",
    "mcp_files_write_file",
    "mcp_files_list_directory",
    "mcp_files_search",
    "mcp_git_commit",
    "mcp_git_status",
    "mcp_time_now",
    "mcp_time_convert",
];

#[test]
fn typing_mistakes_find_their_name() {
    let names = ["read_file", "write_file", "list_directory", "native", "command"];
    for (wanted, meant) in [
        ("readfile", "read_file"),
        ("readFile", "read_file"),
        ("READ-FILE", "read_file"),
        ("read_flie", "read_file"),
        ("raed_file", "read_file"),
        ("file_read", "read_file"),
        ("wirte_file", "write_file"),
        ("list_dirctory", "list_directory"),
        ("comand", "command"),
        ("Comamnd", "command"),
    ] {
        assert_eq!(guess(wanted, &names), Some(meant), "{wanted}");
    }
    assert_eq!(guess("zzzzzzzzzzzz", &names), None);
}

#[test]
fn short_names_suggest_no_nonsense() {
    for (wanted, names) in [
        ("zz", ["a", "b", "native"]),
        ("b", ["a", "c", "bb"]),
        ("ab", ["ac", "ba", "x"]),
        ("get", ["set", "put", "let"]),
        ("", ["a", "b", ""]),
        ("x_1", ["y_2", "a_1", "x_2"]),
        ("_", ["-", "__", "a"]),
    ] {
        assert_eq!(guess(wanted, &names), None, "{wanted}");
    }
}

#[test]
fn a_beginning_suggests_what_it_begins() {
    assert_eq!(guess("nat", &["a", "native"]), Some("native"));
    assert_eq!(guess("na", &["a", "native"]), Some("native"));
    assert_eq!(guess("n", &["a", "native"]), None);
    assert_eq!(guess("list", &["list_files", "list_directory"]), Some("list_files"));
    assert_eq!(guess("nat", &["not", "native"]), Some("native"));
}

#[test]
fn the_last_words_suggest_the_whole_name() {
    assert_eq!(guess("commit", TOOLS), Some("mcp_git_commit"));
    assert_eq!(guess("git.commit", TOOLS), Some("mcp_git_commit"));
    assert_eq!(guess("mcp__git__commit", TOOLS), Some("mcp_git_commit"));
}

#[test]
fn a_shared_beginning_or_end_does_not_make_names_similar() {
    for wanted in ["mcp_files_delete", "mcp_files_", "mcp_git_zzz", "mcp_", "mcp_files_copy_file"] {
        assert_eq!(guess(wanted, TOOLS), None, "{wanted}");
    }
    assert_eq!(guess("mcp_files_raed_file", TOOLS), Some("mcp_files_read_file"));
    assert_eq!(guess("mcp_flies_read_file", TOOLS), Some("mcp_files_read_file"));
    assert_eq!(guess("get_item", &["set_item", "put_item"]), None);
}

#[test]
fn another_name_of_a_value_finds_it() {
    let names = [("mcp_demo_add", "mcp_demo_add"), ("add", "mcp_demo_add"), ("b", "mcp_b")];
    for wanted in ["add", "Add", "ad", "addd", "demo_add", "mcp_demo_ad"] {
        assert_eq!(most_similar(wanted, names.into_iter()), Some("mcp_demo_add"), "{wanted}");
    }
    assert_eq!(most_similar("zzz", names.into_iter()), None);
}

/// A name of words, as tools have them.
fn random_name() -> String {
    let word = || -> String { (0..fastrand::usize(3..9)).map(|_| fastrand::lowercase()).collect() };
    (0..fastrand::usize(1..4)).map(|_| word()).collect::<Vec<_>>().join("_")
}

#[test]
fn whatever_is_asked_the_guess_is_a_candidate_and_holds_for_itself() {
    for seed in 0..500 {
        fastrand::seed(seed);
        let names: Vec<String> = (0..fastrand::usize(1..30)).map(|_| random_name()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wanted = random_name();
        let meant = guess(&wanted, &names);
        assert!(meant.is_none_or(|meant| names.contains(&meant)), "{seed}");
        assert_eq!(guess(names[0], &names), Some(names[0]), "{seed}: a name is most like itself");
        let reversed: Vec<&str> = names.iter().rev().copied().collect();
        assert_eq!(guess(&wanted, &reversed), meant, "{seed}: the order does not matter");
    }
}

#[test]
fn one_mistake_in_a_longer_name_is_always_forgiven() {
    for seed in 0..500 {
        fastrand::seed(seed);
        let name = random_name();
        if name.split('_').any(|word| word.len() < 4) {
            continue;
        }
        let mut typed: Vec<char> = name.chars().collect();
        let letters: Vec<usize> =
            (0..typed.len() - 1).filter(|&at| typed[at] != '_' && typed[at + 1] != '_').collect();
        let at = letters[fastrand::usize(..letters.len())];
        match fastrand::u8(..4) {
            0 => typed.swap(at, at + 1),
            1 => drop(typed.remove(at)),
            2 => typed.insert(at, fastrand::lowercase()),
            _ => typed[at] = fastrand::lowercase(),
        }
        let typed: String = typed.into_iter().collect();
        assert_eq!(guess(&typed, &[&name]), Some(name.as_str()), "{typed}");
    }
}

#[test]
fn a_common_beginning_changes_nothing() {
    for seed in 0..500 {
        fastrand::seed(seed);
        let (wanted, name) = (random_name(), random_name());
        let mistakes = |wanted: &str, name: &str| {
            Name::new(wanted).unwrap().mistakes_in(&Name::new(name).unwrap())
        };
        let with = |name: &str| format!("mcp_server_{name}");
        assert_eq!(
            mistakes(&wanted, &name),
            mistakes(&with(&wanted), &with(&name)),
            "{wanted} {name}"
        );
    }
}

#[test]
fn nothing_is_compared_with_a_name_of_any_length() {
    let long = "x".repeat(1_000_000);
    assert_eq!(guess(&long, TOOLS), None);
    assert_eq!(guess("xx", &[&long]), None);
}
