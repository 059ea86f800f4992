//! Owns the warning that one of the user's own servers would run code from the current directory: a module, a script or
//! a package that may come from a cloned repository.

use std::path::Path;

use super::finding::Finding;
use crate::config::{Level, ServerConfig};
use crate::process::Launch;

const INTERPRETERS: &[&str] =
    &["python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "sh", "bash", "zsh", "uv"];
const PACKAGE_RUNNERS: &[&str] = &["npx", "bunx", "pnpx"];
/// Arguments of an interpreter that precede the program that it runs.
const VERBS: &[&str] = &["run", "exec", "x"];

/// A warning if a definition of the user has no `cwd` and the current directory contains what it would run.
pub(super) fn finding(config: &ServerConfig, launch: &Launch) -> Option<Finding> {
    if config.scope.level != Level::User || launch.cwd.is_some() {
        return None;
    }
    let here = std::env::current_dir().ok()?;
    let found = found_here(&launch.program, &launch.args, &here)?;
    let text = format!("it would run {} of the current directory", launch.mask.text(&found));
    let advice = "give it a \"cwd\" of your own, or an absolute path";
    Some(Finding::warning("directory", text).with_advice(advice))
}

/// The file of `directory` that the command line would run.
fn found_here(program: &Path, args: &[String], directory: &Path) -> Option<String> {
    let program = program.file_name()?.to_str()?;
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_one_of = |programs: &[&str]| programs.contains(&program) || programs.contains(&plain);
    let exists = |path: &str| directory.join(path).exists().then(|| path.to_owned());
    if is_one_of(PACKAGE_RUNNERS) {
        let package = args.iter().find(|arg| !arg.starts_with('-'))?;
        let name = package.rsplit_once('@').map_or(&**package, |(name, _)| name);
        let name = if name.is_empty() { package } else { name };
        let bin = name.rsplit('/').next().unwrap_or(name);
        return exists(&format!("node_modules/.bin/{bin}"))
            .or_else(|| exists(&format!("node_modules/{name}")));
    }
    if !is_one_of(INTERPRETERS) {
        return None;
    }
    if let Some(at) = args.iter().position(|arg| arg == "-m") {
        let module = args.get(at + 1)?.split('.').next()?;
        return exists(&format!("{module}.py")).or_else(|| exists(module));
    }
    let script = args.iter().find(|arg| !arg.starts_with('-') && !VERBS.contains(&arg.as_str()))?;
    if Path::new(script).is_absolute() { None } else { exists(script) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_scripts_and_packages_of_the_directory_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        for path in ["mcp_server.py", "pkg/__init__.py", "server.js", "node_modules/.bin/server-x"]
        {
            write(path);
        }
        let found = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            found_here(Path::new(&words[0]), &words[1..], directory.path())
        };
        assert_eq!(found("/usr/bin/python3.11 -m mcp_server").as_deref(), Some("mcp_server.py"));
        assert_eq!(found("python -u -m pkg.sub").as_deref(), Some("pkg"));
        assert_eq!(found("/opt/bin/node server.js --port 1").as_deref(), Some("server.js"));
        let bin = Some("node_modules/.bin/server-x");
        assert_eq!(found("npx -y @scope/server-x@1.2").as_deref(), bin);
        assert_eq!(found("npx server-x").as_deref(), bin);
        for clean in ["python -m other", "node /opt/server.js", "npx -y other", "/opt/server.js"] {
            assert_eq!(found(clean), None, "{clean}");
        }
    }
}
