"""Writes the Python reference from stubs and docstrings to standard output.

Signatures are read off the source, so that they are shown as they were written; what the native module's stub
does not say in words is said by the module itself.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "mcpool"
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign | ast.Assign


def public_modules() -> list[str]:
    """The modules that users import, in the order of the reference."""
    adapters = PACKAGE / "adapters"
    named = sorted(path.stem for path in adapters.glob("[a-z]*.py")) if adapters.is_dir() else []
    modules = ["mcpool", "mcpool.blocking", "mcpool.config", "mcpool.blocking.config"]
    return [*modules, *(f"mcpool.adapters.{name}" for name in named)]


def source_of(module: str) -> Path:
    """The file that says most about a module: its stub where there is one."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    candidates = [path.with_suffix(".pyi"), path.with_suffix(".py"), path / "__init__.py"]
    return next(candidate for candidate in candidates if candidate.is_file())


class Module:
    """The definitions of a source file, and where its other names come from."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.path = source_of(name)
        self.tree = ast.parse(self.path.read_text())
        self.definitions: dict[str, Definition] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        self.added_exports: list[str] = []
        self._read(self.tree.body)

    def _read(self, body: list[ast.stmt]) -> None:
        for node in body:
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    self.definitions.setdefault(node.name, node)
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    self.definitions.setdefault(name, node)
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    where = self._absolute(node)
                    self.imports.update({name: (where, name) for name in module(where).exported()})
                case ast.ImportFrom():
                    for alias in node.names:
                        self.imports[alias.asname or alias.name] = (self._absolute(node), alias.name)
                case ast.AugAssign(target=ast.Name(id="__all__")):
                    self.added_exports += ast.literal_eval(node.value)
                case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Try():
                    self._read(node.body)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if node.level == 0:
            return node.module or ""
        parts = self.name.split(".")
        base = parts if self.path.name == "__init__.py" else parts[:-1]
        base = base[: len(base) - (node.level - 1)]
        return ".".join([*base, *([node.module] if node.module else [])])

    def exported(self) -> list[str]:
        """What the module offers: its `__all__`, or all that has no underscore."""
        listed = self.definitions.get("__all__")
        if isinstance(listed, ast.Assign):
            return sorted([*(str(name) for name in ast.literal_eval(listed.value)), *self.added_exports])
        return [name for name in self.definitions if not name.startswith("_")]


_modules: dict[str, Module] = {}


def module(name: str) -> Module:
    if name not in _modules:
        _modules[name] = Module(name)
    return _modules[name]


def find(where: str, name: str) -> tuple[Module, Definition] | None:
    """The definition behind a name, however many modules it was handed through."""
    found = module(where)
    if name in found.definitions:
        return found, found.definitions[name]
    handed_on = found.imports.get(name, ("", ""))
    if not handed_on[0].startswith("mcpool") or handed_on == (where, name):
        return None
    return find(*handed_on)


def one_line(node: ast.AST) -> str:
    return re.sub(r"\s+", " ", ast.unparse(node))


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, *, method: bool) -> str:
    arguments = copy.deepcopy(node.args)
    is_static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    if method and not is_static:
        places = arguments.posonlyargs or arguments.args
        del places[:1]
    returns = f" -> {one_line(node.returns)}" if node.returns else ""
    kind = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{kind}{node.name}({one_line(arguments)}){returns}"


def words(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, live: object) -> str:
    """The docstring; the native module has its own. A line that begins with a name stays a line."""
    said = ast.get_docstring(node) or (inspect.getdoc(live) if live is not None else None) or ""
    return re.sub(r"\n(?=`)", "  \n", said)


def members(found: Module, node: ast.ClassDef, live: object, owner: str) -> list[str]:
    lines: list[str] = []
    for base in node.bases:
        if isinstance(base, ast.Name) and (parent := find(found.name, base.id)):
            inner = parent[1]
            if isinstance(inner, ast.ClassDef):
                lines += members(parent[0], inner, live, owner)
    for item, after in zip(node.body, [*node.body[1:], None], strict=True):
        match item:
            case ast.AnnAssign(target=ast.Name(id=name)):
                lines.append(f"- `{name}: {one_line(item.annotation)}`{field_words(after)}")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                lines += member(owner, item, live)
    return lines


def field_words(after: ast.stmt | None) -> str:
    """The docstring of a field is the statement after it."""
    match after:
        case ast.Expr(value=ast.Constant(value=str(said))):
            return "  \n  " + re.sub(r"\s+", " ", said)
    return ""


def member(owner: str, item: ast.FunctionDef | ast.AsyncFunctionDef, live: object) -> list[str]:
    name = item.name
    is_maker = name in ("__init__", "__new__")
    if (name.startswith("_") and not is_maker) or (is_maker and is_made_by_us(item)):
        return []
    doc = words(item, None if is_maker else getattr(live, name, None)).replace("\n", "\n  ")
    decorators = {one.id for one in item.decorator_list if isinstance(one, ast.Name)}
    if "property" in decorators:
        head = f"{name}: {one_line(item.returns) if item.returns else ''}"
    elif is_maker:
        head = re.sub(r"^__\w+__", owner, signature(item, method=True)).split(" -> ")[0]
    else:
        head = signature(item, method=True)
    return [f"- `{head}`" + (f"  \n  {doc}" if doc else "")]


def is_made_by_us(maker: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether only the package itself can make such an object."""
    return bool(re.search(r"\bNative|\bNamed\b|\bmake\b", one_line(maker.args)))


def is_error(where: str, name: str) -> bool:
    """Adapters have none, and cannot be imported without their frameworks."""
    package = importlib.import_module("mcpool")
    live = getattr(package, name, None) if where == "mcpool" else None
    base = package.McpoolError
    return isinstance(live, type) and issubclass(live, base) and live is not base


def section(where: str, name: str) -> list[str]:
    found = find(where, name)
    if found is None:
        return []
    source, node = found
    live = getattr(importlib.import_module(source.name), name, None) if source.path.suffix == ".pyi" else None
    lines = [f"### {name}", ""]
    match node:
        case ast.ClassDef():
            lines += [words(node, live), "", *members(source, node, live, name), ""]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            lines += [f"`{signature(node, method=False)}`", "", words(node, live), ""]
        case _:
            lines += [f"`{one_line(node)}`", ""]
    return lines


def errors(where: str, names: list[str]) -> list[str]:
    rows = []
    for name in names:
        live = getattr(importlib.import_module(where), name)
        rows.append(f"| `{name}` | `{live.code}` |")
    return ["### Errors", "", "| class | code |", "|---|---|", *rows, ""] if rows else []


def option_types() -> list[str]:
    """The keywords that functions take as `**options`; a type that extends another one names it."""
    options = module("mcpool._options")
    lines: list[str] = []
    for name, node in options.definitions.items():
        if isinstance(node, ast.ClassDef):
            own = copy.deepcopy(node)
            own.bases = []
            base = one_line(node.bases[0])
            also = "" if base == "TypedDict" else f" It has the options of `{base}` too."
            lines += [f"### {name}", "", words(node, None) + also, "", *members(options, own, None, name), ""]
    return lines


def main() -> None:
    out = [
        "# Python reference",
        "",
        "Made from the stubs and docstrings of the package by `make reference`.",
        "",
    ]
    told: set[int] = set()
    for name in public_modules():
        exported = module(name).exported()
        found = {one: find(name, one) for one in exported}
        known = {one: hit for one, hit in found.items() if hit and id(hit[1]) not in told}
        told |= {id(hit[1]) for hit in known.values()}
        classes = [one for one in known if is_error(name, one)]
        out += [f"## `{name}`", ""]
        about = ast.get_docstring(module(name).tree)
        if about:
            out += [about.split("\n\n")[0], ""]
        for one in known:
            if one not in classes and not one.startswith("_"):
                out += section(name, one)
        if name == "mcpool":
            out += option_types()
        out += errors(name, classes)
    print("\n".join(out).rstrip())


main()
