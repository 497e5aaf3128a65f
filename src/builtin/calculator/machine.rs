use super::CalculatorError;
use super::number::Number;
use super::parser::{Binary, Step};

/// How much one expression may cost, in products of two 64-bit words: a millisecond or two.
const WORK_LIMIT: u64 = 2_000_000;

/// Runs the steps and returns the one value that they leave.
pub(super) fn run(steps: Vec<Step>) -> Result<Number, CalculatorError> {
    let mut work_left = WORK_LIMIT;
    let mut stack = Vec::new();
    for step in steps {
        let value = match step {
            Step::Push(number) => number,
            Step::Negate => pop(&mut stack).negate(),
            Step::Combine(operator) => {
                let right = pop(&mut stack);
                let left = pop(&mut stack);
                let work = work(operator, &left, &right);
                work_left = work_left.checked_sub(work).ok_or(CalculatorError::TooMuchWork)?;
                combine(operator, left, right)?
            }
        };
        stack.push(value);
    }
    Ok(pop(&mut stack))
}

fn pop(stack: &mut Vec<Number>) -> Number {
    stack.pop().expect("the parser emits each operator after its operands")
}

/// An upper bound of what an operation costs, as schoolbook arithmetic would do it.
fn work(operator: Binary, left: &Number, right: &Number) -> u64 {
    match operator {
        Binary::Add | Binary::Subtract => left.words() + right.words(),
        Binary::Power => left.words_of_power(right).pow(2),
        _ => left.words() * right.words(),
    }
}

fn combine(operator: Binary, left: Number, right: Number) -> Result<Number, CalculatorError> {
    match operator {
        Binary::Add => left.add(right),
        Binary::Subtract => left.subtract(right),
        Binary::Multiply => left.multiply(right),
        Binary::Divide => left.divide(right),
        Binary::FloorDivide => left.floor_divide(right),
        Binary::Modulo => left.modulo(right),
        Binary::Power => left.power(right),
    }
}
