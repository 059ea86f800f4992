//! Recognises the path of a file where the text of a config belongs: `Manager("mcp.json")`.

use std::path::Path;

use crate::error::{Error, ErrorKind};

/// How the names of config files end.
const EXTENSIONS: &[&str] = &["json", "jsonc", "json5", "yaml", "yml", "toml"];
/// Longer than any path that somebody would write.
const MAX_LENGTH: usize = 4096;

/// The error for a text that is a path, not a config.
pub(crate) fn refused(text: &str) -> Option<Error> {
    let path = Path::new(text);
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_named_so = EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known));
    let could_be = text.len() <= MAX_LENGTH && !text.contains(['{', '}', '[', '"', '\n']);
    let is_in_directory = text.contains('/') && !text.contains("://");
    (could_be && (is_named_so || is_in_directory)).then(|| {
        let message = format!("The config is the path \"{text}\", not an object or its JSON");
        Error::new(ErrorKind::ConfigInvalid, message)
            .with_hint("open a config file with Manager.from_file()")
    })
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn a_path_in_place_of_a_config_says_how_files_are_opened() {
        for path in ["mcp.json", "/etc/My Config/servers.YAML", "~/.codex/config.toml", "./servers"]
        {
            let error = Config::from_json(path).unwrap_err();
            assert_eq!(error.code(), "CONFIG_INVALID");
            assert!(error.message().contains(path), "{error}");
            assert!(error.hint().unwrap().contains("Manager.from_file()"), "{error}");
        }
        for text in ["", "nonsense", "{\"a\": 1, b.json", "{}", "https://example.com/mcp"] {
            let error = Config::from_json(text).unwrap_err();
            assert!(!error.to_string().contains("from_file"), "{error}");
        }
    }
}
