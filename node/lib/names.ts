// Owns the names of JavaScript: `exit_code` is `exitCode` there.

const camelCase = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The fields of a record under their names in camelCase, without nulls. */
export function camelFields(record: object): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(record)) {
    if (value !== null) fields[camelCase(name)] = value;
  }
  return fields;
}

/** A hint with our verbs in camelCase: `connect_all()` is `connectAll()`. Names in quotes are those of others. */
export const camelVerbs = (hint: string) => hint.replace(/(?<=^|[\s.])[a-z]+(?:_[a-z]+)+(?=\()/g, camelCase);
