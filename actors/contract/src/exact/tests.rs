use num_bigint::BigInt;
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Integers about powers of ten and of two, and far beyond doubles.
pub(super) fn integers() -> impl Strategy<Value = BigInt> {
    let ten = (0_u32..330).prop_map(|exponent| BigInt::from(10).pow(exponent));
    let two = (50_u32..1_030).prop_map(|exponent| BigInt::from(2).pow(exponent));
    (prop_oneof![ten, two], -3_i64..4, any::<bool>()).prop_map(|(integer, more, is_negative)| {
        let integer = integer + more;
        if is_negative { -integer } else { integer }
    })
}

/// The ways to write an integer.
fn spelled(integer: &BigInt, way: usize) -> String {
    let plain = integer.to_string();
    match way {
        0 => plain,
        1 => format!("{plain}.0"),
        2 => format!("{plain}e0"),
        _ => {
            let digits = plain.trim_end_matches('0');
            if digits.is_empty() || digits == "-" {
                return plain;
            }
            format!("{digits}E+{}", plain.len() - digits.len())
        }
    }
}

fn is_long(integer: &BigInt) -> bool {
    *integer > BigInt::from(u64::MAX) || *integer < BigInt::from(i64::MIN)
}

proptest! {
    #[test]
    fn decimals_are_in_the_order_of_integers(a in integers(), b in integers(), ways in (0_usize..4, 0_usize..4)) {
        let (first, second) = (Decimal::of(&spelled(&a, ways.0)), Decimal::of(&spelled(&b, ways.1)));
        prop_assert_eq!(first.cmp(&second), a.cmp(&b));
        prop_assert_eq!(first == second, a == b);
        prop_assert_eq!(first.is_long(), is_long(&a));
        prop_assert!(first.is_whole());
    }

    #[test]
    fn doubles_are_in_the_order_of_the_numbers_they_stand_for(
        known in prop::collection::vec(integers(), 0..12), other in integers(), way in 0_usize..4,
    ) {
        let text = format!("[{}]", known.iter().map(|one| spelled(one, way)).collect::<Vec<_>>().join(","));
        let read = ExactValue::read(&text).unwrap();
        let none = Arc::default();
        let long: &Arc<LongNumbers> = read.long().unwrap_or(&none);
        for (integer, value) in known.iter().zip(read.as_array().unwrap()) {
            let is_exact = value.as_i64().map(BigInt::from).or(value.as_u64().map(BigInt::from));
            match value.as_f64().and_then(|double| long.at(double)) {
                Some(number) => prop_assert_eq!(&number.value, &Decimal::of(&integer.to_string())),
                None if value.is_f64() => prop_assert!(!is_long(integer)),
                None => prop_assert_eq!(is_exact, Some(integer.clone())),
            }
            if !is_long(integer) || !is_long(&other) {
                continue;
            }
            let double = value.as_f64().unwrap();
            let outermost = if other < BigInt::from(0) { f64::NEG_INFINITY } else { f64::INFINITY };
            let theirs = long.double_of(&Decimal::of(&other.to_string())).unwrap_or(outermost);
            prop_assert_eq!(theirs.total_cmp(&double), other.cmp(integer), "{} {}", theirs, double);
            prop_assert!(theirs > 1.844_674_407_370_955e19 || theirs < -9_223_372_036_854_775_808.0);
        }
        // Every number comes back, if not always in the same notation.
        let again: Vec<Box<RawValue>> = serde_json::from_str(&read.to_string()).unwrap();
        for (integer, raw) in known.iter().zip(again) {
            prop_assert_eq!(Decimal::of(raw.get()), Decimal::of(&integer.to_string()));
        }
        prop_assert_eq!(ExactValue::read(&read.to_string()).unwrap(), read);
    }
}

#[test]
fn what_has_no_long_number_has_no_table_and_is_read_as_ever() {
    for text in [
        r#"{"maximum":18446744073709551615,"minimum":-9223372036854775808,"a":[1,1.5,-2e3,null,true,"1e400"]}"#,
        r#"{"default":"123456789012345678901234567890","x\"1e99":{}}"#,
        "9007199254740991.0",
        "[]",
    ] {
        let read = ExactValue::read(text).unwrap();
        assert!(read.long().is_none() && !has_inexact(text), "{text}");
        assert_eq!(read.value(), &serde_json::from_str::<Value>(text).unwrap());
    }
    assert!(ExactValue::read("9007199254740993.0").unwrap() == json!(9_007_199_254_740_993_u64));
    assert_eq!(ExactValue::read("1e17").unwrap().to_string(), "1e+17");
    assert!(size_of::<ExactValue>() <= size_of::<Value>() + size_of::<usize>());
}

#[test]
fn long_numbers_are_written_as_they_were_in_every_place() {
    let digits = "7".repeat(5_000);
    let text = format!(
        r#"{{"const":{digits},"default":[1e400,-1E400,{{"n":-{digits}}}],"enum":[18446744073709551616,1.0e30],"s":"1e400"}}"#
    );
    let read = ExactValue::read(&text).unwrap();
    assert_eq!(read.to_string(), text);
    let pretty = serde_json::to_string_pretty(&read).unwrap();
    assert_eq!(pretty.replace([' ', '\n'], ""), text);
    let part = read.with_value(json!({"later": read["default"][2]}));
    assert_eq!(part.to_string(), format!(r#"{{"later":{{"n":-{digits}}}}}"#));
    assert_eq!(serde_json::from_str::<ExactValue>(&text).unwrap(), read);
}

#[test]
fn values_that_differ_by_one_digit_differ() {
    let read = |last: &str| ExactValue::read(&format!("[1{}{last}]", "0".repeat(40))).unwrap();
    assert_eq!(read("1").value(), read("2").value(), "doubles do not tell them apart");
    assert_ne!(read("1"), read("2"));
    assert_eq!(read("1"), read("1"));
}

#[test]
fn what_is_no_json_is_an_error() {
    for text in ["", "[1e400", "[1e400,]", "[1e400.5]", "01", "[-]", "{\"a\":1e99}}"] {
        assert!(ExactValue::read(text).is_err(), "{text}");
    }
    let deep = format!("{}1e400{}", "[".repeat(200), "]".repeat(200));
    assert!(ExactValue::read(&deep).unwrap_err().to_string().contains("recursion limit"));
}
