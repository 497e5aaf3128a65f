//! Schemas with numbers of any size against integers that are exact.

use std::fmt::Write;

use num_bigint::BigInt;
use proptest::prelude::*;
use toolyard_contract::strict;

use super::*;

fn check(schema: &str, text: &str) -> Result<(), String> {
    let schema = ExactValue::read(schema).unwrap();
    let (value, is_inexact) = strict::parse_noting(text).unwrap();
    Fit::default().check("input", &schema, &value, is_inexact, text)
}

/// An integer, and how it is written.
#[derive(Clone, Debug)]
struct Written(BigInt, usize);

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plain = self.0.to_string();
        let digits = plain.trim_end_matches('0');
        match self.1 {
            // With an exponent, serde_json takes no more than doubles reach.
            _ if plain.len() > 300 || digits.is_empty() => f.write_str(&plain),
            0 => f.write_str(&plain),
            1 => write!(f, "{plain}.0"),
            2 => write!(f, "{digits}e{}", plain.len() - digits.len()),
            _ => write!(f, "{digits}.0E+{}", plain.len() - digits.len()),
        }
    }
}

#[derive(Clone, Debug)]
enum Schema {
    Compare(&'static str, Written),
    MultipleOf(Written),
    Enum(Vec<Written>),
    Integer,
    Many(&'static str, Vec<Schema>),
    Not(Box<Schema>),
    If(Box<[Schema; 3]>),
    /// By `$ref`.
    Named(Box<Schema>),
}

impl Schema {
    fn accepts(&self, n: &BigInt) -> bool {
        match self {
            Self::Compare("maximum", bound) => *n <= bound.0,
            Self::Compare("minimum", bound) => *n >= bound.0,
            Self::Compare("exclusiveMaximum", bound) => *n < bound.0,
            Self::Compare("exclusiveMinimum", bound) => *n > bound.0,
            Self::Compare(_, value) => *n == value.0,
            Self::MultipleOf(divisor) => n % &divisor.0 == BigInt::ZERO,
            Self::Enum(values) => values.iter().any(|value| value.0 == *n),
            Self::Integer => true,
            Self::Many("allOf", parts) => parts.iter().all(|part| part.accepts(n)),
            Self::Many("anyOf", parts) => parts.iter().any(|part| part.accepts(n)),
            Self::Many(_, parts) => parts.iter().filter(|part| part.accepts(n)).count() == 1,
            Self::Not(part) => !part.accepts(n),
            Self::If(parts) => parts[if parts[0].accepts(n) { 1 } else { 2 }].accepts(n),
            Self::Named(part) => part.accepts(n),
        }
    }

    fn write(&self, definitions: &mut Vec<String>) -> String {
        match self {
            Self::Compare(keyword, number) => format!("{{\"{keyword}\":{number}}}"),
            Self::MultipleOf(number) => format!("{{\"multipleOf\":{number}}}"),
            Self::Enum(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                format!("{{\"enum\":[{},\"s\",null]}}", values.join(","))
            }
            Self::Integer => "{\"type\":\"integer\"}".to_owned(),
            Self::Many(keyword, parts) => {
                let parts: Vec<String> = parts.iter().map(|part| part.write(definitions)).collect();
                format!("{{\"{keyword}\":[{}]}}", parts.join(","))
            }
            Self::Not(part) => format!("{{\"not\":{}}}", part.write(definitions)),
            Self::If(parts) => {
                let [condition, then, other] = parts.each_ref().map(|part| part.write(definitions));
                format!("{{\"if\":{condition},\"then\":{then},\"else\":{other}}}")
            }
            Self::Named(part) => {
                let part = part.write(definitions);
                definitions.push(part);
                format!("{{\"$ref\":\"#/$defs/d{}\"}}", definitions.len() - 1)
            }
        }
    }
}

/// Integers that no double tells apart, and some that are far from each other.
fn near(base: BigInt) -> impl Strategy<Value = Written> + Clone {
    let small = (-2_i64..3).prop_map(BigInt::from);
    let power = (0_u32..340, any::<bool>()).prop_map(|(exponent, is_negative)| {
        let power = BigInt::from(10).pow(exponent);
        if is_negative { -power } else { power }
    });
    let twice = BigInt::from(2) * &base;
    let away = prop_oneof![6 => small, 2 => power, 1 => Just(twice)];
    (away, 0_usize..4).prop_map(move |(away, way)| Written(&base + away, way))
}

fn schemas(base: BigInt) -> impl Strategy<Value = Schema> {
    let number = near(base);
    let keywords = ["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "const"];
    let compare = (prop::sample::select(keywords.to_vec()), number.clone())
        .prop_map(|(keyword, number)| Schema::Compare(keyword, number));
    let small = prop_oneof![Just(2_u32), Just(3), Just(7), Just(1_000), Just(65_537)];
    let divisor =
        prop_oneof![number.clone(), (small, 0_usize..4).prop_map(|(n, way)| Written(n.into(), way))];
    let multiple = divisor.prop_map(|Written(number, way)| match number {
        zero if zero == BigInt::ZERO => Schema::Integer,
        number => Schema::MultipleOf(Written(number.magnitude().clone().into(), way)),
    });
    let values = prop::collection::vec(number, 1..4).prop_map(Schema::Enum);
    let leaf = prop_oneof![5 => compare, 2 => multiple, 2 => values, 1 => Just(Schema::Integer)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let keyword = prop::sample::select(vec!["allOf", "anyOf", "oneOf"]);
        let one = inner.clone().prop_map(Box::new);
        prop_oneof![
            (keyword, prop::collection::vec(inner.clone(), 1..4))
                .prop_map(|(k, parts)| Schema::Many(k, parts)),
            one.clone().prop_map(Schema::Not),
            one.prop_map(Schema::Named),
            [inner.clone(), inner.clone(), inner].prop_map(|parts| Schema::If(Box::new(parts))),
        ]
    })
}

fn bases() -> impl Strategy<Value = BigInt> {
    let ten = (15_u32..330).prop_map(|exponent| BigInt::from(10).pow(exponent));
    let two = (53_u32..1_040).prop_map(|exponent| BigInt::from(2).pow(exponent));
    let base = prop_oneof![ten, two, Just(BigInt::from(3))];
    (base, any::<bool>()).prop_map(|(base, is_negative)| if is_negative { -base } else { base })
}

fn cases() -> impl Strategy<Value = (Schema, Vec<Written>)> {
    bases().prop_flat_map(|base| (schemas(base.clone()), prop::collection::vec(near(base), 1..6)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn every_keyword_in_every_combination_is_exact((schema, numbers) in cases()) {
        let mut definitions = Vec::new();
        let one = schema.write(&mut definitions);
        let mut named = String::new();
        for (place, definition) in definitions.iter().enumerate() {
            write!(named, "\"d{place}\":{definition},").unwrap();
        }
        let fits = |place: &str, arguments: &str| {
            let schema = format!("{{\"$defs\":{{{named}\"last\":true}},{place}}}");
            check(&schema, arguments)
        };
        let accepted: Vec<bool> = numbers.iter().map(|n| schema.accepts(&n.0)).collect();
        for (n, accepted) in numbers.iter().zip(&accepted) {
            let at_property = fits(&format!("\"properties\":{{\"n\":{one}}}"), &format!("{{\"n\":{n}}}"));
            prop_assert_eq!(at_property.is_ok(), *accepted, "{} {:?}", n, at_property);
        }
        let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let list = format!("[{}]", list.join(","));
        let all = accepted.iter().all(|accepted| *accepted);
        prop_assert_eq!(fits(&format!("\"items\":{one}"), &list).is_ok(), all);
        prop_assert_eq!(fits(&format!("\"prefixItems\":[{one}]"), &list).is_ok(), accepted[0]);
        prop_assert_eq!(fits(&format!("\"contains\":{one}"), &list).is_ok(), accepted.contains(&true));
        let mut different: Vec<&BigInt> = numbers.iter().map(|n| &n.0).collect();
        different.sort();
        different.dedup();
        let unique = different.len() == numbers.len();
        prop_assert_eq!(check("{\"uniqueItems\":true}", &list).is_ok(), unique);
        let deep = |n: &Written| format!("{{\"a\":[true,{n}]}}");
        let (first, last) = (&numbers[0], &numbers[numbers.len() - 1]);
        let same = check(&format!("{{\"const\":{}}}", deep(first)), &deep(last));
        prop_assert_eq!(same.is_ok(), first.0 == last.0);
        prop_assert_eq!(check("{\"uniqueItems\":true}", &format!("[{},{}]", deep(first), deep(last))).is_ok(), first.0 != last.0);
    }
}

#[test]
fn errors_show_all_digits_of_what_was_given_and_of_what_is_allowed() {
    let bound = "1000000000000000000000000000000";
    let more = "1000000000000000000000000000001";
    for (schema, given, expected) in [
        (format!("{{\"maximum\":{bound}}}"), more, format!("{more} is greater than the maximum of {bound}")),
        (format!("{{\"minimum\":{bound}}}"), "5", format!("5 is less than the minimum of {bound}")),
        (format!("{{\"minimum\":{more}}}"), bound, format!("{bound} is less than the minimum of {more}")),
        (
            format!("{{\"exclusiveMaximum\":{more}}}"),
            more,
            format!("{more} is greater than or equal to the maximum of {more}"),
        ),
        (
            format!("{{\"exclusiveMinimum\":{more}}}"),
            "1",
            format!("1 is less than or equal to the minimum of {more}"),
        ),
        (format!("{{\"multipleOf\":{more}}}"), bound, format!("{bound} is not a multiple of {more}")),
        (format!("{{\"multipleOf\":{more}}}"), "7", format!("7 is not a multiple of {more}")),
        (format!("{{\"const\":{more}}}"), bound, format!("{more} was expected")),
        (format!("{{\"enum\":[{more},1]}}"), bound, format!("{bound} is not one of [{more},1]")),
        (
            format!("{{\"not\":{{\"const\":{more}}}}}"),
            more,
            format!("{{\"const\":{more}}} is not allowed for {more}"),
        ),
        ("{\"type\":\"string\"}".to_owned(), more, format!("{more} is not of type \"string\"")),
        ("{\"multipleOf\":7}".to_owned(), more, format!("{more} is not a multiple of 7")),
    ] {
        let error = check(&schema, given).unwrap_err();
        assert_eq!(error, format!("arguments do not fit the schema: at the top: {expected}"), "{schema}");
    }
}

#[test]
fn fractions_draft_4_and_schemas_made_in_rust_are_exact_too() {
    let ok = |schema: &str, text: &str| check(schema, text).is_ok();
    assert!(!ok(r#"{"type":"integer"}"#, "18446744073709551616.5"));
    assert!(ok(r#"{"type":"integer"}"#, "18446744073709551616.50e1"));
    assert!(!ok(r#"{"maximum":18446744073709551616.5}"#, "18446744073709551616.6"));
    assert!(ok(r#"{"multipleOf":0.5}"#, "18446744073709551616.5"));
    assert!(!ok(r#"{"multipleOf":0.2}"#, "18446744073709551616.5"));
    assert!(ok(r#"{"multipleOf":1e400}"#, &format!("3{}", "0".repeat(400))));
    assert!(!ok(r#"{"multipleOf":1e400}"#, &format!("3{}", "0".repeat(399))));
    assert!(!ok(r#"{"const":9007199254740993}"#, "9007199254740992.0"));
    assert!(ok(r#"{"const":9007199254740993}"#, "9007199254740993.0"));
    assert!(ok(r#"{"const":9007199254740993.0}"#, "9007199254740993"));
    let old = |exclusive: bool| {
        format!(
            r#"{{"$schema":"http://json-schema.org/draft-04/schema#","maximum":1e30,"exclusiveMaximum":{exclusive},"type":"integer"}}"#
        )
    };
    let bound = format!("1{}", "0".repeat(30));
    assert_eq!((ok(&old(false), &bound), ok(&old(true), &bound)), (true, false));
    let made = ExactValue::from(serde_json::json!({"maximum": 1e30, "minimum": 1e30}));
    let fits = |text: &str| {
        let (value, is_inexact) = strict::parse_noting(text).unwrap();
        Fit::default().check("input", &made, &value, is_inexact, text).is_ok()
    };
    assert_eq!((fits(&bound), fits(&format!("{}1", &bound[..30]))), (true, false));
}

#[test]
fn ordinary_schemas_and_arguments_compile_nothing_more() {
    let fit = Fit::default();
    let schema = ExactValue::read(r#"{"maximum":1e30}"#).unwrap();
    let check = |text: &str| {
        let (value, is_inexact) = strict::parse_noting(text).unwrap();
        fit.check("input", &schema, &value, is_inexact, text)
    };
    assert!(check("18446744073709551615").is_ok() && check("[1.5, \"1e30\"]").is_ok());
    assert!(fit.exact.get().is_none());
    assert!(check("1000000000000000000000000000001").is_err() && fit.exact.get().is_some());
}

#[test]
fn an_integer_of_many_digits_takes_time_in_proportion_to_them() {
    let long = format!("1{}", "3".repeat(1_000_000));
    for schema in [r#"{"multipleOf":3}"#, r#"{"maximum":1e30}"#, r#"{"uniqueItems":true}"#] {
        let text = if schema.contains("unique") { format!("[{long},{long}]") } else { long.clone() };
        let error = check(schema, &text).unwrap_err();
        assert!(error.len() < 2_000, "{}", error.len());
    }
}
