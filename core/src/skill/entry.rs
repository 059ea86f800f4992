//! Owns reading an entry of `skills/list`.
//! Invariant: an entry that does not say which files a skill has, or that contradicts itself, is refused with the reason.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{DYNAMIC, MOST_BYTES, MOST_FILES, Skill, SkillFile, SkillResources};

const LONGEST_NAME: usize = 64;

impl Skill {
    /// Reads an entry; the error says in our own words why it is invalid.
    pub(crate) fn read(entry: &[u8]) -> Result<Skill, &'static str> {
        let mut more: Map<String, Value> =
            serde_json::from_slice(entry).map_err(|_| "it is not an object")?;
        let Some(Value::String(uri)) = more.remove("uri") else { return Err("it has no uri") };
        let Some(Value::Object(frontmatter)) = more.remove("frontmatter") else {
            return Err("it has no frontmatter");
        };
        let text = |field: &str| frontmatter.get(field).and_then(Value::as_str);
        let name = text("name").filter(|name| is_name(name)).ok_or("its name is not valid")?;
        let description = text("description").filter(|it| !it.trim().is_empty());
        let description = description.ok_or("it has no description")?.to_owned();
        if !is_address_of(&uri, name) {
            return Err("its uri does not end with its name and SKILL.md");
        }
        let name = name.to_owned();
        let resources = more.remove("resources").ok_or("it has no resources")?;
        let resources = match resources {
            Value::String(word) if word == DYNAMIC => SkillResources::Dynamic,
            files => {
                let files: Vec<SkillFile> = serde_json::from_value(files)
                    .map_err(|_| "its resources are neither files nor \"dynamic\"")?;
                check_files(&uri, &files)?;
                SkillResources::Listed(files)
            }
        };
        // They are in the frontmatter, whose values count.
        more.remove("name");
        more.remove("description");
        Ok(Skill { uri, name, description, frontmatter, resources, more })
    }
}

fn check_files(main: &str, files: &[SkillFile]) -> Result<(), &'static str> {
    if files.len() > MOST_FILES {
        return Err("it has more than 512 files");
    }
    let sum = files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.size));
    if sum.is_none_or(|sum| sum > MOST_BYTES) {
        return Err("its files are over 16 MiB");
    }
    if !files.iter().all(|file| is_digest(&file.digest)) {
        return Err("a digest of its files is not valid");
    }
    let mut seen = HashSet::new();
    if !files.iter().all(|file| seen.insert(&file.uri)) {
        return Err("it lists a file twice");
    }
    if !files.iter().any(|file| file.uri == main) {
        return Err("its SKILL.md is not among its files");
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let is_allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.bytes().all(is_allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

fn is_address_of(uri: &str, name: &str) -> bool {
    uri.strip_suffix("/SKILL.md")
        .and_then(|it| it.strip_suffix(name))
        .is_some_and(|it| it.ends_with('/'))
}

fn is_digest(digest: &str) -> bool {
    let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    digest.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(is_hex))
}
