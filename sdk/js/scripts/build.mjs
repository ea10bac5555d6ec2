// Builds dist/ and the files that the platform ships. With --check: builds in memory and fails when a shipped file
// is not what would be built.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const path = (name) => fileURLToPath(new URL(name, new URL("..", import.meta.url)));
const check = process.argv.includes("--check");
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
const inPlace = { alias: { "@jobsplatform/live": "./src/index.ts" } };
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
  { options: live, targets: ["dist/live.js", "../../tasks/static/tasks/sdk/live.js"] },
  { options: react, targets: ["dist/react.js"] },
  { options: demo, targets: ["../../tasks/static/tasks/sdk/demo.js"] },
].filter(({ options }) => existsSync(path(options.entryPoints[0])));

let stale = 0;
for (const { options, targets } of files) {
  const made = (await build(options)).outputFiles[0].text;
  for (const name of targets) {
    const target = path(name);
    if (!check) {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, made);
    } else if (name.startsWith("../") && (!existsSync(target) || readFileSync(target, "utf8") !== made)) {
      console.error(`${name.replace("../../", "")} is not a fresh build: run \`npm run build\` in sdk/js.`);
      stale += 1;
    }
  }
}
process.exitCode = stale ? 1 : 0;
