// The options of managers, discovery, pools, calls and edits. Generated from the tables in `core`; not to be edited.
import type { Cancellable } from './abort.js';
import type { Arguments, OnProgress } from './calls.js';
import type { ClientInfo } from './client-info.js';
import type { HostEnv } from './host-env.js';
import type { Pool } from './pool.js';
import type { LoginStore, OnApproval, OnAuth, OnElicitation, OnIdentity, OnSampling } from './questions.js';
import type { Naming } from './tool.js';
import type { Trust } from './trust.js';

/** Options of a manager; the defaults are good. */
export interface ManagerOptions {
  /**
   * How tools are named: "plain" gives mcp_server_tool, "letters" the same with digits replaced, "double"
   * gives mcp__server__tool, "raw" gives server.tool. A function of server and tool gives any other name.
   * Default: 'plain'.
   */
  naming?: Naming | undefined;
  /**
   * How many servers connect at the same time. The default is 64 remote ones, and as many programs as the
   * machine can start.
   */
  connectConcurrency?: number | undefined;
  /**
   * How long `connectAll` waits for late servers whose tools are in the cache. In milliseconds. Default:
   * 250.
   */
  gateMs?: number | undefined;
  /** Whether `connectAll` waits for late servers whose tools are not in the cache. Default: 'wait'. */
  pendingWithoutCache?: 'wait' | 'skip' | undefined;
  /**
   * How long a call waits for a server that is being restarted; 0 means not at all. In milliseconds.
   * Default: 5000.
   */
  restartWaitMs?: number | undefined;
  /**
   * Which calls are sent again when their connection is lost. "safe" means those of read-only and idempotent
   * tools. Default: 'never'.
   */
  retry?: 'never' | 'safe' | undefined;
  /**
   * Where tool lists are kept between runs. The default is $MCPOOL_CACHE_DIR, or the user's cache directory;
   * false means nowhere.
   */
  cacheDir?: string | URL | false | undefined;
  /**
   * What a project's definitions may do. "stored" is what the user has trusted, "strict" the same for remote
   * servers too, "all" trusts everything, "none" nothing. A function is asked about what the user has not
   * trusted yet. Default: 'stored'.
   */
  trust?: Trust | undefined;
  /**
   * Whether a header or variable whose value is the name of a set variable gets that variable's value.
   * Default: false.
   */
  bareEnvNames?: boolean | undefined;
  /** Globs over raw and catalog names: only these tools are offered. */
  enabledTools?: readonly string[] | undefined;
  /** Globs over raw and catalog names: these tools are not offered, even if they are enabled. */
  disabledTools?: readonly string[] | undefined;
  /** What happens to a tool that is no longer as it was when it was first seen. Default: 'warn'. */
  drift?: 'allow' | 'warn' | 'block' | undefined;
  /**
   * Which tools need a person's approval. "annotations" means those that are not read-only. Default:
   * 'always'.
   */
  approval?: 'always' | 'annotations' | 'never' | undefined;
  /** The user or tenant that calls are made for. Managers of different identities share no connection. */
  identity?: string | undefined;
  /**
   * Headers for calls to remote servers, which replace those of their definitions. A text is for all
   * servers; an object under the name of a server is for that one. Headers that say who calls, such as
   * Authorization, are for one server and need an `identity`.
   */
  headers?: Readonly<Record<string, string | Readonly<Record<string, string>>>> | undefined;
  /**
   * A function that is asked for whom a call is made, if the call does not say it. It returns an identity,
   * headers, both or neither.
   */
  onIdentity?: OnIdentity | undefined;
  /**
   * A function that is asked to sign in to a server: it opens or shows the page. It may return the URL that
   * the browser was sent back to, for machines without a browser.
   */
  onAuth?: OnAuth | undefined;
  /**
   * A function that keeps logins in place of files: it is asked to load, to save and to remove texts by
   * their keys.
   */
  loginStore?: LoginStore | undefined;
  /**
   * Whether a sign-in is begun for a server that wants one: a client is registered if needed, and the page
   * to open is named. Otherwise only `authorize` begins one. Default: true.
   */
  beginAuth?: boolean | undefined;
  /**
   * A function that is asked about each call that needs approval. Without it, such calls are sent unasked.
   */
  onApproval?: OnApproval | undefined;
  /** How long a call waits for an approval. In milliseconds. Default: 300000. */
  approvalTimeoutMs?: number | undefined;
  /**
   * A function that samples a message from a model for a server that asks for one. It returns the message,
   * or only its text; nothing refuses. Without it, servers are told that there is no sampling.
   */
  onSampling?: OnSampling | undefined;
  /**
   * A function that asks a person for what a server wants to know: with a form, or on a page of the server.
   * Without it, servers are told that nobody can be asked.
   */
  onElicitation?: OnElicitation | undefined;
  /**
   * The directories that the work is about, as paths or file addresses. Servers that ask for roots get them.
   */
  roots?: readonly string[] | undefined;
  /**
   * How long a server waits for the answer of `onSampling` and `onElicitation`. A call that has caused the
   * request does not time out meanwhile. In milliseconds. Default: 300000.
   */
  serverRequestTimeoutMs?: number | undefined;
  /**
   * Whether structured results are compared with the `outputSchema` of their tool. One that does not match
   * is `PROTOCOLERROR`. Default: false.
   */
  checkOutput?: boolean | undefined;
  /** Whether results for a model are marked as untrusted output of their tool. Default: true. */
  wrap?: boolean | undefined;
  /**
   * What happens to the part of a result that is cut. "file" keeps the whole in a file that only the user
   * can read. Default: 'none'.
   */
  spill?: 'none' | 'file' | undefined;
  /** Whether the begin and the end of each call are events. Default: false. */
  callEvents?: boolean | undefined;
  /**
   * Whether calls become spans and metrics where OpenTelemetry has a provider. "error_messages" adds the
   * messages of errors, which may hold words of the server; otherwise spans have only their codes. Default:
   * true.
   */
  telemetry?: boolean | 'error_messages' | undefined;
  /** Environment, home and platform in place of the process's own. */
  hostEnv?: HostEnv | undefined;
  /** The pool whose connections are shared. The default is the pool of the process. */
  pool?: Pool | undefined;
}

/** Options of a manager on a config file. */
export interface FileOptions extends ManagerOptions {
  /** Whether changes of the config files are applied as they happen. Default: false. */
  watch?: boolean | undefined;
}

/** Options of discovery: where to look, and what to leave out. */
export interface DiscoverOptions {
  /** The project's directory. The default is the process's working directory. */
  cwd?: string | URL | undefined;
  /** Whether the project's own files count. Default: true. */
  projectConfig?: boolean | undefined;
  /** Names of servers that are off, whatever any file says. */
  disabledServers?: readonly string[] | undefined;
  /** Names of the only servers that are on. The default is all. */
  enabledServers?: readonly string[] | undefined;
  /** Globs over names and URLs of servers to leave out. */
  exclude?: readonly string[] | undefined;
  /** Servers that the host integrates itself. They are left out, and their keys are in the result. */
  native?: readonly string[] | undefined;
  /**
   * What happens to a server that is only a bridge, npx mcp-remote with a URL. "offer" keeps it and tells
   * the direct definition, "use" replaces it. Default: 'offer'.
   */
  mcpRemote?: 'offer' | 'use' | undefined;
  /** Names of the only products whose files are read. The default is all. */
  providers?: readonly string[] | undefined;
  /** Environment, home and platform in place of the process's own. */
  hostEnv?: HostEnv | undefined;
}

/** Options of a pool; the defaults are good. */
export interface PoolOptions {
  /**
   * How long a connection that no manager holds any more stays up. A server's own `keepAlive` wins. The
   * default is not at all. In milliseconds.
   */
  keepAliveMs?: number | 'always' | undefined;
  /**
   * What servers are told about their client, in place of what is set for the process: the name and version
   * of your agent. The default is our own.
   */
  clientInfo?: ClientInfo | undefined;
  /**
   * The clock of restarts and other waits. A "manual" one stands still until it is advanced; it is for
   * tests. Default: 'system'.
   */
  clock?: 'system' | 'manual' | undefined;
}

/** Options of one call. */
export interface CallOptions extends Cancellable {
  /**
   * How long the call may go without a message from the server, from its start and over all waiting and
   * resending. Progress restarts this time; the time for an approval does not count. The default is the
   * server's `toolTimeout`. In milliseconds.
   */
  timeoutMs?: number | undefined;
  /** The total time limit of the call, whatever the progress, including approvals. In milliseconds. */
  maxTotalTimeoutMs?: number | undefined;
  /** Overrides which calls the manager sends again after a lost connection. */
  retry?: 'never' | 'safe' | undefined;
  /** Becomes the request's `_meta`. */
  meta?: Arguments | undefined;
  /**
   * The user or tenant that the call is made for. Each identity has connections of its own. The default is
   * the manager's.
   */
  identity?: string | undefined;
  /**
   * Headers for a remote server, which replace those of its definition. Headers that say who calls, such as
   * Authorization, need an `identity`; they then also serve the connection of that identity, until the next
   * call brings others.
   */
  headers?: Headers | Readonly<Record<string, string>> | undefined;
  /**
   * Whether a structured result is compared with the tool's `outputSchema`. One that does not match is
   * `PROTOCOLERROR`. The default is the manager's.
   */
  checkOutput?: boolean | undefined;
  /**
   * Whether the call ends as soon as the server answers with a task: the result's `task` then has its id for
   * `resumeTask`. A server that answers without one gives its result. Default: false.
   */
  returnTask?: boolean | undefined;
  /**
   * The id of a task that an earlier call began, perhaps in another process: waits for its result. The tool
   * is not called, and the arguments are not sent.
   */
  resumeTask?: string | undefined;
  /** A function that gets the progress that the server reports. It must not block. */
  onProgress?: OnProgress | undefined;
}

/** Options of a change of a config file: which file it is. */
export interface EditOptions {
  /** Whose file is changed if none is named: the user's or the project's. Default: 'user'. */
  scope?: 'user' | 'project' | undefined;
  /** The file to change; its extension tells the format. */
  file?: string | URL | undefined;
  /** The project's directory. The default is the process's working directory. */
  cwd?: string | URL | undefined;
  /** Environment, home and platform in place of the process's own. */
  hostEnv?: HostEnv | undefined;
}

/** Options of a manager that is made by discovery. */
export interface DiscoverManagerOptions extends DiscoverOptions, FileOptions {}

/** The options of a call, in the order of the core's table. */
export const CALL_OPTIONS = [
  'timeoutMs',
  'maxTotalTimeoutMs',
  'retry',
  'meta',
  'identity',
  'headers',
  'checkOutput',
  'returnTask',
  'resumeTask',
  'onProgress',
] as const;
