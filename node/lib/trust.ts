// Owns which definitions of a project may start programs: the store, and who is asked.
import { ask, bridge } from './post.js';
import { pathOf, restoringWrite } from './shape.js';
import type { Surroundings } from './surroundings.js';

/** A project's definition that nobody has trusted yet; what may be secret in it is starred. */
export interface TrustQuestion {
  server: string;
  /** The file that declares it. */
  path: string;
  fingerprint: string;
  definition: Record<string, unknown>;
}

/** A definition that the user trusts. */
export interface Trusted {
  /** The file that declares it. */
  path: string;
  server: string;
  fingerprint: string;
}

/**
 * Who decides whether a project's definition may start a program: the store that `trust` fills, nobody (`all` is
 * trusted, or `none`), or a function that is asked about what the store does not know. One that fails trusts nothing.
 */
export type Trust = 'stored' | 'all' | 'none' | ((question: TrustQuestion) => boolean | Promise<boolean>);

/** What is said besides the file. */
export interface TrustOptions {
  /** Only these servers; all of the file when left out. */
  servers?: string[] | undefined;
  surroundings?: Surroundings | undefined;
}

/**
 * Trusts what a project's config file declares now; gives what is trusted. A definition that changes afterwards is one
 * that nobody has trusted.
 */
export function trust(path: string | URL, options: TrustOptions = {}): Promise<Trusted[]> {
  return about('trust', { ...options, path: pathOf(path) });
}

/** Takes trust in a file's definitions back; gives what was trusted. */
export function untrust(path: string | URL, options: TrustOptions = {}): Promise<Trusted[]> {
  return about('untrust', { ...options, path: pathOf(path) });
}

/** Everything that the user trusts. */
export function trusted(options: { surroundings?: Surroundings | undefined } = {}): Promise<Trusted[]> {
  return about('trusted', options);
}

function about(verb: string, request: object): Promise<Trusted[]> {
  return ask((key) => restoringWrite(request, (json) => bridge().trust(key, verb, json)), JSON.parse);
}
