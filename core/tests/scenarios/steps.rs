//! Owns which steps there are and which keys they take: the table of `tests/scenario-steps.json`, which the runners of all
//! languages read. What a step does is left to `runner` and `verbs`.
//! Invariant: a scenario is checked as a whole before its first step runs.

use std::sync::LazyLock;

use serde_json::Value;

static TABLE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../tests/scenario-steps.json")).expect("valid JSON")
});

/// Refuses unknown steps, unknown keys and missing keys.
pub(crate) fn check_scenario(scenario: &Value) -> Result<(), String> {
    let rule = &TABLE["scenario"];
    check_keys(scenario, &[&rule["required"], &rule["optional"]], &rule["required"])?;
    if scenario.get("transports").is_some() && variants(scenario).next().is_none() {
        return Err("transports is empty".into());
    }
    for variant in variants(scenario) {
        let name = variant.split(' ').next().unwrap_or_default();
        if !is_transport(name) {
            return Err(format!("there is no transport {name:?}"));
        }
    }
    scenario["steps"].as_array().ok_or("steps must be a list")?.iter().try_for_each(check_step)
}

/// The `transports` of a scenario.
pub(crate) fn variants(scenario: &Value) -> impl Iterator<Item = &str> {
    let transports = scenario["transports"].as_array().into_iter().flatten();
    transports.map(|variant| variant.as_str().unwrap_or_default())
}

pub(crate) fn is_transport(name: &str) -> bool {
    TABLE["transports"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
}

/// Whether a step is about no manager.
pub(crate) fn is_without_manager(step: &Value) -> bool {
    rule_of(step).is_ok_and(|rule| rule["without_manager"] == true)
}

fn check_step(step: &Value) -> Result<(), String> {
    let rule = rule_of(step)?;
    let options = if rule["is_call"] == true { &TABLE["call_options"] } else { &Value::Null };
    let allowed = [&TABLE["every_step"], &rule["required"], &rule["optional"], options];
    check_keys(step, &allowed, &rule["required"])
        .map_err(|problem| format!("{}: {problem}", step["do"]))?;
    let mut inner =
        step.get("step").into_iter().chain(step["steps"].as_array().into_iter().flatten());
    inner.try_for_each(check_step)
}

fn rule_of(step: &Value) -> Result<&'static Value, String> {
    let name = step["do"].as_str().unwrap_or_default();
    TABLE["steps"].get(name).ok_or_else(|| format!("there is no step {:?}", step["do"]))
}

fn check_keys(object: &Value, allowed: &[&Value], required: &Value) -> Result<(), String> {
    let keys = object.as_object().ok_or("must be an object")?;
    let contains = |list: &Value, key: &str| {
        list.as_array().is_some_and(|names| names.iter().any(|name| name == key))
    };
    if let Some(key) = keys.keys().find(|key| !allowed.iter().any(|list| contains(list, key))) {
        return Err(format!("unknown key {key:?}"));
    }
    let mut needed = required.as_array().into_iter().flatten().filter_map(Value::as_str);
    match needed.find(|key| !keys.contains_key(*key)) {
        Some(key) => Err(format!("needs {key:?}")),
        None => Ok(()),
    }
}
