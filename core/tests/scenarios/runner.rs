//! Owns executing one scenario file.

use std::collections::HashMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcpool::{Arguments, CallOptions, Config, Manager, ManagerOptions, Naming};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::common::{PATIENCE, Web, fixture, lives, read_journal};
use crate::matching::{check, fill, is_subsequence};

const COMMON_KEYS: &[&str] = &["do", "expect", "error"];

type Outcome = Result<Value, mcpool::Error>;
type Step<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

struct Run {
    manager: Manager,
    events: Arc<Mutex<Vec<Value>>>,
    started: Mutex<HashMap<String, JoinHandle<Outcome>>>,
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
    let mut web = Vec::new();
    for (name, args) in scenario["fixtures"].as_object().into_iter().flatten() {
        let knobs = fill(args, &names);
        let (server, url) =
            Web::start(knobs.as_array().into_iter().flatten().filter_map(Value::as_str));
        web.push(server);
        names.push((name.clone(), url));
    }
    let scenario = fill(&scenario, &names);
    for (name, text) in scenario["files"].as_object().into_iter().flatten() {
        let text = text.as_str().ok_or("the text of a file is a string")?;
        std::fs::write(dir.join(name), text).map_err(|error| error.to_string())?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let outcome = runtime.block_on(play(&scenario));
    drop(web);
    outcome?;
    nothing_left(&dir)?;
    std::fs::remove_dir_all(&dir).map_err(|error| error.to_string())
}

async fn play(scenario: &Value) -> Result<(), String> {
    let config =
        Config::from_value(scenario["config"].clone()).map_err(|error| error.to_string())?;
    let options = ManagerOptions {
        naming: scenario["options"]["naming"]
            .as_str()
            .map_or(Ok(Naming::default()), Naming::from_style)
            .map_err(|error| error.to_string())?,
        connect_concurrency: scenario["options"]["connect_concurrency"]
            .as_u64()
            .map(|limit| limit as usize),
    };
    let manager = Manager::new(config, options);
    let events = Arc::new(Mutex::new(Vec::new()));
    let (log, stream) = (events.clone(), manager.events());
    let collector = tokio::spawn(async move {
        while let Some(event) = stream.next().await {
            log.lock().unwrap().push(serde_json::to_value(event).unwrap());
        }
    });
    let run = Arc::new(Run { manager, events, started: Mutex::default() });
    let steps = scenario["steps"].as_array().ok_or("a scenario needs steps")?;
    let mut outcome = Ok(());
    for (index, step) in steps.iter().enumerate() {
        outcome = run.clone().step(step).await;
        if let Err(problem) = outcome {
            outcome = Err(format!("step {} ({}): {problem}", index + 1, step["do"]));
            break;
        }
    }
    run.manager.close().await;
    collector.abort();
    outcome?;
    match run.started.lock().unwrap().keys().next() {
        Some(name) => Err(format!("{name} was started and never finished")),
        None => Ok(()),
    }
}

impl Run {
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
                    let seen = || self.events.lock().unwrap().clone();
                    until(|| is_subsequence(wanted, &seen()))
                        .await
                        .map_err(|()| format!("not in this order: {}", Value::Array(seen())))
                }
                "journal" => self.journal(step).await,
                _ => judge(step, self.verb(step).await),
            }
        })
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
        let manager = &self.manager;
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
            "tool" => {
                keys(step, &["name"]);
                Ok(manager.get_tools().get(text("name")).map_or(Value::Null, describe))
            }
            "call_tool" | "call" => {
                keys(
                    step,
                    &["server", "tool", "name", "arguments", "timeout_ms", "meta", "progress"],
                );
                self.call(step, limit).await
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

    async fn call(&self, step: &Value, limit: Option<Duration>) -> Outcome {
        let arguments = match &step["arguments"] {
            Value::Null => Arguments::none(),
            arguments => Arguments::new(arguments)?,
        };
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut options = CallOptions { timeout: limit, ..CallOptions::default() };
        options.meta = step["meta"].as_object().map(Arguments::new).transpose()?;
        if step["progress"] == true {
            let told = told.clone();
            options.on_progress =
                Some(Box::new(move |progress| told.lock().unwrap().push(json!(progress))));
        }
        let result = match step["do"].as_str() {
            Some("call") => {
                let name = step["name"].as_str().unwrap_or_default();
                self.manager.call(name, arguments, options).await?
            }
            _ => {
                let server = step["server"].as_str().unwrap_or_default();
                let tool = step["tool"].as_str().unwrap_or_default();
                self.manager.call_tool(server, tool, arguments, options).await?
            }
        };
        Ok(json!({
            "text": result.text(), "is_error": result.is_error(), "content": result.content(),
            "structured": result.structured(), "json": result.json(),
            "raw": serde_json::from_str::<Value>(result.json()).unwrap_or_default(),
            "progress": *told.lock().unwrap(),
        }))
    }
}

fn describe(tool: &mcpool::Tool) -> Value {
    let parsed =
        |text: Option<&str>| text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
    json!({
        "name": tool.name, "server": tool.of.server(), "raw_name": tool.of.raw_name(),
        "title": tool.of.title(), "description": tool.of.description(),
        "input_schema": parsed(Some(&tool.of.input_schema())), "output_schema": parsed(tool.of.output_schema()),
        "annotations": parsed(tool.of.annotations()), "requires_approval": tool.of.requires_approval(),
        "provider": tool.of.provider(), "state": tool.of.state(),
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
            let deadline = Instant::now() + Duration::from_secs(5);
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
