//! Owns what is known of a server's skills: their entries, the frontmatter of a file, and the check of a file against its
//! entry. Asking for them is in `manager/requests/skills`.
//! Invariant: a file that differs from its entry is refused, and nothing of its content is in the error.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::resource::ResourceContent;

mod entry;
mod frontmatter;

use frontmatter::FrontMatter;

/// In place of the list of files.
const DYNAMIC: &str = "dynamic";
const MOST_FILES: usize = 512;
const MOST_BYTES: u64 = 16 << 20;

/// A skill that a server offers: instructions for a model in a file `SKILL.md`, and further files.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Skill {
    /// The address of its `SKILL.md`.
    pub uri: String,
    /// Its name, from the frontmatter. Skills may share a name; an address belongs to one skill.
    pub name: String,
    /// What it is for, from the frontmatter.
    pub description: String,
    /// The head of its `SKILL.md`, as the server lists it.
    pub frontmatter: Map<String, Value>,
    /// Its files.
    pub resources: SkillResources,
    /// Everything else that the server says of it.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The files of a skill.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SkillResources {
    /// Every file, `SKILL.md` included.
    Listed(Vec<SkillFile>),
    /// The server makes the files when they are read, so that only the frontmatter can be checked.
    Dynamic,
}

impl Serialize for SkillResources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SkillResources::Listed(files) => files.serialize(serializer),
            SkillResources::Dynamic => DYNAMIC.serialize(serializer),
        }
    }
}

/// A file of a skill, as the server lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// Its address.
    pub uri: String,
    /// `sha256:` and the hash of its bytes, in lowercase hexadecimal.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
    /// Everything else that the server says of it.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

/// The `SKILL.md` of a skill, after it was checked against its entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SkillContent {
    /// The entry that it was checked against.
    pub skill: Skill,
    /// The whole file.
    pub text: String,
    /// The file without its frontmatter.
    pub body: String,
}

impl Skill {
    /// Its entry in the form of a tool, which is what is pinned.
    pub(crate) fn pinned_form(&self) -> Bytes {
        let files = json!({"resources": self.resources});
        let entry =
            json!({"name": self.uri, "description": self.frontmatter, "inputSchema": files});
        entry.to_string().into()
    }

    /// All texts of its frontmatter, for a scan.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        for (name, value) in &self.frontmatter {
            collect_texts(name, value, &mut words);
        }
        words
    }

    /// The address of one of its files, from an address or from a path that is relative to `SKILL.md`.
    pub(crate) fn file_uri(&self, given: &str) -> Result<String> {
        let directory = self.uri.strip_suffix("SKILL.md").unwrap_or(&self.uri);
        let relative = format!("{directory}{}", given.strip_prefix("./").unwrap_or(given));
        let found = match &self.resources {
            SkillResources::Listed(files) => {
                let is_listed = |uri: &str| files.iter().any(|file| file.uri == uri);
                if is_listed(given) {
                    Some(given.to_owned())
                } else {
                    Some(relative).filter(|it| is_listed(it))
                }
            }
            SkillResources::Dynamic => {
                let uri = if given.contains("://") { given.to_owned() } else { relative };
                let is_inside =
                    |path: &str| !path.is_empty() && path.split('/').all(|it| it != "..");
                uri.strip_prefix(directory).is_some_and(is_inside).then_some(uri)
            }
        };
        found.ok_or_else(|| {
            let text = format!("The skill \"{}\" has no file {given}", self.name);
            let error = Error::new(ErrorKind::InvalidArguments, text);
            error.with_hint("its entry in list_skills names its files")
        })
    }

    /// The `SKILL.md` that a server sent, if it is what the entry says.
    pub(crate) fn check_main(self, contents: Vec<ResourceContent>) -> Result<SkillContent> {
        let (_, bytes) = self.only_part(contents, &self.uri)?;
        let mut differing = self.compare_bytes(&self.uri, &bytes);
        let text = String::from_utf8(bytes);
        let head = text.as_deref().ok().and_then(FrontMatter::read);
        let fields = head.as_ref().map(|head| self.compare_frontmatter(head));
        if fields.as_ref().is_none_or(|fields| !fields.is_empty()) {
            differing.push("frontmatter");
        }
        match (text, head) {
            (Ok(text), Some(head)) if differing.is_empty() => {
                let body = text[head.end..].to_owned();
                Ok(SkillContent { skill: self, text, body })
            }
            _ => Err(self.mismatch(&self.uri, &differing, &fields.unwrap_or_default())),
        }
    }

    /// Another file that a server sent, if it is what the entry says.
    pub(crate) fn check_file(
        &self,
        uri: &str,
        contents: Vec<ResourceContent>,
    ) -> Result<ResourceContent> {
        let (part, bytes) = self.only_part(contents, uri)?;
        let differing = self.compare_bytes(uri, &bytes);
        if !differing.is_empty() {
            return Err(self.mismatch(uri, &differing, &BTreeSet::new()));
        }
        if uri == self.uri {
            self.clone().check_main(vec![part.clone()])?;
        }
        Ok(part)
    }

    /// The content of a file, and its bytes. Only what is in the bytes is kept of the content.
    fn only_part(
        &self,
        contents: Vec<ResourceContent>,
        uri: &str,
    ) -> Result<(ResourceContent, Vec<u8>)> {
        let unreadable = || {
            let text = format!("The server's answer for {uri} is not one file");
            Error::new(ErrorKind::ProtocolError, text).quoting(uri)
        };
        let is_single = contents.len() == 1;
        let mut parts = contents.into_iter().filter(|part| is_single || part.uri == uri);
        let (Some(part), None) = (parts.next(), parts.next()) else { return Err(unreadable()) };
        let bytes = match (&part.text, &part.blob) {
            (Some(text), None) => text.clone().into_bytes(),
            (None, Some(blob)) => BASE64_STANDARD.decode(blob).map_err(|_| unreadable())?,
            _ => return Err(unreadable()),
        };
        if bytes.len() as u64 > MOST_BYTES {
            let text = format!("The file {uri} of a skill is over {MOST_BYTES} bytes");
            return Err(Error::new(ErrorKind::LimitExceeded, text).quoting(uri));
        }
        Ok((ResourceContent { uri: uri.to_owned(), more: Map::new(), ..part }, bytes))
    }

    /// What of the bytes is not as listed.
    fn compare_bytes(&self, uri: &str, bytes: &[u8]) -> Vec<&'static str> {
        let SkillResources::Listed(files) = &self.resources else { return Vec::new() };
        let Some(file) = files.iter().find(|file| file.uri == uri) else { return vec!["digest"] };
        let mut differing = Vec::new();
        if format!("sha256:{:x}", Sha256::digest(bytes)) != file.digest {
            differing.push("digest");
        }
        if bytes.len() as u64 != file.size {
            differing.push("size");
        }
        differing
    }

    /// The fields that differ; a missing field is the same as null.
    fn compare_frontmatter(&self, head: &FrontMatter) -> BTreeSet<String> {
        let names = self.frontmatter.keys().chain(head.fields.keys());
        let value = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or_default();
        let differs = |name: &&String| {
            !frontmatter::equal(&value(&self.frontmatter, name), &value(&head.fields, name))
        };
        names.filter(differs).cloned().collect()
    }

    fn mismatch(&self, uri: &str, differing: &[&str], fields: &BTreeSet<String>) -> Error {
        let listed = fields.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut what = differing.join(", ");
        if !listed.is_empty() {
            what = format!("{what} ({listed})");
        }
        let text = format!("The file {uri} is not what the skill's entry says: other {what}");
        Error::new(ErrorKind::ProtocolError, text).quoting(uri).quoting(&listed).with_hint(
            "its content was not used. If the server has changed the skill, list its skills again and read it again",
        )
    }
}

/// Appends a name and all texts below it, apart from each other.
fn collect_texts(name: &str, value: &Value, out: &mut String) {
    *out += name;
    *out += "\n\n";
    match value {
        Value::String(text) => {
            *out += text;
            *out += "\n\n";
        }
        Value::Array(items) => items.iter().for_each(|item| collect_texts("", item, out)),
        Value::Object(map) => map.iter().for_each(|(name, item)| collect_texts(name, item, out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
