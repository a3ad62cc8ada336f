"""What import-linter cannot see: imports by name, and imports that only seem to be for type checkers."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "dpairs"
LOADERS = {
    *("import_module", "__import__", "reload", "resolve_name", "entry_points", "exec_module"),
    *("load_module", "spec_from_file_location", "SourceFileLoader", "runpy", "eval", "exec"),
}
"""What imports, or runs, a module that is given as a text."""
BY_NAME = {
    "cli/doctor.py": "tries whether each extra works, which only an import shows",
    "cli/extras.py": "imports what a command needs before anything is begun",
    "collector/__init__.py": "loads modules of its own when they are asked for",
    "formats/registry.py": "loads what other packages name in an entry point",
}
"""Who may, and why."""


def loaders(tree: ast.Module) -> set[str]:
    """Those that a module names: called, under another name, or as a text for getattr."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                names.add(name)
            case ast.ImportFrom(module=str(name)) | ast.Constant(value=str(name)):
                names.add(name)
            case ast.Subscript(value=ast.Attribute(attr="modules"), slice=key) if "dpairs" in ast.unparse(
                key
            ):
                return {"sys.modules"}
    return names & LOADERS


def seeming(tree: ast.Module) -> list[int]:
    """Lines where TYPE_CHECKING is not typing's, or has another branch, which runs and is not looked at."""
    lines = []
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="TYPE_CHECKING", ctx=ast.Store()) | ast.arg(arg="TYPE_CHECKING"):
                lines.append(node.lineno)
            case ast.Attribute(attr="TYPE_CHECKING", ctx=ast.Store()) | ast.Constant(value="TYPE_CHECKING"):
                lines.append(node.lineno)
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ExceptHandler() if (
                node.name == "TYPE_CHECKING"
            ):
                lines.append(node.lineno)
            case ast.MatchAs(name="TYPE_CHECKING") | ast.MatchStar(name="TYPE_CHECKING"):
                lines.append(node.lineno)
            case ast.MatchMapping(rest="TYPE_CHECKING"):
                lines.append(node.lineno)
            case ast.alias(asname="TYPE_CHECKING") | ast.alias(name="TYPE_CHECKING", asname=str()):
                lines.append(node.lineno)
            case ast.ImportFrom(module=home, names=names) if home != "typing":
                lines += [each.lineno for each in names if each.name == "TYPE_CHECKING"]
            case ast.If(test=test, orelse=[_, *_]) if "TYPE_CHECKING" in ast.unparse(test):
                lines.append(node.lineno)
    return lines


def modules() -> dict[str, ast.Module]:
    paths = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


def unseen(source: Path) -> set[Path]:
    """Folders with modules that import-linter takes for no packages, so no contract holds for them."""
    return {path.parent for path in source.rglob("*.py") if not (path.parent / "__init__.py").exists()}


def test_every_folder_of_modules_is_a_package():
    assert unseen(SOURCE) == set()


def test_a_folder_that_is_no_package_is_noticed(tmp_path):
    """Negative control."""
    for name in ("__init__.py", "seen/__init__.py", "seen/one.py", "hidden/one.py", "seen/hidden/one.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert unseen(tmp_path) == {tmp_path / "hidden", tmp_path / "seen" / "hidden"}


def test_only_some_modules_import_by_name():
    assert {path for path, tree in modules().items() if loaders(tree)} == set(BY_NAME)


def test_imports_for_type_checkers_do_not_run():
    assert {path: lines for path, tree in modules().items() if (lines := seeming(tree))} == {}


def test_what_the_layers_cannot_see_is_noticed():
    """Negative control of both tests above."""
    for code in (
        "import importlib\nimportlib.import_module('dpairs.study')",
        "from importlib import import_module as load\nload('.study', __package__)",
        "__import__('dpairs.study')",
        "getattr(builtins, '__import__')('dpairs.study')",
        "from runpy import run_module",
        "exec('import dpairs.study')",
        "sys.modules['dpairs.study'].Study",
    ):
        assert loaders(ast.parse(code)), code
    for code in (
        "TYPE_CHECKING = True\nif TYPE_CHECKING:\n  from .study import Study",
        "from .here import TYPE_CHECKING",
        "from .here import Yes as TYPE_CHECKING",
        "class TYPE_CHECKING: ...",
        "def TYPE_CHECKING(): ...",
        "async def TYPE_CHECKING(): ...",
        "try:\n  fail()\nexcept Exception as TYPE_CHECKING:\n  from .study import Study",
        "match 1:\n  case TYPE_CHECKING:\n    from .study import Study",
        "match 1:\n  case int() as TYPE_CHECKING:\n    from .study import Study",
        "match given:\n  case [*TYPE_CHECKING]:\n    from .study import Study",
        "match given:\n  case {**TYPE_CHECKING}:\n    from .study import Study",
        "typing.TYPE_CHECKING = True",
        "globals()['TYPE_CHECKING'] = True",
        "if typing.TYPE_CHECKING:\n  pass\nelse:\n  from .study import Study",
    ):
        assert seeming(ast.parse(code)), code
    plain = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  from .study import Study"
    assert not seeming(ast.parse(plain))
    assert not loaders(ast.parse("import importlib.metadata\nimport dpairs.study\nsys.modules['numba']"))
