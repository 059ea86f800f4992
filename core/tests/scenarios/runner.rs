//! Owns executing one scenario file.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcpool::{
    Arguments, CallOptions, Config, Manager, ManagerOptions, Naming, Pool, PoolOptions, Retry,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::common::{PATIENCE, Web, fixture, lives, read_journal};
use crate::matching::{check, fill, is_subsequence};
use crate::place::{self, Asked, Place, approving, scripted, text_of};

const COMMON_KEYS: &[&str] = &["do", "on", "expect", "error"];
const CALL_KEYS: &[&str] = &[
    "server",
    "tool",
    "name",
    "arguments",
    "timeout_ms",
    "max_total_timeout_ms",
    "retry",
    "meta",
    "progress",
    "for_model",
];

type Outcome = Result<Value, mcpool::Error>;
type Step<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

const MAIN: &str = "main";

struct Run {
    pool: Pool,
    dir: PathBuf,
    place: Place,
    managers: Mutex<HashMap<String, Arc<Watched>>>,
    started: Mutex<HashMap<String, JoinHandle<Outcome>>>,
    web: Mutex<HashMap<String, Fixture>>,
}

/// A manager and what it told so far.
struct Watched {
    manager: Manager,
    questions: Asked,
    events: Arc<Mutex<Vec<Value>>>,
    collector: JoinHandle<()>,
}

/// An HTTP fixture that can be ended and started again at the same address.
struct Fixture {
    knobs: Vec<String>,
    url: String,
    server: Option<Web>,
}

/// Runs a file; the error says which step failed and how.
pub(crate) fn run(root: &Path, file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let scenario: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let dir = root.join("target/scenarios").join(format!("rust-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;

    let mut names = vec![
        ("fixture".to_owned(), fixture().display().to_string()),
        ("dir".to_owned(), dir.display().to_string()),
    ];
    let mut web = HashMap::new();
    for (name, args) in scenario["fixtures"].as_object().into_iter().flatten() {
        let knobs: Vec<String> = serde_json::from_value(fill(args, &names))
            .map_err(|error| format!("the knobs of {name}: {error}"))?;
        let (server, url) = Web::start(knobs.iter().map(String::as_str));
        names.push((name.clone(), url.clone()));
        web.insert(name.clone(), Fixture { knobs, url, server: Some(server) });
    }
    let scenario = fill(&scenario, &names);
    let place = Place::prepare(&scenario, &dir).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(play(&scenario, &dir, place, web))?;
    nothing_left(&dir)?;
    remove(&dir)
}

/// Takes the directory away; a tool list that is just being remembered in it may come in between.
fn remove(dir: &Path) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = std::fs::remove_dir_all(dir) {
        if Instant::now() > deadline {
            return Err(error.to_string());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

async fn play(
    scenario: &Value,
    dir: &Path,
    place: Place,
    web: HashMap<String, Fixture>,
) -> Result<(), String> {
    let pool = scenario.get("pool").map_or("{}".to_owned(), Value::to_string);
    let pool = PoolOptions::from_json(&pool).map_err(|error| error.to_string())?;
    let run = Arc::new(Run {
        pool: Pool::new(pool),
        dir: dir.to_owned(),
        place,
        managers: Mutex::default(),
        started: Mutex::default(),
        web: Mutex::new(web),
    });
    run.open(MAIN, scenario).await?;
    let steps = scenario["steps"].as_array().ok_or("a scenario needs steps")?;
    let mut outcome = Ok(());
    for (index, step) in steps.iter().enumerate() {
        outcome = run.clone().step(step).await;
        if let Err(problem) = outcome {
            outcome = Err(format!("step {} ({}): {problem}", index + 1, step["do"]));
            break;
        }
    }
    let managers: Vec<_> = run.managers.lock().unwrap().drain().collect();
    for (_, watched) in managers {
        watched.manager.close().await;
        watched.collector.abort();
    }
    outcome?;
    match run.started.lock().unwrap().keys().next() {
        Some(name) => Err(format!("{name} was started and never finished")),
        None => Ok(()),
    }
}

impl Run {
    /// Makes a manager by the `config`, `config_file` or `discover` and the `options` of `description`.
    async fn open(&self, name: &str, description: &Value) -> Result<(), String> {
        let mut options = description["options"].as_object().cloned().unwrap_or_default();
        let naming = options.remove("naming");
        options.entry("cache_dir").or_insert_with(|| json!(self.dir.join("cache")));
        options.insert("host_env".to_owned(), self.place.host_env.clone());
        let (questions, script) = (Asked::default(), options.get("trust").cloned());
        if script.as_ref().is_some_and(Value::is_object) {
            options.remove("trust");
        }
        let approval = options.remove("on_approval");
        let options = ManagerOptions::from_json(&Value::Object(options).to_string())
            .map_err(|error| error.to_string())?;
        let naming = naming.as_ref().and_then(Value::as_str);
        let options = ManagerOptions {
            naming: naming
                .map_or(Ok(Naming::default()), Naming::from_style)
                .map_err(|error| error.to_string())?,
            pool: Some(self.pool.clone()),
            trust: match script.as_ref().and_then(|script| script.get("answers")) {
                Some(answers) => scripted(answers, &questions),
                None => options.trust.clone(),
            },
            on_approval: approval.map(|script| approving(&script["answers"], &questions)),
            ..options
        };
        let made = if let Some(looking) = description.get("discover") {
            match self.place.discover(looking) {
                Ok(looking) => Manager::discover(looking, options).await,
                Err(error) => Err(error),
            }
        } else if let Some(file) = description["config_file"].as_str() {
            Manager::open(file, options)
        } else {
            Config::from_value(description["config"].clone())
                .map(|config| Manager::new(config, options))
        };
        match (made, description.get("error")) {
            (Ok(manager), None) => self.watch(name, manager, questions),
            (Ok(_), Some(_)) => return Err("should have failed".into()),
            (Err(error), None) => return Err(error.to_string()),
            (Err(error), Some(expected)) => check(expected, &json!(error))?,
        }
        Ok(())
    }

    fn watch(&self, name: &str, manager: Manager, questions: Asked) {
        let events = Arc::new(Mutex::new(Vec::new()));
        let (log, stream) = (events.clone(), manager.events());
        let collector = tokio::spawn(async move {
            while let Some(event) = stream.next().await {
                log.lock().unwrap().push(serde_json::to_value(event).unwrap());
            }
        });
        let watched = Arc::new(Watched { manager, questions, events, collector });
        self.managers.lock().unwrap().insert(name.to_owned(), watched);
    }

    /// The manager that a step is about.
    fn on(&self, step: &Value) -> Arc<Watched> {
        let name = step["on"].as_str().unwrap_or(MAIN);
        let managers = self.managers.lock().unwrap();
        managers.get(name).unwrap_or_else(|| panic!("there is no manager {name:?}")).clone()
    }

    fn step<'a>(self: Arc<Self>, step: &'a Value) -> Step<'a> {
        Box::pin(async move {
            match step["do"].as_str().unwrap_or_default() {
                "start" => {
                    only(step, &["as", "step"])?;
                    let (run, inner) = (self.clone(), step["step"].clone());
                    let task = tokio::spawn(async move { run.verb(&inner).await });
                    // Its request is on its way before the next step begins.
                    tokio::task::yield_now().await;
                    self.started.lock().unwrap().insert(step["as"].to_string(), task);
                    Ok(())
                }
                "finish" => {
                    only(step, &["as"])?;
                    let task = self.take(step)?;
                    let outcome = tokio::time::timeout(PATIENCE, task).await;
                    let outcome = outcome.map_err(|_| "did not finish")?;
                    judge(step, outcome.map_err(|error| error.to_string())?)
                }
                "cancel" => {
                    only(step, &["as"])?;
                    let task = self.take(step)?;
                    task.abort();
                    match task.await {
                        Err(error) if error.is_cancelled() => Ok(()),
                        _ => Err("was done before it was cancelled".into()),
                    }
                }
                "parallel" => {
                    only(step, &["steps"])?;
                    let steps = step["steps"].as_array().ok_or("parallel needs steps")?;
                    let all = steps.iter().map(|step| self.clone().step(step));
                    futures_util::future::join_all(all).await.into_iter().collect()
                }
                "repeat" => {
                    only(step, &["times", "step"])?;
                    for _ in 0..step["times"].as_u64().ok_or("repeat needs times")? {
                        self.clone().step(&step["step"]).await?;
                    }
                    Ok(())
                }
                "events" => {
                    only(step, &[])?;
                    let wanted = step["expect"].as_array().ok_or("events needs expect")?;
                    let watched = self.on(step);
                    let seen = || watched.events.lock().unwrap().clone();
                    until(|| is_subsequence(wanted, &seen()))
                        .await
                        .map_err(|()| format!("not in this order: {}", Value::Array(seen())))
                }
                "no_events" => {
                    only(step, &[])?;
                    let unwanted = step["expect"].as_array().ok_or("no_events needs expect")?;
                    let seen = self.on(step).events.lock().unwrap().clone();
                    match is_subsequence(unwanted, &seen) {
                        true => Err(format!("came all the same: {}", Value::Array(seen))),
                        false => Ok(()),
                    }
                }
                "questions" => {
                    only(step, &[])?;
                    let watched = self.on(step);
                    let asked = || Value::Array(watched.questions.lock().unwrap().clone());
                    let _ = until(|| check(&step["expect"], &asked()).is_ok()).await;
                    check(&step["expect"], &asked())
                }
                "journal" => self.journal(step).await,
                "open" => {
                    only(step, &["as", "config", "config_file", "discover", "options"])?;
                    self.open(step["as"].as_str().ok_or("open needs as")?, step).await
                }
                "advance" => {
                    only(step, &["ms"])?;
                    let ms = step["ms"].as_u64().ok_or("advance needs ms")?;
                    self.pool.clock().advance(Duration::from_millis(ms));
                    Ok(())
                }
                "write" => {
                    only(step, &["file", "text"])?;
                    let file = step["file"].as_str().ok_or("write needs file")?;
                    let fresh = format!("{file}.new");
                    std::fs::write(&fresh, text_of(&step["text"]))
                        .map_err(|error| error.to_string())?;
                    std::fs::rename(&fresh, file).map_err(|error| error.to_string())
                }
                "remove_file" => {
                    only(step, &["file"])?;
                    let file = step["file"].as_str().ok_or("remove_file needs file")?;
                    std::fs::remove_file(file).map_err(|error| error.to_string())
                }
                "file" => {
                    only(step, &["file"])?;
                    let file = step["file"].as_str().ok_or("file needs file")?;
                    let text = std::fs::read_to_string(file).unwrap_or_default();
                    match &step["expect"] {
                        Value::Null if Path::new(file).exists() => Err(format!("{file} is there")),
                        Value::Null => Ok(()),
                        expected @ Value::String(_) => check(expected, &json!(text)),
                        expected => {
                            check(expected, &serde_json::from_str(&text).unwrap_or_default())
                        }
                    }
                }
                "end_fixture" | "start_fixture" => self.fixture(step),
                _ => judge(step, self.verb(step).await),
            }
        })
    }

    fn fixture(&self, step: &Value) -> Result<(), String> {
        only(step, &["fixture"])?;
        let mut web = self.web.lock().unwrap();
        let name = step["fixture"].as_str().unwrap_or_default();
        let fixture = web.get_mut(name).ok_or("there is no such fixture")?;
        fixture.server = None;
        if step["do"] == "start_fixture" {
            let port = fixture.url.split([':', '/']).filter(|part| !part.is_empty()).nth(2);
            let knobs = fixture.knobs.iter().map(String::as_str);
            let again = knobs.chain(["--port", port.ok_or("the url has a port")?]);
            fixture.server = Some(Web::start(again).0);
        }
        Ok(())
    }

    fn take(&self, step: &Value) -> Result<JoinHandle<Outcome>, String> {
        let task = self.started.lock().unwrap().remove(&step["as"].to_string());
        task.ok_or_else(|| format!("nothing was started as {}", step["as"]))
    }

    async fn journal(&self, step: &Value) -> Result<(), String> {
        only(step, &["file", "count"])?;
        let file = PathBuf::from(step["file"].as_str().ok_or("journal needs file")?);
        let wanted = step["expect"].as_array().cloned().unwrap_or_default();
        until(|| is_subsequence(&wanted, &read_journal(&file)))
            .await
            .map_err(|()| format!("the journal holds {}", Value::Array(read_journal(&file))))?;
        for count in step["count"].as_array().into_iter().flatten() {
            let entries = read_journal(&file);
            let times =
                entries.iter().filter(|entry| check(&count["entry"], entry).is_ok()).count();
            check(&count["times"], &json!(times))
                .map_err(|error| format!("{}{error}", count["entry"]))?;
        }
        Ok(())
    }

    async fn verb(&self, step: &Value) -> Outcome {
        if let Some(allowed) = place::keys_of(&step["do"]) {
            keys(step, allowed);
            return self.place.verb(step);
        }
        let watched = self.on(step);
        let manager = &watched.manager;
        let text = |key: &str| step[key].as_str().unwrap_or_default();
        let limit = step["timeout_ms"].as_u64().map(Duration::from_millis);
        match text("do") {
            "connect_all" => {
                keys(step, &[]);
                manager.connect_all().await.map(|report| json!(report))
            }
            "connect" => {
                keys(step, &["server"]);
                manager.connect(text("server")).await.map(|()| Value::Null)
            }
            "wait_for" => {
                keys(step, &["server", "timeout_ms"]);
                manager.wait_for(text("server"), limit).await.map(|()| Value::Null)
            }
            "tools" => {
                keys(step, &[]);
                Ok(manager.get_tools().tools().iter().map(|tool| json!(tool.name)).collect())
            }
            "search_tools" => {
                keys(step, &["query", "k"]);
                let k = step["k"].as_u64().unwrap_or(5) as usize;
                let found = manager.search_tools(text("query"), k);
                Ok(found.iter().map(|tool| json!(tool.name)).collect())
            }
            "tool" => {
                keys(step, &["name"]);
                Ok(manager.get_tools().get(text("name")).map_or(Value::Null, describe))
            }
            "call_tool" | "call" => {
                keys(step, CALL_KEYS);
                self.call(manager, step, limit).await
            }
            "execute" => {
                keys(step, CALL_KEYS);
                self.execute(manager, step, limit).await
            }
            "status" => {
                keys(step, &[]);
                let all = manager.status();
                Ok(all.iter().map(|status| (status.name.clone(), json!(status))).collect())
            }
            "warnings" => {
                keys(step, &[]);
                Ok(json!(manager.warnings()))
            }
            "discovery" => {
                keys(step, &[]);
                Ok(manager.discovery().map_or(Value::Null, |found| place::described(&found)))
            }
            "kill" => {
                keys(step, &["server"]);
                let status =
                    manager.status().into_iter().find(|status| status.name == text("server"));
                let pid = status.and_then(|status| status.pid).expect("the server has a process");
                let pid = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
                rustix::process::kill_process(pid, rustix::process::Signal::KILL)
                    .expect("it lives");
                Ok(Value::Null)
            }
            "child" => {
                keys(step, &["as"]);
                self.watch(text("as"), manager.child()?, watched.questions.clone());
                Ok(Value::Null)
            }
            "reload" => {
                keys(step, &["config"]);
                let report = match step.get("config") {
                    Some(config) => manager.reload_with(Config::from_value(config.clone())?).await,
                    None => manager.reload().await,
                };
                report.map(|report| json!(report))
            }
            "accept_drift" => {
                keys(step, &["server", "tool"]);
                let accepted = manager.accept_drift(text("server"), step["tool"].as_str()).await;
                accepted.map(|names| json!(names))
            }
            "disconnect" => {
                keys(step, &["server"]);
                manager.disconnect(text("server")).await.map(|()| Value::Null)
            }
            "disconnect_all" => {
                keys(step, &[]);
                manager.disconnect_all().await;
                Ok(Value::Null)
            }
            "close" => {
                keys(step, &[]);
                manager.close().await;
                Ok(Value::Null)
            }
            other => panic!("there is no step {other:?}"),
        }
    }

    async fn call(&self, manager: &Manager, step: &Value, limit: Option<Duration>) -> Outcome {
        let arguments = match &step["arguments"] {
            Value::Null => Arguments::none(),
            arguments => Arguments::new(arguments)?,
        };
        let told = Told::default();
        let options = call_options(step, limit, &told)?;
        let result = match step["do"].as_str() {
            Some("call") => {
                let name = step["name"].as_str().unwrap_or_default();
                manager.call(name, arguments, options).await?
            }
            _ => {
                let server = step["server"].as_str().unwrap_or_default();
                let tool = step["tool"].as_str().unwrap_or_default();
                manager.call_tool(server, tool, arguments, options).await?
            }
        };
        let shown = step["for_model"] == true;
        Ok(json!({
            "text": result.text(), "is_error": result.is_error(), "content": result.content(),
            "structured": result.structured(), "json": result.json(),
            "raw": serde_json::from_str::<Value>(result.json()).unwrap_or_default(),
            "for_model": shown.then(|| result.for_model()), "signals": shown.then(|| result.signals()),
            "progress": *told.lock().unwrap(),
        }))
    }

    async fn execute(&self, manager: &Manager, step: &Value, limit: Option<Duration>) -> Outcome {
        let tool = chosen(manager, step);
        let told = Told::default();
        let options = call_options(step, limit, &told)?;
        let output = match &step["arguments"] {
            Value::Null => tool.execute(Arguments::none(), options).await,
            arguments => tool.execute(arguments.clone(), options).await,
        };
        Ok(json!({
            "text": output.text(), "is_error": output.is_error(), "server": output.server(),
            "tool": output.tool(), "provider": output.provider(), "content": output.content(),
            "structured": output.structured(), "signals": output.signals(), "error": output.error(),
            "progress": *told.lock().unwrap(),
        }))
    }
}

/// What a call told of its progress.
type Told = Arc<Mutex<Vec<Value>>>;

fn call_options(
    step: &Value,
    limit: Option<Duration>,
    told: &Told,
) -> Result<CallOptions, mcpool::Error> {
    let mut options = CallOptions {
        timeout: limit,
        max_total_timeout: step["max_total_timeout_ms"].as_u64().map(Duration::from_millis),
        retry: step["retry"].as_str().map(Retry::from_name).transpose()?,
        ..CallOptions::default()
    };
    options.meta = step["meta"].as_object().map(Arguments::new).transpose()?;
    if step["progress"] == true {
        let told = told.clone();
        options.on_progress =
            Some(Arc::new(move |progress| told.lock().unwrap().push(json!(progress))));
    }
    Ok(options)
}

/// The tool that a step means; it may have been remembered by an earlier one.
fn chosen(manager: &Manager, step: &Value) -> mcpool::Tool {
    let catalog = manager.get_tools();
    let is_meant = |tool: &&mcpool::Tool| match step["name"].as_str() {
        Some(name) => tool.name == name,
        None => step["server"] == tool.of.server() && step["tool"] == tool.of.raw_name(),
    };
    catalog.tools().iter().find(is_meant).unwrap_or_else(|| panic!("no tool for {step}")).clone()
}

fn describe(tool: &mcpool::Tool) -> Value {
    let parsed =
        |text: Option<&str>| text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
    json!({
        "name": tool.name, "server": tool.of.server(), "raw_name": tool.of.raw_name(),
        "title": tool.of.title(), "description": tool.of.description(),
        "input_schema": parsed(Some(&tool.of.input_schema())), "output_schema": parsed(tool.of.output_schema()),
        "annotations": parsed(tool.of.annotations()), "requires_approval": tool.requires_approval,
        "provider": tool.provider(), "state": tool.state, "signals": tool.of.signals(),
    })
}

/// Holds the outcome against the step's `expect` or `error`.
fn judge(step: &Value, outcome: Outcome) -> Result<(), String> {
    match (outcome, &step["error"]) {
        (Ok(value), Value::Null) => match step.get("expect") {
            Some(expected) => check(expected, &value),
            None => Ok(()),
        },
        (Ok(value), _) => Err(format!("should have failed, gave {value}")),
        (Err(error), Value::Null) => Err(format!("failed with {error:?}")),
        (Err(error), expected) => check(expected, &json!(error)),
    }
}

fn only(step: &Value, allowed: &[&str]) -> Result<(), String> {
    let keys = step.as_object().ok_or("a step is an object")?.keys();
    match keys
        .into_iter()
        .find(|key| !allowed.contains(&key.as_str()) && !COMMON_KEYS.contains(&key.as_str()))
    {
        Some(key) => Err(format!("unknown key {key:?}")),
        None => Ok(()),
    }
}

fn keys(step: &Value, allowed: &[&str]) {
    only(step, allowed).unwrap_or_else(|problem| panic!("{problem}"));
}

async fn until(condition: impl Fn() -> bool) -> Result<(), ()> {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        if Instant::now() > deadline {
            return Err(());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Every process that wrote a journal must be gone.
fn nothing_left(dir: &Path) -> Result<(), String> {
    let files = std::fs::read_dir(dir).map_err(|error| error.to_string())?;
    for file in files.filter_map(Result::ok) {
        for entry in read_journal(&file.path()) {
            let Some(pid) = entry["pid"].as_i64() else { continue };
            let deadline = Instant::now() + PATIENCE;
            while lives(pid) {
                if Instant::now() > deadline {
                    return Err(format!("process {pid} was left behind ({entry})"));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    Ok(())
}
