"""The signatures of functions that take `**options`, for `help()`, notebooks and editors."""

from __future__ import annotations

from types import FunctionType

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from inspect import Signature
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., object])


def show_keywords(keywords: Mapping[str, tuple[str, object]], doc: str | None = None) -> Callable[[F], F]:
    """Shows these keywords in the signature in place of `**options`, and `doc` after the function's own.

    Type checkers read the TypedDict instead. The function itself stays as it is.
    """

    def show(function: F) -> F:
        function.__signature__ = LazySignature(function, keywords)  # type: ignore[attr-defined]
        if function.__doc__ and doc:
            own = "\n".join(line.strip() for line in function.__doc__.splitlines()).strip()
            function.__doc__ = f"{own}\n\nOptions:\n\n{doc}"
        return function

    return show


class LazySignature:
    """An `inspect.Signature` that is made when it is first read, because importing `inspect` takes long.

    It counts as an instance of that class and acts as one. Once it is made, the function has the real one.
    """

    def __init__(self, function: Any, keywords: Mapping[str, tuple[str, object]]) -> None:
        self._function = function
        self._keywords = keywords

    @property  # type: ignore[misc]
    def __class__(self) -> type[Signature]:  # type: ignore[override]
        from inspect import Signature

        return Signature

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make(), name)

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        """A copy is a real signature."""
        return self._make().__reduce_ex__(protocol)

    def __str__(self) -> str:
        return str(self._make())

    def __repr__(self) -> str:
        return repr(self._make())

    def __eq__(self, other: object) -> bool:
        return self._make() == other

    def __hash__(self) -> int:
        return hash(self._make())

    def _make(self) -> Signature:
        from inspect import Parameter, Signature

        function = self._function
        # A native class has no signature of its own.
        native = isinstance(function, type)
        own = Signature() if native else Signature.from_callable(_without_signature(function))
        taken = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        shown = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in self._keywords.items()
        ]
        made = own.replace(parameters=[*taken, *shown])
        function.__signature__ = made
        return made


def _without_signature(function: Any) -> FunctionType:
    copy = FunctionType(function.__code__, {}, function.__name__, function.__defaults__)
    copy.__annotations__ = function.__annotations__
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
