// Owns the place for fields of a config that are not ours.

/**
 * The key for fields of a config or a definition that are not ours: `{ command: 'x', [extra]: { icon: 'x.png' } }`.
 * They are written beside the others. Without such a key, every misspelt field would have a legal type.
 */
export const extra: unique symbol = Symbol.for('mcpool.extra');

/** The object with its extra fields; its own ones win. */
export function withExtra(value: object): object {
  const fields = (value as { [extra]?: object })[extra];
  return fields === undefined ? value : { ...fields, ...value };
}
