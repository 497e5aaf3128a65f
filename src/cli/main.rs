//! The `toolyard` program. Standard output carries only results; everything else goes to standard
//! error.

#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests choose their times"))]

mod activation;
mod call;
mod doctor;
mod interrupt;
mod lines;
mod logging;
#[cfg(feature = "mcp")]
mod mcp;
mod options;
mod output;
mod paths;
mod plan;
mod record;
mod resume;
#[cfg(feature = "docker")]
mod sandbox;
#[cfg(feature = "mcp")]
mod servers;
mod setup;
#[cfg(feature = "sim")]
mod sim;
mod state;
mod tools;
mod unwritten;

use std::process::ExitCode;

use clap::{Parser, error::ErrorKind};

use self::{
    logging::Logging,
    options::{Cli, Verb},
};

/// Every call ended `ok`.
const ALL_OK: u8 = 0;
/// Some call did not.
const SOME_NOT_OK: u8 = 1;
/// Usage, unreadable input, bad configuration; or something could not be written.
const UNUSABLE: u8 = 2;
/// Nothing that was asked for could be done.
#[cfg(any(feature = "docker", feature = "mcp"))]
const NOTHING_RAN: u8 = 3;

fn main() -> ExitCode {
    #[cfg(any(feature = "docker", feature = "mcp", feature = "python"))]
    toolyard::keep_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            // Nobody to tell when standard output is gone.
            let _ = error.print();
            return ExitCode::from(ALL_OK);
        }
        Err(error) => {
            // The first paragraph says what is wrong; usage and tips follow.
            let text = error.to_string();
            let what: Vec<_> = text.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
            eprintln!("toolyard: {}", what.join(" ").trim_start_matches("error: "));
            return ExitCode::from(UNUSABLE);
        }
    };
    let logging = Logging::start(cli.log_level.as_deref());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => {
            let done = runtime.block_on(run(cli.verb));
            // A thread that still reads standard input must not keep the program.
            runtime.shutdown_background();
            done
        }
        Err(error) => Err(anyhow::Error::new(error).context("could not start a runtime")),
    };
    logging.end();
    done.unwrap_or_else(|error| {
        eprintln!("toolyard: {error:#}");
        UNUSABLE
    })
    .into()
}

async fn run(verb: Verb) -> anyhow::Result<u8> {
    match verb {
        Verb::Call(options) => call::run(&options).await,
        Verb::Plan(options) => plan::run(&options).await,
        Verb::Resume(options) => resume::run(&options).await,
        Verb::Tools(options) => tools::run(&options).await,
        #[cfg(feature = "mcp")]
        Verb::Mcp(options) => mcp::run(&options).await,
        #[cfg(feature = "docker")]
        Verb::Sandbox(verb) => sandbox::run(&verb).await,
        Verb::Doctor(options) => doctor::run(&options).await,
        Verb::State(verb) => {
            interrupt::end_at_once()?;
            state::run(&verb).await
        }
        #[cfg(feature = "sim")]
        Verb::Sim(options) => sim::run(&options).await,
    }
}
