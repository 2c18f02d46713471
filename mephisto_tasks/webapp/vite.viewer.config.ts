import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import page from "./vite.config";

/**
 * The viewer of dialogues, built into the Python package that writes it. It is opened from `file://`, where browsers refuse
 * modules: one classic script and one style sheet, under names that `index.html` there knows.
 */
export default defineConfig({
  plugins: page.plugins?.slice(0, 1) ?? [],
  css: page.css ?? {},
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    target: "es2022",
    outDir: fileURLToPath(new URL("../../parlai_humaneval/viewer/static", import.meta.url)),
    emptyOutDir: true,
    lib: {
      entry: fileURLToPath(new URL("src/viewer/main.tsx", import.meta.url)),
      formats: ["iife"],
      name: "viewerOfDialogues",
      fileName: () => "viewer.js",
      cssFileName: "viewer",
    },
  },
});
