//! The Rust client under test of the conformance suite (`tests/conformance`): does what each scenario expects.
//! Exits with 1 for an error of mcpool, and with 2 for any other.
#![allow(clippy::print_stderr)]

use std::collections::BTreeMap;
use std::env;
use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;

use mcpool::{
    Arguments, AuthPrompt, CacheDir, CallOptions, Config, ElicitationAnswer, Error, Manager,
    ManagerOptions, OnAuth, OnElicitation, OnSampling, Root,
};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, Semaphore};
use url::Url;

/// The version that a client and a server of the suite agree on by themselves.
const NEGOTIATED_VERSION: &str = "2025-11-25";
/// The first version without a handshake. Some servers of the suite would also speak an older one.
const STATELESS_VERSION: &str = "2026-07-28";
/// The suite expects this address. Nobody fetches it.
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
/// The settings of mcpool with their names in the suite's context.
const SETTINGS: [(&str, &str); 4] = [
    ("clientId", "client_id"),
    ("clientSecret", "client_secret"),
    ("privateKey", "private_key_pem"),
    ("assertion", "valid_jwt"),
];
const IDP_SETTINGS: [(&str, &str); 3] = [
    ("tokenEndpoint", "idp_token_endpoint"),
    ("clientId", "idp_client_id"),
    ("idToken", "idp_id_token"),
];

enum Failure {
    Refused(Error),
    Other(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

type Outcome<T = ()> = Result<T, Failure>;

/// What the suite tells its client.
struct Test {
    url: String,
    scenario: String,
    version: String,
    context: Value,
    dialog: Arc<Dialog>,
}

/// A person who is asked and takes time to answer.
struct Dialog {
    asked: Notify,
    may_answer: Semaphore,
}

impl Test {
    fn from_env() -> Test {
        let variable = |name| env::var(name).unwrap_or_default();
        Test {
            url: env::args().next_back().unwrap_or_default(),
            scenario: variable("MCP_CONFORMANCE_SCENARIO"),
            version: variable("MCP_CONFORMANCE_PROTOCOL_VERSION"),
            context: serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default(),
            dialog: Arc::new(Dialog { asked: Notify::new(), may_answer: Semaphore::new(0) }),
        }
    }

    /// Runs the scenario with a manager that is connected to the suite's server.
    async fn run(&self) -> Outcome {
        let mut definition = json!({"url": self.url});
        let mut options = ManagerOptions::default().cache_dir(CacheDir::Off);
        if self.version != NEGOTIATED_VERSION {
            definition["protocol"] = json!(self.version);
        }
        if self.scenario.starts_with("auth/") {
            definition["auth"] = self.auth_settings();
            options = options.on_auth(OnAuth::new(sign_in));
        }
        options = self.with_callbacks(options)?;
        let config = Config::from_value(json!({"mcpServers": {"test": definition}}))?;
        let manager = Manager::new(config, options);
        let outcome = self.use_manager(&manager).await;
        manager.close().await;
        outcome
    }

    /// What a client offers to the server of the scenario.
    fn with_callbacks(&self, options: ManagerOptions) -> Outcome<ManagerOptions> {
        let accepted = |content: Value| {
            ElicitationAnswer::Accept(content.as_object().cloned().unwrap_or_default())
        };
        Ok(match self.scenario.as_str() {
            "elicitation-sep1034-client-defaults" => options
                .on_elicitation(OnElicitation::new(move |_| async move { accepted(json!({})) })),
            "request-metadata" => options
                .on_elicitation(OnElicitation::new(|_| async { ElicitationAnswer::Decline }))
                .on_sampling(OnSampling::new(|_| async { None }))
                .roots(vec![Root::new("/tmp")?]),
            "sep-2322-client-request-state" => {
                let dialog = self.dialog.clone();
                options.on_elicitation(OnElicitation::new(move |_| {
                    let dialog = dialog.clone();
                    async move {
                        dialog.asked.notify_one();
                        let _ = dialog.may_answer.acquire().await;
                        accepted(json!({"confirmed": true}))
                    }
                }))
            }
            _ => options,
        })
    }

    async fn use_manager(&self, manager: &Manager) -> Outcome {
        let report = manager.connect_all().await?;
        if let Some(error) = report.failed.values().next() {
            return Err(error.clone().into());
        }
        if self.version == STATELESS_VERSION {
            let status = manager.status_of("test")?;
            expect(&status.protocol_version.as_deref(), &Some(STATELESS_VERSION))?;
        }
        match self.scenario.as_str() {
            "initialize" => expect(&tool_names(manager), &[""; 0]),
            "tools_call" => {
                let said = call(manager, "add_numbers", &json!({"a": 5, "b": 3})).await?;
                expect(&said, "The sum of 5 and 3 is 8")
            }
            "sse-retry" => {
                let said = call(manager, "test_reconnection", &json!({})).await?;
                expect(&said, "Reconnection test completed successfully")
            }
            "elicitation-sep1034-client-defaults" => {
                let said = call(manager, "test_client_elicitation_defaults", &json!({})).await?;
                let content = said.strip_prefix("Elicitation completed: ").unwrap_or_default();
                let said: Value = serde_json::from_str(content).unwrap_or_default();
                let defaults = json!({
                    "name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": true,
                });
                expect(&said["content"], &defaults).or_else(|_| expect(&said, &defaults))
            }
            "request-metadata" => expect(&tool_names(manager), &[""; 0]),
            "sep-2322-client-request-state" => self.request_state(manager).await,
            "http-standard-headers" => standard_headers(manager).await,
            "http-custom-headers" => self.custom_headers(manager).await,
            "http-invalid-tool-headers" => invalid_tool_headers(manager).await,
            "json-schema-ref-no-deref" => expect(&tool_names(manager), &["lookup_user"]),
            "json-schema-2020-12-preservation" => schema_preservation(manager).await,
            "sep-2640-client-no-prefetch" => list_skills(manager).await,
            name if name.starts_with("sep-2640-client-verify-") => verify_skill(manager).await,
            name if name.starts_with("auth/") => {
                expect(&call(manager, "test-tool", &json!({})).await?, "test")
            }
            name => Err(Failure::Other(format!("this client does not know {name}"))),
        }
    }

    /// Another call goes through while a person is asked about the first.
    async fn request_state(&self, manager: &Manager) -> Outcome {
        let none = json!({});
        let asking = call(manager, "test_mrtr_echo_state", &none);
        let meanwhile = async {
            self.dialog.asked.notified().await;
            let said = call(manager, "test_mrtr_unrelated", &json!({})).await;
            self.dialog.may_answer.add_permits(1_000);
            said
        };
        let (echoed, unrelated) = tokio::join!(asking, meanwhile);
        expect(&echoed?, "echo-state-ok")?;
        expect(&unrelated?, "unrelated-ok")?;
        expect(&call(manager, "test_mrtr_no_state", &json!({})).await?, "no-state-ok")?;
        let said = call(manager, "test_mrtr_no_result_type", &json!({})).await?;
        expect(&said, "no-result-type-test-ok")
    }

    async fn custom_headers(&self, manager: &Manager) -> Outcome {
        for wanted in self.context["toolCalls"].as_array().into_iter().flatten() {
            call(manager, wanted["name"].as_str().unwrap_or_default(), &wanted["arguments"])
                .await?;
        }
        Ok(())
    }

    /// What a user of this server would write under `auth`.
    fn auth_settings(&self) -> Value {
        let given = |settings: &[(&str, &str)]| {
            let pairs = settings.iter().filter_map(|(name, key)| {
                Some(((*name).to_owned(), self.context.get(key)?.clone()))
            });
            Value::Object(pairs.collect())
        };
        let mut settings = given(&SETTINGS);
        settings["clientMetadataUrl"] = json!(CLIENT_METADATA_URL);
        match self.scenario.as_str() {
            "auth/client-credentials-jwt" | "auth/client-credentials-basic" => {
                settings["grant"] = json!("clientCredentials");
            }
            "auth/wif-jwt-bearer" => settings["grant"] = json!("jwtBearer"),
            "auth/enterprise-managed-authorization" => {
                settings["grant"] = json!("enterprise");
                settings["idp"] = given(&IDP_SETTINGS);
            }
            _ => {}
        }
        settings
    }
}

fn expect<T: Debug + PartialEq<U> + ?Sized, U: Debug + ?Sized>(
    actual: &T,
    expected: &U,
) -> Outcome {
    if actual == expected {
        return Ok(());
    }
    Err(Failure::Other(format!("expected {expected:?}, got {actual:?}")))
}

fn tool_names(manager: &Manager) -> Vec<String> {
    manager.get_tools().tools().iter().map(|tool| tool.definition.raw_name().to_owned()).collect()
}

/// Calls a tool that the catalog has, and returns the text of its result.
async fn call(manager: &Manager, tool: &str, arguments: &Value) -> Outcome<String> {
    if !tool_names(manager).iter().any(|name| name == tool) {
        let warnings = manager.warnings();
        return Err(Failure::Other(format!("the catalog has no {tool}: {warnings:?}")));
    }
    let arguments = Arguments::new(arguments)?;
    let result = manager.call_tool("test", tool, arguments, CallOptions::default()).await?;
    if result.is_error() {
        return Err(Failure::Other(format!("{tool} failed: {}", result.text())));
    }
    Ok(result.text())
}

/// Calls all that is offered: tools with invalid headers must not be.
async fn list_skills(manager: &Manager) -> Outcome {
    let skills = manager.list_skills("test").await?;
    let names: Vec<&str> = skills.iter().map(|skill| &*skill.name).collect();
    expect(&names, &["pdf-processing"])
}

/// Loads a skill that was tampered with. If it is not refused, goes on like somebody who trusts it.
async fn verify_skill(manager: &Manager) -> Outcome {
    list_skills(manager).await?;
    manager.read_skill("test", "pdf-processing").await?;
    manager.read_resource("test", "skill://pdf-processing/references/FORMS.md").await?;
    Err(Failure::Other("the skill was not refused".to_owned()))
}

async fn invalid_tool_headers(manager: &Manager) -> Outcome {
    for tool in manager.get_tools().tools() {
        let schema: Value =
            serde_json::from_str(&tool.definition.input_schema()).unwrap_or_default();
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let arguments: Map<String, Value> =
            properties.into_iter().map(|(name, _)| (name, json!("eu"))).collect();
        call(manager, tool.definition.raw_name(), &arguments.into()).await?;
    }
    expect(&tool_names(manager), &["valid_tool"])
}

async fn standard_headers(manager: &Manager) -> Outcome {
    for tool in ["test_headers", "my-hyphenated-tool"] {
        call(manager, tool, &json!({})).await?;
    }
    for resource in manager.list_resources("test").await? {
        manager.read_resource("test", &resource.uri).await?;
    }
    for prompt in manager.list_prompts("test").await? {
        manager.get_prompt("test", &prompt.name, BTreeMap::new()).await?;
    }
    Ok(())
}

async fn schema_preservation(manager: &Manager) -> Outcome {
    let catalog = manager.get_tools();
    let tool = catalog
        .tools()
        .iter()
        .find(|tool| tool.definition.raw_name() == "json_schema_2020_12_tool");
    let schema = tool.map(|tool| tool.definition.input_schema()).unwrap_or_default();
    let schema: Value = serde_json::from_str(&schema).unwrap_or_default();
    call(manager, "json_schema_echo", &json!({"schema": schema})).await.map(drop)
}

/// Plays the browser: the authorisation server of the suite asks nobody and redirects at once.
async fn sign_in(prompt: AuthPrompt) -> Option<String> {
    tokio::task::spawn_blocking(move || redirect_of(&prompt.url)).await.ok()?
}

/// Where a page sends the browser.
fn redirect_of(page: &str) -> Option<String> {
    let url = Url::parse(page).ok()?;
    let target = &page[url.origin().ascii_serialization().len()..];
    let mut stream = TcpStream::connect((url.host_str()?, url.port()?)).ok()?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let headers = answer.lines().take_while(|line| !line.is_empty());
    let mut fields = headers.filter_map(|line| line.split_once(": "));
    let (_, location) = fields.find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    Some(location.to_owned())
}

#[tokio::main]
async fn main() -> ExitCode {
    match Test::from_env().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Refused(error)) => {
            eprintln!("{}: {error}", error.kind().code());
            ExitCode::from(1)
        }
        Err(Failure::Other(text)) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
    }
}
