//! Owns the steps that call a manager: one arm per verb, with its result as JSON. The other steps and the comparison
//! are in `runner`; `steps` has checked the keys.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpool::{
    Arguments, AuthorizeOptions, CallOptions, CallerHeaders, Config, Identity, Manager, Retry,
    TaskId,
};
use serde_json::{Value, json};

use crate::person::{get, page_of};
use crate::place;
use crate::runner::{Outcome, Run};
use crate::steps::is_without_manager;

impl Run {
    pub(crate) async fn verb(&self, step: &Value) -> Outcome {
        if is_without_manager(step) {
            return self.place.verb(step);
        }
        let watched = self.on(step);
        let manager = &watched.manager;
        let text = |key: &str| step[key].as_str().unwrap_or_default();
        let limit = step["timeout_ms"].as_u64().map(Duration::from_millis);
        match text("do") {
            "connect_all" => manager.connect_all().await.map(|report| json!(report)),
            "connect" => manager.connect(text("server")).await.map(|()| Value::Null),
            "wait_for" => manager.wait_for(text("server"), limit).await.map(|()| Value::Null),
            "tools" => {
                Ok(manager.get_tools().tools().iter().map(|tool| json!(tool.name)).collect())
            }
            "search_tools" => {
                let k = step["k"].as_u64().unwrap_or(5) as usize;
                let found = manager.search_tools(text("query"), k);
                Ok(found.iter().map(|tool| json!(tool.name)).collect())
            }
            "tool" => Ok(manager.get_tools().get(text("name")).map_or(Value::Null, describe)),
            "get_tool" => manager.get_tool(text("name")).map(|tool| json!(tool.name)),
            "call_tool" | "call" => self.call(manager, step, limit).await,
            "execute" => self.execute(manager, step, limit).await,
            "status" => Ok(status_by_name(manager)),
            "status_of" => manager.status_of(text("server")).map(|status| json!(status)),
            "warnings" => Ok(json!(manager.warnings())),
            "discovery" => {
                Ok(manager.discovery().map_or(Value::Null, |found| place::described(&found)))
            }
            "kill" => {
                let status =
                    manager.status().into_iter().find(|status| status.name == text("server"));
                let pid = status.and_then(|status| status.pid).expect("the server has a process");
                let pid = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
                rustix::process::kill_process(pid, rustix::process::Signal::KILL)
                    .expect("it lives");
                Ok(Value::Null)
            }
            "child" => {
                self.watch(text("as"), manager.child()?, watched.questions.clone());
                Ok(Value::Null)
            }
            "reload" => {
                let report = match step.get("config") {
                    Some(config) => manager.reload_with(Config::from_value(config.clone())?).await,
                    None => manager.reload().await,
                };
                report.map(|report| json!(report))
            }
            "authorize" => {
                let is_set = |name: &str| step[name].as_bool().unwrap_or(false);
                let options = AuthorizeOptions::default().fresh(is_set("fresh"));
                let options = options.device(is_set("device"));
                manager.authorize(text("server"), options).await.map(|()| Value::Null)
            }
            "browse" => {
                let page = get(&page_of(manager, text("server")), true).await;
                Ok(json!({"status": page.status, "text": page.text}))
            }
            "complete_auth" => {
                let url = match step["url"].as_str() {
                    Some(url) => url.to_owned(),
                    None => {
                        let page = get(&page_of(manager, text("server")), false).await;
                        page.location.expect("the page leads somewhere")
                    }
                };
                manager.complete_auth(&url).await.map(|()| Value::Null)
            }
            "forget_auth" => manager.forget_auth(text("server")).await.map(|()| Value::Null),
            "accept_drift" => {
                let accepted = manager.accept_drift(text("server"), step["tool"].as_str()).await;
                accepted.map(|names| json!(names))
            }
            "ask_server" => {
                let params = step.get("params").cloned().unwrap_or_else(|| json!({}));
                let answer =
                    manager.request(text("server"), text("verb"), &params.to_string()).await?;
                Ok(serde_json::from_str(&answer).expect("the core writes JSON"))
            }
            "set_roots" => manager.set_roots_json(&step["roots"].to_string()).map(|()| Value::Null),
            "disconnect" => manager.disconnect(text("server")).await.map(|()| Value::Null),
            "disconnect_all" => {
                manager.disconnect_all().await;
                Ok(Value::Null)
            }
            "close" => {
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
            "task": result.task().map(|task| json!({"task_id": task.task_id, "status": task.status, "ttl_ms": task.ttl_ms})),
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

/// The progress that a call reported.
type Told = Arc<Mutex<Vec<Value>>>;

fn call_options(
    step: &Value,
    limit: Option<Duration>,
    told: &Told,
) -> Result<CallOptions, mcpool::Error> {
    let mut options = CallOptions::default();
    options.timeout = limit;
    options.max_total_timeout = step["max_total_timeout_ms"].as_u64().map(Duration::from_millis);
    options.retry = step["retry"].as_str().map(Retry::from_name).transpose()?;
    options.meta = step["meta"].as_object().map(Arguments::new).transpose()?;
    options.identity = step["identity"].as_str().map(Identity::new).transpose()?;
    options.headers = step["headers"].as_object().map(headers).transpose()?;
    options.check_output = step["check_output"].as_bool();
    options.return_task = step["return_task"] == true;
    options.resume_task = step["resume_task"].as_str().map(TaskId::new).transpose()?;
    if step["progress"] == true {
        let told = told.clone();
        options.on_progress =
            Some(Arc::new(move |progress| told.lock().unwrap().push(json!(progress))));
    }
    Ok(options)
}

/// Headers as they are written in a scenario.
pub(crate) fn headers(
    entries: &serde_json::Map<String, Value>,
) -> Result<CallerHeaders, mcpool::Error> {
    CallerHeaders::new(
        entries.iter().map(|(name, value)| (name, value.as_str().unwrap_or_default())),
    )
}

/// The tool of a step, which an earlier step may have stored.
fn chosen(manager: &Manager, step: &Value) -> mcpool::Tool {
    let catalog = manager.get_tools();
    let is_meant = |tool: &&mcpool::Tool| match step["name"].as_str() {
        Some(name) => tool.name == name,
        None => {
            step["server"] == tool.definition.server() && step["tool"] == tool.definition.raw_name()
        }
    };
    catalog.tools().iter().find(is_meant).unwrap_or_else(|| panic!("no tool for {step}")).clone()
}

fn describe(tool: &mcpool::Tool) -> Value {
    let parsed =
        |text: Option<&str>| text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
    json!({
        "name": tool.name, "server": tool.definition.server(), "raw_name": tool.definition.raw_name(),
        "title": tool.definition.title(), "description": tool.definition.description(),
        "input_schema": parsed(Some(&tool.definition.input_schema())), "output_schema": parsed(tool.definition.output_schema()),
        "annotations": parsed(tool.definition.annotations()), "requires_approval": tool.requires_approval,
        "provider": tool.provider(), "state": tool.state, "signals": tool.definition.signals(),
    })
}

pub(crate) fn status_by_name(manager: &Manager) -> Value {
    let all = manager.status();
    all.iter().map(|status| (status.name.clone(), json!(status))).collect()
}
