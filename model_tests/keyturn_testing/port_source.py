"""The source of `keyturn.port`, derived from the declared operations.

A protocol class cannot be typed and derived at the same time, so the module is written by this one and a test holds that
it is not stale.
"""

from typing import Literal, get_args, get_origin

from attrs import NOTHING, fields, resolve_types

from keyturn.operations import OPERATIONS, Operation
from keyturn.values import Document, Instant, Untrusted

_HEAD = '''"""The operations as Python methods: what an implementation in process offers.

Generated from `keyturn.operations`; do not edit: `python -m keyturn_testing.pages` writes it. A method is the operation's
name with an underscore, takes keyword arguments, and returns the result as a mapping or as an attrs value of the same
fields, at once or as an awaitable. What a system does not offer it leaves out, or raises `keyturn.errors.Unsupported`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from typing import Protocol, TypeAlias, cast

from keyturn.branches import Outcome
from keyturn.operations import Operation
from keyturn.values import Json
from keyturn.wire import read_operation, write_outcome

Answer: TypeAlias = Mapping[str, Json] | object | Awaitable[Mapping[str, Json] | object]
"""What a method may return: a mapping, a record of the same fields, or an awaitable of one."""
'''

_METHODS = '''

class OperationMethods(ABC):
    """The methods of the port for a store that performs operations as values."""

    @abstractmethod
    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation and return its outcome."""

    def _call(self, method: str, params: Mapping[str, object]) -> dict[str, Json]:
        return write_outcome(self.perform(read_operation(method, cast(Json, params))))
'''


def _hint(kind: object) -> str:
    arguments = get_args(kind)
    if get_origin(kind) is Literal:
        return "str"
    if type(None) in arguments:
        (inner,) = (each for each in arguments if each is not type(None))
        return f"{_hint(inner)} | None"
    if kind in (str, bool, float, int):
        return kind.__name__
    if kind in (Document, Untrusted):
        return "Json"
    supertype = getattr(kind, "__supertype__", None)
    if supertype is not None:
        return "str" if kind is Instant else str(supertype.__name__)
    return "str" if isinstance(kind, type) and issubclass(kind, str) else "Mapping[str, Json]"


def _parameters(operation: type[Operation]) -> list[tuple[str, str, bool]]:
    return [(each.name, _hint(each.type), each.default is NOTHING) for each in fields(resolve_types(operation))]


def _signature(operation: type[Operation]) -> str:
    written = [
        f"{name}: {hint}" if required else f"{name}: {hint.removesuffix(' | None')} | None = None"
        for name, hint, required in _parameters(operation)
    ]
    head = f"    def {operation.method.replace('.', '_')}("
    inline = f"{head}self{', *, ' if written else ''}{', '.join(written)}) -> "
    if len(inline) + len("dict[str, Json]:") <= 120:
        return inline
    return head + "\n        self,\n        *,\n" + "".join(f"        {each},\n" for each in written) + "    ) -> "


def _doc(operation: type[Operation]) -> str:
    return f'        """`{operation.method}`: {(operation.__doc__ or "").strip()}"""\n'


def _dictionary(operation: type[Operation]) -> str:
    names = [name for name, _, _ in _parameters(operation)]
    inline = "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"
    line = f'        return self._call("{operation.method}", {inline})\n'
    if len(line) <= 121:
        return line
    opened = "".join(f'            "{name}": {name},\n' for name in names)
    return f"        params = {{\n{opened}        }}\n" + f'        return self._call("{operation.method}", params)\n'


def port_source() -> str:
    """Return the whole source of `kernel/keyturn/port.py`."""
    port = "".join(f"\n{_signature(each)}Answer:\n{_doc(each)}        ...\n" for each in OPERATIONS)
    methods = "".join(f"\n{_signature(each)}dict[str, Json]:\n{_doc(each)}{_dictionary(each)}" for each in OPERATIONS)
    protocol = '\n\nclass Port(Protocol):\n    """What a system in process offers: one method an operation."""\n'
    return _HEAD + protocol + port + _METHODS + methods
