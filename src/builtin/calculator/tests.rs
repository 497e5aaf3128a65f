use super::{CalculatorError as Error, MAX_NESTING, evaluate};

/// Expressions whose texts were taken from Python 3.11.
const PYTHON: &[(&str, &str)] = &[
    ("2+2", "4"),
    ("  2 +  2  ", "4"),
    ("4/2", "2.0"),
    ("7//2", "3"),
    ("-7//2", "-4"),
    ("7//-2", "-4"),
    ("-7 % 3", "2"),
    ("7 % -3", "-2"),
    ("2**-1", "0.5"),
    ("2**0", "1"),
    ("0**0", "1"),
    ("0.0**0", "1.0"),
    ("(-1)**100001", "-1"),
    ("(-1)**(10**50)", "1"),
    ("2**100", "1267650600228229401496703205376"),
    ("-2**2", "-4"),
    ("(-2)**2", "4"),
    ("2**3**2", "512"),
    ("2**-2**2", "0.0625"),
    ("(-8)**-1", "-0.125"),
    ("--3", "3"),
    ("+-+3", "-3"),
    ("2--3", "5"),
    ("2*-3", "-6"),
    ("1-2-3", "-4"),
    ("24/4/2", "3.0"),
    (".5+5.", "5.5"),
    ("007.5", "7.5"),
    ("000", "0"),
    ("0.1+0.2", "0.30000000000000004"),
    ("1/3", "0.3333333333333333"),
    ("10**15+0.0", "1000000000000000.0"),
    ("10**16+0.0", "1e+16"),
    ("10**22*1.0", "1e+22"),
    ("12345678901234567890.0", "1.2345678901234567e+19"),
    ("1/10000", "0.0001"),
    ("1/100000", "1e-05"),
    ("1/2**1074", "5e-324"),
    ("1/2**1075", "0.0"),
    ("3/2**1076", "5e-324"),
    ("-1/2**1080", "-0.0"),
    ("0/-5", "-0.0"),
    ("10**400/10**399", "10.0"),
    ("(2**53+1)/1", "9007199254740992.0"),
    ("(2**60+1)/(2**60-1)", "1.0"),
    ("7.5//2", "3.0"),
    ("-7.5//2", "-4.0"),
    ("-7.5%2", "0.5"),
    ("7.5%-2", "-0.5"),
    ("6.0%-3", "-0.0"),
    ("-6.0%3", "0.0"),
    ("0.0//-1", "-0.0"),
    ("1//0.1", "9.0"),
    ("1%0.1", "0.09999999999999995"),
    ("-0.0", "-0.0"),
    ("-0", "0"),
    ("2**0.5", "1.4142135623730951"),
    ("868152391601321/8", "108519048950165.12"),
    ("(((1)))", "1"),
];

#[test]
fn results_are_texts_as_python_prints_them() {
    for &(expression, text) in PYTHON {
        assert_eq!(evaluate(expression).as_deref(), Ok(text), "{expression}");
    }
}

#[test]
fn every_character_outside_the_allowed_ones_is_named_with_its_position() {
    for (expression, found, position) in [
        ("1e5", 'e', 2),
        ("2\t+2", '\t', 2),
        ("2\n", '\n', 2),
        ("é", 'é', 1),
        ("٣", '٣', 1),
        ("1_000", '_', 2),
    ] {
        assert_eq!(evaluate(expression), Err(Error::Character { found, position }), "{expression}");
    }
    let shown = evaluate("2\t+2").unwrap_err().to_string();
    assert!(shown.starts_with(r"character '\t' at position 2 is not allowed"), "{shown}");
}

#[test]
fn a_malformed_expression_is_refused_with_the_place_and_what_was_expected() {
    for (expression, shown) in [
        ("", "the expression is empty: send one such as `2 + 2`"),
        ("   ", "the expression is empty: send one such as `2 + 2`"),
        ("2 +", "the expression ends where a number or `(` is expected"),
        ("(", "the expression ends where a number or `(` is expected"),
        ("(1", "the `(` at position 1 is never closed"),
        ("((1)", "the `(` at position 1 is never closed"),
        ("1)", "`)` at position 2 is not expected there: an operator is"),
        ("()", "`)` at position 2 is not expected there: a number or `(` is"),
        ("* 2", "`*` at position 1 is not expected there: a number or `(` is"),
        ("2***3", "`*` at position 4 is not expected there: a number or `(` is"),
        ("2 * * 3", "`*` at position 5 is not expected there: a number or `(` is"),
        ("1 2", "`2` at position 3 is not expected there: an operator or `)` is"),
        ("1.2.3", "`.3` at position 4 is not expected there: an operator or `)` is"),
        ("2(3)", "`(` at position 2 is not expected there: an operator or `)` is"),
        (".", "`.` at position 1 is not expected there: a number or `(` is"),
        ("1 + 007", "the integer at position 5 starts with a zero: leave the zero out"),
    ] {
        assert_eq!(evaluate(expression).unwrap_err().to_string(), shown, "{expression:?}");
    }
}

#[test]
fn a_value_that_does_not_exist_is_an_error() {
    for expression in ["1/0", "1//0", "1%0", "1/0.0", "1//0.0", "1.5%0", "0/0", "0.0/0.0"] {
        assert_eq!(evaluate(expression), Err(Error::DivisionByZero), "{expression}");
    }
    for expression in ["0**-1", "0.0**-1", "0**-0.5"] {
        assert_eq!(evaluate(expression), Err(Error::ZeroToNegativePower), "{expression}");
    }
    assert_eq!(evaluate("(-8)**(1/3)"), Err(Error::NegativeToFraction));
}

#[test]
fn a_float_never_becomes_infinite() {
    for expression in [
        "10.0**309",
        "10.0**308*10",
        "10.0**308+10.0**308*9",
        "10**400/1",
        "10**400*1.0",
        "2**-10**400",
        "10**308/0.01",
    ] {
        assert_eq!(evaluate(expression), Err(Error::TooLargeForFloat), "{expression}");
    }
    let literal = format!("1{}.0", "0".repeat(400));
    assert_eq!(evaluate(&literal), Err(Error::TooLargeForFloat));
}

#[test]
fn integers_are_exact_up_to_4300_digits_and_refused_beyond() {
    let largest = "9".repeat(4_300);
    assert_eq!(evaluate(&largest), Ok(largest.clone()));
    assert_eq!(evaluate("10**4300-1"), Ok(largest.clone()));
    assert_eq!(evaluate(&format!("-{largest}")), Ok(format!("-{largest}")));
    for expression in [
        "10**4300",
        "-10**4300",
        "9**9**9",
        "(9**9)**(9**9)",
        "2**(10**50)",
        "2**14285*2",
        &"9".repeat(4_301),
    ] {
        assert_eq!(evaluate(expression), Err(Error::TooManyDigits), "{expression}");
    }
}

#[test]
fn parentheses_nest_as_deep_as_the_limit_and_no_deeper() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(evaluate(&nested(MAX_NESTING)).as_deref(), Ok("1"));
    assert_eq!(evaluate(&nested(MAX_NESTING + 1)), Err(Error::TooDeep));
    assert_eq!(evaluate(&nested(10_000)), Err(Error::TooLong { bytes: 20_001 }));
}

#[test]
fn thousands_of_signs_and_powers_in_a_row_need_no_stack() {
    assert_eq!(evaluate(&format!("{}1", "-".repeat(9_999))).as_deref(), Ok("-1"));
    assert_eq!(evaluate(&format!("1{}", "**1".repeat(3_333))).as_deref(), Ok("1"));
    assert_eq!(evaluate(&format!("1{}", "+1".repeat(4_999))).as_deref(), Ok("5000"));
}

#[test]
fn an_expression_whose_steps_are_all_allowed_may_still_need_too_much_work() {
    let costly = vec!["9**4500"; 1_200].join("%");
    assert_eq!(evaluate(&costly), Err(Error::TooMuchWork));
}
