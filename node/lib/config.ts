// Owns changing config files: one server at a time; the rest of the file stays unchanged.
import * as native from '../native.js';
import { bridge, runVerb } from './bridge.js';
import { serverName } from './given.js';
import type { EditOptions } from './options.js';
import type { ServerConfig } from './server-config.js';
import { write, writeOptions } from './shape.js';

/** The outcome of a change. */
export interface Edited {
  /** The file that was changed. */
  path: string;
  /** Warnings about the definition. */
  warnings: string[];
}

/** Adds a server; the name must be new. */
function add(name: string, definition: ServerConfig, options: EditOptions = {}): Promise<Edited> {
  return edit('add', name, options, definition);
}

/** Removes a server. */
function remove(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('remove', name, options);
}

/** Changes fields of a server; null removes a field. */
function update(name: string, changes: Changes, options: EditOptions = {}): Promise<Edited> {
  return edit('update', name, options, changes);
}

/** Enables a server: in its definition, and in the lists of the same file. */
function enable(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('enable', name, options);
}

/** Disables a server. */
function disable(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('disable', name, options);
}

/** Disables a server that another file defines: adds its name to `disabledServers` of this file. */
function hide(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('hide', name, options);
}

/** Removes a name from `disabledServers`. */
function unhide(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('unhide', name, options);
}

/** The JSON Schema of a config file. */
function schema(): Record<string, unknown> {
  return JSON.parse(native.schema());
}

/** Fields of a server and their new values; null removes a field. */
export type Changes = { [Field in keyof ServerConfig]?: ServerConfig[Field] | null };

function edit(verb: string, name: string, options: EditOptions, definition?: object): Promise<Edited> {
  const start = (key: number) => {
    const json = definition === undefined ? undefined : write('definition', definition);
    const at = writeOptions(options);
    const server = serverName(name);
    bridge().edit(key, verb, at, server, json);
  };
  return runVerb(start, JSON.parse);
}

/**
 * Changing config files: the user's own, a project's, or any other, one server at a time. Another product's file gets that
 * product's words and units; what the product cannot say is a `ConfigInvalidError`.
 */
export const config = { add, remove, update, enable, disable, hide, unhide, schema };
