// The same module for `import`: one set of classes, whoever loads it how.
export * from './index.js';
