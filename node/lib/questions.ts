// Owns answering the core's questions to a manager's owner: about trust, approvals and identities.
import { bridge, type OnQuestion } from './bridge.js';
import { thrownText } from './errors.js';
import { isPlain } from './given.js';
import { plainHeaders } from './headers.js';
import { isUrl } from './shape.js';
import type { ToolAnnotations } from './tool.js';
import type { Trust } from './trust.js';

/** A call that waits for approval. Its arguments are unmasked, as they will be sent. */
export interface ApprovalQuestion {
  server: string;
  /** The server's name for the tool. */
  tool: string;
  /** The tool's name in the catalog. */
  name: string;
  arguments: Record<string, unknown>;
  description: string;
  annotations?: ToolAnnotations;
  /** Where the tool comes from: its server, and the product whose config declares that. */
  provider: string;
  /** For whom the call is made, if that is known. */
  identity?: string;
}

/** Answers whether a call may be sent. An error, or anything but a boolean, is not an approval. */
export type OnApproval = (question: ApprovalQuestion) => boolean | Promise<boolean>;

/** A call that neither says for whom it is made nor brings headers. */
export interface IdentityQuestion {
  server: string;
  /** The server's name for the tool. */
  tool: string;
}

/** Who a call is made for. What is left out is the manager's default. */
export interface Caller {
  identity?: string | undefined;
  headers?: Headers | Readonly<Record<string, string>> | undefined;
}

/** Answers who a call is made for. It runs in the caller's async context. An error fails the call. */
export type OnIdentity = (
  question: IdentityQuestion,
) => Caller | undefined | null | Promise<Caller | undefined | null>;

/** A server that wants a sign-in. */
export interface AuthPrompt {
  server: string;
  /** For whom, if that is known. */
  identity?: string;
  /** The page to open in a browser. */
  url: string;
  /** The code to type there, if the browser is on another device. */
  userCode?: string;
  /** The scopes that are asked for. */
  scopes: string[];
  /** How long the page can be used. */
  expiresInMs: number;
}

/** Opens or shows the page of a sign-in. It may return the URL that the browser was sent back to. */
export type OnAuth = (
  prompt: AuthPrompt,
) => string | URL | undefined | null | Promise<string | URL | undefined | null>;

/** What a store of logins is asked: to load, to save or to remove a text. The value contains tokens. */
export interface LoginStoreRequest {
  op: 'load' | 'save' | 'remove';
  key: string;
  value?: string;
}

/** Keeps logins: returns the saved text for `load`, and nothing otherwise. An error means that it was not done. */
export type LoginStore = (
  request: LoginStoreRequest,
) => string | undefined | null | Promise<string | undefined | null>;

/** A server that wants a message from a model: the parameters as it wrote them. */
export interface SamplingRequest {
  server: string;
  /** Whose connection it is, if that is not the manager's own identity. */
  identity?: string;
  /** The conversation so far. */
  messages: { role: 'user' | 'assistant'; content: unknown }[];
  systemPrompt?: string;
  /** How long the message may be. */
  maxTokens?: number;
  /** The tools that the model may use; the server runs them. */
  tools?: object[];
  [more: string]: unknown;
}

/** A message of a model, as the protocol has it. */
export interface SampledMessage {
  role: 'assistant' | 'user';
  content: unknown;
  model: string;
  stopReason?: string;
  [more: string]: unknown;
}

/** Returns a message of a model, or only its text. Nothing, or an error, refuses. */
export type OnSampling = (
  request: SamplingRequest,
) => SampledMessage | string | undefined | null | Promise<SampledMessage | string | undefined | null>;

/** A server that wants input from a person. */
export interface ElicitationRequest {
  server: string;
  /** Whose connection it is, if that is not the manager's own identity. */
  identity?: string;
  /** Whether a form is to be filled in, or a page of the server to be visited. */
  mode: 'form' | 'url';
  /** What the server says to the person. */
  message: string;
  /** The fields of a form, as a JSON Schema. */
  requestedSchema?: Record<string, unknown>;
  /** The page. It is only to be shown, with its origin: the person decides whether to open it. */
  url?: string;
  origin?: string;
  /** Names the visit in the event `elicitation_complete`. */
  elicitationId?: string;
}

/** What a person did. Fields that an accepted form leaves out get the defaults of the schema. */
export type ElicitationAnswer =
  | { action: 'accept'; content?: Record<string, unknown> }
  | { action: 'decline' | 'cancel' };

/** Asks a person. An error cancels the request. */
export type OnElicitation = (request: ElicitationRequest) => ElicitationAnswer | Promise<ElicitationAnswer>;

/** The functions that answer a manager's questions. */
export interface QuestionCallbacks {
  trust?: Trust | undefined;
  onApproval?: OnApproval | undefined;
  onIdentity?: OnIdentity | undefined;
  onAuth?: OnAuth | undefined;
  loginStore?: LoginStore | undefined;
  onSampling?: OnSampling | undefined;
  onElicitation?: OnElicitation | undefined;
}

/** The options of a manager that answer questions. */
export function callbacksOf(options: QuestionCallbacks): QuestionCallbacks {
  const { trust, onApproval, onIdentity, onAuth, loginStore, onSampling, onElicitation } = options;
  return { trust, onApproval, onIdentity, onAuth, loginStore, onSampling, onElicitation };
}

/** Answers the questions of a manager with these functions; undefined if there is none. */
export function answerWith(functions: QuestionCallbacks): OnQuestion {
  const { trust, onApproval, onIdentity, onAuth, loginStore, onSampling, onElicitation } = functions;
  const callbacks = {
    trust: typeof trust === 'function' ? trust : undefined,
    approval: typeof onApproval === 'function' ? onApproval : undefined,
    identity: typeof onIdentity === 'function' ? onIdentity : undefined,
    auth: typeof onAuth === 'function' ? onAuth : undefined,
    login_store: typeof loginStore === 'function' ? loginStore : undefined,
    sampling: typeof onSampling === 'function' ? onSampling : undefined,
    elicitation: typeof onElicitation === 'function' ? onElicitation : undefined,
  };
  if (Object.values(callbacks).every((callback) => callback === undefined)) return undefined;
  return (json) => {
    const [id, { kind, annotations, identity, ...fields }] = JSON.parse(json);
    const callback = callbacks[kind as keyof typeof callbacks] as (question: unknown) => unknown;
    const all = { ...fields, ...(annotations && { annotations }), ...(identity && { identity }) };
    const question = kind in SHAPES ? SHAPES[kind as keyof typeof SHAPES](all) : all;
    if (kind === 'trust') hideWhenPrinted(all);
    if (kind === 'login_store') hideValue(all);
    const read = READERS[kind as keyof typeof READERS];
    void answer(callback, question, read).then((said) => bridge().answer(id, said));
  };
}

/** A project's text may contain a secret: a logged question shows only its origin; its fields show everything. */
function hideWhenPrinted(question: { server: string; path: string; fingerprint: string }): void {
  const { server, path, fingerprint } = question;
  const value = () => ({ server, path, fingerprint });
  Object.defineProperty(question, Symbol.for('nodejs.util.inspect.custom'), { value });
}

/** A logged request shows no tokens. */
function hideValue(request: LoginStoreRequest): void {
  const { op, key } = request;
  Object.defineProperty(request, Symbol.for('nodejs.util.inspect.custom'), { value: () => ({ op, key }) });
}

/** The answer as JSON, or an error message: the core then answers no, or fails the call. */
async function answer(
  callback: (question: unknown) => unknown,
  question: unknown,
  read: (said: unknown) => unknown,
): Promise<string> {
  try {
    return JSON.stringify(read(await callback(question)));
  } catch (error) {
    return JSON.stringify(thrownText(error, 'stack'));
  }
}

function promptOf({ user_code, expires_in_ms, ...fields }: Record<string, unknown>) {
  return { ...fields, ...(user_code ? { userCode: user_code } : {}), expiresInMs: expires_in_ms };
}

/** The parameters are beside the server, which they cannot replace. */
function samplingOf({ params, ...fields }: Record<string, unknown>) {
  return { ...(params as object), ...fields };
}

function elicitationOf({ requested_schema, elicitation_id, ...fields }: Record<string, unknown>) {
  return {
    ...fields,
    ...(requested_schema ? { requestedSchema: requested_schema } : {}),
    ...(elicitation_id ? { elicitationId: elicitation_id } : {}),
  };
}

/** How the fields of a question become those of JavaScript. */
const SHAPES = { auth: promptOf, sampling: samplingOf, elicitation: elicitationOf };

const readDecision = (said: unknown) =>
  typeof said === 'boolean' ? said : `it gave ${typeof said}, neither true nor false`;

/** Only plain objects: others, such as a Map, have fields that JSON leaves out, and a login must not get lost. */
function readCaller(said: unknown): object {
  if (said === undefined || said === null) return {};
  if (!isPlain(said)) throw new TypeError('it gave neither a plain object nor undefined');
  const { headers, ...rest } = said as Caller;
  if (headers === undefined || headers === null) return rest;
  return { ...rest, headers: plainHeaders(headers) };
}

function readRedirect(said: unknown): object {
  if (said === undefined || said === null) return {};
  if (typeof said !== 'string' && !isUrl(said)) throw new TypeError('it gave neither a URL nor undefined');
  return { redirect_url: String(said) };
}

function readValue(said: unknown): object {
  if (said === undefined || said === null) return { value: null };
  if (typeof said !== 'string') throw new TypeError('it gave neither a text nor undefined');
  return { value: said };
}

function readMessage(said: unknown): object {
  if (said === undefined || said === null) return { value: null };
  if (typeof said !== 'string' && !isPlain(said)) throw new TypeError('it gave neither a message nor a text');
  return { value: said };
}

function readElicitation(said: unknown): object {
  if (!isPlain(said) || !('action' in said)) throw new TypeError('it gave no object with an action');
  return { value: said };
}

const READERS = {
  trust: readDecision,
  approval: readDecision,
  identity: readCaller,
  auth: readRedirect,
  login_store: readValue,
  sampling: readMessage,
  elicitation: readElicitation,
};
