// Owns answering what the core asks of a manager's owner: about trust, and about calls that need approval.
import { type Answering, bridge } from './post.js';
import type { ToolAnnotations } from './tool.js';
import type { Trust } from './trust.js';

/** A call that waits for a person's word. Its arguments are shown whole, as they will be sent. */
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

/** Answers whether a call may be sent. One that fails, or gives anything but a boolean, has not approved. */
export type OnApproval = (question: ApprovalQuestion) => boolean | Promise<boolean>;

/** Who answers the questions of a manager. */
export interface Asked {
  trust?: Trust | undefined;
  onApproval?: OnApproval | undefined;
}

/** What answers the questions of a manager that was given these; undefined when there is nothing to ask. */
export function answering({ trust, onApproval }: Asked): Answering {
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

/** What a project wrote may be a secret: a question that is logged shows who asks, its fields show all to a person. */
function hideWhenPrinted(question: { server: string; path: string; fingerprint: string }): void {
  const { server, path, fingerprint } = question;
  const value = () => ({ server, path, fingerprint });
  Object.defineProperty(question, Symbol.for('nodejs.util.inspect.custom'), { value });
}

/** The answer, or what went wrong: then the core says no, and logs it. */
async function answer(
  callback: (question: unknown) => unknown,
  question: unknown,
): Promise<boolean | string> {
  try {
    const said = await callback(question);
    return typeof said === 'boolean' ? said : `it gave ${typeof said}, neither true nor false`;
  } catch (error) {
    return (error instanceof Error && error.stack) || String(error);
  }
}
