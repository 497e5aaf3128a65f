use std::cell::RefCell;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use toolyard::builtin::calculator::{CalculatorError, evaluate};

use super::python::Python;

const ORACLE: &str = include_str!("calculator_oracle.py");

/// Our answer in the words of the oracle.
fn answer(expression: &str) -> String {
    match evaluate(expression) {
        Ok(text) => format!("= {text}"),
        Err(error) => class(&error).to_owned(),
    }
}

fn class(error: &CalculatorError) -> &'static str {
    match error {
        CalculatorError::DivisionByZero | CalculatorError::ZeroToNegativePower => "zero",
        CalculatorError::NegativeToFraction => "real",
        CalculatorError::TooLargeForFloat => "float",
        CalculatorError::TooManyDigits => "digits",
        CalculatorError::Empty
        | CalculatorError::Unexpected { .. }
        | CalculatorError::Incomplete { .. }
        | CalculatorError::Unclosed { .. }
        | CalculatorError::LeadingZero { .. } => "syntax",
        _ => "not comparable",
    }
}

fn agrees_with_python(cases: u32, expressions: impl Strategy<Value = String>) {
    let python = RefCell::new(Python::start(ORACLE));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&expressions, |expression| {
            prop_assert_eq!(answer(&expression), python.borrow_mut().ask(&expression), "{}", expression);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{failure}"));
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]|[1-9][0-9]{1,3}",
        2 => "[0-9]{0,4}\\.[0-9]{1,6}|[0-9]{1,4}\\.",
        1 => "[1-9][0-9]{14,40}",
        1 => "[0-9]{1,3}\\.[0-9]{14,30}|0\\.0{1,12}[1-9]{1,17}",
        1 => "10\\*\\*[0-9]{1,3}|2\\*\\*-?[0-9]{1,4}|1/10\\*\\*3[0-9]{2}",
    ]
}

fn expression() -> impl Strategy<Value = String> {
    literal().prop_recursive(5, 40, 2, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "/", "//", "%", "**", " + ", " - ", " % "]);
        prop_oneof![
            6 => (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("{a}{op}{b}")),
            3 => inner.clone().prop_map(|a| format!("({a})")),
            1 => inner.clone().prop_map(|a| format!("-{a}")),
            1 => inner.prop_map(|a| format!("+ {a}")),
        ]
    })
}

#[test]
fn generated_expressions_have_the_texts_and_the_refusals_of_python() {
    agrees_with_python(20_000, expression());
}

#[test]
fn any_text_of_allowed_characters_is_accepted_exactly_when_python_accepts_it() {
    agrees_with_python(20_000, "[0-9+*/%(). -]{0,9}");
}

#[test]
fn quotients_of_large_integers_are_rounded_once_as_python_rounds_them() {
    let quotient = ("-?[1-9][0-9]{0,330}", "-?[1-9][0-9]{0,330}").prop_map(|(a, b)| format!("{a}/{b}"));
    agrees_with_python(5_000, quotient);
}

#[test]
fn near_the_ends_of_the_floats_quotients_are_still_those_of_python() {
    let near_one = (1_u64.., 0..20_u32);
    let far = (1_u64.., 1_020..1_160_u32, 1_u64..);
    let quotient = (any::<bool>(), near_one, far).prop_map(|(tiny, (a, shift), (b, far_shift, rest))| {
        let (near_one, far) = (format!("({a}*2**{shift})"), format!("({b}*2**{far_shift}+{rest})"));
        if tiny { format!("{near_one}/{far}") } else { format!("{far}/{near_one}") }
    });
    agrees_with_python(5_000, quotient);
}

#[test]
fn an_expression_made_to_be_costly_is_answered_in_ten_milliseconds() {
    let chain = |term: &str, operator: &str, times| vec![term; times].join(operator);
    let costly = [
        "9**9**9".to_owned(),
        "(9**9)**(9**9)".to_owned(),
        "9**9**9**9**9**9".to_owned(),
        "2**(9**4000)".to_owned(),
        "(2**14000)**(2**14000)".to_owned(),
        "1.5**(9**4000)".to_owned(),
        chain("9**4000", "*", 1_000),
        chain("9**4500", "%", 1_200),
        chain("9**4500", "//", 1_100),
        chain("9**2200", "*0+", 1_000),
        chain("9**999", "-", 1_400),
        chain(&"9".repeat(4_300), "/", 2),
        chain("99999999999999999999", "*", 470),
        chain("9", "**", 3_300),
        chain("9.9", "**", 2_000),
        format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        "(".repeat(10_000),
        "-".repeat(10_000),
        "9".repeat(10_000),
        "9".repeat(10_000_000),
    ];
    for expression in costly {
        // The best of five, since other tests share the machine.
        let best = (0..5)
            .map(|_| {
                let start = Instant::now();
                let _ = evaluate(&expression);
                start.elapsed()
            })
            .min()
            .expect("five runs");
        let shown: String = expression.chars().take(40).collect();
        println!("{best:?} {shown}");
        assert!(best < Duration::from_millis(10), "{shown}… took {best:?}");
    }
}
