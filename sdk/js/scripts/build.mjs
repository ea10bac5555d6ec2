// Builds dist/ and the files that the platform ships. With --check: builds in memory and fails when a shipped file
// is not what would be built; --shipped=FOLDER: where to look for those.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const check = process.argv.includes("--check");
const elsewhere = process.argv.find((each) => each.startsWith("--shipped="));
const shippedIn = elsewhere?.slice("--shipped=".length) ?? join(root, "../../tasks/static/tasks/sdk");
const banner = "// Built from sdk/js (npm run build). Do not edit.";

const common = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  target: "es2020",
  charset: "utf8",
  write: false,
  logLevel: "warning",
};
const inPlace = {
  alias: { "@jobsplatform/live": "./src/index.ts", "@jobsplatform/live/react": "./src/react/index.ts" },
};
const live = { ...common, entryPoints: ["src/index.ts"], banner: { js: banner } };
const react = {
  ...common,
  entryPoints: ["src/react/index.ts"],
  external: ["react", "react/jsx-runtime", "@jobsplatform/live"],
};
const demo = {
  ...common,
  ...inPlace,
  entryPoints: ["demo/main.tsx"],
  jsx: "automatic",
  minify: true,
  banner: { js: banner },
  define: { "process.env.NODE_ENV": '"production"' },
};

const files = [
  { options: live, dist: "live.js", shipped: "live.js" },
  { options: react, dist: "react.js" },
  { options: demo, shipped: "demo.js" },
];

let stale = 0;
for (const { options, dist, shipped } of files) {
  const made = (await build(options)).outputFiles[0].text;
  const target = shipped && join(shippedIn, shipped);
  if (check && target && (!existsSync(target) || readFileSync(target, "utf8") !== made)) {
    console.error(`${shipped} is not a fresh build: run \`npm run build\` in sdk/js.`);
    stale += 1;
  }
  if (!check) for (const path of [dist && join(root, "dist", dist), target]) if (path) write(path, made);
}
process.exitCode = stale ? 1 : 0;

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
