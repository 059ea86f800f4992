// Asks a question that is never answered, gives up, and ends.
import { Manager } from 'mcpool';

const [, , project, home] = process.argv.slice(2);
const hostEnv = { env: { PATH: process.env.PATH }, home };
let asked = () => {};
const heard = new Promise((resolve) => (asked = resolve));
const trust = () => {
  asked();
  return new Promise(() => {});
};
const manager = await Manager.discover({ cwd: project, hostEnv, cacheDir: false, trust });
void manager.connectAll().catch(() => {});
await heard;
await manager.close();
console.log('asked');
