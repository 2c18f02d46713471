import { basename } from "node:path";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Everything comes from the page's own server; `form-action` stays open because MTurk's submit is a form to Amazon. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self' ws: wss:",
  "base-uri 'none'",
].join("; ");

/** Only in the built page: Vite's development server needs inline styles to reload them. */
function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    apply: "build",
    transformIndexHtml: () => [
      { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: POLICY }, injectTo: "head-prepend" },
    ],
  };
}

/** Class → `File_class`. */
function generateScopedName(name: string, file: string): string {
  return `${basename(file, ".module.css")}_${name}`;
}

export default defineConfig({
  base: "./",
  plugins: [react(), contentSecurityPolicy()],
  build: { target: "es2020", assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  // No hashes, which do not compress; file names keep the names of one file apart from another's.
  css: { modules: { localsConvention: "camelCaseOnly", generateScopedName } },
  test: {
    environment: "jsdom",
    setupFiles: ["src/test/setup.ts"],
    include: ["src/**/*.test.{ts,tsx}"],
    restoreMocks: true,
    // All files in one process and one document: making these anew for each is half of the processor time of all tests.
    pool: "forks",
    isolate: false,
    poolOptions: { forks: { singleFork: true } },
    testTimeout: 15_000,
    css: { modules: { classNameStrategy: "non-scoped" } },
  },
});
