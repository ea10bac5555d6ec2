import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "@jobsplatform/live": fileURLToPath(new URL("src/index.ts", import.meta.url)) } },
  // The scripts of the admin lie outside of this folder.
  server: { fs: { allow: ["../.."] } },
  test: {
    environment: "happy-dom",
    environmentOptions: { happyDOM: { url: "https://jobs.example/page" } },
    include: ["test/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    unstubGlobals: true,
    testTimeout: 20_000,
    // One thread, which loads everything once: the suite shares its machine with others.
    poolOptions: { threads: { singleThread: true, isolate: false } },
    pool: "threads",
  },
});
