//! Every product's files, in that product's format, against what discovery reads from them: `tests/configs`.
//! `MCPOOL_BLESS=1` rewrites the goldens; then review them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use mcpool::host::Language;
use mcpool::{
    Config, DiscoverOptions, Discovery, HostEnv, Level, Manager, ManagerOptions, Platform,
    ServerConfig, Trust, providers,
};
use serde_json::{Map, Value, json};

const PLATFORMS: &[(&str, Platform)] =
    &[("linux", Platform::Linux), ("macos", Platform::Macos), ("windows", Platform::Windows)];

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/configs");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&root)
        .expect("the configs are part of the repository")
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    let names: Vec<String> = cases.iter().map(|case| name(case)).collect();
    let mut trials: Vec<Trial> =
        cases.into_iter().map(|case| Trial::test(name(&case), move || compare(&case))).collect();
    for provider in providers().filter(|provider| !names.iter().any(|name| name == provider)) {
        let missing = format!("tests/configs/{provider} is missing");
        trials.push(Trial::test(provider, move || Err(missing.into())));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn name(path: &Path) -> String {
    path.file_name().expect("a directory has a name").to_string_lossy().into_owned()
}

fn compare(case: &Path) -> Result<(), Failed> {
    let mut found = Map::new();
    for (platform, kind) in PLATFORMS {
        let files = case.join(platform);
        if files.is_dir() {
            found.insert((*platform).to_owned(), on_platform(case, &files, *kind)?);
        }
    }
    let golden = case.join("golden.json");
    let text = serde_json::to_string_pretty(&found)? + "\n";
    if std::env::var_os("MCPOOL_BLESS").is_some() {
        std::fs::write(golden, text)?;
        return Ok(());
    }
    let expected = std::fs::read_to_string(&golden)
        .map_err(|error| format!("{}: {error}; run with MCPOOL_BLESS=1", golden.display()))?;
    if expected == text {
        return Ok(());
    }
    let line = expected.lines().zip(text.lines()).position(|(one, other)| one != other);
    let line = line.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("the end").trim().to_owned();
    let text = format!(
        "{}:{}: expected {}, found {}; MCPOOL_BLESS=1 takes what is found",
        golden.display(),
        line + 1,
        at(&expected),
        at(&text)
    );
    Err(text.into())
}

/// Writes the files into a fresh home and project, and returns what is found.
fn on_platform(case: &Path, files: &Path, platform: Platform) -> Result<Value, Failed> {
    let directory = tempfile::tempdir()?;
    let root = directory.path().canonicalize()?;
    let (home, project) = (root.join("home"), root.join("project"));
    let placed = |text: &str| {
        let text = text.replace("@home@", &home.to_string_lossy());
        text.replace("@project@", &project.to_string_lossy())
    };
    for (part, target) in [("home", &home), ("project", &project)] {
        std::fs::create_dir_all(target)?;
        lay_out(&files.join(part), target, &placed)?;
    }
    let mut env: BTreeMap<String, String> = read(&case.join("env.json"), &placed)?;
    if platform == Platform::Windows {
        let roaming = home.join("AppData").join("Roaming");
        env.insert("APPDATA".to_owned(), roaming.to_string_lossy().into_owned());
    }
    let written: Map<String, Value> = read(&case.join("options.json"), &placed)?;
    let mut options =
        DiscoverOptions::from_json(&Value::Object(written).to_string(), Language::Python)?;
    options.cwd = Some(project.clone());
    options.host_env = HostEnv::new(Some(env), Some(home.clone()), Some(platform));
    // With full trust, everything counts as written.
    let trusting = ManagerOptions::default().trust(Trust::All);
    let manager = mcpool::host::runtime::block_on(Manager::discover(options, trusting))?;
    let discovery = manager.discovery().expect("it was made by discovery");
    let is_alone = !case.ends_with("combined");
    if is_alone && platform != Platform::Windows {
        open_by_name(&discovery, &project)?;
    }
    let found = told(&discovery, &root);
    let text = found.to_string().replace(&*home.to_string_lossy(), "@home@");
    Ok(serde_json::from_str(&text.replace(&*project.to_string_lossy(), "@project@"))?)
}

/// What a file declares is the same when it is opened by name, but explicit.
fn open_by_name(discovery: &Discovery, project: &Path) -> Result<(), Failed> {
    // `mcp.json` and `.mcp.json` at the top of a project could be anybody's: they are read as our own.
    let files = discovery.files.iter().filter(|file| file.provider != "fallback");
    for file in files.filter(|file| file.problem.is_none() && file.servers > 0) {
        let opened = Config::from_file(&file.path)?;
        let written: Value =
            serde_json::from_str(&std::fs::read_to_string(&file.path)?).unwrap_or_default();
        let of_project = &written["projects"][&*project.to_string_lossy()];
        for (name, found) in &discovery.config.servers {
            let is_of_file = found.source.path.as_ref() == Some(&file.path);
            let (Ok(config), true) = (&found.config, is_of_file) else { continue };
            // What a file says about one project is read for the directory that we run in.
            if of_project.to_string().contains(&format!("\"{name}\"")) {
                continue;
            }
            let missing = || format!("{}: \"{name}\" is missing", file.path);
            let by_name = opened.servers.get(name).ok_or_else(missing)?;
            assert_eq!(by_name.source.level, Level::Explicit);
            let by_name = by_name.config.as_ref().map_err(|error| error.to_string())?;
            let definition = |config: &ServerConfig| {
                let mut definition = config.to_value();
                // A project cannot say so.
                definition.as_object_mut().map(|fields| fields.remove("requiresApproval"));
                definition
            };
            assert_eq!(definition(by_name), definition(config), "{}: {name}", file.path);
        }
    }
    Ok(())
}

fn read<T: serde::de::DeserializeOwned + Default>(
    file: &Path,
    placed: &dyn Fn(&str) -> String,
) -> Result<T, Failed> {
    match file.exists() {
        true => Ok(serde_json::from_str(&placed(&std::fs::read_to_string(file)?))?),
        false => Ok(T::default()),
    }
}

fn lay_out(from: &Path, to: &Path, placed: &dyn Fn(&str) -> String) -> Result<(), Failed> {
    let Ok(entries) = std::fs::read_dir(from) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            std::fs::create_dir_all(&target)?;
            lay_out(&entry.path(), &target, placed)?;
        } else {
            std::fs::write(target, placed(&std::fs::read_to_string(entry.path())?))?;
        }
    }
    Ok(())
}

/// The report with unredacted definitions: the values are made up, and the translation is under test.
fn told(discovery: &Discovery, root: &Path) -> Value {
    let mut report = discovery.report();
    for server in report["servers"].as_array_mut().into_iter().flatten() {
        let declared = &discovery.config.servers[server["name"].as_str().expect("a name")];
        let scope = declared.config.as_ref().ok().map(|config| {
            json!({
                "level": config.scope.level,
                "directory": config.scope.directory,
                "workspace": config.scope.workspace,
                "variables": config.scope.variables,
                "bare_env_names": config.scope.bare_env_names,
            })
        });
        server["config"] = json!(declared.config.as_ref().ok().map(|config| config.to_value()));
        server["direct"] = json!(declared.direct.as_ref().map(|config| config.to_value()));
        server["scope"] = json!(scope);
        server["required"] = json!(declared.required);
    }
    let native = discovery.native.iter().map(|(name, keys)| {
        (name.clone(), keys.iter().map(|key| json!(key.expose())).collect::<Vec<_>>().into())
    });
    report["native"] = Value::Object(native.collect());
    // Files in the machine's own /etc are not part of a fixture.
    let root = root.to_string_lossy();
    let ours = |path: &Value| path.as_str().is_none_or(|path| path.starts_with(&*root));
    for (list, path) in
        [("servers", "/source/path"), ("files", "/path"), ("left_out", "/source/path")]
    {
        if let Some(entries) = report[list].as_array_mut() {
            entries.retain(|entry| entry.pointer(path).is_none_or(ours));
        }
    }
    report
}
