use serde_json::json;

use super::*;

const URI: &str = "skill://pdf/SKILL.md";
const TEXT: &str = "---\nname: pdf\ndescription: Reads PDFs\nversion: 1.0\n---\n# Body\n";

fn file(uri: &str, text: &str) -> Value {
    let digest = format!("sha256:{:x}", Sha256::digest(text));
    json!({"uri": uri, "digest": digest, "size": text.len()})
}

fn entry() -> Value {
    let frontmatter = json!({"name": "pdf", "description": "Reads PDFs", "version": 1, "x": null});
    let files = [file(URI, TEXT), file("skill://pdf/a/FORMS.md", "forms")];
    json!({"uri": URI, "frontmatter": frontmatter, "resources": files, "x-vendor": 7})
}

fn read(entry: &Value) -> Result<Skill, &'static str> {
    Skill::read(entry.to_string().as_bytes())
}

fn part(uri: &str, text: &str) -> Vec<ResourceContent> {
    vec![serde_json::from_value(json!({"uri": uri, "text": text, "_meta": {"a": 1}})).unwrap()]
}

#[test]
fn an_entry_is_written_as_it_was_read() {
    let mut entry = entry();
    let skill = read(&entry).unwrap();
    entry["name"] = json!("pdf");
    entry["description"] = json!("Reads PDFs");
    assert_eq!(serde_json::to_value(&skill).unwrap(), entry);
    entry["resources"] = json!("dynamic");
    assert_eq!(serde_json::to_value(read(&entry).unwrap()).unwrap(), entry);
}

#[test]
fn an_invalid_entry_is_refused() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 14] = [
        ("uri", |it| it["uri"] = json!(7)),
        ("uri", |it| it["uri"] = json!("skill://other/SKILL.md")),
        ("frontmatter", |it| it["frontmatter"] = json!("name: pdf")),
        ("name", |it| it["frontmatter"]["name"] = json!("PDF")),
        ("name", |it| it["frontmatter"]["name"] = json!("a--b")),
        ("name", |it| it["frontmatter"]["name"] = json!("a-")),
        ("description", |it| it["frontmatter"]["description"] = json!(" ")),
        ("resources", |it| it["resources"] = Value::Null),
        ("resources", |it| it["resources"] = json!("static")),
        ("resources", |it| it["resources"][0]["size"] = json!(-1)),
        ("16 MiB", |it| it["resources"][0]["size"] = json!(u64::MAX)),
        ("digest", |it| it["resources"][0]["digest"] = json!("sha256:AB")),
        ("twice", |it| it["resources"][1] = it["resources"][0].clone()),
        ("SKILL.md", |it| it["resources"][0]["uri"] = json!("skill://pdf/b")),
    ];
    for (reason, change) in changes {
        let mut entry = entry();
        change(&mut entry);
        let why = read(&entry).unwrap_err();
        assert!(why.contains(reason), "{entry}: {why}");
    }
    let mut many = entry();
    let files = (0..MOST_FILES).map(|at| file(&format!("skill://pdf/{at}"), ""));
    many["resources"].as_array_mut().unwrap().extend(files);
    assert!(read(&many).unwrap_err().contains("512"));
}

#[test]
fn a_file_as_listed_is_given_with_its_body() {
    let content = read(&entry()).unwrap().check_main(part(URI, TEXT)).unwrap();
    assert_eq!((&*content.text, &*content.body), (TEXT, "# Body\n"));
    let skill = content.skill;
    let forms = "skill://pdf/a/FORMS.md";
    for given in [forms, "a/FORMS.md", "./a/FORMS.md"] {
        assert_eq!(skill.file_uri(given).unwrap(), forms);
    }
    let file = skill.check_file(forms, part(forms, "forms")).unwrap();
    assert_eq!((file.text.as_deref(), file.more.len()), (Some("forms"), 0));
}

#[test]
fn a_file_that_differs_is_refused_by_what_differs() {
    let refused = |entry: &Value, text: &str| {
        let error = read(entry).unwrap().check_main(part(URI, text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProtocolError);
        assert!(error.hint().is_some() && !error.message().contains("Body"), "{error}");
        let (_, what) = error.message().split_once("says: other ").unwrap();
        what.to_owned()
    };
    assert_eq!(refused(&entry(), &TEXT.replace("Body", "Bode")), "digest");
    assert_eq!(refused(&entry(), &format!("{TEXT}more")), "digest, size");
    assert_eq!(refused(&entry(), "# Body"), "digest, size, frontmatter");
    let mut other = entry();
    other["frontmatter"]["description"] = json!("Reads all");
    other["frontmatter"]["licence"] = json!("MIT");
    assert_eq!(refused(&other, TEXT), "frontmatter (description, licence)");
    other["resources"] = json!("dynamic");
    assert_eq!(refused(&other, TEXT), "frontmatter (description, licence)");
    let skill = read(&entry()).unwrap();
    let forms = "skill://pdf/a/FORMS.md";
    assert!(skill.check_file(forms, part(forms, "Forms")).is_err());
    assert!(skill.check_file(forms, Vec::new()).is_err());
    let both = vec![part(forms, "forms").remove(0), part(forms, "forms").remove(0)];
    assert!(skill.check_file(forms, both).is_err());
}

#[test]
fn a_file_outside_of_the_skill_is_refused() {
    let mut entry = entry();
    let outside = ["skill://other/SKILL.md", "../other/SKILL.md", "", "skill://pdf/../other/x"];
    for given in outside.iter().chain(&["b.md"]) {
        let error = read(&entry).unwrap().file_uri(given).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    }
    entry["resources"] = json!("dynamic");
    let skill = read(&entry).unwrap();
    for given in outside {
        assert!(skill.file_uri(given).is_err(), "{given}");
    }
    assert_eq!(skill.file_uri("b.md").unwrap(), "skill://pdf/b.md");
}

#[test]
fn frontmatter_ends_at_its_line() {
    let read =
        |text: &str| FrontMatter::read(text).map(|it| (it.fields.len(), text[it.end..].to_owned()));
    assert_eq!(read("\u{feff}---\r\na: 1\r\n--- \r\nrest"), Some((1, "rest".to_owned())));
    assert_eq!(read("---\na: 1\nb: '---'\n---"), Some((2, String::new())));
    for none in [
        "",
        "# Title",
        " ---\na: 1\n---\n",
        "---\na: 1\n",
        "---\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\n- a\n---\n",
    ] {
        assert_eq!(read(none), None, "{none:?}");
    }
}
