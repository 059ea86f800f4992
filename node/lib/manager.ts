// Owns the manager that JavaScript sees: types and verbs; whatever is decided is decided in the core.
import { NativeFound, NativeManager } from '../native.js';
import { type Arguments, type Caller, type CallOptions, call } from './calls.js';
import { type Discovery, readDiscovery } from './discover.js';
import { McpoolError, restoring } from './errors.js';
import { type EventOf, EventStream, Listeners, type McpoolEvent } from './events.js';
import type { DiscoverManagerOptions, FileOptions, ManagerOptions } from './options.js';
import { byName, ToolOutput } from './output.js';
import { nativeOf, Pool } from './pool.js';
import { type Answering, ask, bridge } from './post.js';
import { type Asked, answering } from './questions.js';
import type { ToolResult } from './result.js';
import type { Config } from './server-config.js';
import { pathOf, withPaths, write } from './shape.js';
import {
  type ConnectReport,
  type ReloadReport,
  readConnectReport,
  readReloadReport,
  readStatus,
  type ServerStatus,
} from './status.js';
import { type Tool, toolsOf } from './tool.js';

const nothing = () => undefined;

/** Connects to many servers, lists their tools, routes calls. Managers of a process share their connections. */
export class Manager implements AsyncDisposable {
  readonly #native: NativeManager;
  readonly #caller: Caller;
  readonly #listeners: Listeners;
  readonly #owner: Asked;
  readonly #asked: Answering;
  #tools: Tool[] = [];

  /** Nothing is started yet. The config is an object, or its JSON. */
  constructor(config: Config | string, options: ManagerOptions = {}) {
    this.#native =
      config instanceof NativeManager
        ? config
        : restoring(() => new NativeManager(bridge(), textOf(config), ...written(options)));
    this.#owner = { trust: options.trust, onApproval: options.onApproval };
    this.#asked = answering(this.#owner);
    this.#caller = { manager: this.#native, submit: this.#native.submit, asked: this.#asked };
    this.#listeners = new Listeners(this.#asked);
  }

  /** A manager for the servers of a config file: JSON, JSONC, YAML or TOML. */
  static fromFile(path: string | URL, options: FileOptions = {}): Manager {
    const native = restoring(() => NativeManager.open(bridge(), pathOf(path), ...written(options)));
    return around(native, options);
  }

  /** A manager for the servers that the user already has. Files are read off this thread, nothing is started. */
  static async discover(options: DiscoverManagerOptions = {}): Promise<Manager> {
    let found: NativeFound | undefined;
    await ask((key) => {
      found = restoring(() => NativeFound.begin(bridge(), key, ...written(options)));
    }, nothing);
    return around(found?.take() as NativeManager, options);
  }

  /** What discovery found, for a manager that was made by it. */
  get discovery(): Discovery | undefined {
    const json = this.#native.discovery();
    return json === null ? undefined : readDiscovery(json);
  }

  /** A manager for a sub-agent: the same servers, on the same connections. */
  child(): Manager {
    return around(
      restoring(() => this.#native.child()),
      this.#owner,
    );
  }

  /** What was odd in the config. */
  get warnings(): string[] {
    return this.#native.warnings();
  }

  /**
   * Connects all enabled servers at once. Resolves when each is up or has failed, or when the gate closes: then servers
   * that are late are represented by the tools that the cache knows, and come up behind.
   * One server's failure is in the report; only a `required` server's rejects.
   */
  connectAll(): Promise<ConnectReport> {
    return ask((key) => this.#native.connectAll(key), readConnectReport, this.#asked);
  }

  /** Connects one server; does nothing when it is connected, joins an attempt that is under way. */
  connect(name: string): Promise<void> {
    return ask((key) => this.#native.connect(key, String(name)), nothing, this.#asked);
  }

  /**
   * Resolves when the server is connected, however many attempts that takes; rejects with its error when nothing more
   * is tried or the limit has passed, by default the server's own timeout. Starts nothing.
   */
  waitFor(name: string, options: { timeoutMs?: number | undefined } = {}): Promise<void> {
    return ask((key) => this.#native.waitFor(key, String(name), options.timeoutMs), nothing, this.#asked);
  }

  /**
   * The tools of all servers that are up, or will be, sorted by name. Where a server has just announced that its tools
   * changed, this waits until they are known, a second at most.
   */
  getTools(): Tool[] {
    const catalog = this.#native.newCatalog();
    if (catalog) this.#tools = toolsOf(catalog, this.#caller);
    return this.#tools.slice();
  }

  /**
   * At most `k` tools that serve the need in `query`, best first: for agents with more tools than they can read. Names, descriptions
   * and parameters are searched; a query that shares no word with any tool gives `[]`.
   */
  searchTools(query: string, k = 5): Tool[] {
    const tools = this.getTools();
    const places = this.#native.searchTools(String(query), Number(k));
    return places.flatMap((place) => tools[place] ?? []);
  }

  /** Calls a tool by its server's own name for it. A result with `isError` resolves: the tool has answered. */
  callTool(server: string, tool: string, args?: Arguments, options?: CallOptions): Promise<ToolResult> {
    return call(this.#caller, String(server), String(tool), args, options);
  }

  /** Calls a tool by its name in the catalog. */
  call(name: string, args?: Arguments, options?: CallOptions): Promise<ToolResult> {
    return call(this.#caller, undefined, String(name), args, options);
  }

  /** @internal As `Tool.execute`, by a name of the catalog or one that was there; for the adapters. */
  async [byName](name: string, args?: Arguments, options?: CallOptions): Promise<ToolOutput> {
    const tool = this.getTools().find((tool) => tool.name === name);
    if (tool) return tool.execute(args, options);
    const of = { server: '', tool: name, provider: '', manager: this.#native };
    try {
      return new ToolOutput(of, await this.call(name, args, options));
    } catch (error) {
      if (!(error instanceof McpoolError)) throw error;
      return new ToolOutput(of, error);
    }
  }

  /** Every server's status, in the order of the config. Starts nothing. */
  status(): ServerStatus[] {
    return readStatus(this.#native.status());
  }

  /** What happens from now on. Waiting for an event keeps the process alive; listeners do not. */
  events(): EventStream {
    return new EventStream(this.#native.events(), true, this.#asked);
  }

  /** Calls `listener` for every event of this type. */
  on<T extends McpoolEvent['type']>(type: T, listener: (event: EventOf<T>) => void): this {
    this.#listeners.add(type, listener, () => this.#native.events());
    return this;
  }

  /** Ends what `on` began. */
  off<T extends McpoolEvent['type']>(type: T, listener: (event: EventOf<T>) => void): this {
    this.#listeners.remove(type, listener);
    return this;
  }

  /**
   * Applies the difference to this config, or to the files that it was made from as they are now: servers that are the same keep their
   * connections and calls, others are closed, connected or restarted; settings change in place.
   */
  reload(config?: Config | string): Promise<ReloadReport> {
    const text = () => (config === undefined ? undefined : textOf(config));
    return ask((key) => this.#native.reload(key, text()), readReloadReport, this.#asked);
  }

  /**
   * Takes tools that are not as they were when they were first seen for what they are now: one, by its server's name for
   * it, or all of the server's. Gives the names of those that had changed.
   */
  acceptDrift(server: string, tool?: string): Promise<string[]> {
    return ask(
      (key) => this.#native.acceptDrift(key, String(server), tool),
      (names) => JSON.parse(names) as string[],
    );
  }

  /** Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent, bounded. */
  disconnect(name: string): Promise<void> {
    return ask((key) => this.#native.disconnect(key, String(name)), nothing);
  }

  /** Closes every connection that nobody else holds; the manager can connect again. Idempotent, bounded. */
  disconnectAll(): Promise<void> {
    return ask((key) => this.#native.disconnectAll(key), nothing);
  }

  /** Closes for good: every later verb rejects with `ClosedError`. Idempotent, bounded. */
  close(): Promise<void> {
    return ask((key) => this.#native.close(key), nothing);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The manager around a native one. Not for others: what it is given instead of a config is no public type. */
const around = (native: NativeManager, { trust, onApproval }: Asked) =>
  new Manager(native as never, { trust, onApproval });

/** The options as the native side takes them: functions and the pool apart from what JSON can say. */
function written({ naming, pool, trust, onApproval, ...plain }: DiscoverManagerOptions) {
  const named = typeof naming === 'function' ? sound(naming) : undefined;
  const native = pool instanceof Pool ? nativeOf(pool) : undefined;
  const asksTrust = typeof trust === 'function';
  const asksApproval = typeof onApproval === 'function';
  // What is neither a function nor a pool is left to the core to read, or to refuse.
  const rest = {
    naming: named ? undefined : naming,
    pool: native ? undefined : pool,
    trust: asksTrust ? undefined : trust,
    onApproval: asksApproval ? undefined : onApproval,
  };
  const json = write('options', { ...withPaths(plain, 'cwd', 'cacheDir'), ...rest });
  return [json, named, native, asksTrust, asksApproval] as const;
}

const textOf = (config: Config | string) => (typeof config === 'string' ? config : write('config', config));

/** A naming function that fails must not cost the tool: it gives no name then. */
function sound(naming: (server: string, tool: string) => string) {
  return (server: string, tool: string): string | null => {
    try {
      const name: unknown = naming(server, tool);
      return typeof name === 'string' ? name : null;
    } catch {
      return null;
    }
  };
}
