// A person with a browser: keeps cookies, fills in forms, and goes where the pages of a sign-in lead.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';

// A sign-in has fewer pages.
const pages = 20;
const typed = { login: 'ada', email: 'ada@example.org', password: 'a long password' };

const attribute = (tag, name) => tag.match(new RegExp(`\\s${name}="([^"]*)"`))?.[1];
const unescaped = (value) => value.replaceAll('&amp;', '&');

/** The action and the fields of the first form of a page. */
function formOf(html) {
  const [form] = html.match(/<form[^>]*>/) ?? [];
  if (!form) return undefined;
  const inputs = (html.match(/<input[^>]*>/g) ?? []).filter((input) => attribute(input, 'name'));
  const fields = inputs.map((input) => {
    const name = attribute(input, 'name');
    return [name, unescaped(attribute(input, 'value') ?? typed[name] ?? '')];
  });
  return { action: unescaped(attribute(form, 'action') ?? ''), body: new URLSearchParams(fields) };
}

export class Visitor {
  prompts = [];
  #cookies = new Map();

  async #open(url, body) {
    const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
    const type = body ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
    // Servers tell what `fetch` asks for from what a browser navigates to.
    const sent = request(url, { method: body ? 'POST' : 'GET', headers: { cookie, ...type } });
    sent.end(body?.toString());
    const [answer] = await once(sent, 'response');
    for (const set of answer.headers['set-cookie'] ?? []) {
      const [, name, value] = set.match(/^([^=]+)=([^;]*)/);
      this.#cookies.set(name, value);
    }
    const { location } = answer.headers;
    const there = location && new URL(location, url);
    return { url, status: answer.statusCode, text: await text(answer), location: there };
  }

  /** Goes from page to page, to the one that leads nowhere. */
  async signIn(url) {
    let page = await this.#open(url);
    for (let left = pages; left > 0; left--) {
      const form = formOf(page.text);
      if (page.location) page = await this.#open(page.location);
      else if (form) page = await this.#open(new URL(form.action, page.url), form.body);
      else return page;
    }
    throw new Error(`the pages do not end: ${page.url}`);
  }

  /** For the option of the same name. */
  onAuth = async (prompt) => {
    this.prompts.push(prompt);
    const { status } = await this.signIn(prompt.url);
    assert.equal(status, 200);
  };
}
