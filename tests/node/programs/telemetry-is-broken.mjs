// Calls with an OpenTelemetry that throws where it is told to.
import { metrics, trace } from '@opentelemetry/api';
import { Manager, Pool } from 'mcpool';

const [where, command] = process.argv.slice(2);
const broken = new Proxy(
  {},
  {
    get: (_, name) => (name === 'getDelegateTracer' ? undefined : act.bind(undefined, name)),
  },
);

function act(name) {
  if (name === where) throw new Error(where);
  return broken;
}

trace.setGlobalTracerProvider(broken);
metrics.setGlobalMeterProvider(broken);
const warnings = [];
process.removeAllListeners('warning');
process.on('warning', ({ message }) => warnings.push(message));
const manager = new Manager(
  { mcpServers: { a: { command, args: ['stdio'] } } },
  { pool: new Pool(), cacheDir: false },
);
await manager.connectAll();
const echo = manager.getTools().find(({ rawName }) => rawName === 'echo');
const texts = [(await manager.callTool('a', 'echo', { text: 'x' })).text];
texts.push((await echo.execute({ text: 'x' })).result?.text);
await manager.close();
console.log(JSON.stringify({ texts, warnings }));
