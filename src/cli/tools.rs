//! `toolyard tools`: lists the tools with their schemas.

use serde_json::Value;

use crate::{
    ALL_OK,
    options::{OutputForm, ToolsForm, ToolsOptions},
    output::Printer,
    setup,
};

pub(crate) fn run(options: &ToolsOptions) -> anyhow::Result<u8> {
    let engine = setup::engine(&options.engine)?;
    let tools: Vec<Value> = match options.format {
        ToolsForm::Native => engine.specs().iter().map(toolyard::ToolSpec::to_value).collect(),
    };
    Printer { form: OutputForm::Native, lines: false }.json(&tools)?;
    Ok(ALL_OK)
}
