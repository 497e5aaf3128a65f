//! What comes of each behaviour over each way.

use toolyard::Outcome::{self, Failed, Lost, NotStarted, Ok, TimedOut};

/// A way to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Stdio,
    /// Streamable HTTP, with JSON.
    Json,
    /// Streamable HTTP, with event streams.
    Stream,
    /// The old transport with server-sent events.
    Sse,
}

use Way::{Json, Sse, Stdio, Stream};

const ALL: &[Way] = &[Stdio, Json, Stream, Sse];
const HTTP: &[Way] = &[Json, Stream];
const LINKS: &[Way] = &[Stdio, Sse];
const STREAMS: &[Way] = &[Stdio, Stream, Sse];
const POSTS: &[Way] = &[Json, Stream, Sse];
const PROGRAM: &[Way] = &[Stdio];

/// A behaviour, where it is shown, what the call that meets it becomes, and what the error says (or the output, of a call
/// that is `ok`).
pub(super) type Row = (&'static str, &'static [Way], Outcome, &'static str);

/// At the start: the call finds no connection.
const START: &[Row] = &[
    ("silent_start", ALL, NotStarted, "did not answer within"),
    ("error_at_start", ALL, NotStarted, "licence expired"),
    ("start_misshapen", ALL, NotStarted, ""),
    ("version_number", ALL, NotStarted, ""),
    ("log_at_start", ALL, Ok, "fine"),
    ("exit_at_start", PROGRAM, NotStarted, "exit status 3"),
    ("garbage_at_start", PROGRAM, Ok, "fine"),
    ("endless_start", PROGRAM, NotStarted, ""),
    ("endless_errors", PROGRAM, Ok, "fine"),
    ("no_endpoint", &[Sse], NotStarted, "endpoint"),
    ("endpoint_elsewhere", &[Sse], NotStarted, "another server"),
    ("endpoint_garbage", &[Sse], NotStarted, ""),
];

/// In the list of tools: what can be read of it is there.
const LISTS: &[Row] = &[
    ("odd_tools", ALL, Ok, "fine"),
    ("ill_schema", ALL, Ok, "fine"),
    ("same_names", ALL, Ok, "fine"),
    ("deep_schema", ALL, Ok, "fine"),
    ("many_tools", ALL, Ok, "fine"),
    ("circle", ALL, Ok, "fine"),
    ("empty_cursor", ALL, Ok, "fine"),
    ("cursor_number", ALL, Ok, "fine"),
    ("tools_null", ALL, NotStarted, "list"),
    ("tools_text", ALL, NotStarted, "list"),
    ("list_of_other", ALL, NotStarted, "list"),
    ("list_refused", ALL, NotStarted, "database is down"),
    ("large_list", ALL, NotStarted, "larger than"),
];

/// In the answer to a call.
const ANSWERS: &[Row] = &[
    ("fine", ALL, Ok, "fine"),
    ("nan", ALL, Lost, ""),
    ("surrogate", ALL, Ok, "a\u{fffd}b"),
    ("bad_utf8", &[Stdio, Json, Sse], Ok, "a\u{fffd}"),
    // These events are taken apart by a library that takes UTF-8 alone.
    ("bad_utf8", &[Stream], Lost, "invalid utf-8"),
    ("raw_tab", ALL, Ok, "a\tb"),
    ("mark", ALL, Ok, "fine"),
    ("text_before", LINKS, Ok, "fine"),
    ("two_on_a_line", LINKS, Ok, "fine"),
    ("very_deep", ALL, Lost, ""),
    ("many_blocks", ALL, Lost, "blocks"),
    ("too_large", ALL, Lost, "larger than"),
    ("twice", ALL, Ok, "fine"),
    ("foreign_id", LINKS, TimedOut, ""),
    ("foreign_id", HTTP, Lost, ""),
    ("id_as_text", ALL, Ok, "fine"),
    ("no_id", LINKS, TimedOut, ""),
    ("no_id", HTTP, Failed, "who is it for"),
    ("unknown_block", ALL, Ok, "hologram"),
    ("text_null", ALL, Ok, "null"),
    ("structured_null", ALL, Ok, "fine"),
    ("failed_silently", ALL, Failed, "it says that it failed"),
    ("a_task", ALL, Lost, "task"),
    ("content_no_list", ALL, Lost, ""),
    ("empty_result", ALL, Ok, ""),
    ("result_text", ALL, Lost, ""),
    ("result_null", ALL, Lost, ""),
    ("neither", ALL, Lost, ""),
    ("error_text", ALL, Lost, ""),
    ("refused", ALL, Failed, "no such place"),
];

/// Before the answer to a call comes far more than anybody needs.
const FLOODS: &[Row] = &[
    ("logs", STREAMS, Ok, "after"),
    ("steps", STREAMS, Ok, "after"),
    ("changes", STREAMS, Ok, "after"),
    ("nonsense", STREAMS, Ok, "after"),
    ("pings", PROGRAM, Lost, ""),
    ("samples", PROGRAM, Lost, ""),
    ("questions", PROGRAM, Lost, ""),
    ("roots", PROGRAM, Lost, ""),
];

/// What a program can do instead of an answer.
const PROGRAMS: &[Row] = &[
    ("killed", PROGRAM, Lost, "went away"),
    ("exits", PROGRAM, Lost, "went away"),
    ("exits_midway", PROGRAM, Lost, "went away"),
    ("closes_output", PROGRAM, Lost, "went away"),
    ("endless_line", PROGRAM, Lost, ""),
    ("silent", PROGRAM, TimedOut, ""),
    ("ignores_the_end", PROGRAM, Ok, "fine"),
    ("forks", PROGRAM, Ok, "fine"),
    ("stops_reading", PROGRAM, Ok, "fine"),
];

/// What an HTTP server can answer a call with.
const STATUSES: &[Row] = &[
    ("accepted", HTTP, Lost, "202"),
    ("no_content", HTTP, Lost, "204"),
    ("bad_request", POSTS, Failed, "400"),
    ("who_are_you", POSTS, NotStarted, "401"),
    ("forbidden", POSTS, NotStarted, "403"),
    ("not_found", POSTS, NotStarted, "404"),
    ("gone", POSTS, NotStarted, "410"),
    ("unprocessable", POSTS, Failed, "422"),
    ("too_many", POSTS, NotStarted, "429"),
    ("broken", POSTS, Lost, "500"),
    ("bad_gateway", POSTS, Lost, "502"),
    ("busy", POSTS, Lost, "503"),
    ("busy_for_now", POSTS, NotStarted, "503"),
    ("same_307", HTTP, Ok, "fine"),
    ("same_308", HTTP, Ok, "fine"),
    ("moved", HTTP, NotStarted, "301"),
    ("found", HTTP, NotStarted, "302"),
    ("see_other", HTTP, NotStarted, "303"),
    ("other_307", POSTS, NotStarted, "127.0.0.1:9"),
    ("login_page", HTTP, Lost, "text/html"),
    ("plain_text", HTTP, Lost, "text/plain"),
    ("no_type", HTTP, Lost, ""),
    ("no_json", HTTP, Lost, ""),
    ("empty_json", HTTP, Lost, ""),
    ("closes", HTTP, Lost, ""),
    ("half", HTTP, Lost, ""),
    ("ends_early", &[Stream], Lost, ""),
    ("shouting_type", HTTP, Ok, "fine"),
];

/// Every row.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> {
    [START, LISTS, ANSWERS, FLOODS, PROGRAMS, STATUSES].into_iter().flatten()
}
