// A chat model of LangChain that asks a script.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, ToolMessage } from '@langchain/core/messages';

const resultOf = ({ content, status }) => ({
  text: typeof content === 'string' ? content : content[0].text,
  isError: status === 'error',
  images:
    typeof content === 'string' ? [] : content.slice(1).map(({ data, mimeType }) => ({ data, mimeType })),
});

export class Scripted extends BaseChatModel {
  constructor(script, tools = []) {
    super({});
    this.script = script;
    this.offered = tools;
  }
  _llmType() {
    return 'scripted';
  }
  bindTools(tools) {
    return new Scripted(this.script, tools);
  }
  async _generate(messages) {
    const asked = messages.findLastIndex((message) => AIMessage.isInstance(message));
    const results = messages.slice(asked + 1).filter((message) => ToolMessage.isInstance(message));
    const names = this.offered.map(({ name }) => name);
    const schemas = this.offered.map(({ schema }) => schema);
    const said = await this.script({ tools: names, schemas, results: results.map(resultOf) });
    const tool_calls =
      typeof said === 'string'
        ? []
        : said.map(({ name, args }, index) => ({ name, args, id: `call-${messages.length}-${index}` }));
    const message = new AIMessage({ content: typeof said === 'string' ? said : '', tool_calls });
    return { generations: [{ text: '', message }] };
  }
}
