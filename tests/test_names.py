"""Names say a role: what a module or a script calls its values."""

import ast
import re
from collections.abc import Iterator

from .test_words import RETIRED, ROOT, SOURCE, parsed, retired

EVERYDAY = {"rest", "after"}
"""Retired words that a variable may have in its name: what is left of a list, what comes after something."""
ROLELESS = {"each", "found", "wish"}
"""Names that tell nothing of a value; `each` and `found` only within one comprehension."""
SCRIPT = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
    |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<pattern>(?<=[(=,:!&|?;{}\[\n])[ ]*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/)
    |(?P<mark>[`{}])""",
    re.S | re.X,
)
"""What may hold words that are no names, and what begins or ends a template."""
WORD = re.compile(r"\w+|\S")
TEMPLATE = re.compile(r"(?:\\.|(?!\$\{)[^`\\])*(`|\$\{)", re.S)
PARAMETERS = r"\(((?:[^()]|\([^()]*\))*)\)"
NO_WORD = r"(?!(?:if|for|while|switch|catch)\b)"
DECLARED = [
    re.compile(pattern, re.M)
    for pattern in (
        rf"\bfunction\s*\*?\s*\w*\s*{PARAMETERS}\s*\{{",
        rf"(?:^|[{{}};,])\s*(?:static\s+|async\s+|[gs]et\s+|\*\s*)*#?({NO_WORD}\w+\s*{PARAMETERS})\s*\{{",
        r"(?:^|[{};])\s*(?:static\s+)?#?(\w+)\s*(?:=(?![=>])|;)",
        r"\bthis\.#?(\w+)\s*=(?![=>])",
        rf"{PARAMETERS}\s*=>\s*\{{",
        r"\b(\w+)\s*=>\s*\{",
        r"\b(?:function\s*\*?|class|catch\s*\(|import|as)\s*(\w+)",
    )
]
"""Parameters, methods and fields, functions, classes and new names of what is imported."""


def assigned(tree: ast.Module) -> list[str]:
    """Every name that a module gives beyond one line: of parameters, variables, functions, classes and so on.

    A walrus within a comprehension gives its name outside of it.
    """
    short = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    within = {id(inner) for node in ast.walk(tree) if isinstance(node, short) for inner in ast.walk(node)}
    names: list[str | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.NamedExpr(target=ast.Name(id=name)):
                names.append(name)
            case _ if id(node) in within:
                continue
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.append(name)
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.append(name)
            case ast.ClassDef(name=name) | ast.MatchStar(name=name) | ast.MatchMapping(rest=name):
                names.append(name)
            case ast.ExceptHandler(name=name) | ast.alias(asname=name) | ast.MatchAs(name=name):
                names.append(name)
    return [name for name in names if name is not None]


def code_of(script: str) -> str:
    """JavaScript without comments and texts; what a template computes is code."""
    kept, place, depths = "", 0, [0]
    while token := SCRIPT.search(script, place):
        kept, place = kept + script[place : token.start()], token.end()
        mark = token["mark"]
        if mark is None:
            kept += "" if token["comment"] else '""'
            continue
        if mark == "`":
            depths.append(0)
        elif mark == "{" or depths[-1] > 0 or len(depths) == 1:
            kept += mark
            depths[-1] += 1 if mark == "{" else -1
            continue
        # A template begins, or goes on after what it computes.
        kept += ","
        end = TEMPLATE.match(script, place)
        assert end is not None, f"a template does not end: {script[place:][:60]}"
        place = end.end()
        if end[1] == "`":
            depths.pop()
    return kept + script[place:]


def variables(code: str) -> Iterator[str]:
    """What each `const`, `let` and `var` declares: all names of its list, without values and defaults."""
    for start in re.finditer(r"\b(?:const|let|var)\b", code):
        depth, value = 0, None
        for match in WORD.finditer(code, start.end()):
            word = match[0]
            depth += (word in "([{") - (word in ")]}")
            if depth < 0 or (depth == 0 and (word == ";" or (value is None and word in ("of", "in")))):
                break
            if value is not None and (depth < value or (depth == value and word == ",")):
                value = None
            elif value is None and word == "=":
                value = depth
            elif value is None and word.isidentifier():
                yield word


def declared(script: str) -> list[str]:
    """The same of JavaScript: all that is declared except parameters of a function of one expression."""
    code = code_of(script)
    lists = [re.sub(r"=[^,]*", "", match[1]) for pattern in DECLARED for match in pattern.finditer(code)]
    return [*variables(code), *(name for given in lists for name in re.findall(r"[A-Za-z_]\w*", given))]


def roleless(names: list[str]) -> list[str]:
    """Those of `ROLELESS`, and those with a word that names nothing any more."""
    old = RETIRED.keys() - EVERYDAY
    return sorted(name for name in names if name.lower() in ROLELESS or old & retired(name))


def named() -> dict[str, list[str]]:
    """The names of every module and script; those that follow the words of drafts are left out."""
    scripts = [path for root in (SOURCE, ROOT / "js", ROOT / "tests") for path in root.rglob("*.*js")]
    drafts = {"vdaf", "dap", "vendor", "node_modules"}
    paths = [path for path in (*SOURCE.rglob("*.py"), *scripts) if not drafts & {*path.parts}]
    return {
        path.relative_to(ROOT).as_posix(): assigned(parsed(path))
        if path.suffix == ".py"
        else declared(path.read_text(encoding="utf-8"))
        for path in paths
    }


def test_names_say_a_role():
    names = named()
    assert sum(path.endswith("js") for path in names) > 60
    assert not {path: old for path, each in names.items() if (old := roleless(each))}


PYTHON = {
    "found = 1\ndef spread_of(each): pass": ["each", "found", "spread_of"],
    "def f():\n  halves = growth = 1\n  try: self.corners = 2\n  except E as found: pass": [
        "corners",
        "found",
        "growth",
        "halves",
    ],
    "print([each for each in table], lambda each: each)\nrest = 1": [],
    "match x:\n  case [*found]: pass\n  case {**each}: pass\n  case [1, wish]: pass": [
        "each",
        "found",
        "wish",
    ],
    "print([found for part in table if (found := part)])": ["found"],
    "class Found: pass\nclass _Halves: pass": ["Found", "_Halves"],
    "from here import found, there as each": ["each"],
}
SCRIPTS = {
    "const found = 1;\nfor (const each of list) { let [a, spread] = each; }": ["each", "found", "spread"],
    "function corners(each, { doubt }) {}\nlist.map((found) => {\n  go();\n})": [
        "corners",
        "doubt",
        "each",
        "found",
    ],
    "const sum = list.map((each) => each + 1); // const found = 1": [],
    "let a = 1, found = 2;\nfor (let i = f(1, 2), each = 0; i < 2; i++) go();": ["each", "found"],
    "const { a = { found: 1 }, each } = given, [wish] = found;": ["each", "wish"],
    "class A {\n  found = 1;\n  #each;\n  static wish = 2;\n}": ["each", "found", "wish"],
    "x = { found() { go(); } }; class A { each = 1; }": ["each", "found"],
    "if (list.found) { go(); } while (a.each) { go(); }": [],
    "class A {\n  get found() {\n  }\n  static set #each(wish) {\n  }\n}": ["each", "found", "wish"],
    "class Found {\n  constructor() {\n    this.each = this.#wish = 1;\n  }\n}": ["Found", "each", "wish"],
    'const address = "http://x"; const found = 1;': ["found"],
    "const quote = /[/\"]/; const found = `//${list.map((x) => { const each = `'${x}`; })}`;": [
        "each",
        "found",
    ],
    "const text = `const found = ${x} let each = 1`, other = 'var wish = 1';": [],
    "import { a as found, each } from 'x'; import wish from 'y';": ["found", "wish"],
}


def test_a_name_without_a_role_is_noticed():
    """Negative control of the test above."""
    assert {code: roleless(assigned(ast.parse(code))) for code in PYTHON} == PYTHON
    assert {code: sorted(set(roleless(declared(code)))) for code in SCRIPTS} == SCRIPTS
