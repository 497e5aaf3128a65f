"""Reads one expression a line and answers each with one line: what Python makes of it.

The answer is `= TEXT`, or the class of the refusal: syntax, zero, real, float, digits. Every value on the way
counts, since the calculator refuses an infinity or an integer of too many bits there as well.
"""

import ast
import math
import operator
import sys

MAX_BITS = 14_285
MAX_DIGITS = 4_300
sys.set_int_max_str_digits(0)


class Refused(Exception):
    pass


def power(base, exponent):
    ints = isinstance(base, int) and isinstance(exponent, int)
    if ints and exponent > 0 and abs(base) > 1 and (base.bit_length() - 1) * exponent >= MAX_BITS:
        raise Refused("digits")
    if not ints and float(base) < 0 and exponent != int(exponent):
        raise Refused("real")  # Python's complex numbers may overflow in turn
    return base**exponent


BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: power,
}
UNARY = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def checked(value):
    if isinstance(value, complex):
        raise Refused("real")
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused("float")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise Refused("digits")
    return value


def is_arithmetic(node):
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.UnaryOp(operand=operand):
            return is_arithmetic(operand)
        case ast.BinOp(left=left, right=right):
            return is_arithmetic(left) and is_arithmetic(right)
    return False  # a tuple, a call


def value_of(node):
    match node:
        case ast.Constant(value=value):
            return checked(value)
        case ast.UnaryOp(op=op, operand=operand):
            return checked(UNARY[type(op)](value_of(operand)))
        case ast.BinOp(left=left, op=op, right=right):
            left, right = value_of(left), value_of(right)
            return checked(BINARY[type(op)](left, right))


def answer(expression):
    try:
        tree = ast.parse(expression.strip(" "), mode="eval").body
        if not is_arithmetic(tree):
            return "syntax"
        text = repr(value_of(tree))
    except Refused as refused:
        return str(refused)
    except SyntaxError:
        return "syntax"
    except ZeroDivisionError:
        return "zero"
    except OverflowError:
        return "float"
    integer = "." not in text and "e" not in text
    return "digits" if integer and len(text.lstrip("-")) > MAX_DIGITS else f"= {text}"


for line in sys.stdin:
    print(answer(line.removesuffix("\n")), flush=True)
