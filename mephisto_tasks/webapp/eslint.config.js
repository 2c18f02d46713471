import js from "@eslint/js";
import jsxA11y from "eslint-plugin-jsx-a11y";
import react from "eslint-plugin-react";
import reactHooks from "eslint-plugin-react-hooks";
import globals from "globals";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", "new_dist", "coverage", "node_modules"] },
  js.configs.recommended,
  {
    files: ["src/**/*.{ts,tsx}", "vite*.config.ts"],
    extends: [
      ...tseslint.configs.strictTypeChecked,
      ...tseslint.configs.stylisticTypeChecked,
      jsxA11y.flatConfigs.strict,
    ],
    plugins: { react, "react-hooks": reactHooks },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    settings: { react: { version: "19.0" } },
    rules: {
      ...reactHooks.configs.recommended.rules,
      // What models and workers write must stay text.
      "react/no-danger": "error",
      "react/no-danger-with-children": "error",
      // What raters read goes through t() or tn() of src/language.ts.
      "react/jsx-no-literals": ["error", { allowedStrings: ["✓", "?", "–", "·", "×", "…", ":", ",", ".", "(", ")"] }],
      "react/jsx-no-target-blank": "error",
      "react/jsx-key": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Set textContent: this page never reads text as HTML." },
        { property: "outerHTML", message: "Set textContent: this page never reads text as HTML." },
        { property: "insertAdjacentHTML", message: "This page never reads text as HTML." },
      ],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  // The viewer and the page of `new` are read by researchers, in English.
  { files: ["src/viewer/*.tsx", "src/new/*.tsx"], rules: { "react/jsx-no-literals": "off" } },
  { files: ["scripts/**/*.mjs"], languageOptions: { globals: globals.node } },
);
