// Writes the Node reference from the TSDoc comments of node/lib to standard output.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application, ReflectionKind as Kind } from 'typedoc';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lib = join(root, 'node/lib');

/** What users import of the adapters, by what `package.json` exports. */
function adapters() {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = Object.keys(exports).filter((name) => name.startsWith('./adapters/'));
  return names.map((name) => name.slice('./adapters/'.length)).sort();
}

/** The modules behind these files, by the names of the files. */
async function read(files, tsconfig) {
  const app = await Application.bootstrap({
    entryPoints: files,
    tsconfig,
    // Frameworks are not installed here; what they give is written as the source names it.
    skipErrorChecking: true,
    excludeInternal: true,
    excludePrivate: true,
    excludeExternals: true,
    alwaysCreateEntryPointModule: true,
    sort: ['source-order'],
    logLevel: 'Error',
  });
  const project = await app.convert();
  if (project?.children?.length !== files.length) throw new Error(`${files} cannot be read`);
  return new Map(project.children.map((module) => [module.name.split('/').at(-1), module]));
}

const text = (comment) => (comment?.summary ?? []).map((part) => part.text).join('').trim();

/** Types as one would write them, on one line. */
const shown = (type) => String(type).replace(/\s+/g, ' ');

const commentOf = (reflection) => text(reflection.comment ?? reflection.signatures?.[0]?.comment ?? reflection.getSignature?.comment);

function parameters(signature) {
  return (signature.parameters ?? [])
    .map((parameter) => {
      const optional = parameter.flags.isOptional || parameter.defaultValue !== undefined;
      const rest = parameter.flags.isRest ? '...' : '';
      return `${rest}${parameter.name}${optional ? '?' : ''}: ${shown(parameter.type)}`;
    })
    .join(', ');
}

const generics = (signature) =>
  signature.typeParameters?.length ? `<${signature.typeParameters.map((one) => one.name).join(', ')}>` : '';

function heading(member, owner) {
  const isStatic = member.flags.isStatic ? 'static ' : '';
  if (member.kind === Kind.Constructor) return `new ${owner}(${parameters(member.signatures[0])})`;
  if (member.kind === Kind.Accessor) return `${isStatic}${member.name}: ${shown(member.getSignature.type)}`;
  const [signature] = member.signatures ?? [];
  if (signature) return `${isStatic}${member.name}${generics(signature)}(${parameters(signature)}): ${shown(signature.type)}`;
  const optional = member.flags.isOptional ? '?' : '';
  return `${isStatic}${member.name}${optional}: ${shown(member.type)}`;
}

function section(reflection) {
  const lines = [`### ${reflection.name}`, ''];
  const about = commentOf(reflection);
  if (about) lines.push(about, '');
  if (reflection.kind === Kind.Function) lines.push(`\`${heading(reflection)}\``, '');
  if (reflection.kind === Kind.TypeAlias) lines.push(`\`type ${reflection.name} = ${shown(reflection.type)}\``, '');
  if (reflection.kind === Kind.Variable) lines.push(`\`${reflection.name}: ${shown(reflection.type)}\``, '');
  const members = reflection.children ?? reflection.type?.declaration?.children ?? [];
  for (const member of members.filter((one) => isOwn(one))) {
    const what = commentOf(member).replace(/\n+/g, ' ');
    lines.push(`- \`${heading(member, reflection.name)}\`${what ? `  \n  ${what}` : ''}`);
  }
  if (members.length > 0) lines.push('');
  return lines;
}

/** What a class only inherits is told where it is declared. */
const isOwn = (member) => !member.inheritedFrom && !member.name.startsWith('[');

/** Errors differ by code alone: one table says it all. */
function errors(classes) {
  const rows = classes.map((error) => {
    const code = error.children?.find((member) => member.name === 'code' && member.flags.isStatic);
    return `| \`${error.name}\` | ${code ? `\`${shown(code.type).replaceAll('"', '')}\`` : ''} |`;
  });
  return ['### Errors', '', '| class | code |', '|---|---|', ...rows, ''];
}

const main = await read([join(lib, 'index.ts')], join(root, 'tsconfig.json'));
const names = adapters();
const files = names.map((name) => join(lib, 'adapters', `${name}.ts`));
const adapted = await read(files, join(lib, 'adapters/tsconfig.json'));
const modules = [['mcpool', main.get('index')], ...names.map((name) => [`mcpool/adapters/${name}`, adapted.get(name)])];

const out = ['# Node reference', '', 'Made from the comments of `node/lib` by `make reference`.', ''];
const order = [Kind.Class, Kind.Function, Kind.Variable, Kind.Interface, Kind.TypeAlias];
for (const [name, module] of modules) {
  // How a module is given its framework is no matter of its users.
  const children = module.children.filter((child) => child.name !== 'adapt' && order.includes(child.kind));
  const isError = (child) => child.extendedTypes?.some((type) => type.name === 'McpoolError');
  const others = children.filter((child) => !isError(child));
  others.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.name.localeCompare(b.name, 'en'));
  out.push(`## \`${name}\``, '', ...others.flatMap(section));
  const classes = children.filter(isError);
  if (classes.length > 0) out.push(...errors(classes));
}
process.stdout.write(`${out.join('\n').trimEnd()}\n`);
