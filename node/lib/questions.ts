// Owns answering the core's questions to a manager's owner: about trust, approvals and identities.
import { bridge, type OnQuestion } from './bridge.js';
import { thrownText } from './errors.js';
import { isPlain, plainHeaders } from './headers.js';
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

/** The functions that answer a manager's questions. */
export interface QuestionCallbacks {
  trust?: Trust | undefined;
  onApproval?: OnApproval | undefined;
  onIdentity?: OnIdentity | undefined;
}

/** Answers the questions of a manager with these functions; undefined if there is none. */
export function answerWith({ trust, onApproval, onIdentity }: QuestionCallbacks): OnQuestion {
  const callbacks = {
    trust: typeof trust === 'function' ? trust : undefined,
    approval: typeof onApproval === 'function' ? onApproval : undefined,
    identity: typeof onIdentity === 'function' ? onIdentity : undefined,
  };
  if (!callbacks.trust && !callbacks.approval && !callbacks.identity) return undefined;
  return (json) => {
    const [id, { kind, annotations, identity, ...fields }] = JSON.parse(json);
    const callback = callbacks[kind as keyof typeof callbacks] as (question: unknown) => unknown;
    const question = { ...fields, ...(annotations && { annotations }), ...(identity && { identity }) };
    if (kind === 'trust') hideWhenPrinted(question);
    const read = kind === 'identity' ? readCaller : readDecision;
    void answer(callback, question, read).then((said) => bridge().answer(id, said));
  };
}

/** A project's text may contain a secret: a logged question shows only its origin; its fields show everything. */
function hideWhenPrinted(question: { server: string; path: string; fingerprint: string }): void {
  const { server, path, fingerprint } = question;
  const value = () => ({ server, path, fingerprint });
  Object.defineProperty(question, Symbol.for('nodejs.util.inspect.custom'), { value });
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
