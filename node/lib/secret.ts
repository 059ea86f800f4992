// Owns texts that must not be shown by accident.
import { inspect } from 'node:util';

const STARS = '***';

/** A text that shows itself only when asked to. */
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
