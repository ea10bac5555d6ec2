// Makes src/wire.ts from live.schema.json, which the platform writes (python -m tasks.live.schema).
// With --check: fails when the file is not what would be made.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../live.schema.json", import.meta.url));
const target = fileURLToPath(new URL("../src/wire.ts", import.meta.url));
const schema = JSON.parse(readFileSync(source, "utf8"));

const PLAIN = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

function typeOf(node) {
  if (node.$ref) return node.$ref.split("/").at(-1);
  if (node.const !== undefined) return JSON.stringify(node.const);
  if (node.enum) return node.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = node.anyOf ?? node.oneOf;
  if (choices) return choices.map(typeOf).join(" | ");
  if (node.type === "array") {
    const items = typeOf(node.items ?? {});
    return /[ |]/.test(items) ? `Array<${items}>` : `${items}[]`;
  }
  if (node.type === "object" && !node.properties) {
    const values = typeof node.additionalProperties === "object" ? typeOf(node.additionalProperties) : "unknown";
    return `Record<string, ${values}>`;
  }
  if (node.type === undefined) return "unknown";
  const plain = PLAIN[node.type];
  if (!plain) throw new Error(`no TypeScript for ${JSON.stringify(node)}`);
  return plain;
}

function comment(text, indent = "") {
  return text ? `${indent}/** ${text.replaceAll("``", "`").replace(/\s+/g, " ")} */\n` : "";
}

function definition(name, node) {
  const required = new Set(node.required ?? []);
  const fields = Object.entries(node.properties ?? {}).map(
    ([field, type]) => `${comment(type.description, "  ")}  ${field}${required.has(field) ? "" : "?"}: ${typeOf(type)};`,
  );
  return `${comment(node.description)}export interface ${name} {\n${fields.join("\n")}\n}\n`;
}

const definitions = Object.entries(schema.$defs);
const text = [
  "// Made from live.schema.json by `npm run types`. Do not edit.\n",
  `/** The version of the wire that these types speak. */\nexport const WIRE_VERSION = ${schema.version};\n`,
  ...definitions.map(([name, node]) => definition(name, node)),
  `export type ClientFrame = ${typeOf(schema.properties.client)};\n`,
  `export type ServerFrame = ${typeOf(schema.properties.server)};\n`,
  `export type LiveEvent = ${typeOf(schema.$defs.EventFrame.properties.event)};\n`,
].join("\n");

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("src/wire.ts is not what live.schema.json makes: run `npm run types`.");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
