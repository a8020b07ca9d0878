// openai_client: the official Node SDKs of OpenAI and Anthropic, and the Vercel AI SDK.
import Anthropic from "@anthropic-ai/sdk";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, jsonSchema, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

const url = process.env.CALLA_URL ?? "http://127.0.0.1:8080", model = process.env.CALLA_MODEL ?? "starter";
const messages = [{ role: "user", content: "Say hello to the sea." }];
const weather = { type: "object", properties: { city: { type: "string", enum: ["Paris", "Oslo"] }, days: { type: "integer", minimum: 1, maximum: 9 } }, required: ["city", "days"], additionalProperties: false };
let failed = 0;

async function check(name, run) {
  try {
    await run();
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}: ${String(error?.stack ?? error).slice(0, 500)}`);
  }
}
function equal(seen, expected) {
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`${JSON.stringify(seen)} seen, ${JSON.stringify(expected)} expected`);
}

const openai = new OpenAI({ baseURL: url + "/v1", apiKey: "none", maxRetries: 0 });
const fixed = { model, temperature: 0, seed: 1, max_tokens: 24 };

await check("openai (node): stream = whole", async () => {
  const whole = await openai.chat.completions.create({ ...fixed, messages });
  let text = "";
  for await (const chunk of await openai.chat.completions.create({ ...fixed, messages, stream: true })) text += chunk.choices[0]?.delta?.content ?? "";
  equal(text, whole.choices[0].message.content);
});

await check("openai (node): the stream helper and a forced tool", async () => {
  const stream = openai.chat.completions.stream({ ...fixed, max_tokens: 80, messages, tools: [{ type: "function", function: { name: "weather", parameters: weather } }], tool_choice: "required" });
  const final = await stream.finalChatCompletion();
  const call = final.choices[0].message.tool_calls[0];
  equal(call.function.name, "weather");
  JSON.parse(call.function.arguments);
});

await check("openai (node): responses", async () => {
  const whole = await openai.responses.create({ model, input: "Say hello to the sea.", temperature: 0, max_output_tokens: 16 });
  let text = "", last;
  for await (const event of await openai.responses.create({ model, input: "Say hello to the sea.", temperature: 0, max_output_tokens: 16, stream: true })) {
    if (event.type === "response.output_text.delta") text += event.delta;
    last = event;
  }
  equal(text, whole.output_text);
  equal(last.type, "response." + whole.status);
});

await check("openai (node): a reader who leaves", async () => {
  const controller = new AbortController();
  const stream = await openai.chat.completions.create({ ...fixed, max_tokens: 400, messages, stream: true }, { signal: controller.signal });
  for await (const _ of stream) {
    controller.abort();
    break;
  }
});

await check("anthropic (node): stream = whole", async () => {
  const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
  const whole = await client.messages.create({ model, max_tokens: 24, temperature: 0, messages });
  const final = await client.messages.stream({ model, max_tokens: 24, temperature: 0, messages }).finalMessage();
  equal(final.content[0].text, whole.content[0].text);
  equal(final.stop_reason, whole.stop_reason);
});

const provider = createOpenAICompatible({ name: "calla", baseURL: url + "/v1", supportsStructuredOutputs: true });

await check("ai sdk: text, streamed = whole", async () => {
  const whole = await generateText({ model: provider(model), prompt: "Say hello to the sea.", temperature: 0, maxOutputTokens: 24 });
  let text = "";
  for await (const piece of streamText({ model: provider(model), prompt: "Say hello to the sea.", temperature: 0, maxOutputTokens: 24 }).textStream) text += piece;
  equal(text, whole.text);
});

await check("ai sdk: object and tools", async () => {
  const { object } = await generateObject({ model: provider(model), schema: z.object({ open: z.boolean(), depth: z.number().int() }), prompt: "A harbour.", maxOutputTokens: 80 });
  equal(typeof object.open, "boolean");
  const { toolCalls } = await generateText({ model: provider(model), prompt: "Oslo?", tools: { weather: tool({ description: "Weather", inputSchema: jsonSchema(weather) }) }, toolChoice: "required", maxOutputTokens: 80 });
  equal(toolCalls[0].toolName, "weather");
});

process.exit(failed ? 1 : 0);
