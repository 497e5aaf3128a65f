use tokio::time::Instant;

use super::{way::Cause, *};

fn admission(limits: &Limits) -> Arc<Admission> {
    Admission::for_depths(limits, 1).remove(0)
}

fn tool(admission: &Admission, spec: &ToolSpec, replaced: Option<&ToolGates>) -> ToolGates {
    let replaced = replaced.map_or(&[][..], std::slice::from_ref);
    ToolGates::for_depths(&admission.limits, spec, 1, replaced).remove(0)
}

#[test]
fn permits_are_taken_at_every_gate_and_given_back() {
    let admission = admission(&Limits { max_in_flight: 3, ..Limits::default() });
    let agent = admission.agent(None);
    let tool = tool(&admission, &ToolSpec::new("t").max_in_flight(2), None);
    let free = || (tool.in_flight.as_ref().unwrap().free(), admission.in_flight.free());
    let way = admission.way(&agent, &tool, false, None);
    let mut permits = way.try_pass(5).unwrap();
    assert_eq!(permits.count(), 2);
    assert!(way.try_pass(1).is_none());
    let one = permits.split_one();
    drop(permits);
    assert_eq!(free(), (1, 2));
    drop(one);
    assert_eq!(free(), (2, 3));
}

#[test]
fn limits_of_the_engine_win_over_what_a_tool_says() {
    let tools = BTreeMap::from([("Slow".to_owned(), ToolLimits { max_in_flight: Some(1), rate: None })]);
    let admission = admission(&Limits { tools, ..Limits::default() });
    let places = |spec| tool(&admission, &spec, None).in_flight.map(|gate| gate.places());
    assert_eq!(places(ToolSpec::new("slow").max_in_flight(9)), Some(1));
    assert_eq!(places(ToolSpec::new("other").max_in_flight(9)), Some(9));
    assert_eq!(places(ToolSpec::new("free")), None);
}

#[test]
fn replacing_a_tool_does_not_lift_its_limits() {
    let admission = admission(&Limits::default());
    let rate = Rate::new(1, Duration::from_mins(1)).unwrap();
    let spec = ToolSpec::new("t").max_in_flight(1).rate(rate);
    let agent = admission.agent(None);
    let old = tool(&admission, &spec, None);
    let running = admission.way(&agent, &old, false, None).try_pass(1);
    assert!(running.is_some());
    let new = tool(&admission, &spec, Some(&old));
    assert!(admission.way(&agent, &new, false, None).try_pass(1).is_none());
    drop(running);
    assert!(admission.way(&agent, &new, false, None).try_pass(1).is_none(), "the rate is used up");
    let wider = tool(&admission, &ToolSpec::new("t").max_in_flight(2), Some(&new));
    assert!(admission.way(&agent, &wider, false, None).try_pass(2).is_some());
}

#[test]
fn an_agent_at_its_limit_is_in_nobodys_way() {
    let agent = AgentLimits { max_in_flight: Some(1), ..AgentLimits::default() };
    let admission = admission(&Limits { agent, ..Limits::default() });
    let spec = ToolSpec::new("t").max_in_flight(2);
    let tool = tool(&admission, &spec, None);
    let [a, b] = ["a", "b"].map(|agent| admission.agent(Some(&agent.into())));
    let way = |agent| admission.way(agent, &tool, false, None);
    let first = way(&a).try_pass(5).unwrap();
    assert_eq!(first.count(), 1);
    assert!(way(&a).try_pass(1).is_none());
    assert_eq!(way(&b).try_pass(5).unwrap().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rate_lets_calls_pass_as_often_as_it_says() {
    let admission = admission(&Limits::default());
    let spec = ToolSpec::new("t").rate(Rate::new(4, Duration::from_secs(1)).unwrap());
    let agent = admission.agent(None);
    let tool = tool(&admission, &spec, None);
    let way = || admission.way(&agent, &tool, false, None);
    let begun = Instant::now();
    assert_eq!(way().try_pass(10).unwrap().count(), 4, "all at once after a pause");
    for _ in 0..4 {
        assert_eq!(
            way()
                .pass(crate::moment::from_now(Duration::from_secs(30)), Duration::from_secs(30))
                .await
                .unwrap()
                .count(),
            1
        );
    }
    assert_eq!(begun.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_cannot_end_in_time_is_refused_at_once_and_says_when_to_come_again() {
    let admission = admission(&Limits::default());
    let spec = ToolSpec::new("t").rate(Rate::new(1, Duration::from_mins(1)).unwrap());
    let agent = admission.agent(None);
    let tool = tool(&admission, &spec, None);
    let way = || admission.way(&agent, &tool, false, None);
    drop(way().try_pass(1).unwrap());
    let begun = Instant::now();
    let refusal = way()
        .pass(crate::moment::from_now(Duration::from_secs(30)), Duration::from_secs(30))
        .await
        .unwrap_err();
    assert_eq!(refusal, Refusal { cause: Cause::Rate, retry_after: Duration::from_mins(1) });
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn patience_ends_where_places_do_not_become_free() {
    let admission = admission(&Limits { max_in_flight: 1, ..Limits::default() });
    let tool = tool(&admission, &ToolSpec::new("t"), None);
    let (nobody, a) = (admission.agent(None), admission.agent(Some(&"a".into())));
    let _running = admission.way(&nobody, &tool, false, None).try_pass(1).unwrap();
    let refusal = admission
        .way(&a, &tool, false, None)
        .pass(crate::moment::from_now(Duration::from_secs(3)), Duration::from_secs(3))
        .await
        .unwrap_err();
    assert_eq!(refusal, Refusal { cause: Cause::Places, retry_after: Duration::from_secs(3) });
}

#[tokio::test(start_paused = true)]
async fn nested_lists_have_places_of_their_own_and_share_rates() {
    let rate = Rate::new(3, Duration::from_mins(1));
    let limits = Limits {
        max_in_flight: 1,
        agent: AgentLimits { rate, ..AgentLimits::default() },
        ..Limits::default()
    };
    let admissions = Admission::for_depths(&limits, 2);
    let spec = ToolSpec::new("t").max_in_flight(1);
    let tools = ToolGates::for_depths(&limits, &spec, 2, &[]);
    let agents: Vec<_> = admissions.iter().map(|depth| depth.agent(Some(&"a".into()))).collect();
    let way = |depth: usize| admissions[depth].way(&agents[depth], &tools[depth], false, None);
    let outer = way(0).try_pass(9).unwrap();
    assert_eq!(way(1).try_pass(9).unwrap().count(), 1, "the outer call's place is not needed");
    drop(outer);
    assert_eq!(way(0).try_pass(9).unwrap().count(), 1);
    assert!(way(1).try_pass(1).is_none() && way(0).try_pass(1).is_none(), "three calls in all");
}
