// Owns the manager for JavaScript: types and verbs; the core makes all decisions.
import { inspect } from 'node:util';
import { checkConnectOption, NativeFound, NativeManager, setRelaunch } from '../native.js';
import { type Cancellable, signalOf } from './abort.js';
import { answerMeanwhile, bridge, type OnQuestion, runVerb } from './bridge.js';
import { type Arguments, type CallContext, call, callForModel, writeArguments } from './calls.js';
import { type Discovery, readDiscovery } from './discover.js';
import { ConfigInvalidError, McpoolError, restoring } from './errors.js';
import { type EventOf, EventStream, Listeners, type McpoolEvent } from './events.js';
import { serverName, textOf, toolName } from './given.js';
import { named } from './inspect.js';
import { configText, nativeOptions } from './native-options.js';
import type { CallOptions, DiscoverManagerOptions, FileOptions, ManagerOptions } from './options.js';
import { byName, requireApproval, requiresApproval, ToolOutput } from './output.js';
import type { ProductConfig } from './product-config.js';
import type { Completion, CompletionRequest, LogLevel, Prompt, PromptResult } from './prompt.js';
import { answerWith, callbacksOf, type QuestionCallbacks } from './questions.js';
import { relaunchWords } from './relaunch.js';
import type { Resource, ResourceContent, ResourceTemplate } from './resource.js';
import type { ToolResult } from './result.js';
import type { Config } from './server-config.js';
import { pathOf, write, writeOptions } from './shape.js';
import type { Skill, SkillContent } from './skill.js';
import {
  type ConnectReport,
  type ReloadReport,
  readConnectReport,
  readReloadReport,
  readStatus,
  type ServerStatus,
} from './status.js';
import type { Task } from './task.js';
import { begin } from './telemetry.js';
import { executeUnasked, type Tool, toolsOf } from './tool.js';

setRelaunch(relaunchWords());

const nothing = () => undefined;

/** How to wait for a server. */
export interface WaitOptions extends Cancellable {
  /** How long to wait, in milliseconds. The default is the server's own timeout. */
  timeoutMs?: number | undefined;
}

/** How to sign in. */
export interface AuthorizeOptions {
  /** Forget the login that there is first. */
  fresh?: boolean | undefined;
  /** Sign in with a browser on another device. */
  device?: boolean | undefined;
}

/** Connects to many servers, lists their tools and routes calls. Managers of a process share their connections. */
export class Manager implements AsyncDisposable {
  readonly #native: NativeManager;
  readonly #caller: CallContext;
  readonly #listeners: Listeners;
  readonly #callbacks: QuestionCallbacks;
  readonly #onQuestion: OnQuestion;
  #tools: Tool[] = [];

  /** Nothing is started yet. The config is an object, or its JSON; other products' forms work too. */
  constructor(config: Config | ProductConfig | string, options: ManagerOptions = {}) {
    this.#native =
      config instanceof Wrapped
        ? config.native
        : restoring(() => new NativeManager(bridge(), configText(config), nativeOptions(options)));
    this.#callbacks = callbacksOf(options);
    this.#onQuestion = answerWith(this.#callbacks);
    this.#caller = {
      manager: this.#native,
      submit: this.#native.submit,
      onQuestion: this.#onQuestion,
      asksCallers: typeof options.onApproval === 'function' || typeof options.onIdentity === 'function',
    };
    this.#listeners = new Listeners(this.#onQuestion);
    const { trust, onAuth, loginStore, onSampling, onElicitation } = options;
    const asks = [trust, onAuth, loginStore, onSampling, onElicitation];
    if (this.#onQuestion && asks.some((callback) => typeof callback === 'function'))
      answerMeanwhile(this.#onQuestion, (key) => this.#native.listen(key));
  }

  /** A manager for the servers of a config file, ours or another product's: JSON, JSONC, YAML or TOML. */
  static fromFile(path: string | URL, options: FileOptions = {}): Manager {
    const file = pathOf('path of the config file', path);
    const open = () => NativeManager.open(bridge(), file, nativeOptions(options));
    return wrapNative(restoring(open), options);
  }

  /** A manager for the servers that the user already has. Files are read off this thread, nothing is started. */
  static async discover(options: DiscoverManagerOptions = {}): Promise<Manager> {
    let found: NativeFound | undefined;
    await runVerb((key) => {
      found = NativeFound.begin(bridge(), key, nativeOptions(options));
    }, nothing);
    return wrapNative(found?.take() as NativeManager, options);
  }

  /** The result of discovery, for a manager that was made by it. */
  get discovery(): Discovery | undefined {
    const json = this.#native.discovery();
    return json === null ? undefined : readDiscovery(json);
  }

  /** A manager for a sub-agent: the same servers, on the same connections. */
  child(): Manager;
  child(options?: object): Manager {
    refuseChildOptions(options);
    return wrapNative(
      restoring(() => this.#native.child()),
      this.#callbacks,
    );
  }

  /** Warnings about the config. */
  get warnings(): string[] {
    return this.#native.warnings();
  }

  /**
   * Connects all enabled servers in parallel. Resolves when each is up or has failed, or when the startup gate closes:
   * late servers then get their cached tools and continue to connect in the background.
   * A failing server is in the report; only a failing `required` server rejects. An aborted `signal` ends the wait:
   * servers that are being connected go on in the background.
   */
  async connectAll(options: Cancellable = {}): Promise<ConnectReport> {
    const signal = connectSignal(options);
    return runVerb((key) => this.#native.connectAll(key), readConnectReport, this.#onQuestion, signal);
  }

  /** Connects one server unless it is connected; joins an attempt in progress. An aborted `signal` ends the wait. */
  async connect(name: string, options: Cancellable = {}): Promise<void> {
    const signal = connectSignal(options);
    const server = serverName(name);
    return runVerb((key) => this.#native.connect(key, server), nothing, this.#onQuestion, signal);
  }

  /**
   * Resolves when the server is connected, however many attempts that takes; rejects with its error when nothing more
   * is tried or the limit has passed, by default the server's own timeout. Starts nothing.
   */
  async waitFor(name: string, options: WaitOptions = {}): Promise<void> {
    const signal = signalOf(options ?? {});
    const given = signal ? { ...options, signal: undefined } : options;
    return runVerb(
      (key) => this.#native.waitFor(key, serverName(name), writeOptions(given)),
      nothing,
      this.#onQuestion,
      signal,
    );
  }

  /**
   * The tools of all servers that are up, or will be, sorted by name. If a server has just announced a change of
   * its tools, this waits until they are known, for at most a second.
   */
  getTools(): Tool[] {
    const catalog = this.#native.newCatalog();
    if (catalog) this.#tools = toolsOf(catalog, this.#caller);
    return this.#tools.slice();
  }

  /**
   * The best `k` tools for `query`, best first: for agents with more tools than fit into their context. Searches names,
   * descriptions and parameters; if nothing matches, the list is empty.
   */
  searchTools(query: string, k = 5): Tool[] {
    const tools = this.getTools();
    const places = this.#native.searchTools(textOf('query', query), Number(k));
    return places.flatMap((place) => tools[place] ?? []);
  }

  /**
   * The tool with this name in the catalog. Throws the error that a call by this name would reject with, with a similar
   * name in its hint.
   */
  getTool(name: string): Tool {
    const text = toolName(name);
    const tools = this.getTools();
    return tools[restoring(() => this.#native.toolIndex(text))] as Tool;
  }

  /** Calls a tool by its server and its raw name. `isError` is a result, not a rejection. */
  callTool(server: string, tool: string, args?: Arguments, options?: CallOptions): Promise<ToolResult> {
    try {
      return call(this.#caller, serverName(server), toolName(tool), args, options, writeArguments);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Calls a tool by its name in the catalog. */
  call(name: string, args?: Arguments, options?: CallOptions): Promise<ToolResult> {
    try {
      return call(this.#caller, undefined, toolName(name), args, options, writeArguments);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** @internal From now on, a framework has to ask a person about the tools that require approval. */
  [requireApproval](): void {
    this.#native.requireFrameworkApproval();
  }

  /** @internal Whether that was asked for. */
  [requiresApproval](): boolean {
    return this.#native.requiresFrameworkApproval();
  }

  /**
   * @internal As `Tool.execute`, by a name of the catalog or one that was there, where nobody can be asked: a call that
   * needs the approval of a person is refused.
   */
  async [byName](name: string, args?: Arguments | string, options?: CallOptions): Promise<ToolOutput> {
    const tool = this.getTools().find((tool) => tool.name === name);
    if (tool) return tool[executeUnasked](args, options);
    const origin = { server: '', tool: name, provider: '', manager: this.#native };
    try {
      restoring(() => this.#native.checkFrameworkApprovalOfName(name));
    } catch (error) {
      if (!(error instanceof McpoolError)) throw error;
      return new ToolOutput(origin, error);
    }
    return new ToolOutput(origin, await callForModel(this.#caller, undefined, name, args, options));
  }

  /** Every server's status, in the order of the config. Starts nothing. */
  status(): ServerStatus[];
  /** One server's status. Starts nothing. */
  status(server: string): ServerStatus;
  status(server?: string): ServerStatus[] | ServerStatus {
    if (server === undefined) return readStatus(this.#native.status());
    const name = serverName(server);
    const status = restoring(() => this.#native.statusOf(name));
    return readStatus(`[${status}]`)[0] as ServerStatus;
  }

  /** Events from now on. Waiting for an event keeps the process alive; listeners do not. */
  events(): EventStream {
    return new EventStream(this.#native.events(), true, this.#onQuestion);
  }

  /** Calls `listener` for every event of this type. */
  on<T extends McpoolEvent['type']>(type: T, listener: (event: EventOf<T>) => void): this {
    this.#listeners.add(type, listener, false, () => this.#native.events());
    return this;
  }

  /** Calls `listener` for the next event of this type, and then removes it. */
  once<T extends McpoolEvent['type']>(type: T, listener: (event: EventOf<T>) => void): this {
    this.#listeners.add(type, listener, true, () => this.#native.events());
    return this;
  }

  /** Removes a listener added by `on` or `once`. */
  off<T extends McpoolEvent['type']>(type: T, listener: (event: EventOf<T>) => void): this {
    this.#listeners.remove(type, listener);
    return this;
  }

  /**
   * Applies the difference to this config, or reads the manager's files again and applies theirs. Unchanged servers
   * keep their connections and calls; others are closed, connected or restarted; settings change in place.
   */
  reload(config?: Config | ProductConfig | string): Promise<ReloadReport> {
    const text = () => (config === undefined ? undefined : configText(config));
    return runVerb((key) => this.#native.reload(key, text()), readReloadReport, this.#onQuestion);
  }

  /**
   * Signs in to a server and connects it. `onAuth` is asked to open the page, and the event `auth_required` names it;
   * this waits up to five minutes. Does nothing if the server is connected with a login. `fresh` forgets the login that
   * there is first; `device` is for a browser on another device.
   */
  authorize(server: string, options: AuthorizeOptions = {}): Promise<void> {
    return runVerb(
      (key) => this.#native.authorize(key, serverName(server), writeOptions(options)),
      nothing,
      this.#onQuestion,
    );
  }

  /** Finishes a sign-in with the URL that a browser was sent back to, and connects the server. */
  completeAuth(redirectUrl: string | URL): Promise<void> {
    return runVerb((key) => this.#native.completeAuth(key, String(redirectUrl)), nothing, this.#onQuestion);
  }

  /** Forgets the login of a server, revokes it where possible, and disconnects the server. */
  forgetAuth(server: string): Promise<void> {
    return runVerb((key) => this.#native.forgetAuth(key, serverName(server)), nothing, this.#onQuestion);
  }

  /** The resources of a server, all pages of them. Empty if it has none. */
  listResources(server: string, options: Cancellable = {}): Promise<Resource[]> {
    return this.#request(server, 'list_resources', {}, options);
  }

  /** The templates of a server's resources. */
  listResourceTemplates(server: string, options: Cancellable = {}): Promise<ResourceTemplate[]> {
    return this.#request(server, 'list_resource_templates', {}, options);
  }

  /** Reads a resource: one part, or several. */
  readResource(server: string, uri: string, options: Cancellable = {}): Promise<ResourceContent[]> {
    return this.#request(server, 'read_resource', { uri }, options);
  }

  /** From now on, updates of the resource are events `resource_updated`, also after restarts. */
  async subscribeResource(server: string, uri: string, options: Cancellable = {}): Promise<void> {
    await this.#request(server, 'subscribe_resource', { uri }, options);
  }

  /** Ends the updates of a resource. */
  async unsubscribeResource(server: string, uri: string, options: Cancellable = {}): Promise<void> {
    await this.#request(server, 'unsubscribe_resource', { uri }, options);
  }

  /** The prompts of a server, all pages of them. Empty if it has none. */
  listPrompts(server: string, options: Cancellable = {}): Promise<Prompt[]> {
    return this.#request(server, 'list_prompts', {}, options);
  }

  /** A prompt, filled in with these arguments. */
  getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options: Cancellable = {},
  ): Promise<PromptResult> {
    return this.#request(server, 'get_prompt', { name, arguments: args }, options);
  }

  /** Values for an argument of a prompt, or of a template of resources, that begin with what was typed. */
  complete(server: string, request: CompletionRequest, options: Cancellable = {}): Promise<Completion> {
    return this.#request(server, 'complete', { ...request, value: request?.value ?? '' }, options);
  }

  /** The skills of a server, all pages of them. Empty if it has none. Reads no file of them. */
  listSkills(server: string, options: Cancellable = {}): Promise<Skill[]> {
    return this.#request(server, 'list_skills', {}, options);
  }

  /**
   * Reads the `SKILL.md` of a skill, by the skill's name or address. Rejects if the file is not what the entry in the
   * latest list says: digest, size and frontmatter.
   */
  readSkill(server: string, skill: string, options: Cancellable = {}): Promise<SkillContent> {
    return this.#request(server, 'read_skill', { skill }, options);
  }

  /**
   * Reads another file of a skill, by its address or its path beside `SKILL.md`. Rejects if the skill has no such file,
   * or if the file is not what the entry says.
   */
  readSkillFile(
    server: string,
    skill: string,
    uri: string,
    options: Cancellable = {},
  ): Promise<ResourceContent> {
    return this.#request(server, 'read_skill_file', { skill, uri }, options);
  }

  /** How far a task of a server is. The option `resumeTask` of a call waits for its result. */
  getTask(server: string, taskId: string, options: Cancellable = {}): Promise<Task> {
    return this.#request(server, 'get_task', { task_id: taskId }, options);
  }

  /** Asks a server to end a task. It may still finish. */
  async cancelTask(server: string, taskId: string, options: Cancellable = {}): Promise<void> {
    await this.#request(server, 'cancel_task', { task_id: taskId }, options);
  }

  /** Sets which log messages the server sends, also after its restarts. They are events `log`. */
  async setLogLevel(server: string, level: LogLevel, options: Cancellable = {}): Promise<void> {
    await this.#request(server, 'set_log_level', { level }, options);
  }

  /**
   * Replaces the roots, as paths or file addresses, and tells the servers. Servers that connected before the manager had
   * any get them with their next connection.
   */
  setRoots(roots: readonly string[]): void {
    restoring(() => this.#native.setRoots(write('roots', roots)));
  }

  async #request<T>(server: string, verb: string, params: object, options: Cancellable): Promise<T> {
    const signal = signalOf(options ?? {});
    const name = serverName(server);
    const text = write('parameters', params);
    const span = begin(() => this.#native.requestTelemetry(name, verb, text));
    const sent = span ? write('parameters', { ...params, meta: span.carrier() }) : text;
    const start = (key: number) => this.#native.request(key, name, verb, sent);
    const answer = runVerb(start, (json) => JSON.parse(json) as T, this.#onQuestion, signal);
    return span ? span.follow(answer, signal) : answer;
  }

  /**
   * Accepts tools and skills that have changed since they were first seen: one tool by its raw name or one skill by its
   * uri, or all of the server. Returns their names.
   */
  acceptDrift(server: string, tool?: string): Promise<string[]> {
    return runVerb(
      (key) => this.#native.acceptDrift(key, serverName(server), tool == null ? undefined : toolName(tool)),
      (names) => JSON.parse(names) as string[],
    );
  }

  /** Closes one server's connection, unless other managers hold it, and drops its tools. Idempotent and bounded. */
  disconnect(name: string): Promise<void> {
    return runVerb((key) => this.#native.disconnect(key, serverName(name)), nothing);
  }

  /** Closes every connection that no other manager holds; the manager can connect again. Idempotent and bounded. */
  disconnectAll(): Promise<void> {
    return runVerb((key) => this.#native.disconnectAll(key), nothing);
  }

  /** Closes the manager permanently: every later verb rejects with `ClosedError`. Idempotent and bounded. */
  close(): Promise<void> {
    return runVerb((key) => this.#native.close(key), nothing);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The servers with their states and numbers of tools. */
  [inspect.custom](depth: number, options: object): string {
    const rows = this.status().map(({ name, state, toolCount }) => [
      name,
      toolCount > 0 ? `${state}, ${toolCount} tools` : state,
    ]);
    return named('Manager', Object.fromEntries(rows), depth, options);
  }
}

/** Ignored, an option would look as if it held. */
function refuseChildOptions(options: object | undefined): void {
  const [unknown] = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  if (!unknown) return;
  const hint = 'a child has the options of its manager; new Manager() takes others';
  throw new ConfigInvalidError(`There is no option "${unknown[0]}" of a child`, { hint });
}

/** The signal of a verb that has no other option. */
function connectSignal(options: Cancellable): AbortSignal | undefined {
  for (const name in options) if (name !== 'signal') restoring(() => checkConnectOption(name));
  return signalOf(options ?? {});
}

/** A native manager for the constructor. Its own class differs between copies of the package in one thread. */
class Wrapped {
  constructor(readonly native: NativeManager) {}
}

/** Wraps a native manager. Internal: the native type is not public. */
const wrapNative = (native: NativeManager, callbacks: QuestionCallbacks) =>
  new Manager(new Wrapped(native) as never, callbacksOf(callbacks));
