// A person who signs in: opens the pages of the fixture's authorisation server and goes where they lead to.

/** Opens a page. */
export async function get(url, { redirect = 'follow' } = {}) {
  const answer = await fetch(url, { redirect });
  const text = await answer.text();
  return { status: answer.status, text, location: answer.headers.get('location') };
}

/**
 * A callback that signs in by the script: `browser` opens the page and goes where it leads to, `redirect` returns where it
 * leads to, `ignore` does nothing, `fail` and `hang` do what they say.
 */
export function signingIn(answers, questions) {
  return async ({ userCode, expiresInMs, ...prompt }) => {
    const code = userCode === undefined ? {} : { user_code: userCode };
    questions.push({ ...prompt, ...code, expires_in_ms: expiresInMs });
    switch (answers[prompt.server] ?? 'ignore') {
      case 'browser':
        await get(prompt.url);
        return undefined;
      case 'redirect':
        return (await get(prompt.url, { redirect: 'manual' })).location;
      case 'fail':
        throw new Error('the script says so');
      case 'hang':
        return new Promise(() => {});
      default:
        return undefined;
    }
  };
}

/** The page that the status of a server names. */
export function pageOf(manager, server) {
  const { error } = manager.status().find((status) => status.name === server);
  if (!error?.authUrl) throw new Error(`${server} names no page: ${error}`);
  return error.authUrl;
}

/** A store of logins in memory; with `fail` it does nothing but fail. */
export function keeping(logins, answers) {
  let failsSave = answers === 'fail_first_save';
  return async ({ op, key, value }) => {
    const fails = answers === 'fail' || (failsSave && op === 'save');
    failsSave &&= op !== 'save';
    if (fails) throw new Error('the script says so');
    if (op === 'load') return logins.get(key);
    if (op === 'save') logins.set(key, value);
    else logins.delete(key);
    return undefined;
  };
}
