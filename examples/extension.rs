//! An extension of a host's own: every text file of a folder is a tool, which fills in the text. The folder is looked at
//! again and again, so tools come and go while the engine runs.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use toolyard::{
    Engine, ExecuteOptions, Extension, ExtensionStatus, HostHandle, Invocation, Offered, Output, SharedTool,
    Tool, ToolCall, ToolFuture, ToolSpec,
};

/// How often the folder is looked at.
const EVERY: Duration = Duration::from_millis(50);

/// A tool made of a text: each `{word}` in it is a parameter.
struct Template {
    spec: ToolSpec,
    text: String,
}

impl Template {
    fn new(name: &str, text: String) -> Self {
        let words = text.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0.to_owned()));
        let parameters: BTreeMap<String, Value> =
            words.map(|word| (word, json!({"type": "string"}))).collect();
        let required: Vec<&String> = parameters.keys().collect();
        let schema = json!({"type": "object", "properties": parameters, "required": required});
        let spec = ToolSpec::new(name).description(&text).input_schema(schema).parallel_safe(true);
        Self { spec, text }
    }
}

impl Tool for Template {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(self: Arc<Self>, invocation: Invocation) -> ToolFuture {
        // The engine has held them against the schema.
        let words: BTreeMap<String, String> = serde_json::from_str(&invocation.arguments).unwrap_or_default();
        let fill_in =
            |text: String, (word, with): (&String, &String)| text.replace(&format!("{{{word}}}"), with);
        ToolFuture::ready(Ok(Output::from(words.iter().fold(self.text.clone(), fill_in)).into()))
    }
}

/// The folder.
struct Templates {
    folder: PathBuf,
    closed: CancellationToken,
}

impl Templates {
    fn read(&self, before: &Offered) -> Result<Vec<SharedTool>, String> {
        let entries =
            fs::read_dir(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let mut tools: Vec<SharedTool> = Vec::new();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            let Ok(text) = fs::read_to_string(&path) else { continue };
            // One that is as it was is let alone.
            let same = before.get(name).filter(|tool| tool.spec().description.as_deref() == Some(&text));
            tools.push(same.cloned().unwrap_or_else(|| Arc::new(Template::new(name, text))));
        }
        Ok(tools)
    }
}

impl Extension for Templates {
    fn name(&self) -> &'static str {
        "templates"
    }

    fn start(self: Arc<Self>, host: HostHandle) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move {
            let mut offered = Offered::default();
            let first = self.read(&offered)?;
            host.publish(&mut offered, first).await;
            let closed = self.closed.clone();
            let watching = async move {
                loop {
                    tokio::time::sleep(EVERY).await;
                    if let Ok(now) = self.read(&offered) {
                        for refused in host.publish(&mut offered, now).await {
                            eprintln!("{}: {}", refused.name, refused.error);
                        }
                    }
                }
            };
            tokio::spawn(closed.run_until_cancelled_owned(watching));
            Ok(())
        })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.closed.cancel() })
    }

    fn status(&self) -> ExtensionStatus {
        ExtensionStatus::default().detail(json!({"folder": self.folder}))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("greet.txt"), "Hello {name}!")?;
    let templates = Templates { folder: folder.path().to_owned(), closed: CancellationToken::new() };
    let engine = Engine::builder().extension(templates).build()?;
    for (name, status) in engine.extensions() {
        println!("{name}: {}", status.detail);
    }

    let greet = vec![ToolCall::new("greet", json!({"name": "Ada"}).into())];
    let report = engine.execute(greet.clone(), ExecuteOptions::new()).await?;
    println!("{}", report.results[0].output.as_ref().map_or("", Output::to_text));

    fs::write(folder.path().join("part.txt"), "Goodbye {name}, until {day}.")?;
    fs::remove_file(folder.path().join("greet.txt"))?;
    while engine.specs().iter().all(|spec| spec.name != "part") {
        tokio::time::sleep(EVERY).await;
    }
    let part = vec![ToolCall::new("part", json!({"name": "Ada", "day": "Monday"}).into())];
    for calls in [part, greet] {
        let result = engine.execute(calls, ExecuteOptions::new()).await?.results.remove(0);
        println!("{} {:?}", result.outcome.as_str(), result.output.as_ref().map(Output::to_text));
    }
    engine.shutdown(Duration::from_secs(1)).await;
    Ok(())
}
