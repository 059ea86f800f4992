// The same module for `import`, so that there is one set of classes.
// The values are listed one by one; otherwise the markers of a CommonJS module would be exported too.

export * from './error-classes.mjs';
export type * from './index.js';
export {
  config,
  discover,
  extra,
  Manager,
  Pool,
  Secret,
  setClientInfo,
  Tool,
  ToolOutput,
  ToolResult,
  trust,
  trusted,
  untrust,
} from './index.js';
