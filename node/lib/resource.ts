// Owns the types of a server's resources.

/** An icon of a server, a tool, a resource or a prompt. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: string;
}

/** A resource that a server offers, with all that the server says of it. */
export interface Resource {
  /** Its address, by which it is read. */
  uri: string;
  /** Its name; empty if the server gives none. */
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  /** Its size in bytes. */
  size?: number;
  icons?: Icon[];
  annotations?: Record<string, unknown>;
  [more: string]: unknown;
}

/** A family of resources, whose addresses follow a template as in RFC 6570. */
export interface ResourceTemplate {
  uriTemplate: string;
  /** Its name; empty if the server gives none. */
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  icons?: Icon[];
  annotations?: Record<string, unknown>;
  [more: string]: unknown;
}

/** A part of what is in a resource: a text, or bytes as base64 in `blob`. */
export interface ResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
  [more: string]: unknown;
}
