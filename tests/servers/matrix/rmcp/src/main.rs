//! The server of the matrix on rmcp: `mcpool-matrix-rmcp stdio | http PORT`. The README beside it says what it offers.

// The protocol of 2026-07-28 deprecates logging, sampling and roots. A client still meets them.
#![allow(deprecated)]

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskManager, TaskOptions};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, from_value, json};

type Context = RequestContext<RoleServer>;

#[derive(Clone, Default)]
struct Matrix {
    tasks: TaskManager,
}

fn made<T: serde::de::DeserializeOwned>(value: Value) -> T {
    from_value(value).expect("the literal has the shape of its type")
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn tool(name: &str, arguments: &[(&str, &str)]) -> Value {
    let properties: serde_json::Map<_, _> =
        arguments.iter().map(|(name, kind)| (name.to_string(), json!({ "type": kind }))).collect();
    let required: Vec<_> = arguments.iter().map(|(name, _)| name).collect();
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties, "required": required } })
}

fn tools() -> Vec<Tool> {
    let mut add = tool("add", &[("a", "integer"), ("b", "integer")]);
    add["outputSchema"] = json!({ "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"] });
    let all = [
        tool("echo", &[("text", "string")]),
        tool("count", &[("steps", "integer")]),
        tool("fail", &[("message", "string")]),
        add,
        tool("log", &[("text", "string")]),
        tool("sample", &[]),
        tool("elicit", &[]),
        tool("roots", &[]),
        tool("work", &[]),
    ];
    all.into_iter().map(made).collect()
}

/// Asks the client: by a request of its own, or since 2026-07-28 by an answer that requires input.
async fn ask(
    request: &CallToolRequestParams,
    context: &Context,
    question: InputRequest,
) -> Result<CallToolResponse, ErrorData> {
    let modern =
        context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    if let Some(answer) = request.input_responses.as_ref().and_then(|all| all.get("answer")) {
        return Ok(text(answer.to_string()).into());
    }
    if modern {
        let questions = [("answer".to_string(), question)].into_iter().collect();
        return Ok(InputRequiredResult::from_input_requests(questions).into());
    }
    let peer = &context.peer;
    let answer = match question {
        InputRequest::CreateMessage(asked) => {
            peer.create_message(asked.params).await.map(|it| json!(it))
        }
        InputRequest::Elicitation(asked) => {
            peer.create_elicitation(asked.params).await.map(|it| json!(it))
        }
        _ => peer.list_roots().await.map(|it| json!(it)),
    };
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(text(answer.to_string()).into())
}

fn name_question() -> InputRequest {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "What is your name?".into(),
        requested_schema: made(schema),
    };
    InputRequest::Elicitation(ElicitRequest::new(params))
}

impl ServerHandler for Matrix {
    fn get_info(&self) -> ServerConfig {
        let offered = json!({ "tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}, "extensions": { TASKS_EXTENSION_ID: {} } });
        ServerConfig::new(made(offered)).with_server_info(Implementation::new("matrix", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = json!(request.arguments.clone().unwrap_or_default());
        let word = |name: &str| given[name].as_str().unwrap_or_default().to_string();
        let number = |name: &str| given[name].as_i64().unwrap_or_default();
        let result = match &*request.name {
            "echo" => text(word("text")),
            "count" => {
                let steps = number("steps");
                if let Some(token) = context.meta.get_progress_token() {
                    for step in 1..=steps {
                        let told = ProgressNotificationParam::new(token.clone(), step as f64)
                            .with_total(steps as f64);
                        let _ = context.peer.notify_progress(told).await;
                    }
                }
                text(steps.to_string())
            }
            "fail" => CallToolResult::error(vec![ContentBlock::text(word("message"))]),
            "add" => CallToolResult::structured(json!({ "sum": number("a") + number("b") })),
            "log" => {
                let line =
                    LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(word("text")));
                let _ = context.peer.notify_logging_message(line).await;
                text("logged")
            }
            "sample" => {
                let messages = vec![SamplingMessage::user_text("Say a word.")];
                let asked =
                    CreateMessageRequest::new(CreateMessageRequestParams::new(messages, 10));
                return ask(&request, &context, InputRequest::CreateMessage(asked)).await;
            }
            "elicit" => return ask(&request, &context, name_question()).await,
            "work" if context.meta.client_capabilities().is_some_and(|it| it.supports_tasks()) => {
                let options = TaskOptions::new().with_poll_interval_ms(100);
                let task = self.tasks.spawn(options, |context| {
                    Box::pin(async move {
                        let answer = context.request_input("answer", name_question()).await?;
                        Ok(text(answer.to_string()))
                    })
                });
                return Ok(CreateTaskResult::new(task).into());
            }
            "work" => text("at once"),
            "roots" => {
                return ask(
                    &request,
                    &context,
                    InputRequest::ListRoots(ListRootsRequest::default()),
                )
                .await;
            }
            other => {
                return Err(ErrorData::invalid_params(format!("There is no tool {other}"), None));
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("matrix://note", "note")]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("matrix://greeting/{name}", "greeting");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = match (&*request.uri, request.uri.strip_prefix("matrix://greeting/")) {
            ("matrix://note", _) => "a note".to_string(),
            (_, Some(name)) => format!("Hello, {name}"),
            _ => return Err(ErrorData::resource_not_found("There is no such resource", None)),
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(read, request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new(
            "greet",
            None::<String>,
            Some(vec![name]),
        )]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = json!(request.arguments.unwrap_or_default());
        let words = format!("Greet {}", given["name"].as_str().unwrap_or_default());
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, words)]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let known = ["Ada", "Alan", "Grace"]
            .into_iter()
            .filter(|name| name.starts_with(&request.argument.value));
        let values = CompletionInfo::new(known.map(String::from).collect());
        Ok(CompleteResult::new(values.map_err(|error| ErrorData::internal_error(error, None))?))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words[0] == "stdio" {
        Matrix::default().serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let sessions = std::sync::Arc::new(LocalSessionManager::default());
    let matrix = Matrix::default();
    let service = StreamableHttpService::new(
        move || Ok(matrix.clone()),
        sessions,
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", words[1].parse()?)).await?;
    loop {
        let io = TokioIo::new(listener.accept().await?.0);
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let _ = Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
        });
    }
}
