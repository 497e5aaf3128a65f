//! `toolyard plan`: shows how documents would be batched.

use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use serde_json::json;
use toolyard::{Batch, Engine, Outcome, ParallelCategory, Preview, Verdict, formats::read_document};

use crate::{
    ALL_OK, SOME_NOT_OK,
    call::{read_all, read_lines, source},
    options::PlanOptions,
    output::{OutputForm, Printer},
    setup,
};

pub(crate) async fn run(options: &PlanOptions) -> anyhow::Result<u8> {
    let engine = setup::engine(&options.engine)?;
    let printer = Printer { form: OutputForm::Native, lines: options.input.jsonl };
    let mut all_ok = true;
    if options.input.jsonl {
        let mut lines = read_lines(&options.input.file)?;
        while let Some((number, line)) = lines.recv().await {
            let planned = async { plan(&engine, options, &line?).await };
            match planned.await {
                Ok(preview) => {
                    all_ok &= preview.problems.is_empty();
                    printer.json(&PlanDocument::new(&preview))?;
                }
                Err(error) => {
                    all_ok = false;
                    printer.json(&json!({"line": number, "error": format!("{error:#}")}))?;
                }
            }
        }
    } else {
        let bytes = read_all(&options.input.file)?;
        let preview = plan(&engine, options, &bytes).await.with_context(|| source(&options.input.file))?;
        all_ok = preview.problems.is_empty();
        printer.json(&PlanDocument::new(&preview))?;
    }
    engine.shutdown(Duration::ZERO).await;
    Ok(if all_ok { ALL_OK } else { SOME_NOT_OK })
}

async fn plan(engine: &Engine, options: &PlanOptions, bytes: &[u8]) -> anyhow::Result<Preview> {
    let document = read_document(bytes)?;
    let list = setup::list(&options.list, &document)?;
    #[cfg(feature = "mcp")]
    let list = crate::servers::ready_for(engine, &document, list).await;
    Ok(engine.plan(document.calls, list).await?)
}

/// What is printed for one document.
#[derive(Serialize)]
struct PlanDocument<'a> {
    batches: &'a [Batch],
    decisions: Vec<Decision<'a>>,
    problems: Vec<Problem<'a>>,
    /// Only with a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Vec<Permission<'a>>>,
}

#[derive(Serialize)]
struct Decision<'a> {
    index: usize,
    tool: &'a str,
    allowed: bool,
    category: &'a ParallelCategory,
    reason: &'a str,
    /// Only where the tool says something about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    effects: Option<&'a [String]>,
}

#[derive(Serialize)]
struct Problem<'a> {
    index: usize,
    outcome: Outcome,
    error: &'a str,
}

#[derive(Serialize)]
struct Permission<'a> {
    index: usize,
    action: &'a str,
    resource: &'a str,
    /// The call's own rule, to be pasted under `[[permissions.rule]]`.
    as_rule: String,
    verdict: Verdict,
    rule: &'a str,
}

impl<'a> PlanDocument<'a> {
    fn new(preview: &'a Preview) -> Self {
        let decision = |(step, effects): (&'a toolyard::Step, &'a toolyard::EffectTags)| Decision {
            index: step.call,
            tool: &preview.tools[step.call],
            allowed: step.decision.allowed,
            category: &step.decision.category,
            reason: &step.decision.reason,
            effects: effects.said(),
        };
        let problem = |problem: &'a toolyard::Problem| Problem {
            index: problem.index,
            outcome: problem.outcome,
            error: &problem.error,
        };
        let permission = |permission: &'a toolyard::Permission| Permission {
            index: permission.index,
            action: &permission.check.action,
            resource: &permission.check.resource,
            as_rule: permission.check.to_string(),
            verdict: permission.decision.verdict,
            rule: &permission.decision.rule,
        };
        let has_policy = !preview.policy_version.is_empty();
        Self {
            batches: &preview.plan.batches,
            decisions: preview.plan.steps.iter().zip(&preview.effects).map(decision).collect(),
            problems: preview.problems.iter().map(problem).collect(),
            permissions: has_policy.then(|| preview.permissions.iter().map(permission).collect()),
        }
    }
}
