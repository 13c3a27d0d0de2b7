// The npm client against a proxy: node openai.mjs BASE_URL. Prints what came, as JSON.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "sk-any", maxRetries: 0 });
const model = "letopis";
const headers = { "X-Letopis-Session": "npm" };
const user = (content) => ({ role: "user", content });

let streamed = "";
const stream = await client.chat.completions.create(
  { model, messages: [user("Запомни, что я пью чай без сахара")], stream: true, stream_options: { include_usage: true } },
  { headers },
);
let usage = null;
for await (const chunk of stream) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}

const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];
const asked = [user("Какая погода в Томске?")];
const first = await client.chat.completions.create({ model, messages: asked, tools }, { headers: { "X-Letopis-Session": "npm-tools" } });
const call = first.choices[0].message.tool_calls[0];
const result = { role: "tool", tool_call_id: call.id, content: "-12" };
const second = await client.chat.completions.create(
  { model, messages: [...asked, first.choices[0].message, result], tools },
  { headers: { "X-Letopis-Session": "npm-tools" } },
);

const schema = { name: "city", strict: true, schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false } };
const structured = await client.chat.completions.parse(
  { model, messages: [user("Назови город")], response_format: { type: "json_schema", json_schema: schema } },
  { headers: { "X-Letopis-Session": "npm-parse" } },
);
const models = [];
for await (const one of client.models.list()) models.push(one.id);

console.log(JSON.stringify({
  streamed, usage, models,
  call: { name: call.function.name, arguments: JSON.parse(call.function.arguments) },
  answer: second.choices[0].message.content,
  parsed: JSON.parse(structured.choices[0].message.content),
}));
