//! `toolyard tools`: lists the tools with their schemas.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};
use toolyard::{NameTable, ToolSpec, formats::schema};

use crate::{
    ALL_OK,
    options::{ToolsForm, ToolsOptions},
    output::{OutputForm, Printer},
    setup,
};

pub(crate) async fn run(options: &ToolsOptions) -> anyhow::Result<u8> {
    let engine = setup::engine(&options.engine)?;
    #[cfg(feature = "mcp")]
    crate::servers::settled(&engine).await;
    let specs = engine.active_specs();
    let names = NameTable::of_tools(&specs);
    let printer = Printer { form: OutputForm::Native, lines: false };
    match options.format {
        ToolsForm::Native => printer.json(&specs.iter().map(ToolSpec::listing).collect::<Vec<_>>())?,
        ToolsForm::Openai => printer.json(&each(&specs, &names, openai))?,
        ToolsForm::Anthropic => printer.json(&each(&specs, &names, schema::anthropic::tool))?,
        ToolsForm::Gemini => {
            let functions = each(&specs, &names, schema::gemini::function);
            printer.json(&[BTreeMap::from([("functionDeclarations", functions)])])?;
        }
        ToolsForm::Mcp => printer.json(&each(&specs, &names, schema::mcp::tool))?,
        ToolsForm::Names => {
            let name = |spec: &ToolSpec, exposed: &str| json!({"name": spec.name, "exposed": exposed});
            printer.json(&each::<Value>(&specs, &names, name))?;
        }
    }
    engine.shutdown(Duration::ZERO).await;
    Ok(ALL_OK)
}

fn each<T: Serialize>(specs: &[ToolSpec], names: &NameTable, form: impl Fn(&ToolSpec, &str) -> T) -> Vec<T> {
    specs.iter().map(|spec| form(spec, names.exposed(&spec.name).unwrap_or(&spec.name))).collect()
}

fn openai(spec: &ToolSpec, exposed: &str) -> schema::openai::Tool {
    let tool = schema::openai::tool(spec, exposed);
    if let Some(reason) = &tool.not_strict {
        tracing::info!(tool = spec.name, reason, "not in strict mode");
    }
    tool
}
