// Builds the addon: one call of cargo, so that its dependencies are those that the other crates were built with.
// Writes `mcpool.node`, and the types of what it exports into `native.d.ts`.
//
//   node node/build.mjs [--out FILE] [CARGO BUILD OPTIONS…]
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateTypeDef } from '@napi-rs/cli';

const CRATE = 'mcpool-node';
const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target');

const options = process.argv.slice(2);
const out = take('--out') ?? join(here, 'mcpool.node');

// Where the macros of napi-derive write what they export, whenever the crate is compiled.
const types = join(target, 'napi-types');
mkdirSync(types, { recursive: true });
const addon = compile();
// Never into the file itself: a running process may have it mapped.
rmSync(out, { force: true });
mkdirSync(dirname(out), { recursive: true });
cpSync(addon, out);
const { dts } = await generateTypeDef({ typeDefDir: types, constEnum: false, cwd: root });
writeFileSync(join(here, 'native.d.ts'), dts);

function take(name) {
  const at = options.indexOf(name);
  return at < 0 ? undefined : options.splice(at, 2)[1];
}

/** The path of the library that cargo built. */
function compile() {
  const env = { ...process.env, NAPI_TYPE_DEF_TMP_FOLDER: types };
  // Not compiled again, the crate writes no types.
  if (!existsSync(join(types, CRATE))) env.NAPI_FORCE_BUILD_MCPOOL_NODE = String(Date.now());
  const args = ['build', '-p', CRATE, '--message-format=json-render-diagnostics', ...options];
  const { status, error, stdout } = spawnSync('cargo', args, {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
  const built = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .find((message) => message.reason === 'compiler-artifact' && message.target.name === 'mcpool_node');
  return built.filenames.find((name) => /\.(so|dylib|dll)$/.test(name));
}
