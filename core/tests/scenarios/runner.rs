//! Owns executing one scenario file: its managers, and the steps that start, wait and compare.
//! Steps that call a manager are in `verbs`; files and host_env are in `place`; fixture servers are in `fixtures`.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcpool::host::Language;
use mcpool::{Config, Manager, ManagerOptions, Pool, PoolOptions};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::common::{PATIENCE, fixture, lives, read_journal};
use crate::fixtures::Fixtures;
use crate::matching::{check, fill, is_subsequence};
use crate::person::{Logins, keeping, signing_in};
use crate::place::{
    Asked, Place, approving, camel_case, eliciting, identifying, sampling, scripted, text_of,
};
use crate::steps::check_scenario;
use crate::verbs::status_by_name;

pub(crate) type Outcome = Result<Value, mcpool::Error>;
type Step<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

const MAIN: &str = "main";

pub(crate) struct Run {
    pool: Pool,
    dir: PathBuf,
    pub(crate) place: Place,
    managers: Mutex<HashMap<String, Arc<Watched>>>,
    started: Mutex<HashMap<String, JoinHandle<Outcome>>>,
    fixtures: Mutex<Fixtures>,
    /// What the stores of its managers keep.
    logins: Logins,
}

/// A manager and what it told so far.
pub(crate) struct Watched {
    pub(crate) manager: Manager,
    pub(crate) questions: Asked,
    events: Arc<Mutex<Vec<Value>>>,
    collector: JoinHandle<()>,
}

/// Runs a scenario, over one of its transports if it has some; the error says which step failed and how.
pub(crate) fn run(
    root: &Path,
    name: &str,
    scenario: &Value,
    variant: Option<&str>,
) -> Result<(), String> {
    check_scenario(scenario)?;
    let name = name.replace(['[', ' '], "-").replace(']', "");
    let dir = root.join("target/scenarios").join(format!("rust-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;

    let mut names = vec![
        ("fixture".to_owned(), json!(fixture())),
        ("dir".to_owned(), json!(dir)),
        ("tests".to_owned(), json!(root.join("tests"))),
    ];
    let fixtures = Fixtures::start(scenario, variant, &mut names)?;
    let scenario = fill(scenario, &names);
    let place = Place::prepare(&scenario, &dir).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(play(&scenario, &dir, place, fixtures))?;
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
    fixtures: Fixtures,
) -> Result<(), String> {
    let pool = camel_case(scenario["pool"].as_object().cloned().unwrap_or_default());
    let pool = PoolOptions::from_json(&pool, Language::Node).map_err(|error| error.to_string())?;
    let run = Arc::new(Run {
        pool: Pool::new(pool),
        dir: dir.to_owned(),
        place,
        managers: Mutex::default(),
        started: Mutex::default(),
        logins: Logins::default(),
        fixtures: Mutex::new(fixtures),
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
        options.entry("cache_dir").or_insert_with(|| json!(self.dir.join("cache")));
        options.insert("host_env".to_owned(), self.place.host_env.clone());
        let (questions, script) = (Asked::default(), options.get("trust").cloned());
        if script.as_ref().is_some_and(Value::is_object) {
            options.remove("trust");
        }
        let approval = options.remove("on_approval");
        let identity = options.remove("on_identity");
        let auth = options.remove("on_auth");
        let store = options.remove("login_store");
        let sampled = options.remove("on_sampling");
        let elicited = options.remove("on_elicitation");
        let options = ManagerOptions::for_file(&camel_case(options), Language::Node);
        let mut options = match (options, description.get("error")) {
            (Ok(options), _) => options,
            (Err(error), None) => return Err(error.to_string()),
            (Err(error), Some(expected)) => return check(expected, &json!(error)),
        };
        if let Some(answers) = script.as_ref().and_then(|script| script.get("answers")) {
            options = options.trust(scripted(answers, &questions));
        }
        let options = options
            .pool(self.pool.clone())
            .on_approval(approval.map(|script| approving(&script["answers"], &questions)))
            .on_identity(identity.map(|script| identifying(&script["answers"], &questions)))
            .on_sampling(sampled.map(|script| sampling(&script["answers"], &questions)))
            .on_elicitation(elicited.map(|script| eliciting(&script["answers"], &questions)))
            .on_auth(auth.map(|script| signing_in(&script["answers"], &questions)))
            .login_store(store.map(|script| keeping(&self.logins, &script["answers"])));
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

    pub(crate) fn watch(&self, name: &str, manager: Manager, questions: Asked) {
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
    pub(crate) fn on(&self, step: &Value) -> Arc<Watched> {
        let name = step["on"].as_str().unwrap_or(MAIN);
        let managers = self.managers.lock().unwrap();
        managers.get(name).unwrap_or_else(|| panic!("there is no manager {name:?}")).clone()
    }

    fn step<'a>(self: Arc<Self>, step: &'a Value) -> Step<'a> {
        Box::pin(async move {
            match step["do"].as_str().unwrap_or_default() {
                "start" => {
                    let (run, inner) = (self.clone(), step["step"].clone());
                    let task = tokio::spawn(async move { run.verb(&inner).await });
                    // Its request is on its way before the next step begins.
                    tokio::task::yield_now().await;
                    self.started.lock().unwrap().insert(step["as"].to_string(), task);
                    Ok(())
                }
                "finish" => {
                    let task = self.take(step)?;
                    let outcome = tokio::time::timeout(PATIENCE, task).await;
                    let outcome = outcome.map_err(|_| "did not finish")?;
                    judge(step, outcome.map_err(|error| error.to_string())?)
                }
                "cancel" => {
                    let task = self.take(step)?;
                    task.abort();
                    match task.await {
                        Err(error) if error.is_cancelled() => Ok(()),
                        _ => Err("was done before it was cancelled".into()),
                    }
                }
                "parallel" => {
                    let steps = step["steps"].as_array().ok_or("parallel needs steps")?;
                    let all = steps.iter().map(|step| self.clone().step(step));
                    futures_util::future::join_all(all).await.into_iter().collect()
                }
                "repeat" => {
                    for _ in 0..step["times"].as_u64().ok_or("repeat needs times")? {
                        self.clone().step(&step["step"]).await?;
                    }
                    Ok(())
                }
                "events" => {
                    let wanted = step["expect"].as_array().ok_or("events needs expect")?;
                    let watched = self.on(step);
                    let seen = || watched.events.lock().unwrap().clone();
                    until(|| is_subsequence(wanted, &seen()))
                        .await
                        .map_err(|()| format!("not in this order: {}", Value::Array(seen())))
                }
                "no_events" => {
                    let unwanted = step["expect"].as_array().ok_or("no_events needs expect")?;
                    let seen = self.on(step).events.lock().unwrap().clone();
                    match is_subsequence(unwanted, &seen) {
                        true => Err(format!("came all the same: {}", Value::Array(seen))),
                        false => Ok(()),
                    }
                }
                "questions" => {
                    let watched = self.on(step);
                    let asked = || Value::Array(watched.questions.lock().unwrap().clone());
                    let _ = until(|| check(&step["expect"], &asked()).is_ok()).await;
                    check(&step["expect"], &asked())
                }
                "await_status" => {
                    let status = || status_by_name(&self.on(step).manager);
                    let _ = until(|| check(&step["expect"], &status()).is_ok()).await;
                    check(&step["expect"], &status())
                }
                "journal" => self.journal(step).await,
                "open" => self.open(step["as"].as_str().ok_or("open needs as")?, step).await,
                "advance" => {
                    let ms = step["ms"].as_u64().ok_or("advance needs ms")?;
                    self.pool.clock().advance(Duration::from_millis(ms));
                    Ok(())
                }
                "write" => {
                    let file = step["file"].as_str().ok_or("write needs file")?;
                    let fresh = format!("{file}.new");
                    std::fs::write(&fresh, text_of(&step["text"]))
                        .map_err(|error| error.to_string())?;
                    std::fs::rename(&fresh, file).map_err(|error| error.to_string())
                }
                "remove_file" => {
                    let file = step["file"].as_str().ok_or("remove_file needs file")?;
                    std::fs::remove_file(file).map_err(|error| error.to_string())
                }
                "file" => {
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
                "end_fixture" | "start_fixture" => self.fixtures.lock().unwrap().step(step),
                _ => judge(step, self.verb(step).await),
            }
        })
    }

    fn take(&self, step: &Value) -> Result<JoinHandle<Outcome>, String> {
        let task = self.started.lock().unwrap().remove(&step["as"].to_string());
        task.ok_or_else(|| format!("nothing was started as {}", step["as"]))
    }

    async fn journal(&self, step: &Value) -> Result<(), String> {
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
