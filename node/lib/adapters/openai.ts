// Owns the tools of the OpenAI SDK, for chat completions and for responses. Needs nothing of the SDK but its types.
import type { CallOptions, Manager, OnSampling, ToolOutput } from 'mcpool';
import type OpenAI from 'openai';
import type { RunnableToolFunctionWithParse } from 'openai/lib/RunnableFunction';
import type {
  ChatCompletionFunctionTool,
  ChatCompletionMessageToolCall,
  ChatCompletionToolMessageParam,
} from 'openai/resources/chat/completions';
import type {
  FunctionTool,
  ResponseFunctionCallOutputItem,
  ResponseInputItem,
  ResponseOutputItem,
} from 'openai/resources/responses/responses';
import { type NoApproval, refuseApproval } from './approval.js';
import { ask } from './openai-sampling.js';
import { type SamplingOptions, samplingCallback } from './sampling.js';
import { dataUrl, entriesOf, executeNamed, executeUnasked, signalOptions } from './shared.js';

export type { SamplingOptions } from './sampling.js';

/** The manager's tools as they are now, for `tools` of a chat completion. */
export function chatTools(manager: Manager, options?: NoApproval): ChatCompletionFunctionTool[] {
  refuseApproval(options, 'A chat completion of OpenAI');
  return manager.getTools().map((tool) => ({
    type: 'function',
    function: { name: tool.name, description: tool.description, parameters: tool.objectSchema },
  }));
}

/** Calls what a chat message asks for, all at once; gives the messages that answer. */
export async function runChat(
  manager: Manager,
  message: { tool_calls?: readonly ChatCompletionMessageToolCall[] | null },
  options: CallOptions = {},
): Promise<ChatCompletionToolMessageParam[]> {
  refuseApproval(options, 'runChat()');
  const asked = entriesOf(message?.tool_calls).filter((call) => call.type === 'function');
  return Promise.all(
    asked.map(async (call) => {
      const { text } = await executeNamed(manager, call.function?.name, call.function?.arguments, options);
      return { role: 'tool' as const, tool_call_id: call.id, content: text };
    }),
  );
}

/** The manager's tools as they are now, for `client.chat.completions.runTools`. */
export function runnerTools(manager: Manager, options?: NoApproval): RunnableToolFunctionWithParse<object>[] {
  refuseApproval(options, 'runTools of OpenAI');
  return manager.getTools().map((tool) => ({
    type: 'function',
    function: {
      name: tool.name,
      description: tool.description,
      parameters: tool.objectSchema,
      // The core reads the text.
      parse: (json) => json as never,
      function: async (args, runner) =>
        (await executeUnasked(tool, args, signalOptions(runner.controller.signal))).text,
    },
  }));
}

/** The manager's tools as they are now, for `tools` of a response. */
export function responseTools(manager: Manager, options?: NoApproval): FunctionTool[] {
  refuseApproval(options, 'A response of OpenAI');
  return manager.getTools().map((tool) => ({
    ...{ type: 'function', name: tool.name, description: tool.description },
    ...{ parameters: tool.objectSchema, strict: false },
  }));
}

/** Calls what a response asks for, all at once; gives the items that answer, for the next `input`. */
export async function runResponse(
  manager: Manager,
  response: { output: readonly ResponseOutputItem[] },
  options: CallOptions = {},
): Promise<ResponseInputItem.FunctionCallOutput[]> {
  refuseApproval(options, 'runResponse()');
  const asked = entriesOf(response?.output).filter((item) => item.type === 'function_call');
  return Promise.all(
    asked.map(async ({ call_id, name, arguments: json }) => {
      const answer = await executeNamed(manager, name, json, options);
      return { type: 'function_call_output' as const, call_id, output: itemsOf(answer) };
    }),
  );
}

/**
 * For `onSampling` of a manager: servers get their messages from a client's chat completions. What cannot be asked of the model is refused, with a
 * warning; `ignore` names what is left out instead.
 */
export function sampling(
  client: OpenAI,
  { model, ...options }: { model: string } & SamplingOptions<string>,
): OnSampling {
  return samplingCallback((prompt, name) => ask(client, prompt, name), model, options);
}

function itemsOf(output: ToolOutput): string | ResponseFunctionCallOutputItem[] {
  const images = output.modelImages;
  if (images.length === 0) return output.text;
  const shown = images.map((image) => ({ type: 'input_image' as const, image_url: dataUrl(image) }));
  return [{ type: 'input_text', text: output.text }, ...shown];
}
