//! `toolyard mcp`: looks at MCP servers.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Value, json};
use toolyard::{
    ActivationController, Engine,
    mcp::{McpError, ServerAnswer},
};

use crate::{
    ALL_OK, NOTHING_RAN, SOME_NOT_OK, UNUSABLE,
    options::{McpOptions, McpVerb},
    output::{OutputForm, Printer},
    servers, setup,
};

pub(crate) async fn run(options: &McpOptions) -> anyhow::Result<u8> {
    let config = setup::read_config(options.config.as_deref())?;
    let activation = ActivationController::new(config.tools.activation());
    let engine = Engine::builder().activation(activation).build()?;
    servers::add(&engine, servers::configured(&config, options.mcp_config.as_deref())?)?;
    let code = match answer(&engine, &options.verb).await {
        Ok((answer, code)) => {
            Printer { form: OutputForm::Native, lines: false }.json(&answer)?;
            code
        }
        Err(error) => {
            eprintln!("toolyard: {error}");
            if matches!(error, McpError::UnknownServer { .. }) { UNUSABLE } else { NOTHING_RAN }
        }
    };
    engine.shutdown(Duration::ZERO).await;
    Ok(code)
}

async fn answer(engine: &Engine, verb: &McpVerb) -> Result<(Value, u8), McpError> {
    let pool = engine.mcp();
    match verb {
        McpVerb::Status => {
            servers::settled(engine).await;
            Ok((json!({"servers": pool.status()}), ALL_OK))
        }
        McpVerb::Tools { server } => {
            servers::settled(engine).await;
            let tools = pool.tools(server.as_deref())?;
            let tools: Vec<_> = tools.iter().map(toolyard::ToolSpec::to_value).collect();
            Ok((json!({"tools": tools}), ALL_OK))
        }
        McpVerb::Prompts { server } => Ok(of_servers(&pool.prompts(server.as_deref()).await?)),
        McpVerb::Resources { server } => Ok(of_servers(&pool.resources(server.as_deref()).await?)),
        McpVerb::Read { server, uri } => Ok((pool.read_resource(server, uri).await?, ALL_OK)),
        McpVerb::Prompt { server, name, arguments } => {
            let arguments: BTreeMap<_, _> = arguments.iter().cloned().collect();
            Ok((pool.prompt(server, name, arguments).await?, ALL_OK))
        }
    }
}

/// One entry for each server; one that failed has an error instead of items.
fn of_servers(answers: &[ServerAnswer]) -> (Value, u8) {
    let entry = |answer: &ServerAnswer| match &answer.items {
        Ok(items) if answer.problems.is_empty() => json!({"server": answer.server, "items": items}),
        Ok(items) => json!({"server": answer.server, "items": items, "problems": answer.problems}),
        Err(error) => json!({"server": answer.server, "error": error.to_string()}),
    };
    let failed = answers.iter().filter(|answer| answer.items.is_err()).count();
    let code = match failed {
        0 => ALL_OK,
        all if all == answers.len() => NOTHING_RAN,
        _ => SOME_NOT_OK,
    };
    (json!({"servers": answers.iter().map(entry).collect::<Vec<_>>()}), code)
}
