// Packs what npm gets, into `dist/`:
//
//   node release/npm.mjs main           the package `mcpool`: JavaScript and types only
//   node release/npm.mjs TARGET ADDON   the package with the addon that was built for a target of Rust
//
// The `package.json` of a checkout is no good to publish: it has the tools of development and none of the packages that
// carry the addons.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const platforms = readJson('node/platforms.json');
const checkout = readJson('package.json');
/** What every package says of itself. */
const { version, description, keywords, license, engines, homepage, repository, bugs } = checkout;

const [what, addon] = process.argv.slice(2);
if (what === 'main') packMain();
else packAddon(what, addon);

function packMain() {
  const { private: _, scripts, devDependencies, ...published } = checkout;
  // Some package managers fail if one of them does not exist.
  const released = Object.keys(platforms).filter((name) => !platforms[name].experimental);
  const addons = released.map((name) => [`@mcpool/${name}`, version]);
  const added = {
    type: 'commonjs',
    typesVersions: typesVersions(),
    optionalDependencies: Object.fromEntries(addons),
  };
  pack('mcpool', { ...published, ...added }, (home) => {
    for (const file of ['README.md', ...checkout.files]) copy(file, join(home, file));
  });
}

/** The types of each path for compilers that do not read `exports`. */
function typesVersions() {
  const paths = Object.entries(checkout.exports)
    .filter(([path]) => path !== '.' && path !== './package.json')
    .map(([path, to]) => [path.slice(2), [to.require?.types ?? to]]);
  return { '*': Object.fromEntries(paths) };
}

function packAddon(target, addon) {
  const found = Object.entries(platforms).find(([, platform]) => platform.target === target);
  if (!found) throw new Error(`node/platforms.json has no platform for ${target}`);
  const [name, { os, cpu, libc }] = found;
  const manifest = {
    name: `@mcpool/${name}`,
    version,
    description: `The compiled part of mcpool for ${name}`,
    keywords,
    license,
    engines,
    homepage,
    repository,
    bugs,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    type: 'commonjs',
    main: 'mcpool.node',
    files: ['mcpool.node', 'THIRD-PARTY-LICENSES.txt', 'mcpool.cdx.json', 'LICENSE-APACHE', 'LICENSE-MIT'],
  };
  pack(name, manifest, (home) => {
    cpSync(addon, join(home, 'mcpool.node'));
    for (const file of ['LICENSE-APACHE', 'LICENSE-MIT']) copy(file, join(home, file));
    for (const file of ['THIRD-PARTY-LICENSES.txt', 'mcpool.cdx.json'])
      copy(join('dist', file), join(home, file));
    writeFileSync(join(home, 'README.md'), `# @mcpool/${name}\n\n${manifest.description}: ${description}.\n`);
  });
}

function pack(name, manifest, fill) {
  const home = join(root, 'target/npm', name);
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  mkdirSync(dist, { recursive: true });
  writeFileSync(join(home, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  fill(home);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', dist], { cwd: home, stdio: 'inherit' });
}

function copy(from, to) {
  if (!existsSync(join(root, from))) throw new Error(`${from} is missing: run "make dist-node"`);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(join(root, from), to, { recursive: true });
}

function readJson(path) {
  return JSON.parse(readFileSync(join(root, path), 'utf8'));
}
