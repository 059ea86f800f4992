//! Owns the surroundings of a scenario: its files, its home, its environment, and the verbs about these alone.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mcpool::config;
use mcpool::edit::{self, EditTarget};
use mcpool::host::Language;
use mcpool::{
    ApprovalQuestion, Caller, DiscoverOptions, Discovery, ElicitationAnswer, ElicitationRequest,
    HostEnv, Identity, IdentityQuestion, OnApproval, OnElicitation, OnIdentity, OnSampling,
    SamplingRequest, Trust, TrustQuestion,
};
use serde_json::{Map, Value, json};

use crate::verbs::headers;

/// The questions that a scripted callback got.
pub(crate) type Asked = Arc<Mutex<Vec<Value>>>;

pub(crate) struct Place {
    /// In the form of the options; null means the process's own.
    pub(crate) host_env: Value,
    project: PathBuf,
}

impl Place {
    /// Writes the files of a scenario and reads its host environment.
    pub(crate) fn prepare(scenario: &Value, dir: &Path) -> std::io::Result<Place> {
        let (project, home) = (dir.join("project"), dir.join("home"));
        for (name, text) in scenario["files"].as_object().into_iter().flatten() {
            let file = dir.join(name);
            std::fs::create_dir_all(file.parent().unwrap_or(dir))?;
            std::fs::write(file, text_of(text))?;
        }
        for (name, target) in scenario["links"].as_object().into_iter().flatten() {
            let link = dir.join(name);
            std::fs::create_dir_all(link.parent().unwrap_or(dir))?;
            std::os::unix::fs::symlink(dir.join(text_of(target)), link)?;
        }
        let mut host_env = Value::Null;
        if let Some(env) = scenario["env"].as_object() {
            std::fs::create_dir_all(&project)?;
            std::fs::create_dir_all(&home)?;
            let mut all = Map::new();
            all.insert("PATH".into(), json!(std::env::var("PATH").unwrap_or_default()));
            all.insert("HOME".into(), json!(home));
            all.extend(env.clone());
            host_env = json!({"env": all, "home": home, "platform": scenario["platform"]});
        }
        Ok(Place { host_env, project })
    }

    /// A scenario without a host environment must neither find nor change this machine's files.
    fn own(&self) -> &Value {
        assert!(!self.host_env.is_null(), "the scenario needs an env");
        &self.host_env
    }

    pub(crate) fn discover(&self, looking: &Value) -> mcpool::Result<DiscoverOptions> {
        let mut options = looking.as_object().cloned().unwrap_or_default();
        options.entry("cwd").or_insert_with(|| json!(self.project));
        options.insert("host_env".into(), self.own().clone());
        DiscoverOptions::from_json(&camel_case(options), Language::Node)
    }

    /// Executes a verb without a manager.
    pub(crate) fn verb(&self, step: &Value) -> mcpool::Result<Value> {
        let text = |key: &str| step[key].as_str().unwrap_or_default();
        match text("do") {
            "schema" => Ok(config::schema()),
            "discover" => Ok(described(&mcpool::discover(&self.discover(&step["options"])?))),
            "edit" => {
                let mut place = json!({"cwd": self.project, "host_env": self.own()});
                for key in ["scope", "file", "cwd"] {
                    if let Some(value) = step.get(key) {
                        place[key] = value.clone();
                    }
                }
                let (place, name) =
                    (EditTarget::from_json(&place.to_string(), Language::Python)?, text("name"));
                let definition = step["definition"].clone();
                let edited = match text("verb") {
                    "add" => edit::add(&place, name, definition)?,
                    "remove" => edit::remove(&place, name)?,
                    "update" => edit::update(&place, name, definition)?,
                    "enable" => edit::enable(&place, name)?,
                    "disable" => edit::disable(&place, name)?,
                    "hide" => edit::hide(&place, name)?,
                    "unhide" => edit::unhide(&place, name)?,
                    other => panic!("there is no edit {other:?}"),
                };
                Ok(json!(edited))
            }
            verb => {
                let host_env = HostEnv::from_json(&self.own().to_string())?;
                let only: Option<Vec<String>> =
                    serde_json::from_value(step["servers"].clone()).unwrap();
                let path = Path::new(text("path"));
                let rows = match verb {
                    "trust" => mcpool::trust(path, only.as_deref(), &host_env)?,
                    "untrust" => mcpool::untrust(path, only.as_deref(), &host_env)?,
                    _ => mcpool::trusted(&host_env)?,
                };
                Ok(json!(rows))
            }
        }
    }
}

/// JSON of options under Node's names, which have the units that scenarios have.
pub(crate) fn camel_case(options: Map<String, Value>) -> String {
    let renamed = options.into_iter().map(|(name, value)| {
        let mut words = name.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        let name = words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..]);
        (name, value)
    });
    Value::Object(renamed.collect()).to_string()
}

/// The found servers, in the form of the scenario files.
pub(crate) fn described(found: &Discovery) -> Value {
    let mut report = found.report();
    let rows = report["servers"].as_array().cloned().unwrap_or_default();
    report["order"] = rows.iter().map(|row| row["name"].clone()).collect();
    report["servers"] = rows
        .into_iter()
        .map(|row| (row["name"].as_str().unwrap_or_default().to_owned(), row))
        .collect();
    report["native"] = found
        .native
        .iter()
        .map(|(name, keys)| {
            let keys: Value = keys.iter().map(|key| json!(key.expose())).collect();
            (name.clone(), keys)
        })
        .collect();
    report
}

/// A callback that answers by the script: true, false, or `fail`. Servers that the script does not name are refused.
pub(crate) fn scripted(answers: &Value, questions: &Asked) -> Trust {
    let (answers, questions) = (answers.clone(), questions.clone());
    Trust::Ask(Arc::new(move |question: TrustQuestion| {
        let yes = answers[&question.server] == true;
        questions.lock().unwrap().push(json!(question));
        Box::pin(async move { yes })
    }))
}

/// A callback about calls that answers by the script: true, false, `fail` or `hang`. Other tools are refused.
pub(crate) fn approving(answers: &Value, questions: &Asked) -> OnApproval {
    let (answers, questions) = (answers.clone(), questions.clone());
    OnApproval::new(move |question: ApprovalQuestion| {
        let answer = answers[&question.tool].clone();
        questions.lock().unwrap().push(json!(question));
        async move {
            match answer.as_str() {
                // Fails without printing a panic.
                Some("fail") => std::panic::resume_unwind(Box::new("the script says so")),
                Some("hang") => std::future::pending().await,
                _ => answer == true,
            }
        }
    })
}

/// The answer of a script for one server; `fail` fails, `hang` never answers.
async fn answer_for(answer: Value) -> Value {
    match answer.as_str() {
        // Fails without printing a panic.
        Some("fail") => std::panic::resume_unwind(Box::new("the script says so")),
        Some("hang") => std::future::pending().await,
        _ => answer,
    }
}

/// A callback that samples messages by the script, which answers by the name of the server.
pub(crate) fn sampling(answers: &Value, questions: &Asked) -> OnSampling {
    let (answers, questions) = (answers.clone(), questions.clone());
    OnSampling::new(move |request: SamplingRequest| {
        let answer = answers[&request.server].clone();
        questions.lock().unwrap().push(json!(request));
        async move { Some(answer_for(answer).await).filter(|answer| !answer.is_null()) }
    })
}

/// A callback that asks a person by the script, which answers by the name of the server.
pub(crate) fn eliciting(answers: &Value, questions: &Asked) -> OnElicitation {
    let (answers, questions) = (answers.clone(), questions.clone());
    OnElicitation::new(move |request: ElicitationRequest| {
        let answer = answers[&request.server].clone();
        questions.lock().unwrap().push(json!(request));
        async move {
            let answer = answer_for(answer).await;
            match answer["action"].as_str() {
                Some("accept") => {
                    let content = answer["content"].as_object().cloned().unwrap_or_default();
                    ElicitationAnswer::Accept(content)
                }
                Some("decline") => ElicitationAnswer::Decline,
                _ => ElicitationAnswer::Cancel,
            }
        }
    })
}

/// A callback that answers who calls a tool by the script: a caller, null, `fail`, `hang`.
pub(crate) fn identifying(answers: &Value, questions: &Asked) -> OnIdentity {
    let (answers, questions) = (answers.clone(), questions.clone());
    OnIdentity::new(move |question: IdentityQuestion| {
        let answer = answers[&question.tool].clone();
        questions.lock().unwrap().push(json!(question));
        async move {
            match answer.as_str() {
                // Fails without printing a panic.
                Some("fail") => std::panic::resume_unwind(Box::new("the script says so")),
                Some("hang") => std::future::pending().await,
                _ => {}
            }
            let mut caller = Caller::default();
            caller.identity = answer["identity"].as_str().map(|it| Identity::new(it).unwrap());
            caller.headers = answer["headers"].as_object().map(|it| headers(it).unwrap());
            caller
        }
    })
}

/// The text of a file: a string as it is, everything else as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}
