use super::number::Number;
use super::{CalculatorError, MAX_EXPRESSION_BYTES, MAX_NESTING};

/// One step of an expression in the order in which a stack machine runs it: operands first, then what joins them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Push(Number),
    Negate,
    Combine(Binary),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

impl Binary {
    fn from_symbol(symbol: &str) -> Option<Self> {
        Some(match symbol {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "//" => Self::FloorDivide,
            "%" => Self::Modulo,
            "**" => Self::Power,
            _ => return None,
        })
    }

    fn binding(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide | Self::FloorDivide | Self::Modulo => 2,
            Self::Power => SIGN_BINDING + 1,
        }
    }
}

/// A sign binds tighter than `*` and looser than `**`: `-2**2` is `-(2**2)`.
const SIGN_BINDING: u8 = 3;

const OPERAND: &str = "a number or `(`";
const OPERATOR: &str = "an operator or `)`";

/// What waits for its right operand, or for its closing parenthesis.
#[derive(Clone, Copy)]
enum Pending {
    Open { position: usize },
    Plus,
    Minus,
    Binary(Binary),
}

/// Parses an expression by operator precedence with a stack of its own, so that no nesting can exhaust the thread's.
pub(super) fn parse(expression: &str) -> Result<Vec<Step>, CalculatorError> {
    check_text(expression)?;
    let mut parser = Parser::default();
    let mut scanner = Scanner { text: expression, at: 0 };
    while let Some(token) = scanner.next_token() {
        if parser.operand_is_next {
            parser.take_operand(&token)?;
        } else {
            parser.take_operator(&token)?;
        }
    }
    parser.finish()
}

fn check_text(expression: &str) -> Result<(), CalculatorError> {
    if expression.len() > MAX_EXPRESSION_BYTES {
        return Err(CalculatorError::TooLong { bytes: expression.len() });
    }
    let allowed = |c: char| c.is_ascii_digit() || "+-*/%(). ".contains(c);
    match expression.chars().enumerate().find(|&(_, c)| !allowed(c)) {
        Some((index, found)) => Err(CalculatorError::Character { found, position: index + 1 }),
        None => Ok(()),
    }
}

struct Token<'a> {
    text: &'a str,
    position: usize,
}

impl Token<'_> {
    fn unexpected(&self, expected: &'static str) -> CalculatorError {
        CalculatorError::Unexpected { found: self.text.to_owned(), position: self.position, expected }
    }

    fn number(&self) -> Result<Option<Number>, CalculatorError> {
        if !self.text.contains(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let leading_zero =
            self.text.starts_with('0') && self.text.contains(|c| c != '0') && !self.text.contains('.');
        if leading_zero {
            return Err(CalculatorError::LeadingZero { position: self.position });
        }
        Number::from_literal(self.text).map(Some)
    }
}

/// Cuts a text of allowed characters, all of them ASCII, into tokens.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn next_token(&mut self) -> Option<Token<'a>> {
        let rest = self.text[self.at..].trim_start_matches(' ');
        let start = self.text.len() - rest.len();
        let bytes = rest.as_bytes();
        let length = match *bytes.first()? {
            b'0'..=b'9' | b'.' => number_length(bytes),
            symbol @ (b'*' | b'/') if bytes.get(1) == Some(&symbol) => 2,
            _ => 1,
        };
        self.at = start + length;
        Some(Token { text: &rest[..length], position: start + 1 })
    }
}

/// The length of digits with at most one dot among them.
fn number_length(bytes: &[u8]) -> usize {
    let mut dots = 0;
    bytes
        .iter()
        .take_while(|&&byte| {
            dots += usize::from(byte == b'.');
            byte.is_ascii_digit() || (byte == b'.' && dots == 1)
        })
        .count()
}

struct Parser {
    steps: Vec<Step>,
    pending: Vec<Pending>,
    nesting: usize,
    operand_is_next: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self { steps: Vec::new(), pending: Vec::new(), nesting: 0, operand_is_next: true }
    }
}

impl Parser {
    fn take_operand(&mut self, token: &Token<'_>) -> Result<(), CalculatorError> {
        match token.text {
            "(" => {
                self.nesting += 1;
                if self.nesting > MAX_NESTING {
                    return Err(CalculatorError::TooDeep);
                }
                self.pending.push(Pending::Open { position: token.position });
            }
            "+" => self.pending.push(Pending::Plus),
            "-" => self.pending.push(Pending::Minus),
            _ => {
                let number = token.number()?.ok_or_else(|| token.unexpected(OPERAND))?;
                self.steps.push(Step::Push(number));
                self.operand_is_next = false;
            }
        }
        Ok(())
    }

    fn take_operator(&mut self, token: &Token<'_>) -> Result<(), CalculatorError> {
        if token.text == ")" {
            return self.close(token);
        }
        let operator = Binary::from_symbol(token.text).ok_or_else(|| token.unexpected(OPERATOR))?;
        // `**` groups from the right, so an earlier `**` has to wait.
        let least = if operator == Binary::Power { operator.binding() + 1 } else { operator.binding() };
        self.settle(least);
        self.pending.push(Pending::Binary(operator));
        self.operand_is_next = true;
        Ok(())
    }

    fn close(&mut self, token: &Token<'_>) -> Result<(), CalculatorError> {
        self.settle(0);
        if self.pending.pop().is_none() {
            return Err(token.unexpected("an operator"));
        }
        self.nesting -= 1;
        Ok(())
    }

    /// Emits what waits and binds at least this tightly, back to the last open parenthesis.
    fn settle(&mut self, least: u8) {
        while let Some(&waiting) = self.pending.last() {
            match waiting {
                Pending::Binary(operator) if operator.binding() >= least => {
                    self.steps.push(Step::Combine(operator));
                }
                Pending::Minus if SIGN_BINDING >= least => self.steps.push(Step::Negate),
                Pending::Plus if SIGN_BINDING >= least => {}
                _ => return,
            }
            self.pending.pop();
        }
    }

    fn finish(mut self) -> Result<Vec<Step>, CalculatorError> {
        if self.operand_is_next {
            let untouched = self.steps.is_empty() && self.pending.is_empty();
            return Err(if untouched {
                CalculatorError::Empty
            } else {
                CalculatorError::Incomplete { expected: OPERAND }
            });
        }
        self.settle(0);
        match self.pending.pop() {
            Some(Pending::Open { position }) => Err(CalculatorError::Unclosed { position }),
            _ => Ok(self.steps),
        }
    }
}
