import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import page from "./vite.config";

/** The page of `parlai-humaneval new`: apart from the rater's page, so that raters load nothing of it. */
export default defineConfig({
  root: fileURLToPath(new URL("src/new", import.meta.url)),
  base: "./",
  plugins: page.plugins?.slice(0, 1) ?? [],
  css: page.css ?? {},
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    outDir: fileURLToPath(new URL("new_dist", import.meta.url)),
    emptyOutDir: true,
  },
});
