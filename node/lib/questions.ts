// Owns answering the core's questions to a manager's owner: about trust and approvals.
import { bridge, type OnQuestion } from './bridge.js';
import { thrownText } from './errors.js';
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
}

/** Answers whether a call may be sent. An error, or anything but a boolean, is not an approval. */
export type OnApproval = (question: ApprovalQuestion) => boolean | Promise<boolean>;

/** The functions that answer a manager's questions. */
export interface QuestionCallbacks {
  trust?: Trust | undefined;
  onApproval?: OnApproval | undefined;
}

/** Answers the questions of a manager with these functions; undefined if there is none. */
export function answerWith({ trust, onApproval }: QuestionCallbacks): OnQuestion {
  const callbacks = {
    trust: typeof trust === 'function' ? trust : undefined,
    approval: typeof onApproval === 'function' ? onApproval : undefined,
  };
  if (!callbacks.trust && !callbacks.approval) return undefined;
  return (json) => {
    const [id, { kind, annotations, ...fields }] = JSON.parse(json);
    const callback = callbacks[kind as keyof typeof callbacks] as (question: unknown) => unknown;
    const question = annotations ? { ...fields, annotations } : fields;
    if (kind === 'trust') hideWhenPrinted(question);
    void answer(callback, question).then((said) => bridge().answer(id, JSON.stringify(said)));
  };
}

/** A project's text may contain a secret: a logged question shows only its origin; its fields show everything. */
function hideWhenPrinted(question: { server: string; path: string; fingerprint: string }): void {
  const { server, path, fingerprint } = question;
  const value = () => ({ server, path, fingerprint });
  Object.defineProperty(question, Symbol.for('nodejs.util.inspect.custom'), { value });
}

/** The answer, or an error message: the core then answers no and logs it. */
async function answer(
  callback: (question: unknown) => unknown,
  question: unknown,
): Promise<boolean | string> {
  try {
    const said = await callback(question);
    return typeof said === 'boolean' ? said : `it gave ${typeof said}, neither true nor false`;
  } catch (error) {
    return thrownText(error, 'stack');
  }
}
