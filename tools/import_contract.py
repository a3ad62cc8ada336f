"""A contract of import-linter: which packages of others a module may import.

Forbidding packages by name lets in every package that nobody thought of. Here whatever is not named is
refused, and so is a name that nothing needs any more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class PackagesContract(Contract):
    """``everywhere`` are packages for all modules, ``beside`` further ones: "module: package, package".

    A module stands for all that is below it. The standard library is always allowed.
    """

    type_name = "packages"
    everywhere: Any = fields.SetField(subfield=fields.StringField())
    beside: Any = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        given = [line.partition(":") for line in self.beside or ()]
        unused = {(module.strip(), name.strip()) for module, _, names in given for name in names.split(",")}
        allowed = set(unused)
        wrong = []
        for module, package in _outside(graph):
            reasons = {
                pair for pair in allowed if pair[1] == package and f"{module}.".startswith(f"{pair[0]}.")
            }
            unused -= reasons
            if not reasons and package not in self.everywhere:
                wrong.append(f"{module} may not import {package}")
        wrong += [f"{module} does not import {package} any more" for module, package in unused]
        return ContractCheck(kept=not wrong, metadata={"wrong": sorted(wrong)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for sentence in check.metadata["wrong"]:
            output.print_error(sentence, bold=False)


def _outside(graph: ImportGraph) -> Iterator[tuple[str, str]]:
    """Every module of ours, with each package of others that it imports."""
    for module in sorted(graph.modules):
        if not graph.is_module_squashed(module):
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                package = imported.split(".")[0]
                if graph.is_module_squashed(imported) and package not in sys.stdlib_module_names:
                    yield module, package
