"""One word, one meaning: the glossary against the code."""

import ast
import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer

import dpairs
from dpairs.cli.app import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dpairs"
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
ENTRY = re.compile(r"^(\S[^\n]*)\n:   (.*(?:\n    .*)*)", re.MULTILINE)
TERMS = dict(ENTRY.findall(GLOSSARY))
NOUNS = set(
    """
    Statistic, Domain, Mechanism, Protocol, Study, Report, Coins, Tally, Estimate, Privacy claim, Analyst,
    Participant, Collector, Pilot, Influence function, Vertex, Haar basis, Remainder, Kernel uncertainty,
    Deduplication, Estimate history, Lifecycle, Live study, Frame, Second round, Noise registry, Plan, Ledger,
    Engine, Round, Cell, Kernel, U-statistic
    """.strip()
    .replace("\n    ", " ")
    .split(", ")
)
"""The words of the design, and those that replaced others."""
RETIRED = {
    "surface": "influence function",
    "corner": "vertex",
    "halves": "Haar basis",
    "lane": "deduplication",
    "steering": "lifecycle",
    "growth": "estimate history",
    "wish": "enrolment",
    "placing": "row_sql",
    "choosing": "noise registry",
    "running": "live study",
    "making": "reproduce",
    "machine": "cpu",
    "bitround": "second round",
    "spread": "kernel uncertainty, standard error or deviation",
    "doubt": "kernel uncertainty, standard error or deviation",
    "rest": "remainder",
    "seal": "frame",
    "after": "OnCommit",
}
"""Words that named a module, a class or a function once, and the word that does now."""
RETIRED_PHRASES = {
    r"nothing over\b": "hand nothing over: say what stays where",
    r"\bnone of who\b": "not who",
    r"\b(this|these|those|the) very (people|person|runs?|study|file|message)\b": "this sample, this study",
    r"\bstands? below it\b": "shown below it",
    r"\ball but (?!one\b)|\b(everything|everybody) but\b|\bbut for\b": "except",
    r"\bperson is of\b": "person belongs to",
    r"\bis of another\b": "belongs to another",
    r"\bbe listened on\b": "cannot listen on",
    r"\b(not|be|is|was|were|been) looked into\b": "examined",
    r"\bfor all that (is known|\w+ \w+ tell)\b": "as far as is known",
    r"\bhow people lie\b": "where people are",
    r"\band its (kin|like)\b": "and similar ones",
    r"\basked, [\d.]+ used\b": "requested and derived",
    r"\b(it|this|that) is no (regular|study|tally|report|address|key|folder|bound|backup)\b": "is not a",
    r"\bwhoever\b": "anybody who, or the person who",
    r"\bunless said otherwise\b": "by default",
    r"\bone's own\b": "your own",
}
"""Phrases that no user reads any more, and what to write instead."""
SHARED = {"Gateway"}
"""Classes of one name that mean one thing: who sends for many, at the client and in a collector's answer."""


def parts(name: str) -> list[str]:
    """The words of a name: of `LiveStudy` and of `live_study`."""
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower())


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def classes() -> dict[str, list[str]]:
    """Where each class of the package is defined, those that begin with an underscore left out.

    Verified shares and DAP follow the words of the drafts that they implement, and are left out too.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in parsed(path).body:
            if {"vdaf", "dap"} & set(path.parts) or not isinstance(node, ast.ClassDef):
                continue
            if not node.name.startswith("_"):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    return places


def retired(name: str) -> set[str]:
    words = parts(name)
    return {old for old in RETIRED if old in words or old + "s" in words or old == "".join(words)}


def test_every_noun_of_the_design_is_explained():
    assert set(TERMS) >= NOUNS
    assert all(len(text.split()) >= 3 for text in TERMS.values())


def test_terms_are_sorted_and_given_once():
    names = [name for name, _ in ENTRY.findall(GLOSSARY)]
    assert names == sorted(names, key=str.lower)
    assert len(names) == len(set(names))
    assert len(names) == len(re.findall(r"^:   ", GLOSSARY, re.MULTILINE)), "an entry is not read"


def test_classes_that_the_glossary_names_exist():
    named = {
        name
        for text in TERMS.values()
        for names in re.findall(r"((?:`\w+`(?: and )?)+)\s+in\s+Python", text)
        for name in re.findall(r"`(\w+)`", names)
    }
    assert len(named) > 20
    assert named <= set(classes())


def test_a_class_has_one_meaning():
    twice = {name: places for name, places in classes().items() if len(places) > 1 and name not in SHARED}
    assert not twice


def functions() -> set[str]:
    """Every function and method, but those that follow the words of drafts."""
    paths = (path for path in SOURCE.rglob("*.py") if not {"vdaf", "dap"} & set(path.parts))
    nodes = (node for path in paths for node in ast.walk(parsed(path)))
    return {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_retired_words_name_no_module_no_class_and_no_function():
    modules = {path.stem for path in SOURCE.rglob("*.py")} | {path.name for path in SOURCE.iterdir()}
    found = {name: retired(name) for name in {*modules, *classes(), *functions()} if retired(name)}
    assert not found, found


def test_a_retired_word_is_noticed():
    """Negative control of the test above."""
    assert retired("Surface") == retired("surface_of") == {"surface"}
    assert retired("Corners") == {"corner"}
    assert retired("BitRound") == {"bitround"}
    assert retired("After") == retired("_ask_after") == {"after"}
    assert not retired("Planes")


def short_docstrings(tree: ast.Module) -> list[str]:
    """Docstrings of four words or fewer: too few for a formula, a promise or a reason."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
    return [text for text in texts if 0 < len(text.split()) <= 4]


def test_docstrings_say_something():
    short = {
        path.relative_to(SOURCE).as_posix(): short_docstrings(parsed(path)) for path in SOURCE.rglob("*.py")
    }
    assert not {path: texts for path, texts in short.items() if texts}
    # Negative control.
    assert short_docstrings(ast.parse('def f():\n    """The mechanism\'s own."""')) == [
        "The mechanism's own."
    ]


def messages(tree: ast.Module) -> str:
    """The words of a module that users read: its texts without docstrings, one in a line."""
    nodes = list(ast.walk(tree))
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return "\n".join(str(node.value) for node in texts if id(node) not in documentation)


def visible() -> dict[str, str]:
    """What users read, by file: pages, messages, help, and the collector's pages without their comments."""
    pages = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "js" / "README.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
    web = SOURCE / "collector" / "web"
    scripts = [path for path in web.rglob("*.js") if "vendor" not in path.parts]
    found = {path: path.read_text(encoding="utf-8") for path in [*pages, *web.rglob("*.html")]}
    found |= {path: messages(parsed(path)) for path in SOURCE.rglob("*.py")}
    for path in scripts:
        found[path] = re.sub(r"/\*.*?\*/|^\s*//.*?$", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    return {path.relative_to(ROOT).as_posix(): re.sub(r"\s+", " ", text) for path, text in found.items()}


def documented(thing: object) -> str:
    """What help() and the API reference show of a module, a class or a function."""
    inside = vars(thing).items() if inspect.isclass(thing) or inspect.ismodule(thing) else ()
    home = thing.__name__ if inspect.ismodule(thing) else None
    texts = [
        inspect.getdoc(member) or ""
        for name, member in inside
        if not name.startswith("_") and (home is None or getattr(member, "__module__", None) == home)
    ]
    return " ".join([inspect.getdoc(thing) or "", *texts])


def helped(command: Any) -> str:
    """The help of a command and of all below it."""
    below = getattr(command, "commands", {}).values()
    return " ".join([command.help or "", *(each.help or "" for each in command.params), *map(helped, below)])


def reference() -> dict[str, str]:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    names = [*(f"dpairs.{name}" for name in dpairs.__all__), *re.findall(r"^::: (\S+)", pages, re.MULTILINE)]
    texts = {name: documented(resolve_name(name)) for name in names}
    texts["--help"] = helped(typer.main.get_command(app))
    return {name: re.sub(r"\s+", " ", text) for name, text in texts.items()}


def old_phrases(text: str) -> list[str]:
    spelled = re.sub(r"`tests/[^`]*`", "", text)
    return [found[0] for phrase in RETIRED_PHRASES if (found := re.search(phrase, spelled, re.IGNORECASE))]


def test_users_read_no_retired_phrase():
    texts = visible() | reference()
    assert len(texts) > 250
    found = {name: old_phrases(text) for name, text in texts.items()}
    assert not {name: phrases for name, phrases in found.items() if phrases}


def test_a_retired_phrase_is_noticed():
    """Negative control of the test above."""
    assert old_phrases("HOST:PORT cannot be listened on: in use") == ["be listened on"]
    assert old_phrases("Whoever runs it has the data, but for the noise.") == ["but for", "Whoever"]
    assert messages(ast.parse('"""Whoever."""\nraise E("this is no tally")\n')) == "this is no tally"
    assert not old_phrases("There is no such study. This is not a tally. All but one.")
    assert old_phrases(documented(Riddle)) == ["these very people", "Whoever"]


class Riddle:
    """Whoever."""

    def member(self):
        """The mean of these very people."""
