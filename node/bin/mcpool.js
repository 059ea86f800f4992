#!/usr/bin/env node
// The command `mcpool` as npm installs it: the same command line as everywhere, in the core.
const { runCommand } = require('../native.js');

process.exitCode = runCommand(process.argv.slice(2), [process.execPath, __filename]);
