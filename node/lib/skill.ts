// Owns the types of a server's skills.

/** A file of a skill, as the server lists it. */
export interface SkillFile {
  uri: string;
  /** `sha256:` and the hash of its bytes. */
  digest: string;
  /** Its size in bytes. */
  size: number;
  [more: string]: unknown;
}

/** A skill that a server offers, with all that the server says of it. */
export interface Skill {
  /** The address of its `SKILL.md`. */
  uri: string;
  /** Its name, from the frontmatter. Skills may share a name; an address belongs to one skill. */
  name: string;
  /** What it is for, from the frontmatter. */
  description: string;
  /** The head of its `SKILL.md`, as the server lists it. */
  frontmatter: Record<string, unknown>;
  /** All its files; `'dynamic'` if the server makes them when they are read. */
  resources: SkillFile[] | 'dynamic';
  [more: string]: unknown;
}

/** The `SKILL.md` of a skill, checked against its entry. */
export interface SkillContent {
  /** The entry that it was checked against. */
  skill: Skill;
  /** The whole file. */
  text: string;
  /** The file without its frontmatter. */
  body: string;
}
