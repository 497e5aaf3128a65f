//! Errors point at the user's code.

#[test]
fn errors_name_the_mistake_and_point_at_it() {
    trybuild::TestCases::new().compile_fail("tests/errors/*.rs");
}
