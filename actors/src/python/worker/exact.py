"""Values that Python or JSON would refuse or change without a word: long integers, half characters, generators."""
import inspect
import itertools
import sys
import threading

# The engine lets no longer one in.
MOST_DIGITS = 100_000
MOST_ITEMS = 1_000_000
_changing = threading.Lock()


def with_long_integers(work, *args):
    """What `work` gives, also where an integer has more than the 4,300 digits that Python reads and writes by default.

    The default guards programs that read whatever comes, so it holds for the file's own functions as before.
    """
    try:
        return work(*args)
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
    with _changing:
        before = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(MOST_DIGITS)
        try:
            return work(*args)
        finally:
            sys.set_int_max_str_digits(before)


def whole_characters(text):
    """The text with half characters (lone surrogates) replaced, which no UTF-8 can carry, and a note on it."""
    if text.isascii():
        return text, None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Two halves that belong together become one character.
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole, "half characters (lone surrogates) are given as U+FFFD" if "\ufffd" in whole else None
    return text, None


def is_generator(value):
    return inspect.isgenerator(value) or inspect.isasyncgen(value)


def collected(generator):
    """All that a generator yields; in the thread that calls, so that it can be stopped like any other work."""
    items = list(itertools.islice(generator, MOST_ITEMS + 1))
    generator.close()
    return _bounded(items)


async def collected_async(generator):
    """All that an async generator yields."""
    items = []
    try:
        async for item in generator:
            items.append(item)
            if len(items) > MOST_ITEMS:
                break
    finally:
        await generator.aclose()
    return _bounded(items)


def _bounded(items):
    if len(items) > MOST_ITEMS:
        raise ValueError(f"the generator yields more than {MOST_ITEMS} items: return a list of those that matter")
    return items


COLLECTED = "a generator is given as the list of what it yields"
