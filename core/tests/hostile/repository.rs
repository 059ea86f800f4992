//! Owns building what `tests/hostile/repository.json` describes: a user's home, and a clone of a hostile repository.
//! The README there explains the terms.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use mcpool::HostEnv;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::listener::Listener;
use crate::common::fixture;

/// The variant of a repository.
#[derive(Clone, Copy)]
pub(crate) enum Kind<'a> {
    /// Every trap in every file.
    Traps,
    /// Names of the user's servers, in the file with this index.
    Thefts(usize),
    /// Every file is a link.
    Links(&'a str),
    /// Every directory of a product is a link.
    Directories,
}

/// A product's project file.
pub(crate) struct HostileFile {
    pub(crate) provider: String,
    /// `product-number`
    pub(crate) slug: String,
    pub(crate) path: String,
    pub(crate) says: Value,
}

pub(crate) struct World {
    _directory: TempDir,
    root: PathBuf,
    pub(crate) description: Value,
    pub(crate) listener: Listener,
    pub(crate) files: Vec<HostileFile>,
    /// The findings, each by a key.
    holes: Mutex<BTreeMap<String, String>>,
}

impl World {
    pub(crate) fn new(kind: Kind<'_>) -> World {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/hostile/repository.json");
        let text = std::fs::read_to_string(file).unwrap();
        let description: Value = serde_json::from_str(&text).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let mut files = Vec::new();
        for (provider, of_product) in entries(&description["products"]) {
            for (at, says) in of_product.as_array().unwrap().iter().enumerate() {
                let (provider, slug) = (provider.clone(), format!("{provider}-{}", at + 1));
                let path = text_of(&says["file"]).to_owned();
                files.push(HostileFile { provider, slug, path, says: says.clone() });
            }
        }
        let listener = Listener::start();
        let holes = Mutex::default();
        let world = World { _directory: directory, root, description, listener, files, holes };
        for place in ["home", "project", "trips", "outside"] {
            std::fs::create_dir_all(world.root.join(place)).unwrap();
        }
        for place in ["home", "project"] {
            for (path, content) in entries(&world.description[place]) {
                world.write(&world.root.join(place).join(path), "", content);
            }
        }
        for (path, target) in entries(&world.description["project_links"]) {
            symlink(world.placed(text_of(target), ""), world.project().join(path)).unwrap();
        }
        world.clone_repository(kind);
        world
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(crate) fn environment(&self) -> BTreeMap<String, String> {
        let variables = entries(&self.description["environment"]);
        let mut environment: BTreeMap<String, String> = variables
            .map(|(name, value)| (name.clone(), self.placed(text_of(value), "")))
            .collect();
        let path = self.description["path"].as_array().unwrap().iter();
        let mut path: Vec<String> = path.map(|part| self.placed(text_of(part), "")).collect();
        path.push(std::env::var("PATH").unwrap());
        environment.insert("PATH".to_owned(), path.join(":"));
        environment.insert("HOME".to_owned(), self.home().display().to_string());
        let cache = self.root.join("cache").display().to_string();
        environment.insert("MCPOOL_CACHE_DIR".to_owned(), cache);
        environment
    }

    pub(crate) fn host_env(&self) -> HostEnv {
        HostEnv::new(Some(self.environment()), Some(self.home()), None)
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<String> {
        let texts = self.description[key].as_array().unwrap().iter();
        texts.map(|text| text_of(text).to_owned()).collect()
    }

    /// The traps of a file by name: those of every file, and those in the syntax of its product.
    pub(crate) fn traps(&self, file: &HostileFile) -> Vec<(String, Value)> {
        let native = entries(&self.description["native"][&file.provider]);
        let all = entries(&self.description["traps"]).chain(native);
        all.map(|(trap, definition)| (trap.clone(), definition.clone())).collect()
    }

    /// Every trap that was triggered, by product and trap, as far as that is known.
    pub(crate) fn sprung(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.root.join("trips")).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut sprung: Vec<String> = files.map(|id| self.explained(&id)).collect();
        sprung.extend(self.listener.heard().into_iter().map(|bytes| {
            let target = bytes.split(' ').nth(1).unwrap_or("");
            let id = target.split('?').next().unwrap_or("").rsplit('/').next().unwrap_or("");
            format!("{} was dialled: {bytes:?}", self.explained(id))
        }));
        sprung.sort();
        sprung
    }

    /// The files of the project, each with its content, or with what it links to.
    pub(crate) fn project_content(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut content, mut open) = (BTreeMap::new(), vec![self.project()]);
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let kind = path.symlink_metadata().unwrap();
                if kind.is_dir() {
                    open.push(path);
                } else if kind.is_symlink() {
                    let target = std::fs::read_link(&path).unwrap();
                    content.insert(path, target.into_os_string().into_encoded_bytes());
                } else {
                    let bytes = std::fs::read(&path).unwrap();
                    content.insert(path, bytes);
                }
            }
        }
        content
    }

    /// Records a finding once.
    pub(crate) fn hole(&self, known_as: &str, text: &str) {
        let mut holes = self.holes.lock().unwrap();
        holes.entry(known_as.to_owned()).or_insert_with(|| text.to_owned());
    }

    pub(crate) fn holes(&self) -> Vec<String> {
        self.holes.lock().unwrap().values().cloned().collect()
    }

    pub(crate) fn assert_no_holes(&self) {
        let holes = self.holes();
        assert!(holes.is_empty(), "{holes:#?}");
    }

    fn explained(&self, id: &str) -> String {
        let slug = id.split('.').next().unwrap_or("");
        match self.files.iter().find(|file| file.slug == slug) {
            Some(file) => format!("{id} of {}", file.path),
            None => id.to_owned(),
        }
    }

    pub(crate) fn clone_repository(&self, kind: Kind<'_>) {
        for (at, file) in self.files.iter().enumerate() {
            let place = self.project().join(&file.path);
            match kind {
                Kind::Traps => self.write_servers(&place, file, self.traps(file), None),
                Kind::Thefts(wanted) if at == wanted => {
                    let thefts = entries(&self.description["thefts"]);
                    let thefts = thefts.map(|(name, it)| (name.clone(), it.clone())).collect();
                    self.write_servers(&place, file, thefts, Some(&file.says["lists"]));
                }
                Kind::Thefts(_) => {}
                Kind::Links(link) => self.link(link, &place, file),
                Kind::Directories => self.link_directory(file),
            }
        }
    }

    fn link(&self, link: &str, place: &Path, file: &HostileFile) {
        let target = text_of(&self.description["links"][link]);
        let target = match target {
            "@outside@" => {
                let ending = file.path.rsplit('.').next().unwrap();
                let outside = self.root.join(format!("outside/{}.{ending}", file.slug));
                self.write_servers(&outside, file, self.traps(file), None);
                outside
            }
            "@user@" => {
                let Some(user) = file.says["user"].as_str() else { return };
                let users = self.home().join(user);
                if !users.exists() {
                    let server = json!({"command": fixture(), "args": ["stdio"]});
                    let servers = vec![(format!("own-{}", file.slug), server)];
                    self.write_document(&users, &document(file, servers, &Value::Null));
                }
                users
            }
            other => PathBuf::from(self.placed(other, "")),
        };
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(target, place).unwrap();
    }

    fn link_directory(&self, file: &HostileFile) {
        let outside = self.root.join("outside").join(&file.path);
        self.write_servers(&outside, file, self.traps(file), None);
        let top = file.path.split('/').next().unwrap();
        let link = self.project().join(top);
        if link.symlink_metadata().is_err() {
            symlink(self.root.join("outside").join(top), link).unwrap();
        }
    }

    /// Traps have names of their own; thefts have those of the user's servers.
    fn write_servers(
        &self,
        place: &Path,
        file: &HostileFile,
        servers: Vec<(String, Value)>,
        lists: Option<&Value>,
    ) {
        let servers = servers.into_iter().map(|(trap, definition)| {
            let id = format!("{}.{trap}", file.slug);
            let placed = self.placed(&definition.to_string(), &id);
            let definition = serde_json::from_str(&placed).unwrap();
            (if lists.is_some() { trap } else { id }, definition)
        });
        let document = document(file, servers.collect(), lists.unwrap_or(&Value::Null));
        let placed = self.placed(&document.to_string(), &format!("{}.also", file.slug));
        self.write_document(place, &serde_json::from_str(&placed).unwrap());
    }

    fn write_document(&self, place: &Path, document: &Value) {
        let is_toml = place.extension().is_some_and(|ending| ending == "toml");
        // YAML is a superset of JSON.
        let text = if is_toml { toml_document(document) } else { document.to_string() };
        self.write(place, "", &Value::String(text));
    }

    fn write(&self, path: &Path, id: &str, content: &Value) {
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, self.placed(&text, id)).unwrap();
        if text.starts_with("#!") {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn placed(&self, text: &str, id: &str) -> String {
        let at = |place: &str| self.root.join(place).display().to_string();
        text.replace("@project@", &at("project"))
            .replace("@home@", &at("home"))
            .replace("@trips@", &at("trips"))
            .replace("@trip@", &at(&format!("trips/{id}")))
            .replace("@id@", id)
            .replace("@port@", &self.listener.port.to_string())
            .replace("@fixture@", &fixture().canonicalize().unwrap().display().to_string())
    }
}

/// The file's servers in its product's format.
fn document(file: &HostileFile, servers: Vec<(String, Value)>, lists: &Value) -> Value {
    let servers = servers.into_iter().map(|(name, definition)| {
        let fields = entries(&definition).map(|(field, value)| {
            let word = file.says["words"][field].as_str().unwrap_or(field);
            (word.to_owned(), value.clone())
        });
        (name, fields.collect::<Map<String, Value>>())
    });
    let servers = if file.says["as_list"] == true {
        let named = servers.map(|(name, mut definition)| {
            definition.insert("name".to_owned(), name.into());
            definition
        });
        json!(named.collect::<Vec<_>>())
    } else {
        json!(servers.collect::<BTreeMap<_, _>>())
    };
    let keys = file.says["at"].as_array().unwrap().iter().rev();
    let mut document = keys.fold(servers, |inner, key| json!({text_of(key): inner}));
    let more = entries(&file.says["also"]).chain(entries(lists));
    for (key, value) in more {
        document[key] = value.clone();
    }
    document
}

fn toml_document(document: &Value) -> String {
    entries(document).map(|(key, value)| format!("{key:?} = {}\n", toml(value))).collect()
}

fn toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{key:?} = {}", toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

pub(crate) fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

pub(crate) fn text_of(value: &Value) -> &str {
    value.as_str().expect("a text")
}
