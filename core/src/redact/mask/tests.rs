use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::json;
use url::Url;

use super::*;
use crate::redact::MaskBuilder;

fn mask_of(fill: impl FnOnce(&mut MaskBuilder)) -> Mask {
    let mut values = MaskBuilder::default();
    fill(&mut values);
    values.build()
}

fn value(value: &str) -> Mask {
    mask_of(|values| values.value(value))
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn base64_is_hidden_in_every_alphabet_and_at_every_offset() {
    let secret = "swordfish?>~~";
    let mask = value(secret);
    for before in ["", "u", "us", "user:", "a longer text, then "] {
        for after in ["", "1", "12", " and more"] {
            let text = format!("{before}{secret}{after}");
            for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
                let encoded = engine.encode(&text);
                let shown = mask.text(&encoded).into_owned();
                assert!(shown.contains("***"), "{text}: {encoded}");
                let alone = STANDARD_NO_PAD.encode(secret);
                let inner = &alone[4..alone.len() - 4];
                assert!(!shown.contains(inner), "{text}: {shown}");
                // The adjacent characters, which hold bits of the value, are hidden too.
                let rest = shown.trim_end_matches('=').len() - "***".len();
                let room = |text: &str| STANDARD_NO_PAD.encode(text).len();
                assert!(rest <= room(before) + room(after), "{shown}");
            }
        }
    }
}

#[test]
fn hex_is_hidden() {
    let mask = value("swordfish/9");
    let lower = hex("swordfish/9");
    assert_eq!(mask.text(&format!("key {lower}.")), "key ***.");
    assert_eq!(mask.text(&lower.to_uppercase()), "***");
    assert_eq!(mask.text(&hex("me:swordfish/9")), format!("{}***", hex("me:")));
}

#[test]
fn percent_encoding_is_hidden_however_much_of_it_is_encoded() {
    let mask = value("s@rd/fish é");
    for text in [
        "s%40rd%2Ffish%20%C3%A9",
        "s%40rd%2ffish+%c3%a9",
        "s@rd%2Ffish%20é",
        "%73%40%72%64%2F%66%69%73%68%20%C3%A9",
        "s%2540rd%252Ffish%2520%25C3%25A9",
    ] {
        assert_eq!(mask.text(text), "***", "{text}");
    }
    // A value that is encoded in a URL is also hidden decoded.
    let mask = mask_of(|values| values.url(&Url::parse("https://h/?key=s%40rd%2Ffish").unwrap()));
    for text in ["s@rd/fish", "s%40rd%2Ffish", "s%40rd/fish", &STANDARD.encode("s@rd/fish")] {
        assert_eq!(mask.text(text), "***", "{text}");
    }
}

#[test]
fn escapes_are_hidden_in_every_spelling() {
    let mask = value("sw/rd\"fish\\né");
    for text in [
        r#"sw/rd\"fish\\né"#,
        r#"sw\/rd\"fish\\n\u00e9"#,
        r#"\u0073\u0077\u002F\u0072\u0064\u0022\u0066\u0069\u0073\u0068\u005c\u006E\u00E9"#,
        r#"sw\\\/rd\\\"fish\\\\n\\u00e9"#,
        r#"sw/rd\x22fish\\n\u{e9}"#,
    ] {
        assert_eq!(mask.text(text), "***", "{text}");
    }
    let mask = value("key-\u{1f511}-key");
    assert_eq!(mask.text(r"key-\ud83d\udd11-key"), "***");
    // A value that contains escapes, inside JSON.
    let mask = value(r"C:\new%41dir");
    assert_eq!(mask.text(r"C:\new%41dir C:\\new%41dir C%3A%5Cnew%2541dir"), "*** *** ***");
}

#[test]
fn what_overlaps_leaves_nothing() {
    let both = mask_of(|values| {
        values.value("alpha-bravo");
        values.value("bravo-charlie");
        values.value("alpha-bravo-extra");
        values.value("ravo-x");
    });
    for text in ["alpha-bravo-charlie", "alpha-bravo-extra", "alpha-bravo-x"] {
        assert_eq!(both.text(text), "***", "{text}");
    }
    assert_eq!(value("ababab").text("abababab"), "***");
    assert_eq!(value("ababab").text("ababababa"), "***a");
}

#[test]
fn a_secret_that_is_split_over_lines_is_hidden() {
    let secret = "correct horse/battery";
    let mask = value(secret);
    for text in [
        "correct hor\nse/battery".to_owned(),
        "correct\nhorse/battery".to_owned(),
        "correct horse/\r\n    battery".to_owned(),
        secret.chars().map(|c| format!("{c}\n")).collect(),
        "correct%20horse%2\nFbattery".to_owned(),
        r"correct horse\/\nbattery".to_owned(),
        STANDARD.encode(secret).replace('J', "\nJ"),
    ] {
        let shown = mask.text(&text);
        assert_eq!(shown.trim(), "***", "{text:?}");
    }
    let mask = value("thetoken");
    assert_eq!(mask.text("get the token,\nnow the\ntoken"), "get the token,\nnow ***");
}

#[test]
fn what_a_value_is_follows_from_where_it_stands() {
    let mask = mask_of(|values| {
        values.variable("API_KEY", "hunterhunter");
        values.variable("PIN", "4711");
        values.variable("USE_AUTH", "true");
        values.variable("MODE", "production");
        values.variable("HOST", "127.0.0.1");
        values.variable("BIN", "/usr/bin");
        values.variable("PORT", "8080");
        values.variable("TOOLSETS", "issues");
        values.variable("DATABASE", "postgres://me:tiger-1@db/x");
        values.variable("REGION", "us-east-1");
        values.header("X-Readonly", "true");
        values.header("Authorization", "Bearer swordfish");
    });
    let text = "hunterhunter 4711 14711 true production 127.0.0.1 /usr/bin 8080";
    let shown = "*** *** 14711 true production 127.0.0.1 /usr/bin 8080";
    assert_eq!(mask.text(text), shown);
    assert_eq!(mask.prose(text), shown);
    assert_eq!(mask.text("swordfish tiger-1 us-east-1 issues"), "*** *** *** ***");
    // An ordinary word is not hidden in what a server offers to agents.
    assert_eq!(mask.prose("List issues"), "List issues");
}

#[test]
fn values_are_hidden_wherever_they_are_repeated() {
    let mask = mask_of(|values| {
        values.value("hunter2/x y\"");
        values.header("Authorization", "Bearer correct-horse");
        values.header("X-Login", "Basic bWU6c3dvcmRmaXNo");
        values.value("1");
    });
    for (text, shown) in [
        ("it is hunter2/x y\", 1", "it is ***, 1"),
        ("hunter2%2Fx%20y%22 and hunter2%2Fx+y%22", "*** and ***"),
        (r#"{"a":"hunter2/x y\""}"#, r#"{"a":"***"}"#),
        ("Bearer correct-horse, correct-horse", "***, ***"),
        ("me:swordfish, swordfish", "***, ***"),
        ("nothing", "nothing"),
    ] {
        assert_eq!(mask.text(text), shown);
    }
}

#[test]
fn the_secrets_of_a_url_and_of_arguments_are_known() {
    let mask = mask_of(|values| {
        values
            .url(&Url::parse("https://me%40x:hun%20ter@h/mcp?key=abcdef%21&page=second").unwrap());
        values.args(&["--token".into(), "swordfish".into(), "plain-word".into()]);
    });
    assert_eq!(
        mask.text("hun ter, hun%20ter, abcdef!, abcdef%21, second"),
        "***, ***, ***, ***, second"
    );
    assert_eq!(mask.text("bWVAeDpodW4gdGVy"), "***");
    assert_eq!(mask.text("swordfish plain-word"), "*** plain-word");
}

#[test]
fn a_key_of_many_lines_is_hidden_line_by_line() {
    let mask = value("-----BEGIN-----\nfirst line\nsecond line\n-----END-----");
    assert_eq!(mask.text("second line"), "***");
}

#[test]
fn a_value_that_was_cut_is_hidden_too() {
    let mask = value("correct-horse");
    assert_eq!(mask.fragment("it is correct-ho"), "it is ***");
    assert_eq!(mask.fragment("ect-horse it was"), "*** it was");
    assert_eq!(mask.fragment("rrect-hors"), "***");
    assert_eq!(mask.fragment("nothing corr"), "nothing corr");
    assert_eq!(mask.fragment("correct-horse"), "***");
    assert_eq!(mask.fragment("it is correct%2Dho"), "it is ***");
    assert_eq!(mask.fragment("it is corre\nct-ho"), "it is ***");
    assert_eq!(Mask::default().fragment("x"), "x");
}

#[test]
fn json_is_hidden_in_depth() {
    let mask = value("123456");
    let text = json!({"a": [{"123456": "is 123456"}], "b": 123456, "c": 7, "d": null});
    assert_eq!(mask.json(text), json!({"a": [{"***": "is ***"}], "b": "***", "c": 7, "d": null}));
}

#[test]
fn json_as_it_is_written_stays_json_and_changes_nowhere_else() {
    let mask = mask_of(|values| {
        values.value("123456");
        values.value("hunterhunter");
        values.value("\",\"b\":\"");
    });
    let hide =
        |json: &str| String::from_utf8(mask.raw_json(json.to_owned().into()).into()).unwrap();
    assert_eq!(
        hide(r#"{"z": 1e400, "description":"is hunter\u0068unter\n", "max":123456, "n":1234567}"#),
        r#"{"z": 1e400, "description":"is ***\n", "max":"***", "n":1234567}"#
    );
    let plain = r#"{"a":"x","b":"\u0041\/","type":"string"}"#;
    assert_eq!(hide(plain), plain);
}

#[test]
fn a_value_of_stars_does_not_come_back() {
    let mask = value("***abc");
    assert!(!mask.text("***abcabc").contains("***abc"));
}

#[test]
fn huge_values_and_texts_that_repeat_cost_no_more_than_their_length() {
    let secret = "a".repeat(1 << 17);
    let mask = mask_of(|values| {
        values.value(&secret);
        values.value(&format!("{}b", "a".repeat(1 << 16)));
        values.value(&"%41".repeat(1 << 14));
        values.value(&"\\u0041".repeat(1 << 14));
    });
    let text = format!("{secret}{secret} {}\n{secret}", "%61".repeat(1 << 17));
    assert_eq!(mask.text(&text), "*** ***");
    assert_eq!(mask.fragment(&secret[..1 << 14]), "***");
    mask.fragment(&"ab".repeat(1 << 17));
}
