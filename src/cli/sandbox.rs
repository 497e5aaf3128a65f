//! `toolyard sandbox`: runs code in a container, and makes the image for that.

use std::{io::Read, path::Path, time::Duration};

use anyhow::Context;
use toolyard::{
    Engine,
    sandbox::{RunRequest, build_image},
};

use crate::{
    ALL_OK, NOTHING_RAN, SOME_NOT_OK,
    interrupt::{HangUp, Interrupt},
    options::{SandboxBuildOptions, SandboxRunOptions, SandboxVerb},
    output::{OutputForm, Printer},
    setup::read_config,
};

const PRINTER: Printer = Printer { form: OutputForm::Native, lines: false };

pub(crate) async fn run(verb: &SandboxVerb) -> anyhow::Result<u8> {
    match verb {
        SandboxVerb::Run(options) => run_code(options).await,
        SandboxVerb::Build(options) => build(options).await,
    }
}

async fn run_code(options: &SandboxRunOptions) -> anyhow::Result<u8> {
    let config = read_config(options.config.config.as_deref())?;
    let code = read(&options.file)?;
    let shell = options.shell || !options.python && options.file.extension().is_some_and(|end| end == "sh");
    let mut request = if shell { RunRequest::shell(code) } else { RunRequest::python(code) };
    if let Some(timeout) = options.timeout {
        request = request.timeout(timeout);
    }
    let interrupt = Interrupt::listen(HangUp::Ends)?;
    let engine = Engine::builder().sandbox(config.sandbox.pool_config()).build()?;
    let running = async { engine.sandbox().lease(None).await?.run(request).await };
    let ended = tokio::select! {
        ended = running => Some(ended),
        () = interrupt.pressed() => None,
    };
    // All of its containers end with it.
    engine.shutdown(Duration::ZERO).await;
    match ended {
        Some(Ok(result)) => {
            PRINTER.json(&result)?;
            Ok(if result.is_success() { ALL_OK } else { SOME_NOT_OK })
        }
        Some(Err(error)) => {
            eprintln!("toolyard: {error}");
            Ok(NOTHING_RAN)
        }
        None => Ok(interrupt.status().unwrap_or(SOME_NOT_OK)),
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file).with_context(|| file.display().to_string());
    }
    let mut code = Vec::new();
    std::io::stdin().read_to_end(&mut code).context("standard input")?;
    Ok(code)
}

async fn build(options: &SandboxBuildOptions) -> anyhow::Result<u8> {
    let config = read_config(options.config.config.as_deref())?.sandbox.pool_config().sandbox;
    let image = options.image.as_ref().unwrap_or(&config.image);
    let interrupt = Interrupt::listen(HangUp::Ends)?;
    let building = build_image(config.daemon.as_deref(), image);
    let built = tokio::select! {
        built = building => built,
        // Dropped, it takes its folder with it.
        () = interrupt.pressed() => return Ok(interrupt.status().unwrap_or(SOME_NOT_OK)),
    };
    match built {
        Ok(built) => {
            PRINTER.json(&built)?;
            Ok(ALL_OK)
        }
        Err(error) => {
            eprintln!("toolyard: {error}");
            Ok(NOTHING_RAN)
        }
    }
}
