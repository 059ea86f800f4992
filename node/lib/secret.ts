// Owns texts that must not be printed by accident.
import { inspect } from 'node:util';

const STARS = '***';

/** A text that is printed only on request. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The text itself. */
  expose(): string {
    return this.#text;
  }

  toString(): string {
    return STARS;
  }

  toJSON(): string {
    return STARS;
  }

  [inspect.custom](): string {
    return STARS;
  }
}
