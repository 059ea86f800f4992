// Lets the same tests run with the oldest versions: packages are looked for beside this file.
//
//   node --import ./lowest/resolve.mjs --test openai.test.mjs
import { registerHooks } from 'node:module';

const tests = new URL('..', import.meta.url).href;
const isOurs = (url) => url?.startsWith(tests) && !url.includes('/node_modules/');

registerHooks({
  resolve(specifier, context, next) {
    const isPackage = !/^(?:\.|\/|node:|file:)/.test(specifier);
    const isMoved = isPackage && isOurs(context.parentURL);
    return next(specifier, isMoved ? { ...context, parentURL: import.meta.url } : context);
  },
});
