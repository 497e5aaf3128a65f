//! Any way in which the known kinds of servers stream a list of calls gives that list.

use proptest::{collection::vec, prelude::*, sample::Index};
use serde_json::{Value, json};

use super::Accumulator;

/// A call of the model: name, arguments, and the random choices of how it is streamed.
#[derive(Clone, Debug)]
struct Call {
    name: &'static str,
    arguments: Value,
    cuts: Vec<Index>,
    style: u64,
}

impl Call {
    /// The arguments' text in pieces.
    fn pieces(&self) -> Vec<String> {
        let text = self.arguments.to_string();
        let mut cuts: Vec<usize> = self.cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.retain(|cut| text.is_char_boundary(*cut));
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        cuts.windows(2).map(|ends| text[ends[0]..ends[1]].to_owned()).collect()
    }

    /// One of `n` ways to do something.
    fn way(&self, what: u32, n: u64) -> u64 {
        (self.style >> (what * 8)) % n
    }
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let arguments = prop_oneof![
        Just(json!({})),
        any::<i64>().prop_map(|n| json!({"n": n})),
        any::<String>().prop_map(|text| json!({"text": text, "more": [{"a": null}]})),
    ];
    let name = prop_oneof![Just("add"), Just("get_weather")];
    let call = (name, arguments, vec(any::<Index>(), 0..4), any::<u64>());
    vec(call.prop_map(|(name, arguments, cuts, style)| Call { name, arguments, cuts, style }), 1..4)
}

fn model(calls: &[Call]) -> Value {
    let call =
        |(n, call): (usize, &Call)| json!({"name": call.name, "arguments": call.arguments, "id": id(n)});
    calls.iter().enumerate().map(call).collect()
}

fn id(n: usize) -> String {
    format!("call {n}")
}

fn run(events: &[Value]) -> Vec<Result<Value, String>> {
    let mut calls = Accumulator::default();
    for event in events {
        calls.push(event.to_string().as_bytes()).unwrap();
    }
    let written = |call| serde_json::to_value(call).unwrap();
    calls.finish().into_iter().map(|call| call.map(written).map_err(|bad| bad.error)).collect()
}

fn all_good(events: &[Value]) -> Value {
    run(events).into_iter().map(|call| call.unwrap_or_else(Value::String)).collect()
}

/// Deals the events of several calls in an order that keeps that of each call.
fn interleave(mut queues: Vec<Vec<Value>>, order: &[Index]) -> Vec<Value> {
    queues.iter_mut().for_each(|queue| queue.reverse());
    let mut order = order.iter().cycle();
    let mut dealt = Vec::new();
    loop {
        queues.retain(|queue| !queue.is_empty());
        if queues.is_empty() {
            return dealt;
        }
        let at = order.next().map_or(0, |index| index.index(queues.len()));
        dealt.extend(queues[at].pop());
    }
}

/// The chunks of a call in a chat stream. `index`: how the place is told, if at all.
fn chat(n: usize, call: &Call, index: Option<&Value>) -> Vec<Value> {
    let half = call.name.len() / 2;
    let (name_way, id_way) =
        (call.way(0, if index.is_some() { 3 } else { 1 }), call.way(1, if index.is_some() { 3 } else { 2 }));
    let pieces = call.pieces();
    // With a name in pieces the first chunk has no arguments.
    let chunks = std::iter::once(String::new()).chain(pieces).enumerate();
    let chunk = |(at, arguments): (usize, String)| {
        let name = match (name_way, at) {
            (0, 0) | (1, _) => json!(call.name),
            (2, 0) => json!(call.name[..half]),
            (2, 1) => json!(call.name[half..]),
            _ => Value::Null,
        };
        let id = match (id_way, at) {
            (_, 0) | (1, _) => json!(id(n)),
            (2, _) if name_way == 0 => json!(format!("{} {at}", id(n))),
            _ => Value::Null,
        };
        let mut piece = json!({"id": id, "function": {"name": name, "arguments": arguments}});
        if let Some(index) = index {
            piece["index"] = index.clone();
        }
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
    };
    chunks.map(chunk).collect()
}

fn chat_end() -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
}

/// All that a responses stream may say about a call; its pieces are in order, the rest may come at any time.
fn responses(n: usize, call: &Call) -> (Vec<Value>, Vec<Value>) {
    let item = |arguments: &str| {
        json!({
            "type": "function_call", "id": format!("fc {n}"), "call_id": id(n), "name": call.name, "arguments": arguments
        })
    };
    let keyed = |mut event: Value| {
        if call.way(2, 3) != 1 {
            event["output_index"] = json!(n);
        }
        if call.way(2, 3) != 2 {
            event["item_id"] = json!(format!("fc {n}"));
        }
        event
    };
    let text = call.arguments.to_string();
    let delta =
        |piece: String| keyed(json!({"type": "response.function_call_arguments.delta", "delta": piece}));
    let pieces = call.pieces().into_iter().map(delta).collect();
    let rest = vec![
        json!({"type": "response.output_item.added", "output_index": n, "item": item("")}),
        keyed(json!({"type": "response.function_call_arguments.done", "arguments": text})),
        json!({"type": "response.output_item.done", "output_index": n, "item": item(&text)}),
    ];
    (pieces, rest)
}

proptest! {
    #[test]
    fn a_chat_stream_with_indices_may_be_interleaved(calls in calls(), order in vec(any::<Index>(), 1..9), as_text: bool) {
        let index = |n: usize| if as_text { json!(n.to_string()) } else { json!(n) };
        let queues = calls.iter().enumerate().map(|(n, call)| chat(n, call, Some(&index(n)))).collect();
        let mut events = interleave(queues, &order);
        events.push(chat_end());
        prop_assert_eq!(all_good(&events), model(&calls), "{:?}", events);
    }

    #[test]
    fn a_chat_stream_without_indices_comes_one_call_after_the_other(calls in calls(), below_zero: bool) {
        let index = below_zero.then(|| json!(-1));
        let mut events = Vec::new();
        for (n, call) in calls.iter().enumerate() {
            // Names and ids are told as if there were no index.
            let chunks = chat(n, call, None);
            events.extend(chunks.into_iter().map(|mut chunk| {
                chunk["choices"][0]["delta"]["tool_calls"][0]["index"] = index.clone().unwrap_or_default();
                chunk
            }));
        }
        events.push(chat_end());
        prop_assert_eq!(all_good(&events), model(&calls), "{:?}", events);
    }

    #[test]
    fn a_responses_stream_may_leave_out_and_shuffle_what_it_says_more_than_once(
        calls in calls(), order in vec(any::<Index>(), 1..9), with_output: bool,
    ) {
        let mut queues = Vec::new();
        let mut output = Vec::new();
        for (n, call) in calls.iter().enumerate() {
            let (pieces, mut rest) = responses(n, call);
            output.push(rest[2]["item"].clone());
            // The arguments come in one way at least, and so does the name.
            let with_pieces = call.way(3, 2) == 0;
            if !with_pieces && call.way(4, 2) == 0 {
                rest.remove(1);
            } else if call.way(5, 2) == 0 {
                rest.remove(2);
            } else if call.way(6, 2) == 0 {
                rest.remove(0);
            }
            let items = rest.into_iter().map(|event| vec![event]);
            queues.extend(items.chain(with_pieces.then_some(pieces)));
        }
        let mut events = interleave(queues, &order);
        let output = if with_output { json!({"output": output}) } else { json!({}) };
        events.push(json!({"type": "response.completed", "response": output}));
        prop_assert_eq!(all_good(&events), model(&calls), "{:?}", events);
    }

    #[test]
    fn a_responses_stream_that_lost_events_runs_no_call_with_other_arguments(
        calls in calls(), kept in vec(any::<bool>(), 1..9), order in vec(any::<Index>(), 1..9),
    ) {
        let mut kept = kept.iter().cycle();
        let mut queues = Vec::new();
        for (n, call) in calls.iter().enumerate() {
            let (pieces, rest) = responses(n, call);
            // Of the pieces all are lost, or none.
            let with_pieces = *kept.next().unwrap();
            queues.extend(rest.into_iter().filter(|_| *kept.next().unwrap()).map(|event| vec![event]));
            queues.extend(with_pieces.then_some(pieces));
        }
        let mut events = interleave(queues, &order);
        events.push(json!({"type": "response.completed"}));
        for call in run(&events).into_iter().flatten() {
            let is_one = model(&calls).as_array().unwrap().contains(&call);
            prop_assert!(is_one, "{} in {:?}", call, events);
        }
    }

    #[test]
    fn anthropic_blocks_may_be_interleaved(calls in calls(), order in vec(any::<Index>(), 1..9)) {
        let block = |(n, call): (usize, &Call)| {
            let start = json!({"type": "tool_use", "id": id(n), "name": call.name, "input": {}});
            let delta = |piece: String| json!({
                "type": "content_block_delta", "index": n, "delta": {"type": "input_json_delta", "partial_json": piece}
            });
            let mut events = vec![json!({"type": "content_block_start", "index": n, "content_block": start})];
            if call.way(0, 2) == 0 {
                events[0]["content_block"]["input"] = call.arguments.clone();
            }
            if call.way(0, 2) == 1 || call.way(1, 2) == 0 {
                events.extend(call.pieces().into_iter().map(delta));
            }
            events.push(json!({"type": "content_block_stop", "index": n}));
            events
        };
        let mut events = interleave(calls.iter().enumerate().map(block).collect(), &order);
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
        prop_assert_eq!(all_good(&events), model(&calls), "{:?}", events);
    }

    #[test]
    fn gemini_calls_may_be_dealt_to_chunks_in_any_way(calls in calls(), breaks in vec(any::<bool>(), 3)) {
        let mut events = vec![json!({"candidates": [{"content": {"parts": []}}]})];
        for ((n, call), breaks) in calls.iter().enumerate().zip(breaks) {
            if breaks {
                events.push(json!({"candidates": [{"content": {"parts": null}}]}));
                events.push(json!({"candidates": [{"content": {"parts": []}}]}));
            }
            let part = json!({"functionCall": {"name": call.name, "args": call.arguments, "id": id(n)}});
            events.last_mut().unwrap()["candidates"][0]["content"]["parts"].as_array_mut().unwrap().push(part);
        }
        events.push(json!({"candidates": [{"finishReason": "STOP"}]}));
        prop_assert_eq!(all_good(&events), model(&calls), "{:?}", events);
    }
}
