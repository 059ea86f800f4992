"""Spans and metrics of calls and other requests, where the user has a provider for them.

OpenTelemetry is never imported unless the user has imported it. The core has the names and attributes; this
module passes them to OpenTelemetry's API. An error of a provider is logged once, and the call continues.
"""

from __future__ import annotations

from sys import modules
from time import perf_counter

from ._bridge import finish
from ._errors import McpoolError
from ._native import telemetry_words

TYPE_CHECKING = False  # Not from typing: importing this package stays cheap.
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")

_WORDS = telemetry_words()
_made: dict[str, tuple[Any, Any]] = {}  # What was made of a provider, with the provider.
_MOST_FAILURES = 20
_failures: set[str] = set()  # What was logged.


def begin(read_facts: Callable[..., dict[str, Any] | None], *which: Any) -> CallSpan | None:
    """The span of a call or request that starts now; None if there is no provider."""
    span: CallSpan | None = _ignore_errors(_begin, read_facts, which)
    return span


def _begin(read_facts: Callable[..., dict[str, Any] | None], which: tuple[Any, ...]) -> CallSpan | None:
    tracer = _for_provider("opentelemetry.trace", "get_tracer_provider", _tracer)
    duration = _for_provider("opentelemetry.metrics", "get_meter_provider", _histogram)
    if tracer is None and duration is None:
        return None
    facts = read_facts(*which)
    return None if facts is None else CallSpan(tracer, duration, facts, lambda: read_facts(*which))


def _ignore_errors(function: Callable[..., Any], *arguments: object) -> Any:
    """The function's return value; None if it fails."""
    try:
        return function(*arguments)
    except Exception as error:
        import logging

        what = f"{type(error).__name__}: {error}"
        # Bounded, because a provider may put something new into each message.
        if what not in _failures and len(_failures) < _MOST_FAILURES:
            _failures.add(what)
            logging.getLogger("mcpool").warning("OpenTelemetry failed: %s", what, exc_info=True)
        return None


def _for_provider(part: str, getter: str, make: Callable[[Any], Any]) -> Any:
    """The object made from the user's provider, once per provider; None without one."""
    api = modules.get(part)
    provider = None if api is None else getattr(api, getter)()
    # The API's own default provider counts as none.
    if provider is None or type(provider).__module__.startswith(part):
        return None
    known = _made.get(part)
    if known is None or known[0] is not provider:
        known = _made[part] = (provider, make(provider))
    return known[1]


def _tracer(provider: Any) -> Any:
    return provider.get_tracer(_WORDS["scope"], _WORDS["version"])


def _histogram(provider: Any) -> Any:
    words = _WORDS["duration"]
    return provider.get_meter(_WORDS["scope"], _WORDS["version"]).create_histogram(
        words["name"],
        unit=words["unit"],
        description=words["description"],
        explicit_bucket_boundaries_advisory=words["boundaries"],
    )


class CallSpan:
    """The telemetry of one call or request: starts when it is created, ends with `follow` or `run`."""

    def __init__(
        self, tracer: Any, duration: Any, facts: dict[str, Any], again: Callable[[], dict[str, Any] | None]
    ) -> None:
        self._duration = duration
        self._facts = facts
        self._again = again
        self._begun = perf_counter()
        self._span: Any = None
        if tracer is not None:
            kind = modules["opentelemetry.trace"].SpanKind.CLIENT
            self._span = tracer.start_span(facts["span"], kind=kind, attributes=facts["attributes"])

    async def follow(
        self,
        start: Callable[..., Future[Answer]],
        given: tuple[object, ...],
        options: Mapping[str, Any],
    ) -> Answer:
        """Starts it with a meta that carries the span, and waits for its end."""
        with self:
            result: Answer = await finish(start(*given, self._with_span(options)))
            self._answered(result)
            return result

    def run(
        self,
        call: Callable[..., Answer],
        given: tuple[object, ...],
        options: Mapping[str, Any],
    ) -> Answer:
        """The same for a call that waits by itself."""
        with self:
            result = call(*given, self._with_span(options))
            self._answered(result)
            return result

    def _with_span(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """The options with a meta that carries the span; the caller's keys take precedence."""
        carrier: dict[str, Any] | None = None if self._span is None else _ignore_errors(self._carrier)
        meta = options.get("meta")
        # The core refuses what is not a mapping.
        if not carrier or not (meta is None or hasattr(meta, "keys")):
            return options
        return {**options, "meta": {**carrier, **(meta or {})}}

    def _carrier(self) -> dict[str, Any]:
        from opentelemetry import propagate, trace

        carrier: dict[str, Any] = {}
        propagate.inject(carrier, trace.set_span_in_context(self._span))
        return carrier

    def _answered(self, result: object) -> None:
        # Only results of tools say that they failed.
        is_error = getattr(result, "is_error", False)
        self._end({_WORDS["error_type"]: _WORDS["tool_error"]} if is_error else {}, None)

    def _end(self, failure: dict[str, str], description: str | None) -> None:
        seconds = perf_counter() - self._begun
        facts = self._facts if self._facts["complete"] else self._again() or self._facts
        if self._duration is not None:
            _ignore_errors(self._measure, seconds, {**facts["measured"], **failure})
        if self._span is not None:
            _ignore_errors(self._describe, facts, failure, description)
            _ignore_errors(self._span.end)

    def _measure(self, seconds: float, attributes: dict[str, Any]) -> None:
        self._duration.record(seconds, attributes, *self._context())

    def _describe(self, facts: dict[str, Any], failure: dict[str, str], description: str | None) -> None:
        self._span.set_attributes({**facts["attributes"], **failure})
        self._span.update_name(facts["span"])
        if failure:
            self._span.set_status(modules["opentelemetry.trace"].StatusCode.ERROR, description)

    def _context(self) -> tuple[Any, ...]:
        """The context of the span, so that a measurement can point to it."""
        return () if self._span is None else (modules["opentelemetry.trace"].set_span_in_context(self._span),)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            return
        if isinstance(error, McpoolError):
            failure = {_WORDS["error_type"]: error.code}
            if error.rpc is not None:
                status = str(error.rpc.code)
                failure = {_WORDS["error_type"]: status, _WORDS["status_code"]: status}
            # Its message may quote the server or contain its address.
            with_message = self._facts["error_messages"]
            self._end(failure, f"{error.code}: {error.message}" if with_message else error.code)
        else:
            # Not raised by us: a cancellation, unless the arguments are unusable.
            given_up = not isinstance(error, Exception)
            self._end({_WORDS["error_type"]: _WORDS["cancelled" if given_up else "other"]}, None)
