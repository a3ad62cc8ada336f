"""Help as plain text that fits a terminal: FILE and NUMBER, where typer prints Python's types."""

from __future__ import annotations

from typing import Any

WORDS = {"str": "TEXT", "int": "NUMBER", "float": "NUMBER", "Path": "FILE"}


def readable(command: Any) -> Any:
    """The same command, and all below it, with readable help."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            _name_argument(parameter)
        else:
            _name_option(parameter)
    for below in getattr(command, "commands", {}).values():
        readable(below)
    return command


def _name_argument(argument: Any) -> None:
    name = argument.metavar = argument.metavar or argument.name.upper()
    usage = f"{name}..." if argument.nargs != 1 and " " not in name else name
    argument.get_usage_pieces = lambda _: [usage]
    argument.display_type_rich = lambda **_: ""


def _name_option(option: Any) -> None:
    if option.is_flag:
        option.show_default = False
    elif option.metavar is None and hasattr(option, "bare_type"):
        kind = option.bare_type().removeprefix("list[").removesuffix("]")
        option.metavar = WORDS.get(kind, kind)
