// The first work of a process that has no descriptor left, and the same once it has some.
import { closeSync, openSync } from 'node:fs';
import { Manager } from 'mcpool';

const [command] = process.argv.slice(2);
const config = { mcpServers: { a: { command, args: ['stdio'] } } };
const codes = [];
const note = async (work) => {
  try {
    await work();
    codes.push('fine');
  } catch ({ code, hint }) {
    codes.push(hint === undefined ? `${code} without a hint` : code);
  }
};
const use = async () => {
  const manager = new Manager(config, { cacheDir: false });
  await note(() => manager.connect('a'));
  await note(() => manager.close());
};

/** Takes every descriptor but so many. */
function take(left) {
  const taken = [];
  try {
    for (;;) taken.push(openSync('/dev/null'));
  } catch {
    for (const one of taken.splice(0, left)) closeSync(one);
  }
  return () => taken.forEach(closeSync);
}

// None for the mailbox; then enough for it alone.
for (const left of [0, 4]) {
  const give = take(left);
  await note(use);
  give();
}
await note(use);
console.log(JSON.stringify(codes));
