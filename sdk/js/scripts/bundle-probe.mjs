// Prints test/probe.tsx with everything it needs, React in its development build, for a real browser.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const made = await build({
  absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
  entryPoints: ["test/probe.tsx"],
  alias: { "@jobsplatform/live": "./src/index.ts", "@jobsplatform/live/react": "./src/react/index.ts" },
  define: { "process.env.NODE_ENV": '"development"' },
  bundle: true,
  format: "esm",
  jsx: "automatic",
  target: "es2020",
  charset: "utf8",
  write: false,
  logLevel: "warning",
});
process.stdout.write(made.outputFiles[0].text);
