"""Checks of the sources themselves: what may import what, what the kernel must not touch, and how long things may be.

Each check reads a tree of files, the repository or one that a test planted, and gives every problem that it finds. A
problem says where it is, what is there, and what to do about it, so that one run shows all the work.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

FILE_LINES = 400
FUNCTION_LINES = 60

SOURCE_ROOTS = ("kernel", "specs", "model_tests")
PLUGIN = "model_tests/_keyturn_pytest.py"
CORE = frozenset({"attr", "attrs", "cattr", "cattrs", "rfc8785", "statemachine"})


class Ring(NamedTuple):
    """What one of our packages may import besides itself and the standard library."""

    ours: frozenset[str]
    # None = anything: the extra `check` brings it.
    others: frozenset[str] | None


RINGS: Mapping[str, Ring] = {
    "keyturn": Ring(frozenset(), CORE),
    "keyturn_sql": Ring(frozenset({"keyturn"}), CORE | {"psycopg", "sqlalchemy"}),
    "keyturn_specs": Ring(frozenset({"keyturn"}), CORE),
    "keyturn_testing": Ring(frozenset({"keyturn", "keyturn_sql", "keyturn_specs"}), None),
    "_keyturn_pytest": Ring(frozenset({"keyturn", "keyturn_sql", "keyturn_specs", "keyturn_testing"}), None),
}
# Names that only work from inside the checkout.
UNSHIPPED = frozenset({"bench", "kernel", "model_tests", "noxfile", "specs", "suite"})

# What the kernel must not import, and what it does instead.
_AS_ARGUMENT = "take it as an argument"
_BY_CALLER = "let the caller do that; the kernel is pure"
IMPURE_MODULES: Mapping[str, str] = {
    **dict.fromkeys(("calendar", "locale", "platform", "sched", "time", "zoneinfo"), _AS_ARGUMENT),
    **dict.fromkeys(("getpass", "random", "secrets", "uuid"), _AS_ARGUMENT),
    **dict.fromkeys(("fileinput", "glob", "io", "mmap", "os", "pathlib", "shutil", "tempfile"), _BY_CALLER),
    **dict.fromkeys(("dbm", "pickle", "shelve", "sqlite3"), _BY_CALLER),
    **dict.fromkeys(("ftplib", "http", "select", "selectors", "smtplib", "socket", "ssl", "urllib"), _BY_CALLER),
    **dict.fromkeys(("asyncio", "concurrent", "multiprocessing", "queue", "threading"), _BY_CALLER),
    **dict.fromkeys(("_thread", "ctypes", "pty", "signal", "subprocess"), _BY_CALLER),
    "importlib": "import at the top of the module, by name",
    "logging": "return what happened, as a value",
}
IMPURE_BUILTINS: Mapping[str, str] = {
    **dict.fromkeys(("__import__", "breakpoint", "compile", "eval", "exec"), "write the code out"),
    **dict.fromkeys(("input", "open"), _BY_CALLER),
    "print": "return what happened, as a value",
}
CLOCK_TYPES = frozenset({"date", "datetime"})
CLOCK_METHODS = frozenset({"now", "today", "utcnow"})


class Problem(NamedTuple):
    """One thing that is not as it should be."""

    path: str
    line: int
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}: {self.advice}"


class Import(NamedTuple):
    """One module that a module imports, by its full name; `at_start` when importing the one imports the other."""

    line: int
    name: str
    at_start: bool

    @property
    def top(self) -> str:
        """The first part of the name."""
        return self.name.partition(".")[0]


# ---- Which files ----------------------------------------------------------------------------------------------------


def project_files(root: Path) -> list[str]:
    """Every file of the project by its path from the root: what git tracks or would, or everything without git."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return sorted({name for name in listed.stdout.split("\0") if name and (root / name).is_file()})
    return sorted(_walk(root))


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        # Caches and environments are hidden or known by name; CI's own folder is hidden and ours.
        folders[:] = [name for name in folders if name == ".ci" or not re.match(r"\.|__pycache__$|_build$", name)]
        for name in names:
            yield (Path(folder) / name).relative_to(root).as_posix()


def modules(root: Path, *under: str) -> list[str]:
    """The Python files of the project, or those under the given folders."""
    files = (path for path in project_files(root) if path.endswith(".py"))
    return [path for path in files if not under or any(path.startswith(f"{folder}/") for folder in under)]


def _parse(root: Path, path: str) -> ast.Module:
    return ast.parse((root / path).read_text(encoding="utf-8"), filename=path)


# ---- What imports what ----------------------------------------------------------------------------------------------


def imports(tree: ast.Module, package: tuple[str, ...]) -> Iterator[Import]:
    """Every import of a module in `package`: lazy ones too, those for the type checker, and those by a written name."""
    lazy = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or _is_for_type_checker(outer)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        for name in _imported(node, package):
            yield Import(getattr(node, "lineno", 1), name, id(node) not in lazy)


def _is_for_type_checker(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _imported(node: ast.AST, package: tuple[str, ...]) -> Iterable[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=0):
            return [f"{module}.{alias.name}" for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            base = (*package[: len(package) - level + 1], *([module] if module else []))
            return [".".join((*base, alias.name)) for alias in names]
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
            called = ast.unparse(function)
            return [name] if called in {"__import__", "import_module", "importlib.import_module"} else []
        case _:
            return []


def import_problems(root: Path) -> list[Problem]:
    """Imports that run against the direction: keyturn, then keyturn_sql and keyturn_specs, then keyturn_testing."""
    problems = []
    for path in modules(root):
        source_root, *inside = path.removesuffix(".py").split("/")
        package = tuple(inside[:-1]) if source_root in SOURCE_ROOTS else ()
        for found in imports(_parse(root, path), package):
            problem = _judge_import(path, inside[0] if inside else "", found)
            if problem is not None:
                problems.append(problem)
    return problems


def _judge_import(path: str, importer: str, found: Import) -> Problem | None:
    ring = RINGS.get(importer)
    relative_in_suite = importer == found.top == "suite"
    if found.top in UNSHIPPED and not relative_in_suite and (ring or found.top in {"model_tests", "suite"}):
        return Problem(path, found.line, f"imports {found.name}", "never shipped; put what is common in a package")
    if ring is None or found.top == importer:
        return None
    if found.top in RINGS:
        if found.top not in ring.ours:
            return Problem(path, found.line, f"imports {found.name}", f"{importer} may not know it; turn it around")
        if path == PLUGIN and found.at_start:
            return Problem(path, found.line, f"imports {found.name} at once", "import it where it is used")
        return None
    if found.top in sys.stdlib_module_names or ring.others is None or found.top in ring.others:
        return None
    allowed = ", ".join(sorted(ring.others))
    return Problem(path, found.line, f"imports {found.name}", f"{importer} is installed with {allowed} only")


# ---- The kernel is pure ---------------------------------------------------------------------------------------------


def purity_problems(root: Path) -> list[Problem]:
    """Clocks, chance, files, processes and the like under kernel/keyturn."""
    problems: list[Problem] = []
    for path in modules(root, "kernel/keyturn"):
        tree = _parse(root, path)
        problems.extend(
            Problem(path, found.line, f"imports {found.name}", IMPURE_MODULES[found.top])
            for found in imports(tree, tuple(path.split("/")[1:-1]))
            if found.top in IMPURE_MODULES
        )
        problems.extend(
            Problem(path, node.lineno, f"uses {ast.unparse(node)}", advice)
            for node in ast.walk(tree)
            if isinstance(node, ast.expr) and (advice := _impure(node))
        )
    return problems


def _impure(node: ast.expr) -> str | None:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return IMPURE_BUILTINS.get(name)
        case ast.Call(func=ast.Attribute(attr=method)) if method in CLOCK_METHODS:
            return "take the time as an argument"
        case ast.Call(func=ast.Attribute(attr="astimezone"), args=[], keywords=[]):
            return "name the zone; without one this asks the machine"
        # Handed on without a call, as a factory may be.
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method) if name in CLOCK_TYPES:
            return "take the time as an argument" if method in CLOCK_METHODS else None
        case _:
            return None


# ---- How long things are --------------------------------------------------------------------------------------------


def size_problems(root: Path, exceptions: Mapping[str, int]) -> list[Problem]:
    """Files and functions that are too long.

    `exceptions` gives the present length of those that are longer: ``path`` for a file, ``path::Class.method`` for a
    function. They may not grow, and when they shrink their entry must follow.
    """
    problems = []
    seen = set()
    for path in modules(root):
        text = (root / path).read_text(encoding="utf-8")
        sizes = [(path, 1, len(text.splitlines()), FILE_LINES)]
        for name, line, length in _functions(ast.parse(text, filename=path)):
            sizes.append((f"{path}::{name}", line, length, FUNCTION_LINES))
        for key, line, length, limit in sizes:
            entry = exceptions.get(key) if length > limit or key not in seen else None
            seen.add(key)
            problem = _judge_size(length, limit, entry)
            if problem is not None:
                what, advice = problem
                problems.append(Problem(path, line, f"{key.rpartition('::')[2]} {what}", advice))
    gone = sorted(exceptions.keys() - seen)
    problems.extend(Problem(key.partition("::")[0], 1, f"{key} is not there", "remove its entry") for key in gone)
    return problems


def _judge_size(length: int, limit: int, entry: int | None) -> tuple[str, str] | None:
    if entry is None:
        return (f"has {length} lines", f"the limit is {limit}; split it") if length > limit else None
    if length > entry:
        return f"grew from {entry} to {length} lines", "it is an exception already; split it"
    if length <= limit:
        return f"has {length} lines", f"that is within the limit of {limit}; remove its entry"
    return (f"shrank from {entry} to {length} lines", "lower its entry") if length < entry else None


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, int, int]]:
    """Every function with its name, its first line and its length from ``def`` to its end."""
    for node in ast.iter_child_nodes(tree):
        inner = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{prefix}{node.name}."
            if not isinstance(node, ast.ClassDef):
                yield inner.removesuffix("."), node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1
        yield from _functions(node, inner)


# ---- What is written ------------------------------------------------------------------------------------------------


def docstring_problems(root: Path) -> list[Problem]:
    """Modules under kernel/ and specs/ that do not open with what they are about, in two sentences or more."""
    problems = []
    for path in modules(root, "kernel", "specs"):
        text = ast.get_docstring(_parse(root, path))
        sentences = len(re.findall(r"[.!?][)\"'`*]*(?=\s|$)", re.sub(r"\b(e\.g|i\.e|etc|vs)\.", "", text or "")))
        if sentences < 2:
            found = "opens without a docstring" if text is None else f"opens with {sentences} sentence(s)"
            problems.append(Problem(path, 1, found, "say in two or more what the module is about, and how it works"))
    return problems


def mention_problems(root: Path, phrases: Iterable[str]) -> list[Problem]:
    """Lines of any file of the project that mention one of the phrases."""
    wanted = tuple(phrases)
    problems: list[Problem] = []
    for path in project_files(root):
        text = (root / path).read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            problems.extend(
                Problem(path, number, f"mentions {phrase}", "say it without: that place is not part of the project")
                for phrase in wanted
                if phrase in line
            )
    return problems
