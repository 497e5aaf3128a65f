//! The tool `http`: requests to servers, with typed answers.

mod arguments;
mod reply;
mod tool;

pub use tool::HttpTool;
