// A `fetch` that answers each request of a client with what the script says.

/** `see` reads the request's body, `answer` writes the response's. */
export const fetchOf =
  (script, see, answer) =>
  async (_url, { body, signal }) => {
    signal?.throwIfAborted();
    const request = JSON.parse(body);
    const said = await script(see(request));
    const headers = { 'content-type': 'application/json' };
    return new Response(JSON.stringify(answer(said, request)), { headers });
  };
