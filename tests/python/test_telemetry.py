"""Calls as OpenTelemetry sees them: what `tests/telemetry` lists for every language."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import mcpool
import mcpool.blocking
import pytest
from fixture_server import PATIENCE, config, stdio, web
from opentelemetry import baggage, context, metrics, propagate, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

LISTED = json.loads((Path(__file__).parents[1] / "telemetry" / "calls.json").read_text())
KNOBS = ("--protocol", LISTED["shared"]["mcp.protocol.version"])


# What names no tool fails elsewhere before a call.
WAYS = [(name, "call_tool") for name in LISTED["calls"]] + [
    (name, way) for name in LISTED["calls"] if name != "unknown_tool" for way in ("call", "execute")
]


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **named), PATIENCE))

    return run


class Heard:
    """What the user's providers were told."""

    def __init__(self, exporter: InMemorySpanExporter, reader: InMemoryMetricReader) -> None:
        self.exporter, self.reader = exporter, reader

    def spans(self) -> list[ReadableSpan]:
        spans = [span for span in self.exporter.get_finished_spans() if span.kind == trace.SpanKind.CLIENT]
        self.exporter.clear()
        return spans

    def measured(self) -> list[dict[str, Any]]:
        data = self.reader.get_metrics_data()
        found = [] if data is None else data.resource_metrics
        points = [
            point
            for resource in found
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if (metric.name, metric.unit) == ("mcp.client.operation.duration", "s")
            for point in metric.data.data_points
        ]
        return [
            {"attributes": dict(p.attributes), "count": p.count, "bounds": list(p.explicit_bounds)}
            for p in points
        ]


@pytest.fixture(scope="session")
def providers() -> Heard:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracer_provider = TracerProvider()
    tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracer_provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    return Heard(exporter, reader)


@pytest.fixture
def heard(providers: Heard) -> Iterator[Heard]:
    providers.spans()
    yield providers
    providers.spans()


def manager(**options: Any) -> mcpool.Manager:
    return mcpool.Manager(config(s=stdio(*KNOBS)), cache_dir=False, pool=mcpool.Pool(), **options)


def check(span: ReadableSpan, listed: dict[str, Any]) -> None:
    failure = listed.get("failure", {})
    assert span.name == listed["span"]
    assert span.attributes == {**LISTED["shared"], "gen_ai.tool.name": listed["tool"], **failure}
    assert span.status.status_code.name.lower() == listed["status"]
    assert span.status.description == listed.get("description")
    assert not span.events


async def make_call(pool: mcpool.Manager, listed: dict[str, Any], way: str) -> None:
    timeout = listed["timeout_ms"] / 1000 if "timeout_ms" in listed else None
    match way:
        case "call_tool":
            call = pool.call_tool("s", listed["tool"], listed["arguments"], timeout=timeout)
        case "call":
            call = pool.call(f"mcp_s_{listed['tool']}", listed["arguments"], timeout=timeout)
        case _:
            tool = next(tool for tool in pool.get_tools() if tool.raw_name == listed["tool"])
            call = tool.execute(listed["arguments"], timeout=timeout)  # type: ignore[assignment]
    task = asyncio.ensure_future(call)
    if listed.get("cancel"):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize(("name", "way"), WAYS)
@on_a_loop
async def test_a_call_is_told_as_in_every_language(heard: Heard, name: str, way: str) -> None:
    listed = LISTED["calls"][name]
    async with manager() as pool:
        await pool.connect_all()
        before = {
            json.dumps(point["attributes"], sort_keys=True): point["count"] for point in heard.measured()
        }
        await make_call(pool, listed, way)
        (span,) = heard.spans()
        check(span, listed)
        told = {**span.attributes}  # type: ignore[dict-item]
        for left_out in listed.get("unmeasured", []):
            del told[left_out]
        (point,) = [point for point in heard.measured() if point["attributes"] == told]
        assert point["count"] == before.get(json.dumps(told, sort_keys=True), 0) + 1
        assert point["bounds"][:3] == [0.01, 0.02, 0.05]
    assert "the words of" not in span.to_json()


def test_blocking_calls_are_told_too(heard: Heard) -> None:
    with mcpool.blocking.Manager(config(s=stdio(*KNOBS)), cache_dir=False, pool=mcpool.Pool()) as pool:
        pool.connect_all()
        pool.call_tool("s", "echo", {"text": "hi"})
        pool.call("mcp_s_echo", {"text": "hi"})
        next(tool for tool in pool.get_tools() if tool.raw_name == "echo").execute_blocking({"text": "hi"})
        with pytest.raises(mcpool.ToolTimeoutError):
            pool.call_tool("s", "sleep", {"ms": 60_000}, timeout=0.05)
    *fine, late = heard.spans()
    assert len(fine) == 3
    for span in fine:
        check(span, LISTED["calls"]["ok"])
    check(late, LISTED["calls"]["timeout"])


@on_a_loop
async def test_the_callers_span_is_the_parent_and_the_server_gets_the_calls(heard: Heard) -> None:
    async with manager() as pool:
        await pool.connect_all()
        with trace.get_tracer("test").start_as_current_span("work") as work:
            token = context.attach(baggage.set_baggage("user", "alice"))
            results = await asyncio.gather(
                pool.call_tool("s", "meta"),
                pool.call_tool("s", "meta", meta={"mine": [1], "tracestate": "a=b"}),
            )
            context.detach(token)
        spans = {f"{span.context.span_id:016x}": span for span in heard.spans() if span.context}
        assert len(spans) == 2
        for result in results:
            version, trace_id, span_id, flags = json.loads(result.text)["traceparent"].split("-")
            assert (version, trace_id) == ("00", f"{work.get_span_context().trace_id:032x}")
            assert int(flags, 16) & trace.TraceFlags.SAMPLED
            parent = spans.pop(span_id).parent
            assert parent is not None and parent.span_id == work.get_span_context().span_id
        first, second = (json.loads(result.text) for result in results)
        assert first["baggage"] == second["baggage"] == "user=alice"
        assert (second["mine"], second["tracestate"]) == ([1], "a=b")


@on_a_loop
async def test_a_server_that_comes_up_for_a_call_is_told_of_at_its_end(heard: Heard) -> None:
    lazy = config(s=stdio(*KNOBS, lazy=True))
    async with mcpool.Manager(lazy, cache_dir=False, pool=mcpool.Pool()) as pool:
        await pool.call_tool("s", "echo", {"text": "hi"})
        (span,) = heard.spans()
        check(span, LISTED["calls"]["ok"])


@on_a_loop
async def test_of_a_url_only_host_and_port_are_told(heard: Heard) -> None:
    with web(*KNOBS) as url:
        servers = config(
            s={"url": f"{url}?token=swordfish", "headers": {"Authorization": "Bearer swordfish"}}
        )
        async with mcpool.Manager(servers, cache_dir=False, pool=mcpool.Pool()) as pool:
            await pool.connect_all()
            await pool.call_tool("s", "echo", {"text": "hi"})
    (span,) = heard.spans()
    host, port = url.split("/")[2].split(":")
    network = {"network.transport": "tcp", "network.protocol.name": "http"}
    where = {"server.address": host, "server.port": int(port)}
    assert span.attributes == {**LISTED["shared"], "gen_ai.tool.name": "echo", **network, **where}
    assert "swordfish" not in span.to_json()


@on_a_loop
async def test_a_failure_is_told_without_its_words_and_with_the_tools_name(heard: Heard) -> None:
    with web("--status", "500:tools/call") as url:
        servers = config(s={"url": f"{url}?token=swordfish"})
        async with mcpool.Manager(servers, cache_dir=False, pool=mcpool.Pool()) as pool:
            await pool.connect_all()
            echo = next(tool for tool in pool.get_tools() if tool.raw_name == "echo")
            assert (await echo.execute({"text": "hi"})).is_error
            await pool.disconnect("s")
            assert (await echo.execute({"text": "hi"})).is_error
            with pytest.raises(mcpool.ToolRejectedError):
                await pool.call(echo.name, {"text": "hi"})
    spans = heard.spans()
    described = [span.status.description for span in spans]
    assert described == ["CONNECTION_LOST", "TOOL_UNAVAILABLE", "TOOL_REJECTED"]
    for span in spans:
        assert span.name == "tools/call echo"
        assert span.attributes is not None and span.attributes["gen_ai.tool.name"] == "echo"
        assert "/mcp" not in span.to_json() and "Internal Server Error" not in span.to_json()


@pytest.mark.parametrize(("name", "way"), WAYS)
@on_a_loop
async def test_the_words_of_errors_are_told_where_asked_for(heard: Heard, name: str, way: str) -> None:
    listed = LISTED["calls"][name]
    if "message" in listed:
        listed = {**listed, "description": f"{listed['description']}: {listed['message']}"}
    async with manager(telemetry="error_messages") as pool:
        await pool.connect_all()
        await make_call(pool, listed, way)
    (span,) = heard.spans()
    check(span, listed)


@on_a_loop
async def test_the_words_of_errors_are_masked(heard: Heard) -> None:
    servers = config(s=stdio(*KNOBS, env={"API_TOKEN": "swordfish-42"}))
    options: dict[str, Any] = {"telemetry": "error_messages", "cache_dir": False, "pool": mcpool.Pool()}
    async with mcpool.Manager(servers, **options) as pool:
        await pool.connect_all()
        with pytest.raises(mcpool.ToolFailedError):
            await pool.call_tool("s", "rpc_error", {"code": -1, "message": "no swordfish-42 here"})
    (span,) = heard.spans()
    assert span.status.description == "TOOL_FAILED: no *** here"
    assert "swordfish" not in span.to_json()


@on_a_loop
async def test_it_can_be_switched_off(heard: Heard) -> None:
    async with manager(telemetry=False) as pool:
        await pool.connect_all()
        assert list(json.loads((await pool.call_tool("s", "meta")).text)) == ["progressToken"]
        await pool.get_tools()[0].execute({})
    assert heard.spans() == []


@on_a_loop
async def test_meta_that_is_no_object_is_refused_all_the_same(heard: Heard) -> None:
    async with manager() as pool:
        await pool.connect_all()
        with pytest.raises(mcpool.InvalidArgumentsError):
            await pool.call_tool("s", "echo", {"text": "hi"}, meta=[1])  # type: ignore[arg-type]
    (span,) = heard.spans()
    assert span.attributes is not None and span.attributes["error.type"] == "INVALID_ARGUMENTS"


REQUESTS = json.loads((Path(__file__).parents[1] / "telemetry" / "requests.json").read_text())
VERBS = [(group, verb) for group in ("requests", "failures") for verb in REQUESTS[group]]


def offering(**fields: Any) -> dict[str, Any]:
    return config(s=stdio(*KNOBS, "--offers", env={"API_TOKEN": "tuna-fish-43"}, **fields))


def check_request(heard: Heard, listed: dict[str, Any]) -> None:
    (span,) = heard.spans()
    assert span.name == listed["span"]
    attributes = {**REQUESTS["shared"], **listed["attributes"]}
    assert span.attributes == attributes
    assert span.status.is_ok is ("error.type" not in attributes)
    assert not re.search("swordfish|tuna", span.to_json())
    told = {name: value for name, value in attributes.items() if name not in listed.get("unmeasured", [])}
    assert told in [point["attributes"] for point in heard.measured()]


@pytest.mark.parametrize(("group", "verb"), VERBS)
@pytest.mark.parametrize("lazy", [False, True])
@on_a_loop
async def test_a_request_is_told_as_in_every_language(
    heard: Heard, group: str, verb: str, lazy: bool
) -> None:
    listed = REQUESTS[group][verb]
    async with mcpool.Manager(offering(lazy=lazy), cache_dir=False, pool=mcpool.Pool()) as pool:
        if not lazy:
            await pool.connect_all()
        with contextlib.suppress(mcpool.ToolFailedError):
            await getattr(pool, verb)("s", *listed["arguments"])
        check_request(heard, listed)


@pytest.mark.parametrize(("group", "verb"), VERBS)
def test_a_blocking_request_is_told_too(heard: Heard, group: str, verb: str) -> None:
    listed = REQUESTS[group][verb]
    with mcpool.blocking.Manager(offering(), cache_dir=False, pool=mcpool.Pool()) as pool:
        pool.connect_all()
        with contextlib.suppress(mcpool.ToolFailedError):
            getattr(pool, verb)("s", *listed["arguments"])
        check_request(heard, listed)


@on_a_loop
async def test_requests_carry_their_span(heard: Heard) -> None:
    async with mcpool.Manager(offering(), cache_dir=False, pool=mcpool.Pool()) as pool:
        await pool.connect_all()
        with trace.get_tracer("test").start_as_current_span("work") as work:
            (content,) = await pool.read_resource("s", "fixture://meta")
            (template,) = await pool.list_resource_templates("s")
        metas = [json.loads(content.text or ""), template.raw["_meta"]["asked"]]
        for meta, span in zip(metas, heard.spans(), strict=True):
            assert span.context is not None and span.parent is not None
            assert span.parent.span_id == work.get_span_context().span_id
            assert meta["traceparent"].split("-")[2] == f"{span.context.span_id:016x}"


@on_a_loop
async def test_requests_that_only_set_something_are_not_told(heard: Heard) -> None:
    async with mcpool.Manager(offering(), cache_dir=False, pool=mcpool.Pool(), telemetry=False) as pool:
        await pool.connect_all()
        (content,) = await pool.read_resource("s", "fixture://meta")
        assert content.text == "null"
    async with mcpool.Manager(offering(), cache_dir=False, pool=mcpool.Pool()) as pool:
        await pool.connect_all()
        await pool.subscribe_resource("s", "fixture://greeting")
    assert heard.spans() == []


CALLS = """
import asyncio, sys, mcpool
{before}
async def main():
    config = {{"mcpServers": {{"s": {{"command": {program!r}, "args": ["stdio"]}}}}}}
    async with mcpool.Manager(config, cache_dir=False) as manager:
        await manager.connect_all()
        print("traceparent" in (await manager.call_tool("s", "meta")).text)
asyncio.run(main())
print(sorted(name for name in sys.modules if name.startswith("opentelemetry") or name == "mcpool._telemetry"))
"""


def ran(before: str) -> list[str]:
    program = stdio()["command"]
    code = CALLS.format(before=before, program=program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_nothing_is_loaded_for_users_without_opentelemetry() -> None:
    assert ran("") == ["False", "[]"]


def test_the_api_without_a_provider_is_as_good_as_none() -> None:
    has_trace, loaded = ran("import opentelemetry.trace, opentelemetry.metrics")
    assert has_trace == "False"
    assert "opentelemetry.propagate" not in loaded


class Broken:
    """A provider, and all that is made of it, that raises where it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def act(*_: object, **__: object) -> Broken:
            if name == self.where:
                raise RuntimeError(f"{name} is broken")
            return self

        return act


@pytest.mark.parametrize(
    "where", ["get_tracer", "start_span", "inject", "update_name", "end", "get_meter", "record"]
)
def test_a_broken_provider_breaks_no_call(
    where: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken(where)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: broken)
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: broken)
    monkeypatch.setattr(propagate, "inject", broken.inject)
    with mcpool.blocking.Manager(config(a=stdio()), pool=mcpool.Pool(), cache_dir=False) as manager:
        manager.connect_all()
        (echo,) = (tool for tool in manager.get_tools() if tool.raw_name == "echo")
        for _ in range(2):
            assert manager.call_tool("a", "echo", {"text": "x"}).text == "x"
            assert not echo.execute_blocking({"text": "x"}).is_error
            assert not asyncio.run(echo.execute({"text": "x"})).is_error
        assert echo.execute_blocking({"text": object()}).is_error
    told = [record for record in caplog.records if "OpenTelemetry failed" in record.message]
    assert len(told) == 1 and f"{where} is broken" in told[0].message
