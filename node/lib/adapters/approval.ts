// Owns the option `needsApproval`. The core remembers it and decides which calls it is about: whoever asks for it once for a
// manager gets it for all its tools. A way that cannot ask says so, and calls with `executeUnasked` or `executeNamed`.
import type { Manager, Tool } from 'mcpool';

/** How tools are made for a framework. */
export interface ToolOptions {
  /**
   * Whether the framework asks a person before it calls a tool that requires approval. Asked for once, it holds for all
   * tools of the manager, also for those that were made before; `manager.child()` has none of it.
   */
  needsApproval?: boolean | undefined;
}

/** For functions whose framework cannot ask. */
export interface NoApproval {
  needsApproval?: never;
}

const REQUIRE = Symbol.for('mcpool.requireApproval');
const REQUIRES = Symbol.for('mcpool.requiresApproval');
const NEEDS = Symbol.for('mcpool.needsApproval');

/** Asks a manager or a tool by a key of theirs. */
const ask = (asked: Manager | Tool, key: symbol): boolean =>
  (asked as unknown as Record<symbol, () => boolean>)[key]?.() as boolean;

/** Reads `needsApproval`. A misspelt option would be an approval that is never asked for, so it is refused. */
export function rememberApproval(manager: Manager, options: ToolOptions, ...others: string[]): void {
  const { needsApproval } = options;
  const known = ['needsApproval', ...others];
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new TypeError(`There is no option "${unknown.join('", "')}"; there is "${known.join('", "')}"`);
  }
  if (needsApproval !== undefined && typeof needsApproval !== 'boolean') {
    throw new TypeError(`needsApproval must be true or false, not ${typeof needsApproval}`);
  }
  if (needsApproval) ask(manager, REQUIRE);
}

/** Whether somebody has asked for approval of this manager's tools. */
export const isApprovalAsked = (manager: Manager): boolean => ask(manager, REQUIRES);

/** Whether a person has to be asked before a call of this tool. */
export const waitsForApproval = (tool: Tool): boolean => ask(tool, NEEDS);

/** Refuses `needsApproval` where nobody would be asked. */
export function refuseApproval(options: unknown, way: string, instead?: string): void {
  if (!(Object(options) as ToolOptions).needsApproval) return;
  const others = instead ? `${instead}, or ` : '';
  throw new TypeError(
    `${way} cannot ask a person, so needsApproval is not for it: use ${others}onApproval of the manager, which asks before every call`,
  );
}
