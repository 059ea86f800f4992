//! Hazard: a call that a framework has to ask a person about is made on a way where nobody is asked.

mod common;

use common::{apart, call, stdio};
use mcpool::{ApprovalPolicy, Config, Error, ErrorKind, Executed, Manager, ManagerOptions, Tool};
use serde_json::json;

async fn manager(options: ManagerOptions) -> Manager {
    let server = stdio(&["--hint-tools"]);
    let config = Config::from_value(json!({"mcpServers": {"s": server}})).unwrap();
    let manager = Manager::new(config, options);
    manager.connect_all().await.unwrap();
    manager
}

fn tool(manager: &Manager, name: &str) -> Tool {
    manager.get_tools().tools().iter().find(|tool| tool.name == name).unwrap().clone()
}

fn assert_refused(refused: Result<(), Error>, name: &str) {
    let error = refused.unwrap_err();
    assert_eq!((error.kind(), error.executed()), (ErrorKind::NotApproved, Some(Executed::No)));
    let begin = format!("The call of {name} was not approved: ");
    assert!(error.message().starts_with(&begin), "{error}");
}

#[tokio::test]
async fn it_holds_once_it_is_asked_for_and_not_for_children() {
    let manager = manager(apart()).await;
    let count = tool(&manager, "mcp_s_count");
    assert!(!manager.needs_framework_approval(&count));
    manager.check_framework_approval(&count).unwrap();
    manager.check_framework_approval_of_name("mcp_s_count").unwrap();
    manager.check_framework_approval_of_name("no_such_tool").unwrap();

    manager.require_framework_approval();
    assert!(manager.needs_framework_approval(&count));
    assert_refused(manager.check_framework_approval(&count), "mcp_s_count");
    assert_refused(manager.check_framework_approval_of_name("mcp_s_count"), "mcp_s_count");

    let child = manager.child().unwrap();
    child.connect_all().await.unwrap();
    assert!(!child.requires_framework_approval());
    child.check_framework_approval(&tool(&child, "mcp_s_count")).unwrap();
    child.close().await;
    manager.close().await;
}

#[tokio::test]
async fn a_tool_that_required_it_requires_it_now_or_is_gone_needs_it() {
    let manager = manager(apart().approval(ApprovalPolicy::Annotations)).await;
    manager.require_framework_approval();
    let free = tool(&manager, "mcp_s_read_only_count");
    assert!(!manager.needs_framework_approval(&free));
    manager.check_framework_approval_of_name("mcp_s_read_only_count").unwrap();

    let mut before = free.clone();
    before.requires_approval = true;
    assert!(manager.needs_framework_approval(&before));

    manager.disconnect("s").await.unwrap();
    assert!(manager.needs_framework_approval(&free));
    assert_refused(manager.check_framework_approval(&free), "mcp_s_read_only_count");
    manager.close().await;
}

#[tokio::test]
async fn a_tool_is_found_by_its_server_and_its_name_there() {
    let manager = manager(apart().approval(ApprovalPolicy::Annotations)).await;
    manager.require_framework_approval();
    let free = tool(&manager, "mcp_s_read_only_count");
    // Both tools get another name, because they would have the same one.
    call(&manager, "change_tools", json!({"name": "read-only-count"})).await.unwrap();
    let names = manager.get_tools();
    assert!(names.tools().iter().all(|tool| tool.name != free.name));
    assert!(!manager.needs_framework_approval(&free));
    manager.close().await;
}

#[tokio::test]
async fn a_name_that_is_not_in_the_list_is_refused() {
    let manager = manager(apart()).await;
    assert!(manager.get_tools().tools().iter().any(|tool| tool.name == "mcp_s_change_tools"));
    call(&manager, "change_tools", json!({"name": "change-tools"})).await.unwrap();
    manager.get_tool("mcp_s_change_tools").expect("a former name");
    manager.require_framework_approval();
    for name in ["mcp_s_change_tools", "no_such_tool"] {
        assert_refused(manager.check_framework_approval_of_name(name), name);
    }
    manager.close().await;
}

#[tokio::test]
async fn a_refusal_says_what_the_person_said() {
    let manager = manager(apart()).await;
    let count = tool(&manager, "mcp_s_count");
    let said = |reason| count.not_approved(reason).message().to_owned();
    assert_eq!(said(None), "The call of mcp_s_count was not approved");
    assert_eq!(said(Some("too late")), "The call of mcp_s_count was not approved: too late");
    manager.close().await;
}
