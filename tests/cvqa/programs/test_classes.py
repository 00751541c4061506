"""Classes, dataclasses, enumerations, `match`, generators and decorators mean what they mean in Python, which runs the
same texts beside ours."""

# ruff: noqa: E501 - a program is one line of the table

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cvqa.programs.scripted import python
from tests.cvqa.programs.test_python_subset import ours, pythons
from tests.slow import examples

POINT = "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    x: int\n    y: int = 2\n"
BODIES = {
    # Classes.
    "methods and attributes": "class C:\n    n = 3\n    def __init__(self, k=1):\n        self.k = k\n        self._total = 0\n    def add(self, x):\n        self._total += x * self.k\n        return self\nc = C(2)\nc.add(3).add(4)\nc.z = 'new'\nreturn c._total, c.n, C.n, c.z, isinstance(c, C), type(c) is C",
    "class attribute is shared": "class C:\n    all = []\n    count = 0\n    def __init__(self):\n        self.all.append(1)\n        C.count += 1\nC()\nC()\nreturn C.all, C.count, C().count",
    "inheritance and super": "class A:\n    def __init__(self, x):\n        self.x = x\n    def f(self):\n        return 'A' + str(self.x)\nclass B(A):\n    def __init__(self, x, y=5):\n        super().__init__(x + 1)\n        self.y = y\n    def f(self):\n        return super().f() + 'B'\nclass D(B):\n    def f(self):\n        return super(D, self).f() + 'D'\nb = D(1)\nreturn b.f(), b.y, isinstance(b, A), issubclass(D, A), B.__name__",
    "object as the base": "class A(object):\n    def f(self):\n        return 1\nreturn A().f()",
    "text of an object": "class A:\n    def __init__(self, n):\n        self.n = n\n    def __repr__(self):\n        return f'A({self.n})'\nclass B(A):\n    def __str__(self):\n        return 'b'\nreturn str(A(1)), [A(2), B(3)], f'{B(4)}', '%s' % B(5), '{}'.format(A(6)), str({'k': A(7)})",
    "equality and keys": "class A:\n    def __init__(self, n):\n        self.n = n\n    def __eq__(self, o):\n        return isinstance(o, A) and self.n == o.n\n    def __hash__(self):\n        return hash(self.n)\nreturn A(1) == A(1), A(1) != A(2), A(1) in [A(1)], len({A(1), A(1), A(2)}), {A(1): 'x'}[A(1)], [A(1), A(2)].index(A(2)), A(1) == 1",
    "identity without equality": "class A:\n    pass\na, b = A(), A()\nreturn a == a, a == b, a in [a], len({a, b, a}), a is b",
    "order": "class A:\n    def __init__(self, n):\n        self.n = n\n    def __lt__(self, o):\n        return self.n < o.n\nl = sorted([A(3), A(1), A(2)])\nreturn [a.n for a in l], max([A(1), A(5)]).n, A(1) < A(2), A(1) > A(2), min(A(2), A(1)).n",
    "length and truth": "class A:\n    def __init__(self, n):\n        self.n = n\n    def __len__(self):\n        return self.n\nclass B:\n    def __bool__(self):\n        return False\nreturn len(A(3)), bool(A(0)), bool(A(1)), bool(B()), not B(), 'x' if B() else 'y', A(0) or 'none'",
    "items": "class A:\n    def __init__(self):\n        self.d = {}\n    def __getitem__(self, k):\n        return self.d.get(k, 0)\n    def __setitem__(self, k, v):\n        self.d[k] = v\n    def __contains__(self, k):\n        return k in self.d\na = A()\na['x'] = 3\na['x'] += 1\nreturn a['x'], a['y'], 'x' in a, 'y' in a",
    "iteration": "class A:\n    def __init__(self, l):\n        self.l = l\n    def __iter__(self):\n        return iter(self.l)\nclass N:\n    def __init__(self):\n        self.i = 0\n    def __iter__(self):\n        return self\n    def __next__(self):\n        self.i += 1\n        if self.i > 3:\n            raise StopIteration\n        return self.i\nclass G:\n    def __iter__(self):\n        yield 1\n        yield 2\nreturn list(A([1, 2])), sum(N()), [x for x in G()], 2 in G(), next(N()), max(A([4, 9])), dict(zip(G(), 'ab'))",
    "called": "class A:\n    def __call__(self, x, y=1):\n        return x + y\nreturn A()(2), A()(2, y=3), list(map(A(), [1, 2])), callable(A()), callable(A)",
    "operators": "class V:\n    def __init__(self, x):\n        self.x = x\n    def __add__(self, o):\n        return V(self.x + (o.x if isinstance(o, V) else o))\n    def __radd__(self, o):\n        return V(o + self.x)\n    def __mul__(self, k):\n        return V(self.x * k)\nreturn (V(1) + V(2)).x, (V(1) + 5).x, sum([V(1), V(2)]).x, (V(3) * 2).x",
    "properties": "class A:\n    def __init__(self):\n        self._x = 1\n    @property\n    def x(self):\n        return self._x\n    @x.setter\n    def x(self, v):\n        self._x = v * 2\n    @property\n    def y(self):\n        return self.x + 1\na = A()\na.x = 5\na.x += 1\ntry:\n    a.y = 1\nexcept AttributeError:\n    r = 'no'\nreturn a.x, a.y, r",
    "static and class methods": "class A:\n    k = 2\n    @staticmethod\n    def f(x):\n        return x * 2\n    @classmethod\n    def make(cls, n):\n        a = cls()\n        a.n = n * cls.k\n        return a\nclass B(A):\n    k = 3\nreturn A.f(2), A().f(3), A.make(4).n, B.make(4).n, type(B.make(1)) is B",
    "cached property": "from functools import cached_property\nclass A:\n    n = 0\n    @cached_property\n    def x(self):\n        A.n += 1\n        return 7\na = A()\nreturn a.x + a.x, A.n",
    "abstract class": "from abc import ABC, abstractmethod\nclass S(ABC):\n    @abstractmethod\n    def area(self):\n        ...\nclass Q(S):\n    def area(self):\n        return 4\nreturn Q().area(), isinstance(Q(), S)",
    "private names": "class A:\n    def __init__(self):\n        self.__n = 1\n    def __up(self):\n        self.__n += 1\n    def get(self):\n        self.__up()\n        return self.__n\nreturn A().get()",
    "getattr and setattr": "class A:\n    pass\na = A()\nsetattr(a, 'x', 3)\nb = hasattr(a, 'x'), hasattr(a, 'y'), getattr(a, 'x'), getattr(a, 'y', 0)\ndel a.x\nreturn b, hasattr(a, 'x')",
    "missing attribute": "class A:\n    pass\ntry:\n    return A().x\nexcept AttributeError:\n    return 'none'",
    "class in a function": "def make(n):\n    class C:\n        def f(self):\n            return n\n    return C()\nreturn make(3).f(), make(4).f()",
    "nested class and closure": "k = 2\nclass A:\n    class B:\n        v = 5\n    def f(self):\n        return [x * k for x in [self.B.v]]\nreturn A().f(), A.B.v",
    "exceptions of its own": "class NotFound(Exception):\n    pass\nclass Missing(NotFound):\n    def __init__(self, name):\n        super().__init__(f'no {name}')\n        self.name = name\ntry:\n    raise Missing('cat')\nexcept NotFound as e:\n    r = str(e), e.name, isinstance(e, Exception), e.args\ntry:\n    raise NotFound\nexcept (ValueError, NotFound) as e:\n    q = str(e)\ntry:\n    try:\n        raise NotFound('a')\n    except ValueError:\n        z = 1\nexcept Exception as e:\n    z = 'outer ' + str(e)\nreturn r, q, z",
    "own value error": "class Bad(ValueError):\n    pass\ntry:\n    raise Bad('x')\nexcept ValueError as e:\n    return 'value ' + str(e)",
    "with of its own": "l = []\nclass T:\n    def __enter__(self):\n        l.append('in')\n        return self\n    def __exit__(self, a, b, c):\n        l.append(a is None)\n        return True\nwith T() as t:\n    l.append(isinstance(t, T))\nwith T():\n    1 / 0\ndef f():\n    with T(), T():\n        return 'r'\nreturn l, f(), len(l)",
    "suppressed": "from contextlib import suppress\nx = 1\nwith suppress(ZeroDivisionError, KeyError):\n    x = 2\n    1 / 0\n    x = 3\nreturn x",
    # Dataclasses, named tuples, enumerations.
    "dataclass": POINT + "a, b = P(1), P(1, y=2)\na.x += 4\nreturn a, b, a == b, P(1) == P(1, 2), P(x=3).y",
    "dataclass with methods": "from dataclasses import dataclass, field\nfrom typing import List, Optional\n@dataclass\nclass B:\n    name: str\n    parts: List[str] = field(default_factory=list)\n    best: Optional[float] = None\n    def add(self, p):\n        self.parts.append(p)\n        return len(self.parts)\n    @property\n    def many(self) -> bool:\n        return len(self.parts) > 1\na, b = B('a'), B('b')\na.add('x')\na.add('y')\nreturn a.parts, b.parts, a.many, b.many, a.best",
    "dataclass in order": "from dataclasses import dataclass\n@dataclass(order=True, frozen=True)\nclass S:\n    n: int\n    k: str = 'a'\ntry:\n    S(1).n = 3\n    r = 'set'\nexcept AttributeError:\n    r = 'frozen'\nreturn sorted([S(2), S(1, 'b'), S(1)]), max(S(1), S(3)).n, len({S(1), S(1)}), r",
    "dataclass after it is made": "from dataclasses import dataclass, field\n@dataclass\nclass S:\n    a: int\n    b: int = field(init=False, default=0)\n    def __post_init__(self):\n        self.b = self.a * 2\nreturn S(4).b, S(4)",
    "dataclass helpers": POINT
    + "from dataclasses import asdict, astuple, replace\nreturn asdict(P(1)), astuple(P(1)), replace(P(1), y=9), asdict(P([P(1)]))",
    "dataclass extended": POINT
    + "@dataclass\nclass Q(P):\n    z: str = 'z'\nreturn Q(1), Q(1, 2, 'q').z, isinstance(Q(1), P), Q(1) == P(1)",
    "wrong arguments of a dataclass": POINT + "try:\n    P()\nexcept TypeError:\n    return 'needs x'",
    "named tuple": "from collections import namedtuple\nP = namedtuple('P', ['x', 'y'])\np = P(1, y=2)\na, b = p\nreturn p, p.x, p[1], a + b, p == (1, 2), p._replace(x=5), sorted([P(2, 1), P(1, 9)])[0].y, len(p), P._fields if False else p._fields, p._asdict()",
    "named tuple as a class": "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int = 3\n    def total(self):\n        return self.x + self.y\nreturn P(1), P(1).total(), P(2, 4).y, isinstance(P(1), tuple), isinstance(P(1), P), isinstance((1, 3), P)",
    "enumeration": "from enum import Enum, auto\nclass C(Enum):\n    RED = 1\n    BLUE = 'b'\nclass A(Enum):\n    X = auto()\n    Y = auto()\n    def low(self):\n        return self.name.lower()\nreturn C.RED.name, C.BLUE.value, C('b') is C.BLUE, C['RED'] == C.RED, [c.name for c in C], A.Y.value, A.X.low(), C.RED == 1, str(C.RED), C.RED in (C.RED,), {C.RED: 'r'}[C.RED], len(C)",
    # match
    "match of values": "def f(v):\n    match v:\n        case 0 | 1:\n            return 'few'\n        case 'a' | 'b':\n            return 'letter'\n        case None:\n            return 'none'\n        case True:\n            return 'true'\n        case _:\n            return 'other'\nreturn [f(v) for v in (0, 1, 'a', None, 2, 'c', False)]",
    "match of types": "def f(v):\n    match v:\n        case bool():\n            return 'bool'\n        case int(n) if n > 5:\n            return f'big {n}'\n        case int() | float():\n            return 'number'\n        case str() as s:\n            return s.upper()\n        case list():\n            return 'list'\nreturn [f(v) for v in (True, 9, 1, 2.5, 'x', [1], {})]",
    "match of sequences": "def f(v):\n    match v:\n        case []:\n            return 'empty'\n        case [x]:\n            return x\n        case [x, y]:\n            return x + y\n        case [first, *_, last]:\n            return first, last\n        case (a, [b, *c]):\n            return c\nreturn [f(v) for v in ([], [1], (1, 2), [1, 2, 3, 4], 'ab', range(3))]",
    "match with a rest": "match [1, 2, 3, 4]:\n    case [a, *rest, 4]:\n        return a, rest",
    "match of dictionaries": "def f(v):\n    match v:\n        case {'kind': 'box', 'w': w, **rest}:\n            return w, rest\n        case {'kind': kind}:\n            return kind\n        case {}:\n            return 'any'\nreturn f({'kind': 'box', 'w': 2, 'z': 1}), f({'kind': 'x'}), f({}), f(3)",
    "match of objects": POINT
    + "def f(v):\n    match v:\n        case P(0, y):\n            return y\n        case P(x=1, y=2):\n            return 'one two'\n        case P(x, y) if x == y:\n            return 'same'\n        case P():\n            return 'point'\nreturn f(P(0, 5)), f(P(1)), f(P(3, 3)), f(P(4, 5)), f(1)",
    "match of constants by name": "class K:\n    RED = 'red'\ndef f(v):\n    match v:\n        case K.RED:\n            return 1\n        case other:\n            return other\nreturn f('red'), f('blue')",
    "match in a loop": "t = []\nfor x in ['go', 'stop', 'go']:\n    match x:\n        case 'stop':\n            break\n        case 'go':\n            t.append(x)\n            continue\nreturn t",
    "match that returns from within": "match 3:\n    case 3:\n        if True:\n            return 'three'\nreturn 'no'",
    # Generators.
    "generator": "def g(n):\n    for i in range(n):\n        if i % 2:\n            continue\n        yield i\n    yield 'end'\nreturn list(g(5)), sum(x for x in g(3) if x != 'end'), next(g(1)), [*g(1)], max(len(str(x)) for x in g(2))",
    "generator is lazy": "seen = []\ndef g():\n    for x in [1, 2, 3]:\n        seen.append(x)\n        yield x\nreturn any(x == 2 for x in g()), seen, next(g()), seen",
    "generator that returns": "def g():\n    yield 1\n    return\n    yield 2\nreturn list(g())",
    "yield from": "def g():\n    yield from [1, 2]\n    yield from (x * 2 for x in [3])\n    yield from h()\ndef h():\n    yield 'h'\nreturn list(g())",
    "recursive generator": "def flat(l):\n    for x in l:\n        if isinstance(x, list):\n            yield from flat(x)\n        else:\n            yield x\nreturn list(flat([1, [2, [3, []]], 4]))",
    "generator with try": "log = []\ndef g():\n    try:\n        yield 1\n        yield 1 / 0\n    except ZeroDivisionError:\n        yield 'caught'\n    finally:\n        log.append('done')\nreturn list(g()), log",
    "generator with while and match": "def g():\n    n = 0\n    while True:\n        n += 1\n        match n:\n            case 2:\n                yield 'two'\n            case 4:\n                return\n            case _:\n                yield n\nreturn list(g())",
    "endless generator that is cut": "from itertools import islice\ndef g():\n    n = 0\n    while True:\n        yield n\n        n += 1\nreturn list(islice(g(), 3)), next(x for x in g() if x > 4)",
    "yield that is assigned": "def g():\n    x = yield 1\n    yield x\nreturn list(g())",
    "generators side by side": "def g(s):\n    for c in s:\n        yield c\nreturn list(zip(g('ab'), g('cd'))), [a + b for a in g('ab') for b in g('xy')]",
    # Decorators and the rest.
    "own decorator": "from functools import wraps\ndef twice(f):\n    @wraps(f)\n    def inner(*a, **k):\n        return f(*a, **k) * 2\n    return inner\ndef times(n):\n    def of(f):\n        return lambda x: f(x) * n\n    return of\n@twice\ndef a(x, y=1):\n    return x + y\n@times(3)\n@twice\ndef b(x):\n    return x\nreturn a(1), a(1, y=4), b(2)",
    "caches": "from functools import lru_cache, cache\ncalls = []\n@lru_cache\ndef f(a, b=0):\n    calls.append((a, b))\n    return a - b\n@cache\ndef g(n):\n    return n if n < 2 else g(n - 1) + g(n - 2)\nreturn f(5, 2), f(b=5, a=2), f(5, 2), f(5), f(5), len(calls), g(15)",
    "methods of types": "return list(map(str.lower, ['A', 'B'])), sorted(['b', 'A'], key=str.casefold), dict.fromkeys('ab', 0), str.join('-', ['a', 'b']), max([[1], [1, 2]], key=len), list(map(str.strip, [' a ']))",
    "keywords of methods": "return 'a,b,c'.split(sep=',', maxsplit=1), 'a b'.split(maxsplit=1), 'abc'.rsplit(sep='b')",
    "translated": "import string\nreturn 'A, b!'.translate(str.maketrans('', '', string.punctuation)), 'ab'.translate(str.maketrans('ab', 'xy')), 'ab'.translate({ord('a'): None}), 'ab'.translate(str.maketrans({'a': 'zz'}))",
    "chained lists": "import itertools\nfrom itertools import chain\nreturn list(chain.from_iterable([[1], [2, 3]])), list(itertools.chain.from_iterable(['ab', 'c']))",
    "union of types": "return isinstance(1, int | str), isinstance(None, int | None), isinstance(2.5, (int, (float, str)))",
    "copies": "import copy\na = [[1], {'k': [2]}, (3, [4])]\nb, c = copy.copy(a), copy.deepcopy(a)\na[0].append(9)\nreturn b[0], c, c[1] is not a[1]",
    "heap": "import heapq\nh = [3, 1, 2]\nheapq.heapify(h)\nheapq.heappush(h, 0)\nreturn heapq.heappop(h), heapq.heappop(h), heapq.nlargest(2, [1, 5, 3]), heapq.nsmallest(1, ['bb', 'a'], key=len)",
    "JSON": "import json\nd = json.loads('{\"a\": [1, 2.5, null, true], \"b\": {\"c\": \"x\"}}')\nreturn d['a'], d['b']['c'], json.dumps({'k': [1, None]}), json.dumps('é', ensure_ascii=False)",
    "JSON that is none": "import json\ntry:\n    return json.loads('Two dogs')\nexcept ValueError:\n    return 'none'",
    "names of types": "return type(1).__name__, type('a').__name__, int.__name__, (lambda: 0).__name__ if False else 'x'",
    "constants of string": "import string\nreturn ''.join(c for c in 'a.b!' if c not in string.punctuation), string.digits",
    "ellipsis as a body": "def f():\n    ...\nclass A:\n    ...\nreturn f() is None, isinstance(A(), A)",
    "imports that only annotate": "from collections.abc import Iterable\nimport numpy as np\nfrom typing import Iterator\ndef f(x: np.ndarray, y: Iterable[int]) -> Iterator[int]:\n    return list(y)\nreturn f(1, [2])",
    "import that fails": "try:\n    import no_such_module_anywhere\n    r = 'there'\nexcept ImportError:\n    r = 'none'\nreturn r",
    "module of the body": "n = 0\nfor i in range(3):\n    n += i\nif n:\n    n *= 2\nreturn n",
    "exceptions by their families": "r = []\nfor f in (lambda: [][1], lambda: {}['a'], lambda: 1 / 0, lambda: int('x'), lambda: None + 1):\n    try:\n        f()\n    except LookupError:\n        r.append('lookup')\n    except (ArithmeticError, ValueError) as e:\n        r.append(type(e).__name__)\n    except BaseException:\n        r.append('other')\nreturn r",
}


@pytest.mark.parametrize("name", BODIES)
def test_what_a_class_a_generator_or_a_match_gives_is_what_python_gives(name: str) -> None:
    assert ours(BODIES[name]) == pythons(BODIES[name]).replace("command.<locals>.", "")


def _indented(blocks: list[str]) -> str:
    return "\n".join(f"    {line}" for block in blocks for line in block.split("\n"))


SIMPLE = st.sampled_from(
    ["yield n", "n += 1", "yield from (n, n * 2)", "log.append(n)", "x = yield n\nlog.append(x)", "yield 1 // (n % 3)"]
)
ENDS = st.sampled_from(["return", "n += 2", "raise ValueError(n)", "raise Own(n)", "pass"])


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Blocks that hold blocks, with every way of leaving them."""
    body = st.lists(inner, min_size=1, max_size=3).map(_indented)
    leave = st.sampled_from(["break", "continue", "pass"])
    return st.one_of(
        st.tuples(body, body).map(lambda t: f"if n % 2:\n{t[0]}\nelse:\n{t[1]}"),
        st.tuples(body, leave, body).map(
            lambda t: f"for n in range(n, n + 3):\n{t[0]}\n    if n % 3 == 0:\n        {t[1]}\nelse:\n{t[2]}"
        ),
        st.tuples(body, leave).map(
            lambda t: f"k = 0\nwhile k < 3:\n    k += 1\n    if n > 40:\n        {t[1]}\n{t[0]}"
        ),
        st.tuples(body, body, body).map(
            lambda t: f"try:\n{t[0]}\nexcept (ZeroDivisionError, Own) as e:\n{t[1]}\nfinally:\n{t[2]}"
        ),
        st.tuples(body, body).map(lambda t: f"match n % 4:\n  case 0 | 1:\n{t[0]}\n  case m if m > 2:\n{t[1]}"),
        body.map(lambda text: f"with Held():\n{text}"),
    )


CONTROL = st.recursive(st.one_of(SIMPLE, SIMPLE, ENDS), compound, max_leaves=10)
AROUND = """log = []
class Own(Exception):
    pass
class Held:
    def __enter__(self):
        log.append('in')
    def __exit__(self, kind, value, trace):
        log.append(kind is None)
        return isinstance(value, Own)
def g(n):
{body}
    yield 'end'
try:
    items = []
    for item in g({start}):
        items.append(item)
except (ValueError, ZeroDivisionError, Own) as e:
    items.append(type(e).__name__)
return items, log"""


@examples(150)
@given(st.lists(CONTROL, min_size=1, max_size=3).map(_indented), st.integers(0, 9))
def test_generated_blocks_with_yields_run_as_in_python(body: str, start: int) -> None:
    code = AROUND.replace("{body}", body).replace("{start}", str(start))
    lines = code.replace("\n", "\n    ")
    run = python(f"def command():\n    {lines}\nreturn str(command())")
    assert run.unsupported or (run.fault, run.result) == ("", pythons(code))
