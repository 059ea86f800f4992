// Unpacks the browser of the npm package, with the libraries and fonts that it brings, into the folder given.
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

const folder = resolve(process.argv[2]);
mkdirSync(folder, { recursive: true });
process.env.TMPDIR = folder;
// Only where it takes itself to be on a bare machine does the package unpack its libraries.
process.env.AWS_EXECUTION_ENV = 'AWS_Lambda_nodejs20.x';
const { default: chromium } = await import('@sparticuz/chromium');
const program = await chromium.executablePath();
const fonts = ['/usr/share/fonts', `${folder}/fonts/fonts`].map((place) => `<dir>${place}</dir>`);
writeFileSync(
  `${folder}/fonts/fonts.conf`,
  `<?xml version="1.0"?><fontconfig>${fonts.join('')}<cachedir>${folder}/fonts-cache</cachedir></fontconfig>\n`,
);
console.log(program);
