// Owns what the `sampling` functions share: reading a server's request and writing the answer. Knows no framework.
// Invariant: a request is answered as it was asked, or refused with a warning. Whatever a framework cannot express throws
// `Refused`.
import type { OnSampling, SampledMessage, SamplingRequest } from 'mcpool';

export interface SamplingOptions<Model> {
  /** Gets the names of models that the server would like. Returns another model, or nothing for the one that was given. */
  choose?: ((hints: string[]) => Model | undefined) | undefined;
  /** Members of requests that are left out where the model cannot be asked for them, such as `temperature`. */
  ignore?: readonly string[] | undefined;
}

/** Why a request is not sent to the model, or its answer not to the server. */
export class Refused extends Error {}

export interface Text {
  type: 'text';
  text: string;
}

/** `data` is base64. */
export interface Media {
  type: 'image' | 'audio';
  data: string;
  mimeType: string;
}

/** A call of a tool. */
export interface ToolUse {
  type: 'tool_use';
  id: string;
  name: string;
  input: Record<string, unknown>;
}

/** What the server's tool gave; `name` is that of the tool. */
export interface ToolResult {
  id: string;
  name: string;
  content: (Text | Media)[];
  isError: boolean;
}

/** A message of the conversation: results of tools, or other blocks of a user or of the assistant. */
export interface Message {
  isUser: boolean;
  blocks: (Text | Media)[];
  uses: ToolUse[];
  results: ToolResult[];
}

/** A tool that the model may use; the server runs it. */
export interface ToolDefinition {
  name: string;
  description: string;
  schema: Record<string, unknown>;
}

/** What the model is asked. */
export interface Prompt {
  messages: Message[];
  system: string | undefined;
  /** Undefined if it is ignored. */
  maxTokens: number | undefined;
  temperature: number | undefined;
  stop: string[];
  tools: ToolDefinition[];
  toolChoice: 'auto' | 'required' | 'none';
  hints: string[];
}

/** The answer of a model; `reason` is why it stopped, in the provider's words. */
export interface Reply {
  blocks: (Text | Media | ToolUse)[];
  model: string;
  reason?: string | null | undefined;
}

/** The providers' words for why a model stopped. Others are passed on as they are. */
const STOP_REASONS: Record<string, string> = {
  stop: 'endTurn',
  end_turn: 'endTurn',
  length: 'maxTokens',
  max_tokens: 'maxTokens',
  stop_sequence: 'stopSequence',
};

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const AUDIO_FORMATS: Record<string, 'wav' | 'mp3'> = {
  ...{ 'audio/wav': 'wav', 'audio/x-wav': 'wav', 'audio/mpeg': 'mp3', 'audio/mp3': 'mp3' },
};

/** A callback that asks the model, or the one that `choose` returns for the server's hints. */
export function samplingCallback<Model>(
  ask: (prompt: Prompt, model: Model) => Promise<Reply>,
  model: Model,
  { choose, ignore = [] }: SamplingOptions<Model> = {},
): OnSampling {
  return async (request) => {
    try {
      const prompt = promptOf(request, ignore);
      return messageOf(await ask(prompt, choose?.(prompt.hints) ?? model));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      process.emitWarning(`A sampling request of ${request.server} is refused: ${error.message}`, {
        code: 'MCPOOL_SAMPLING_REFUSED',
      });
      return undefined;
    }
  };
}

function promptOf(request: SamplingRequest, ignore: readonly string[]): Prompt {
  const given = Object.fromEntries(Object.entries(request).filter(([name]) => !ignore.includes(name)));
  const names = new Map<string, string>();
  const preferences = Object(given.modelPreferences) as { hints?: unknown };
  return {
    messages: objects(given.messages).map((message) => readMessage(message, names)),
    system: given.systemPrompt as string | undefined,
    maxTokens: ignore.includes('maxTokens') ? undefined : get<number>(given, 'maxTokens', 'number'),
    temperature: (given.temperature ?? undefined) as number | undefined,
    stop: (given.stopSequences ?? []) as string[],
    tools: objects(given.tools ?? []).map((tool) => ({
      name: get<string>(tool, 'name', 'string'),
      description: String(tool.description ?? ''),
      schema: get<Record<string, unknown>>(tool, 'inputSchema', 'object'),
    })),
    toolChoice: ((given.toolChoice as { mode?: Prompt['toolChoice'] } | undefined)?.mode ??
      'auto') as Prompt['toolChoice'],
    hints: objects(preferences.hints ?? [])
      .map(({ name }) => name)
      .filter((name) => typeof name === 'string'),
  };
}

type Json = Record<string, unknown>;

function readMessage(message: Json, names: Map<string, string>): Message {
  const isUser = message.role === 'user';
  const read: Message = { isUser, blocks: [], uses: [], results: [] };
  const { content } = message;
  for (const block of objects(Array.isArray(content) ? content : [content])) {
    if (block.type === 'tool_use' && !isUser) {
      const [id, name] = [get<string>(block, 'id', 'string'), get<string>(block, 'name', 'string')];
      names.set(id, name);
      read.uses.push({ type: 'tool_use', id, name, input: get<Json>(block, 'input', 'object') });
    } else if (block.type === 'tool_result' && isUser) read.results.push(readResult(block, names));
    else read.blocks.push(readBlock(block));
  }
  if (read.results.length > 0 && read.blocks.length > 0) {
    throw new Refused('a message with results of tools has other content, too');
  }
  return read;
}

function readResult(block: Json, names: Map<string, string>): ToolResult {
  const id = get<string>(block, 'toolUseId', 'string');
  const name = names.get(id);
  if (name === undefined) throw new Refused(`there is no call "${id}" before its result`);
  const content = objects(block.content ?? []).map(readBlock);
  if (content.length === 0 && block.structuredContent !== undefined) {
    content.push({ type: 'text', text: JSON.stringify(block.structuredContent) });
  }
  return { id, name, content, isError: block.isError === true };
}

function readBlock(block: Json): Text | Media {
  const { type } = block;
  if (type === 'text') return { type, text: get<string>(block, 'text', 'string') };
  if (type === 'image' || type === 'audio') {
    const data = get<string>(block, 'data', 'string');
    return { type, data, mimeType: get<string>(block, 'mimeType', 'string') };
  }
  throw new Refused(`it has content of type "${type}"`);
}

/** The answer as the protocol has it. A single block is not a list: older servers know no lists. */
function messageOf({ blocks, model, reason }: Reply): SampledMessage {
  const content: Reply['blocks'] = [];
  for (const block of blocks) {
    const last = content.at(-1);
    if (block.type === 'text' && last?.type === 'text') last.text += block.text;
    else if (block.type !== 'text' || block.text !== '') content.push({ ...block });
  }
  if (content.length === 0) content.push({ type: 'text', text: '' });
  const isCall = blocks.some(({ type }) => type === 'tool_use');
  const stopReason = isCall ? 'toolUse' : reason && (STOP_REASONS[reason] ?? reason);
  return {
    role: 'assistant',
    content: content.length > 1 ? content : content[0],
    model,
    ...(stopReason && { stopReason }),
  };
}

/** Refuses settings that a framework does not have. */
export function refuse(
  prompt: Prompt,
  framework: string,
  ...settings: ('maxTokens' | 'stopSequences' | 'temperature')[]
): void {
  for (const name of settings) {
    const isGiven = name === 'stopSequences' ? prompt.stop.length > 0 : prompt[name] !== undefined;
    if (isGiven) throw new Refused(`${framework} has no ${name}`);
  }
}

/** The texts of blocks, where there may be nothing else. */
export function plainText(blocks: (Text | Media)[], where: string): string {
  return blocks
    .map((block) => {
      if (block.type === 'text') return block.text;
      throw new Refused(`the model takes no ${block.type} in ${where}`);
    })
    .join('\n');
}

/** What the assistant said, besides its calls. */
export const assistantText = ({ blocks }: Message): string => plainText(blocks, 'messages of the assistant');

/** For APIs whose results are text without a mark for errors. */
export const resultText = ({ content, isError }: ToolResult): string =>
  `${isError ? 'Error: ' : ''}${plainText(content, 'results of tools')}`;

/** Refuses what is not an image that models are shown. */
export function checkImage(media: Media): Media {
  if (!IMAGES.includes(media.mimeType)) throw new Refused(`the model takes no ${media.mimeType}`);
  return media;
}

/** The format of audio for APIs that know two. */
export function audioFormat({ mimeType }: Media): 'wav' | 'mp3' {
  const format = AUDIO_FORMATS[mimeType];
  if (!format) throw new Refused(`the model takes no ${mimeType}`);
  return format;
}

/** The arguments of a call as a model or a framework wrote them. */
export function inputOf(args: unknown): Record<string, unknown> {
  let read = args;
  try {
    if (typeof args === 'string') read = JSON.parse(args || '{}');
  } catch {
    read = undefined;
  }
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read as Json;
  throw new Refused('the model’s call of a tool has arguments that are no JSON object');
}

function get<T>(thing: Json, name: string, type: 'string' | 'number' | 'object'): T {
  const value = thing[name];
  if (typeof value === type && value !== null) return value as T;
  throw new Refused(`its ${name} is missing or of another type`);
}

function objects(list: unknown): Json[] {
  const isObject = (entry: unknown) => typeof entry === 'object' && entry !== null;
  if (Array.isArray(list) && list.every(isObject)) return list as Json[];
  throw new Refused('it has a list whose entries are no objects');
}
