"""The part of Python that programs are written in means what it means in Python.

Python itself runs the same text beside ours: only texts of this file, or that this file generates.
"""

# ruff: noqa: E501 - a program is one line of the table

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.cvqa.programs.image_patch import normalise
from tests.cvqa.programs.idioms import IDIOMS
from tests.cvqa.programs.scripted import python, whole
from tests.slow import examples

EXPRESSIONS = (
    "7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, 2 ** 10, 2 ** -1, (-8) ** 3.0, (-2) ** -1, 4 ** 0.5, 1 << 5, 1023 >> 3, 6 & 3, 6 | 3, 6 ^ 3, ~6",
    "1 < 2 < 3, 1 < 3 < 2, 3 > 2 >= 2 != 1, 1 == 1.0 == True, not 1 == 2",
    "1 and 2, 0 and 2, 0 or 'a', '' or [] or None, not [], not 'a'",
    "[1, 2, 3][-1], [1, 2, 3][-3:-1], 'abcdef'[::-2], (1, 2, 3)[5:], [1, 2, 3, 4][1:100:2], 'abc'[-10:2]",
    "'ab' * 3, 3 * [0, 1], (1,) + (2, 3), [1] + [2], -2 * 'a' == ''",
    "1 in [1, 2], 'b' in 'abc', 3 not in (1, 2), 'a' in {'a': 1}, 2 in {1, 2}, 5 in range(0, 10, 5), 2.0 in range(3)",
    "[x * y for x in range(4) if x % 2 for y in range(x) if y]",
    "{x: x * x for x in range(4)}, {x: y for x, y in zip('abc', range(9))}",
    "[x for x in [[1, 2], [3]] for x in x]",
    "[(i, c) for i, c in enumerate('abc', 1)], list(zip([1, 2, 3], 'ab')), list(enumerate([]))",
    "sorted([3, 1, 2], reverse=True), sorted('bca'), sorted([(1, 'b'), (1, 'a')]), sorted([1.5, 1, True])",
    "sorted(['bb', 'a', 'cc', 'd'], key=len), sorted(['bb', 'a', 'cc', 'd'], key=len, reverse=True)",
    "max([3, 1, 2]), min('bca'), max(1, 2.5), max([], default=7), min(['aa', 'b'], key=len), max('ab', 'b', key=len)",
    "sum([1, 2, 3]), sum([0.5, 0.25], 1), sum([[1], [2]], []), sum(x for x in range(5)), sum([True, True])",
    "any([]), all([]), any(x > 2 for x in [1, 2, 3]), all([1, 'a', []])",
    "len('abc'), len([]), len({1: 2}), len(range(5, 0, -2)), len((1, 2))",
    "int('12'), int(-3.7), int(' 5 '), int(True), float('1e3'), float(2), str(1.0), str(None), bool('0'), bool(0.0)",
    "abs(-3), abs(-2.5), round(2.5), round(3.5), round(-1.25, 1), round(1234, -2), round(2.675, 2)",
    "list(map(str, [1, 2])), list(filter(None, [0, 1, '', 'a'])), list(map(lambda a, b: a + b, [1, 2], [3, 4]))",
    "list(reversed([1, 2, 3])), list(reversed('ab')), tuple(range(3)), list({'b': 1, 'a': 2}), dict([('a', 1)])",
    "next((x for x in [1, 2, 3] if x > 1), None), next((x for x in [] if x), 'none')",
    "f'{1 + 1} and {\"a\"!r}', f'{3.14159:.2f}', f'{7:3d}|', f'{0.256:.1%}', f'{1234567:,}', f'{[1, \"a\"]}', f'{{}}'",
    "f'{1.0}', f'{True}', f'{None}', f'{(1,)}', f'{\"x\":>4}', f'{ {1: \"a\"} }', f'{2:5}|{\"ab\":5}|'",
    "str([1, 'a', (2,), {'k': None}, 1.5]), str(()), str({}), str([[]]), str(('a', \"it's\"))",
    "'Hello World'.lower().split(), ' a '.strip(), 'a,b'.split(','), 'aXbX'.replace('X', '-'), 'abc'.startswith('ab')",
    "','.join(['a', 'b']), ''.join(c for c in 'ab'), 'ab'.upper(), 'a b'.title(), 'abca'.count('a'), 'abc'.find('z')",
    "'12'.isdigit(), 'a1'.isalpha(), 'x.y'.split('.', 1), 'abc'.endswith(('b', 'c')), 'aab'.index('b'), 'aXbX'.replace('X', '', 1)",
    "[1, 2, 1].count(1), [1, 2].index(2), (1, 2, 1).count(1), (3, 4).index(4)",
    "{'a': 1}.get('a'), {'a': 1}.get('b'), {'a': 1}.get('b', 2), list({'a': 1}.items()), list({'a': 1}.values())",
    "isinstance(1, int), isinstance(True, int), isinstance('a', (int, str)), isinstance([], list), isinstance(1, float)",
    "[1, 2] == [1, 2], (1,) == [1], {1: 2} == {1: 2}, [1, [2]] < [1, [3]], 'a' < 'b', (1, 2) > (1,), {1, 2} == {2, 1}",
    "1 if [] else 2, (lambda x, y=2: x + y)(1), (lambda: 5)(), (lambda x: (lambda y: x * y))(3)(4)",
    "[f() for f in [lambda: i for i in range(3)]], [f() for f in [lambda i=i: i for i in range(3)]]",
    "1e308 * 10 == float('inf'), float('nan') == float('nan'), -0.0, 0.1 + 0.2, 10 / 4, 7 // 0.5",
    "len({1, 2} | {2, 3}), len({1, 2} & {2, 3}), sorted({1, 2} - {2}), sorted({1, 2} ^ {2, 3}), {1} <= {1, 2}",
    "None is None, None is not None, [] is []",
    "math.sqrt(16), math.floor(-1.5), math.ceil(1.2), math.pi, math.hypot(3, 4), math.gcd(12, 18), math.factorial(5)",
    "math.dist((0, 0), (3, 4)), math.isclose(0.1 + 0.2, 0.3), math.inf > 1, math.trunc(-1.7), math.log(8, 2), math.comb(5, 2)",
)

BODIES = {
    "a sort is stable": "l = [('a', 2), ('b', 1), ('c', 2)]\nl.sort(key=lambda p: p[1])\nreturn l",
    "a reversed sort is stable": "l = [('a', 2), ('b', 1), ('c', 2)]\nl.sort(key=lambda p: p[1], reverse=True)\nreturn l",
    "sort returns nothing": "l = [2, 1]\nreturn l.sort(), l",
    "else of a for that ends": "for x in [1, 2]:\n    y = x\nelse:\n    y = 'end'\nreturn y",
    "else of a for that breaks": "for x in [1, 2]:\n    y = x\n    break\nelse:\n    y = 'end'\nreturn y",
    "else of a while": "n = 0\nwhile n < 3:\n    n += 1\nelse:\n    n = 'end'\nreturn n",
    "continue": "t = 0\nfor x in range(9):\n    if x % 2:\n        continue\n    t += x\nreturn t",
    "break of the inner loop": "t = []\nfor x in range(3):\n    for y in range(3):\n        if y > x:\n            break\n        t.append((x, y))\nreturn t",
    "return within loops": "for x in range(3):\n    while True:\n        if x == 1:\n            return x\n        break\nreturn 'no'",
    "unpacking": "a, (b, c) = 1, [2, 3]\na, b = b, a\nreturn a, b, c",
    "unpacking in a loop": "t = 0\nfor i, (a, b) in enumerate([(1, 2), (3, 4)]):\n    t += i * a + b\nreturn t",
    "chained assignment": "a = b = []\na.append(1)\nreturn b",
    "in-place addition of lists": "a = [1]\nb = a\na += [2]\na += (3,)\nreturn b",
    "addition of lists": "a = [1]\nb = a\na = a + [2]\nreturn b",
    "in-place addition of anything": "a = []\na += range(2)\na += 'bc'\na += (x for x in [5])\na += {7: 8}\nreturn a",
    "in-place repetition": "a = [1]\nb = a\na *= 2\nreturn b",
    "in-place operators": "a = 7\na -= 2\na *= 3\na //= 2\na **= 2\na %= 10\nreturn a",
    "in-place on an item": "d = {'a': [1]}\nd['a'] += [2]\nd['b'] = 1\nd['b'] += 1\nreturn d",
    "comprehension has its own names": "x = 'kept'\ny = [x for x in range(3)]\nreturn x, y",
    "first iterable is of the outer names": "x = [1, 2]\nreturn [x for x in x]",
    "closure sees later values": "n = 1\nf = lambda: n\nn = 2\nreturn f()",
    "functions within functions": "def add(a, b=1):\n    return a + b\nreturn add(1), add(1, 2), add(b=3, a=4)",
    "a function without return": "def f():\n    pass\nreturn f() is None",
    "recursion": "def fact(n):\n    return 1 if n < 2 else n * fact(n - 1)\nreturn fact(10)",
    "names of a function are its own": "x = 1\ndef f():\n    x = 2\n    return x\nreturn f(), x",
    "defaults are evaluated once": "def f(x, l=[]):\n    l.append(x)\n    return l\nf(1)\nreturn f(2)",
    "list methods": "l = [3, 1]\nl.append(2)\nl.insert(0, 9)\nl.extend(x for x in 'a')\nl.remove(1)\nl.reverse()\nreturn l, l.pop(), l.pop(0), l",
    "dictionary methods": "d = {'a': 1}\nd.update({'b': 2})\nd.setdefault('c', []).append(3)\nreturn d.pop('a'), d.pop('z', 0), d, d.copy()",
    "deleting": "d = {'a': 1, 'b': 2}\nl = [1, 2, 3]\ndel d['a'], l[0]\nx = 1\ndel x\nreturn d, l",
    "try": "try:\n    x = 1 / 0\nexcept ZeroDivisionError:\n    x = 'zero'\nreturn x",
    "try with else": "try:\n    x = 1\nexcept:\n    x = 2\nelse:\n    x = 3\nreturn x",
    "try of several": "try:\n    x = int('a')\nexcept (KeyError, ValueError):\n    x = 'value'\nreturn x",
    "try passes others": "try:\n    try:\n        x = [][1]\n    except KeyError:\n        x = 1\nexcept Exception:\n    x = 2\nreturn x",
    "try of a missing key": "d = {}\ntry:\n    return d['a']\nexcept KeyError:\n    return 'none'",
    "return within try": "for x in [1, 2]:\n    try:\n        return x\n    except Exception:\n        return 'no'",
    "a generator is read once": "g = (x for x in [1, 2])\nreturn list(g), list(g)",
    "a generator is lazy": "seen = []\ng = (seen.append(x) or x for x in [1, 2, 3])\nreturn any(x == 2 for x in g), seen",
    "annotations do nothing": "x: list[int] = [1]\ny: int\nreturn x",
    "import within": "import math\nfrom math import sqrt as root\nreturn math.pow(root(16), 2)",
    "while with a condition on a list": "l = [1, 2, 3]\nt = 0\nwhile l:\n    t += l.pop()\nreturn t",
    "nested conditions": "x = 5\nif x < 3:\n    y = 'low'\nelif x < 6:\n    y = 'mid'\nelse:\n    y = 'high'\nreturn y",
    "assertions": "assert 1 == 1, 'fine'\nreturn 'ok'",
    "copies": "l = [1]\nm = l.copy()\nn = l[:]\nl.append(2)\nreturn l, m, n",
}


def ours(body: str) -> str:
    """The answer of a body, as text, from our interpreter."""
    run = python(f"import math\ndef command():\n{_indented(body)}\nreturn str(command())")
    assert not run.fault, run.fault
    return run.result


def pythons(body: str) -> str:
    """The same from Python itself."""
    names: dict[str, object] = {"math": math}
    exec(f"def command():\n{_indented(body)}", names)
    return normalise(str(names["command"]()))  # type: ignore[operator]


def _indented(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.split("\n"))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_gives_what_python_gives(expression: str) -> None:
    assert ours(f"return {expression}") == pythons(f"return {expression}")


@pytest.mark.parametrize("name", BODIES)
def test_a_body_gives_what_python_gives(name: str) -> None:
    assert ours(BODIES[name]) == pythons(BODIES[name])


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_of_todays_code_models_gives_what_python_gives(name: str) -> None:
    run = python(f"import math\ndef command():\n{_indented(IDIOMS[name])}\nreturn str(command())")
    assert (run.result, run.fault) == (pythons(IDIOMS[name]), "")


PATTERNS = (
    *(r"\d+", r"(\d+)\s*(dogs?|cats?)", r"^(yes|no)\b", r"[A-Za-z]+", r"(a|ab)(c|bcd)(d*)", r"a*?b", r"(a+)+$"),
    *(r"x{2,3}", r"[^aeiou\s]+", r"-?\d+(?:\.\d+)?", r"(?i)RED", r"\bthe\b", r"(?P<n>\d+) of", "a|b|", r"[-\w]+"),
    *(r"(a|b)*?c", r"\$?\d{1,3}(,\d{3})*", ".*(\\d)", r"\s+$", "[]a]+", "a{,2}", "{x", r"\W\D\S", r"\Ayes\Z"),
)
SAID = st.one_of(
    st.text("ab cdx3,.", max_size=12),
    st.sampled_from(
        ["3 dogs and 12 cats", "yes, it is", "-3.5 and 7", "Red red", "the cat the", "$1,234 12", "x]a]\n"]
    ),
)


@examples(100)
@given(st.sampled_from(PATTERNS), SAID)
def test_a_pattern_finds_what_pythons_finds(pattern: str, said: str) -> None:
    body = (
        f"import re\np = re.compile({pattern!r})\nf = [p.search({said!r}), p.match({said!r}), p.fullmatch({said!r})]\n"
        f"return [m and (m.span(), m.groups()) for m in f], p.findall({said!r}), p.sub('<>', {said!r}), p.split({said!r})"
    )
    assert ours(body) == pythons(body)


NUMBER = st.one_of(st.integers(-50, 50), st.sampled_from([0.5, -1.5, 2.25])).map(lambda n: f"({n})")
TEXT = st.text("ab c", max_size=4).map(repr)


def numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(pair, st.sampled_from(["+", "-", "*", "/", "//", "%"])).map(
            lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"
        ),
        pair.map(lambda t: f"max({t[0]}, {t[1]})"),
        inner.map(lambda a: f"abs(-{a})"),
        inner.map(lambda a: f"round({a})"),
        st.tuples(pair, inner, inner).map(lambda t: f"({t[1]} if {t[0][0]} < {t[0][1]} else {t[2]})"),
        st.tuples(pair, st.sampled_from(["and", "or"])).map(lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} <= {t[1]} <= {t[2]})"),
        st.lists(inner, min_size=1, max_size=4).map(lambda items: f"sum([{', '.join(items)}])"),
    )


def lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    index = st.integers(-5, 5)
    return st.one_of(
        st.tuples(inner, inner).map(lambda t: f"({t[0]} + {t[1]})"),
        st.tuples(inner, index, index).map(lambda t: f"{t[0]}[{t[1]}:{t[2]}]"),
        st.tuples(inner, st.sampled_from([-2, -1, 1, 2])).map(lambda t: f"{t[0]}[::{t[1]}]"),
        inner.map(lambda a: f"[x * 2 for x in {a} if x > 0]"),
        st.tuples(inner, st.booleans()).map(lambda t: f"sorted({t[0]}, key=lambda x: x % 3, reverse={t[1]})"),
        inner.map(lambda a: f"[i - x for i, x in enumerate({a})]"),
        st.tuples(inner, inner).map(lambda t: f"[a * b for a, b in zip({t[0]}, {t[1]})]"),
        inner.map(lambda a: f"list(reversed({a}))"),
        st.tuples(inner, st.integers(0, 2)).map(lambda t: f"({t[0]} * {t[1]})"),
    )


ARITHMETIC = st.recursive(NUMBER, numbers, max_leaves=8)
LISTS = st.recursive(st.lists(st.integers(-9, 9), max_size=5).map(str), lists, max_leaves=5)


def outcome(body: str) -> str:
    """What Python makes of a body: its answer, or the kind of its error."""
    try:
        return pythons(body)
    except (ArithmeticError, TypeError, ValueError, IndexError) as error:
        return type(error).__name__


@examples(150)
@given(st.one_of(ARITHMETIC, LISTS))
def test_generated_expressions_give_what_python_gives_or_fail_as_it_fails(expression: str) -> None:
    body = f"return {expression}"
    run = python(f"def command():\n{_indented(body)}\nreturn str(command())")
    expected = outcome(body)
    if expected.endswith("Error"):
        assert expected.lower() in run.fault.lower() or "cannot take" in run.fault
    else:
        assert (run.fault, run.result) == ("", expected)


@examples(60)
@given(TEXT, TEXT, st.integers(-4, 4))
def test_generated_texts_give_what_python_gives(one: str, other: str, number: int) -> None:
    body = (
        f"s = {one}\nreturn [s + {other}, {one}[{number}:], {one}.split({other} or ' '), {other} in {one}, "
        f"{one}.replace('a', {other}), {one} < {other}, f'{{s:>7}}', {one} * {number}, {one}.count('a')]"
    )
    assert ours(body) == pythons(body)


FAULTS = {
    "return 1 / 0": "line 2: ZeroDivisionError: division by zero",
    "x = [1]\nreturn x[3]": "line 3: IndexError: list index out of range",
    "return {'a': 1}['b']": "line 2: there is no key 'b'",
    "return 1 + 'a'": "line 2: + cannot take int and str",
    "return 'a' < 1": "line 2: < cannot take str and int",
    "return 1 + x\nx = 1": "line 2: 'x' is used before it has a value",
    "return nothing": "line 2: 'nothing' is not defined",
    "a, b = [1]": "line 2: 1 values for 2 names",
    "return int('many')": "line 2: ValueError: invalid literal for int() with base 10: 'many'",
    "for x in 5:\n    pass": "line 2: a value of type int cannot be iterated over",
    "return len(5)": "line 2: a value of type int has no length",
    "return max([])": "line 2: max of no values",
    "return [3, 'a', None].sort()": "line 2: TypeError: '<' not supported between instances of 'str' and 'int'",
    "return ''.join([1])": "line 2: join takes texts only; use str() on each",
    "break": "line 2: not Python: 'break' outside loop",
    "return next(x for x in [])": "line 2: next: nothing is left, and there is no default",
    "(1)[0] = 2": "line 2: an item of int at int cannot be set",
    "assert False": "line 2: an assertion of the program failed",
    "def f(a):\n    return a\nreturn f()": "line 4: f takes (a) and was called otherwise",
    "return 'a'.lowr()": "line 2: str has no attribute 'lowr'; did you mean 'lower'?",
}


@pytest.mark.parametrize("body", FAULTS)
def test_what_goes_wrong_in_a_program_is_one_line_with_its_number(body: str) -> None:
    assert python(body).fault.startswith(FAULTS[body])


def test_sets_keep_the_order_in_which_things_came() -> None:
    assert python("return str(list({'pear', 'apple', 'fig', 'apple'}))").result == "['pear', 'apple', 'fig']"
    assert python("s = set('hello')\ns.add('z')\ns.discard('l')\nreturn ''.join(s)").result == "heoz"
    assert python("return str([set(), {1, 2} | {3}, {1, 2}.union([9])])").result == "[set(), {1, 2, 3}, {1, 2, 9}]"


def test_a_helper_and_a_constant_may_stand_outside_the_command() -> None:
    code = '"""Counts."""\nimport math\nFACTOR = 2\n\ndef twice(n: int) -> int:\n    return FACTOR * n\n\n'
    assert whole(code + "def execute_command(image) -> str:\n    return twice(math.floor(4.5))\n").result == "8"


def test_further_parameters_of_the_command_are_the_functions_of_that_name() -> None:
    code = "def execute_command(image, ImagePatch, llm_query):\n    return ImagePatch(image).width"
    assert whole(code).result == "200"


def test_print_prints_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert python("print('a', 1, end='')\nreturn 'done'").result == "done"
    assert capsys.readouterr() == ("", "")
