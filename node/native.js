// Finds and loads the addon. In a checkout it lies beside this file; a published package has it in a package for each
// platform, of which npm installs the one that fits.
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { version } = require('../package.json');

const PLATFORMS = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-gnu',
  'linux-arm64-musl',
  'linux-x64-gnu',
  'linux-x64-musl',
];

const MISSING = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND']);

module.exports = load();

function load() {
  if (existsSync(join(__dirname, 'mcpool.node'))) {
    const { addon, cause } = tryPlatform('checkout');
    if (addon) return addon;
    throw loadError(`mcpool.node does not load: ${cause.message}`, cause);
  }
  const system = `${process.platform}-${process.arch}`;
  const names = PLATFORMS.filter((name) => name === system || name.startsWith(`${system}-`));
  if (names.length === 0) {
    throw loadError(`mcpool has no build for ${system}. There are builds for ${PLATFORMS.join(', ')}.`);
  }
  let broken;
  // npm installs the package of one libc. Where both are installed, the wrong one does not load.
  for (const name of names) {
    const { addon, cause } = tryPlatform(name);
    if (addon) return checked(addon, name);
    if (!MISSING.has(cause.code)) broken ??= { name, cause };
  }
  if (broken) {
    const { name, cause } = broken;
    throw loadError(`The package @mcpool/${name} is installed but does not load: ${cause.message}`, cause);
  }
  const wanted = names.length > 1 && isMusl() ? names.find((name) => name.endsWith('-musl')) : names[0];
  throw loadError(
    `The package @mcpool/${wanted} is missing: it has the compiled part of mcpool for this system. Installers leave ` +
      'it out with --omit=optional or --no-optional, from a lock file of another system, and when node_modules was ' +
      `copied from one. Install again without these, or run: npm install @mcpool/${wanted}@${version}`,
  );
}

/** Names are written out and inside of `try`, because bundlers accept only such calls for packages that are missing. */
function tryPlatform(name) {
  try {
    switch (name) {
      case 'checkout':
        return { addon: require('./mcpool.node') };
      case 'darwin-arm64':
        return { addon: require('@mcpool/darwin-arm64') };
      case 'darwin-x64':
        return { addon: require('@mcpool/darwin-x64') };
      case 'linux-arm64-gnu':
        return { addon: require('@mcpool/linux-arm64-gnu') };
      case 'linux-arm64-musl':
        return { addon: require('@mcpool/linux-arm64-musl') };
      case 'linux-x64-gnu':
        return { addon: require('@mcpool/linux-x64-gnu') };
      case 'linux-x64-musl':
        return { addon: require('@mcpool/linux-x64-musl') };
    }
  } catch (cause) {
    return { cause };
  }
}

function checked(addon, name) {
  if (addon.VERSION === version) return addon;
  throw loadError(
    `mcpool ${version} found @mcpool/${name} ${addon.VERSION}: both must have the same version. ` +
      `Run: npm install mcpool@${version} @mcpool/${name}@${version}`,
  );
}

function loadError(message, cause) {
  return Object.assign(new Error(message, { cause }), { code: 'MCPOOL_ADDON' });
}

function isMusl() {
  return existsSync(`/lib/ld-musl-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}.so.1`);
}
