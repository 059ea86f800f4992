// Calls as OpenTelemetry sees them: what `tests/telemetry` lists for every language.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { InvalidArgumentsError, ToolFailedError } from 'mcpool';
import { fixture, manage, root, server } from './support.mjs';
import { Web } from './web.mjs';

const { shared, calls } = JSON.parse(readFileSync(join(root, 'tests/telemetry/calls.json'), 'utf8'));
const knobs = ['--protocol', shared['mcp.protocol.version']];
const exporter = new InMemorySpanExporter();
const measurements = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter: measurements, exportIntervalMillis: 3_600_000 });

before(() => {
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
  propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
});

beforeEach(async () => {
  await reader.forceFlush();
  measurements.reset();
  exporter.reset();
});

const spans = () => exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.CLIENT);

async function measured() {
  await reader.forceFlush();
  const all = measurements.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
  const found = all.flatMap((scope) => scope.metrics).filter(({ dataPoints }) => dataPoints.length > 0);
  assert.deepEqual(
    found.map(({ descriptor: { name, unit } }) => [name, unit]),
    [['mcp.client.operation.duration', 's']],
  );
  return found[0].dataPoints;
}

function check(span, listed) {
  assert.equal(span.name, listed.span);
  assert.deepEqual(span.attributes, { ...shared, 'gen_ai.tool.name': listed.tool, ...listed.failure });
  assert.equal(SpanStatusCode[span.status.code].toLowerCase(), listed.status);
  assert.equal(span.status.message, listed.description);
  assert.deepEqual(span.events, []);
}

async function makeCall(manager, listed, way) {
  const giveUp = new AbortController();
  const options = { timeoutMs: listed.timeout_ms, signal: giveUp.signal };
  const tool = manager.getTools().find(({ rawName }) => rawName === listed.tool);
  const call = {
    callTool: () => manager.callTool('s', listed.tool, listed.arguments, options),
    call: () => manager.call(tool.name, listed.arguments, options),
    execute: () => tool.execute(listed.arguments, options),
  }[way]();
  if (listed.cancel) giveUp.abort();
  await call.catch(() => {});
}

for (const way of ['callTool', 'call', 'execute']) {
  for (const [name, listed] of Object.entries(calls)) {
    // What names no tool fails elsewhere before a call.
    if (name === 'unknown_tool' && way !== 'callTool') continue;
    test(`a call is told as in every language: ${name} with ${way}`, async (t) => {
      const manager = manage(t, { s: server(...knobs) });
      await manager.connectAll();
      await makeCall(manager, listed, way);
      const [span, ...more] = spans();
      assert.deepEqual(more, []);
      check(span, listed);
      assert.ok(!JSON.stringify([span.name, span.attributes, span.status]).includes('the words of'));
      const told = { ...span.attributes };
      for (const leftOut of listed.unmeasured ?? []) delete told[leftOut];
      const [point, ...others] = await measured();
      assert.deepEqual(others, []);
      assert.deepEqual(point.attributes, told);
      assert.equal(point.value.count, 1);
      assert.deepEqual(point.value.buckets.boundaries.slice(0, 3), [0.01, 0.02, 0.05]);
    });

    test(`the words of errors are told where asked for: ${name} with ${way}`, async (t) => {
      const manager = manage(t, { s: server(...knobs) }, { telemetry: 'error_messages' });
      await manager.connectAll();
      await makeCall(manager, listed, way);
      const { description, message } = listed;
      check(spans()[0], message ? { ...listed, description: `${description}: ${message}` } : listed);
    });
  }
}

test("the caller's span is the parent, and the server gets the call's", async (t) => {
  const manager = manage(t, { s: server(...knobs) });
  await manager.connectAll();
  const results = await trace.getTracer('test').startActiveSpan('work', async (work) => {
    const baggage = propagation.createBaggage({ user: { value: 'alice' } });
    const found = await context.with(propagation.setBaggage(context.active(), baggage), async () => {
      await Promise.resolve();
      const meta = { mine: [1], tracestate: 'a=b' };
      return Promise.all([manager.callTool('s', 'meta'), manager.callTool('s', 'meta', {}, { meta })]);
    });
    work.end();
    return found.map(({ text }) => ({ ...JSON.parse(text), work: work.spanContext() }));
  });
  const made = new Map(spans().map((span) => [span.spanContext().spanId, span]));
  assert.equal(made.size, 2);
  for (const { traceparent, baggage, work } of results) {
    const [version, traceId, spanId, flags] = traceparent.split('-');
    assert.deepEqual([version, traceId, Number(`0x${flags}`) & 1], ['00', work.traceId, 1]);
    assert.equal(made.get(spanId).parentSpanContext.spanId, work.spanId);
    assert.equal(baggage, 'user=alice');
    made.delete(spanId);
  }
  assert.deepEqual([results[1].mine, results[1].tracestate], [[1], 'a=b']);
});

test('a server that comes up for a call is told of at its end', async (t) => {
  const manager = manage(t, { s: { ...server(...knobs), lazy: true } }, { cacheDir: false });
  await manager.callTool('s', 'echo', { text: 'hi' });
  check(spans()[0], calls.ok);
});

test('of a URL, only host and port are told', async (t) => {
  const web = await Web.start(knobs);
  t.after(() => web.end());
  const { url } = web;
  const headers = { Authorization: 'Bearer swordfish' };
  const manager = manage(t, { s: { url: `${url}?token=swordfish`, headers } });
  await manager.connectAll();
  await manager.callTool('s', 'echo', { text: 'hi' });
  const { hostname, port } = new URL(url);
  const network = { 'network.transport': 'tcp', 'network.protocol.name': 'http' };
  const where = { 'server.address': hostname, 'server.port': Number(port) };
  const { attributes } = spans()[0];
  assert.deepEqual(attributes, { ...shared, 'gen_ai.tool.name': 'echo', ...network, ...where });
});

test("a failure is told without its words and with the tool's name", async (t) => {
  const web = await Web.start(['--status', '500:tools/call']);
  t.after(() => web.end());
  const manager = manage(t, { s: { url: `${web.url}?token=swordfish` } });
  await manager.connectAll();
  const echo = manager.getTools().find(({ rawName }) => rawName === 'echo');
  assert.ok((await echo.execute({ text: 'hi' })).isError);
  await manager.disconnect('s');
  assert.ok((await echo.execute({ text: 'hi' })).isError);
  await assert.rejects(manager.call(echo.name, { text: 'hi' }));
  const told = spans();
  assert.deepEqual(
    told.map(({ status }) => status.message),
    ['CONNECTION_LOST', 'TOOL_UNAVAILABLE', 'TOOL_REJECTED'],
  );
  for (const { name, attributes, status } of told) {
    assert.deepEqual([name, attributes['gen_ai.tool.name']], ['tools/call echo', 'echo']);
    assert.doesNotMatch(JSON.stringify([attributes, status]), /\/mcp|Internal Server Error|swordfish/);
  }
});

test('the words of errors are masked', async (t) => {
  const servers = { s: { ...server(...knobs), env: { API_TOKEN: 'swordfish-42' } } };
  const manager = manage(t, servers, { telemetry: 'error_messages' });
  await manager.connectAll();
  await assert.rejects(
    manager.callTool('s', 'rpc_error', { code: -1, message: 'no swordfish-42 here' }),
    ToolFailedError,
  );
  const { attributes, status } = spans()[0];
  assert.equal(status.message, 'TOOL_FAILED: no *** here');
  assert.ok(!JSON.stringify(attributes).includes('swordfish'));
});

const requests = JSON.parse(readFileSync(join(root, 'tests/telemetry/requests.json'), 'utf8'));
const offering = { ...server(...knobs, '--offers'), env: { API_TOKEN: 'tuna-fish-43' } };
const camelCase = (verb) => verb.replace(/_(.)/g, (_, letter) => letter.toUpperCase());

for (const group of ['requests', 'failures']) {
  for (const [verb, listed] of Object.entries(requests[group])) {
    test(`a request is told as in every language: ${verb} of ${group}`, async (t) => {
      const manager = manage(t, { s: offering });
      await manager.connectAll();
      await manager[camelCase(verb)]('s', ...listed.arguments).catch(() => {});
      const [span, ...more] = spans();
      assert.deepEqual([more, span.name], [[], listed.span]);
      const told = { ...requests.shared, ...listed.attributes };
      assert.deepEqual(span.attributes, told);
      assert.equal(span.status.code === SpanStatusCode.ERROR, 'error.type' in told);
      for (const leftOut of listed.unmeasured ?? []) delete told[leftOut];
      assert.deepEqual((await measured())[0].attributes, told);
    });
  }
}

test('requests carry their span', async (t) => {
  const manager = manage(t, { s: offering });
  await manager.connectAll();
  const [{ text }] = await manager.readResource('s', 'fixture://meta');
  const [{ _meta }] = await manager.listResourceTemplates('s');
  assert.deepEqual(
    [JSON.parse(text), _meta.asked].map(({ traceparent }) => traceparent.split('-')[2]),
    spans().map((span) => span.spanContext().spanId),
  );
});

test('requests that only set something are not told, nor any where it is off', async (t) => {
  const off = manage(t, { s: offering }, { telemetry: false });
  await off.connectAll();
  assert.equal((await off.readResource('s', 'fixture://meta'))[0].text, 'null');
  const manager = manage(t, { s: offering });
  await manager.connectAll();
  await manager.subscribeResource('s', 'fixture://greeting');
  assert.deepEqual(spans(), []);
});

test('it can be switched off', async (t) => {
  const manager = manage(t, { s: server(...knobs) }, { telemetry: false });
  await manager.connectAll();
  assert.deepEqual(Object.keys(JSON.parse((await manager.callTool('s', 'meta')).text)), ['progressToken']);
  await manager.getTools()[0].execute({});
  assert.deepEqual(spans(), []);
});

test('meta that is no object is refused all the same', async (t) => {
  const manager = manage(t, { s: server(...knobs) });
  await manager.connectAll();
  await assert.rejects(manager.callTool('s', 'echo', { text: 'hi' }, { meta: [1] }), InvalidArgumentsError);
  assert.equal(spans()[0].attributes['error.type'], 'INVALID_ARGUMENTS');
});

test('nothing is loaded for users without OpenTelemetry', async () => {
  const code = `
    const { Manager } = require('mcpool');
    (async () => {
      const servers = { s: { command: ${JSON.stringify(fixture)}, args: ['stdio'] } };
      const manager = new Manager({ mcpServers: servers }, { cacheDir: false });
      await manager.connectAll();
      console.log((await manager.callTool('s', 'meta')).text.includes('traceparent'));
      console.log(Object.keys(require.cache).filter((path) => path.includes('opentelemetry')).length);
      await manager.close();
    })();`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', code], { cwd: root });
  assert.deepEqual(stdout.trim().split('\n'), ['false', '0']);
});

for (const where of ['getTracer', 'startSpan', 'updateName', 'end', 'getMeter', 'record']) {
  test(`a provider whose ${where} is broken breaks no call`, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(root, 'tests/node/programs/telemetry-is-broken.mjs'),
      where,
      fixture,
    ]);
    assert.deepEqual(JSON.parse(stdout), {
      texts: ['x', 'x'],
      warnings: [`OpenTelemetry failed: Error: ${where}`],
    });
  });
}
