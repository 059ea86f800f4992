// Owns the tools of LangChain. LangChain is a parameter, because `import` and `require` each load their own copy.
import type { DynamicStructuredTool } from '@langchain/core/tools';
import type { AgentMiddleware } from 'langchain';
import type { Manager, OnSampling, Tool, ToolOutput } from 'mcpool';
import {
  isApprovalAsked,
  type NoApproval,
  refuseApproval,
  rememberApproval,
  type ToolOptions,
  waitsForApproval,
} from './approval.js';
import { ask, type Messages, type ModelOrMaker } from './langchain-sampling.js';
import { type SamplingOptions, samplingCallback } from './sampling.js';
import { argumentsOf, executeNamed, executeUnasked, perTool, recordOf, signalOptions } from './shared.js';

export type { ToolOptions } from './approval.js';
export type { ModelOrMaker, ModelSettings } from './langchain-sampling.js';
export type { SamplingOptions } from './sampling.js';
export type { ToolRecord } from './shared.js';

export interface LangChain {
  /** The manager's tools as they are now. A call's `ToolMessage` has the record of the call as its artifact. */
  tools(manager: Manager, options?: NoApproval): DynamicStructuredTool[];
  /**
   * For `middleware` of `createAgent`: gives the agent the manager's tools, which follow its list from turn to turn. With
   * `needsApproval`, it interrupts the run as `humanInTheLoopMiddleware` does.
   */
  liveTools(manager: Manager, options?: ToolOptions): AgentMiddleware;
  /** The tools that require approval, also later ones, for `interruptOn` of a `humanInTheLoopMiddleware` of your own. */
  interruptOn(manager: Manager): Record<string, boolean>;
  /**
   * For `onSampling` of a manager: servers get their messages from a chat model. Its function makes the model for the length
   * and the temperature of a request, which a model does not take later. What cannot be asked of the model is refused, with
   * a warning; `ignore` names what is left out instead.
   */
  sampling(model: ModelOrMaker, options?: SamplingOptions<ModelOrMaker>): OnSampling;
}

/** What of LangChain is used. */
export interface Framework {
  tool: typeof import('@langchain/core/tools').tool;
  messages: Messages;
  /** Of the package `langchain`, which only live tools need: throws if it is not there. */
  agents(): Pick<typeof import('langchain'), 'createMiddleware' | 'humanInTheLoopMiddleware'>;
}

export function adapt({ tool: make, messages, agents }: Framework): LangChain {
  const messageOf = (id: string, name: string, output: ToolOutput) =>
    new messages.ToolMessage({
      ...{ name, tool_call_id: id, content: contentOf(output), artifact: recordOf(output) },
      status: output.isError ? 'error' : 'success',
    });

  /** `isAsked` says whether a person was asked about the calls of the tool. */
  const toolOf = (tool: Tool, isAsked: () => boolean): DynamicStructuredTool => {
    const { name, description } = tool;
    const made = make(
      async (input, config) => {
        const { id } = (config as { toolCall?: { id?: string } }).toolCall ?? {};
        const options = signalOptions(config?.signal);
        const output = await (isAsked()
          ? tool.execute(argumentsOf(input), options)
          : executeUnasked(tool, input, options));
        // Without a tool call there is no message to answer.
        return id ? messageOf(id, name, output) : contentOf(output);
      },
      { name, description, schema: tool.objectSchema },
    ) as DynamicStructuredTool;
    return unchecked(made);
  };

  /** The tools of `tools()`, which nobody asks about. */
  const plain = new WeakSet<object>();

  const tools: LangChain['tools'] = (manager, options) => {
    refuseApproval(options, 'tools() of LangChain', 'liveTools(manager, { needsApproval: true })');
    const list = manager.getTools().map((tool) => toolOf(tool, () => false));
    for (const tool of list) plain.add(tool);
    return list;
  };

  /** The answer to a call of a tool that neither the agent nor the manager has. */
  const unknown = async (
    manager: Manager,
    { id = '', name, args }: { id?: string; name: string; args: unknown },
  ) => messageOf(id, name, await executeNamed(manager, name, args, {}));

  const liveTools: LangChain['liveTools'] = (manager, options = {}) => {
    const { createMiddleware, humanInTheLoopMiddleware } = agents();
    rememberApproval(manager, options);
    const asked = byName(manager, waitsForApproval);
    // A hook is a step of the graph, which has a limit of steps: only agents that ask have it.
    const asks = isApprovalAsked(manager);
    // Its own type is not exact about optional properties.
    const { afterModel } = humanInTheLoopMiddleware({ interruptOn: asked } as never);
    // Nobody was asked about a tool that is new since then, or by an agent that was made before somebody asked for approval.
    const made = perTool((tool) => toolOf(tool, () => asks && asked[tool.name] === true));
    // A tool that was offered to a model stays callable after it is gone. Several runs may share this.
    const seen = new Map<string, DynamicStructuredTool>();
    const look = () => {
      const offered = new Map(manager.getTools().map((tool) => [tool.name, made(tool)]));
      for (const [name, tool] of offered) seen.set(name, tool);
      return offered;
    };
    return createMiddleware({
      name: 'mcpool',
      ...(asks && { afterModel: withoutContext(afterModel as AfterModel) as never }),
      wrapModelCall: (request, handler) => {
        const offered = look();
        // The agent's own tools win: LangChain lets nobody replace them.
        const own = request.tools.filter((tool) => !plain.has(tool) || offered.has(tool.name as string));
        for (const { name } of own) offered.delete(name as string);
        return handler({ ...request, tools: [...own, ...offered.values()] });
      },
      wrapToolCall: (request, handler) => {
        const { tool, toolCall } = request;
        if (tool && !plain.has(tool)) return handler(request);
        // A run that continues from a saved state has seen no tools yet.
        if (!seen.has(toolCall.name)) look();
        const found = seen.get(toolCall.name);
        return found ? handler({ ...request, tool: found }) : unknown(manager, toolCall);
      },
    });
  };

  const interruptOn = (manager: Manager) => byName(manager, ({ requiresApproval }) => requiresApproval);

  const sampling: LangChain['sampling'] = (model, options) =>
    samplingCallback((prompt, chosen) => ask(messages, prompt, chosen), model, options);

  return { tools, liveTools, interruptOn, sampling };
}

/** The tool without LangChain's own check of arguments, which tells the model a stack; the server checks them. */
function unchecked(tool: DynamicStructuredTool): DynamicStructuredTool {
  const call = tool.call;
  const open = Object.create(tool, { schema: { value: true } });
  return Object.assign(tool, { call: (...asked: Parameters<typeof call>) => call.apply(open, asked) });
}

/**
 * What `read` says of each tool by its name, read anew whenever the names are listed, which the middleware does once a
 * turn. Tools that are gone stay: a model that was offered one may still call it.
 */
function byName(manager: Manager, read: (tool: Tool) => boolean): Record<string, boolean> {
  const update = (known: Record<string, boolean>) => {
    // LangChain drops this name, so nobody would be asked about it.
    const tools = manager.getTools().filter(({ name }) => name !== '__proto__');
    for (const tool of tools) known[tool.name] = read(tool);
    return known;
  };
  return new Proxy(update(Object.create(null)), { ownKeys: (known) => Reflect.ownKeys(update(known)) });
}

interface AfterModel {
  canJumpTo: string[];
  hook(state: unknown, runtime: object): unknown;
}

/** The hook, which cannot be switched off by the context of a run: that is for the program's own middleware. */
const withoutContext = ({ hook, ...rest }: AfterModel): AfterModel => ({
  ...rest,
  hook: (state, runtime) => hook(state, { ...runtime, context: undefined }),
});

function contentOf(output: ToolOutput) {
  const images = output.modelImages;
  if (images.length === 0) return output.text;
  return [
    { type: 'text' as const, text: output.text },
    ...images.map((image) => ({ type: 'image' as const, ...image })),
  ];
}
