// Compiled only: the same package for CommonJS.
import mcpool = require('mcpool');

export const manager: mcpool.Manager = new mcpool.Manager('{"mcpServers": {}}');
export const closed: typeof mcpool.ClosedError = mcpool.ClosedError;
