// Owns changing config files: one server at a time, everything else in the file stays as it was.
import * as native from '../native.js';
import type { HostEnv } from './host-env.js';
import { ask, bridge } from './post.js';
import type { ServerConfig } from './server-config.js';
import { restoringWrite, withPaths, write } from './shape.js';

/** The file that is changed. */
export interface EditOptions {
  /** Without a file: the user's, which is the default, or the project's. */
  scope?: 'user' | 'project' | undefined;
  /** This file; its ending tells the format. */
  file?: string | URL | undefined;
  /** The project's directory; the process's working directory when left out. */
  cwd?: string | URL | undefined;
  hostEnv?: HostEnv | undefined;
}

/** What a change did. */
export interface Edited {
  /** The file that was changed. */
  path: string;
  /** What is odd about the definition. */
  warnings: string[];
}

/** Adds a server; one of that name must not be there. */
function add(name: string, definition: ServerConfig, options: EditOptions = {}): Promise<Edited> {
  return edit('add', name, options, definition);
}

/** Takes a server out. */
function remove(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('remove', name, options);
}

/** Changes fields of a server; a null takes a field out. */
function update(name: string, changes: Changes, options: EditOptions = {}): Promise<Edited> {
  return edit('update', name, options, changes);
}

/** Switches a server on: in its definition, and in the lists of the same file. */
function enable(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('enable', name, options);
}

/** Switches a server off. */
function disable(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('disable', name, options);
}

/** Switches off a server that another file defines: puts its name on `disabledServers` of this one. */
function hide(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('hide', name, options);
}

/** Takes a name off the list `disabledServers` again. */
function unhide(name: string, options: EditOptions = {}): Promise<Edited> {
  return edit('unhide', name, options);
}

/** The JSON Schema of a config file. */
function schema(): Record<string, unknown> {
  return JSON.parse(native.schema());
}

/** Fields of a server and what they become; null takes a field out. */
export type Changes = { [Field in keyof ServerConfig]?: ServerConfig[Field] | null };

function edit(verb: string, name: string, options: EditOptions, definition?: object): Promise<Edited> {
  const start = (key: number) => {
    const json = definition === undefined ? undefined : write('definition', definition);
    restoringWrite(withPaths(options, 'file', 'cwd'), (at) =>
      bridge().edit(key, verb, at, String(name), json),
    );
  };
  return ask(start, JSON.parse);
}

/** Changing config files: the user's own, a project's, or any other, one server at a time. */
export const config = { add, remove, update, enable, disable, hide, unhide, schema };
