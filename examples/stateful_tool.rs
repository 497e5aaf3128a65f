//! A tool with a state for each agent: what fails leaves the state as it was.

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolyard::{Engine, ExecuteOptions, ToolCall, tool};

/// What one agent has.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Account {
    balance: i64,
    bookings: Vec<i64>,
}

/// Books an amount on the agent's account, which may not go below zero.
#[tool(per_agent, blocking = false)]
fn book(account: &mut Account, amount: i64) -> Result<i64, String> {
    account.balance += amount;
    account.bookings.push(amount);
    if account.balance < 0 {
        return Err(format!("the account would stand at {}", account.balance));
    }
    Ok(account.balance)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder().tool(book::tool()).build()?;
    for (agent, amounts) in [("ada", [100, -30, -500]), ("bob", [5, 5, 5])] {
        let calls: Vec<_> = amounts
            .into_iter()
            .map(|amount| ToolCall::new("book", json!({"amount": amount}).into()))
            .collect();
        let report = engine.execute_blocking(calls, ExecuteOptions::new().agent(agent))?;
        let outcomes: Vec<_> = report.results.iter().map(|result| result.outcome.as_str()).collect();
        let state = futures::executor::block_on(engine.state("book", Some(agent)))?;
        println!(
            "{agent}: {} -> {}",
            outcomes.join(", "),
            state.map_or("null".into(), |state| state.to_string())
        );
    }
    Ok(())
}
