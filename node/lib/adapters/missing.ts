// Owns the error for a framework that is not installed.

const ABSENT: ReadonlySet<unknown> = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND']);

/** Handles an error of loading `packages`: a missing package gets a hint how to install it, others are rethrown. */
export function missing(adapter: string, ...packages: string[]): (cause: unknown) => never {
  return (cause) => {
    const { code, message = '' } = Object(cause) as { code?: unknown; message?: string };
    const absent = ABSENT.has(code) && packages.some((name) => message.includes(`'${name}`));
    if (!absent) throw cause;
    const names = packages.map((name) => `"${name}"`).join(' and ');
    const said = `mcpool/adapters/${adapter} needs ${names}: run "npm install ${packages.join(' ')}"`;
    throw Object.assign(new Error(said, { cause }), { code });
  };
}

/** The result of `load`, or an error that names the missing package. */
export function required<T>(load: () => T, otherwise: (cause: unknown) => never): T {
  try {
    return load();
  } catch (cause) {
    return otherwise(cause);
  }
}
